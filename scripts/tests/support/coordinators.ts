/** Coordinators outlive their clients by a moment: a test that is over waits for those it set in motion. */
import { readdirSync, readFileSync } from "node:fs";

const LIMIT_MS = 20_000;
const EVERY_MS = 20;

/** Resolves when no coordinator of a run below `folder` is alive; one that stays is killed, since its test is over. */
export async function coordinatorsGone(folder: string): Promise<void> {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const alive = coordinatorsBelow(folder);
    if (alive.length === 0) return;
    if (performance.now() > limit) for (const pid of alive) end(pid);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

function coordinatorsBelow(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        const runDir = words[words.indexOf("__coordinate") + 1];
        return words.includes("__coordinate") && runDir?.startsWith(`${folder}/`) === true;
      } catch {
        return false;
      }
    })
    .map(Number);
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
