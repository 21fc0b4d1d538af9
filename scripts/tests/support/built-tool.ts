/** The payload as the working tree would build it, in a folder of its own: tests of the built tool run this. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildPayload } from "../../dev/build.ts";
import { PAYLOAD, ROOT } from "../../dev/repo.ts";

export interface BuiltPayload {
  /** The skill folder. Nothing above it holds a node_modules. */
  readonly skill: string;
  readonly main: string;
  remove(): void;
}

/** Builds into a new temporary folder: hand-written payload files from the tree, generated ones fresh. */
export async function builtPayload(): Promise<BuiltPayload> {
  const files = await buildPayload();
  const top = mkdtempSync(join(tmpdir(), "orchestrate built "));
  const skill = join(top, "orchestrate");
  cpSync(join(ROOT, PAYLOAD), skill, {
    recursive: true,
    filter: (path) => !path.startsWith(join(ROOT, PAYLOAD, "scripts")),
  });
  for (const [path, content] of files) {
    const file = join(skill, path.slice(PAYLOAD.length + 1));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return {
    skill,
    main: join(skill, "scripts/orchestrate.mjs"),
    remove: () => rmSync(top, { recursive: true, force: true }),
  };
}
