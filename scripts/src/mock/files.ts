/** What a script does to files. It may leave its owned paths (layer 1 shall see that), never its working folder. */
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { MockStep } from "./script.ts";
import { emit } from "./stream.ts";

/** True when `step` was about files and is done. */
export async function playFile(step: MockStep): Promise<boolean> {
  if (step.write !== undefined) return wrote(step.write, writeFileSync);
  if (step.append !== undefined) return wrote(step.append, appendFileSync);
  if (step.delete !== undefined) {
    rmSync(below(step.delete), { recursive: true, force: true });
    await emit({ type: "mock.tool", tool: "delete", ok: true, summary: step.delete });
    return true;
  }
  if (step.link === undefined) return false;
  mkdirSync(dirname(below(step.link.path)), { recursive: true });
  symlinkSync(step.link.target, below(step.link.path));
  await emit({
    type: "mock.tool",
    tool: "link",
    ok: true,
    summary: `${step.link.path} -> ${step.link.target}`,
  });
  return true;
}

async function wrote(
  edit: { readonly path: string; readonly content: string },
  apply: (path: string, content: string) => void,
): Promise<boolean> {
  const path = below(edit.path);
  mkdirSync(dirname(path), { recursive: true });
  apply(path, edit.content);
  await emit({ type: "mock.file", path: edit.path, bytes: Buffer.byteLength(edit.content) });
  return true;
}

function below(path: string): string {
  const full = resolve(process.cwd(), path);
  const way = relative(process.cwd(), full);
  if (isAbsolute(path) || way === "" || way.startsWith("..") || isAbsolute(way))
    throw new Error(`\`${path}\` is not a path below the working folder`);
  return full;
}
