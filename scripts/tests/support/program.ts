/** Starts the TypeScript programs of `fixtures/programs/` as real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const PROGRAMS = join(import.meta.dirname, "../fixtures/programs");
const TSX = join(import.meta.dirname, "../../../node_modules/tsx/dist/esm/index.mjs");

export function startProgram(name: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ["--import", TSX, join(PROGRAMS, `${name}.ts`), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Everything it printed, when it ended with 0. */
export async function runProgram(name: string, args: readonly string[]): Promise<string> {
  const child = startProgram(name, args);
  let out = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return out;
}
