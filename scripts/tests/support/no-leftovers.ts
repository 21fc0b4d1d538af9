/**
 * Nothing that a test started with its own environment may be there when the tests are over: otherwise they fail, by the
 * names of what is left. The built tool is started with a bare environment; the suites that end it look for its survivors.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";

const NAME = "ORCHESTRATE_TEST_RUN";
/** What was told to end has this long for it. */
const GRACE_MS = 10_000;

const mark = `${NAME}=${randomUUID()}`;

export function setup(): void {
  process.env[NAME] = mark.slice(NAME.length + 1);
}

export async function teardown(): Promise<void> {
  if (process.platform !== "linux") return;
  const until = performance.now() + GRACE_MS;
  let left = survivors();
  while (left.length > 0 && performance.now() < until) {
    await after(200);
    left = survivors();
  }
  if (left.length === 0) return;
  // Vitest prints what is thrown here and ends with 0 all the same.
  process.exitCode = 1;
  throw new Error(`The tests left processes behind:\n${left.join("\n")}`);
}

function survivors(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark)) return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      // Of the test runner itself, whose workers end after this.
      return command === "" || command.includes("vitest") || command.includes("esbuild")
        ? []
        : [`${pid} ${command}`];
    } catch {
      // Gone, or of another user.
      return [];
    }
  });
}
