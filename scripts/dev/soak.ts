/**
 * The suites of docs/reliability.md at their large sizes, one after another, each with its time at the end.
 *
 *   npm run soak              all of them
 *   npm run soak -- NAME...   some; `--list` prints the names
 *
 * A suite that fails prints its seed or operation and one line that shows it again; the others still run.
 */
import { spawn } from "node:child_process";
import { isMain } from "./is-main.ts";
import { ROOT } from "./repo.ts";
import { listed, refuse } from "./usage.ts";

interface Suite {
  readonly name: string;
  readonly files: readonly string[];
  readonly size: string;
}

/** The cheap ones first, so that a plain mistake shows in minutes. */
export const SUITES: readonly Suite[] = [
  {
    name: "damage",
    files: ["state/recover", "state/lock"],
    size: "every cut, random damage, 2,000 races for a lock",
  },
  {
    name: "paths",
    files: ["host/safe-path", "run/changes", "run/supervise", "core/ids"],
    size: "links swapped under a check, 10,000 arguments, 100,000 pairs of ids",
  },
  { name: "specs", files: ["plan/spec-fuzz"], size: "100,000 hostile specs" },
  { name: "secrets", files: ["run/redact", "crash/secrets"], size: "every form at every cut" },
  {
    name: "storm",
    files: ["run/worktree-storm", "host/repo-lock"],
    size: "1,000 worktrees from four processes",
  },
  {
    name: "hostile",
    files: ["run/hostile", "crash/hostile-jobs"],
    size: "every mode of a job that misbehaves",
  },
  {
    name: "signals",
    files: ["crash/signals", "crash/disk", "crash/mutants"],
    size: "signals, disks, eight planted bugs",
  },
  { name: "endurance", files: ["crash/endurance"], size: "10,000 jobs with five kills" },
  { name: "coordinators", files: ["crash/two-coordinators"], size: "1,000 pairs, 100 groups of eight" },
  { name: "kills", files: ["crash/random-kill"], size: "1,000 random kills, 200 runs of up to ten" },
  { name: "sweep", files: ["crash/sweep"], size: "every operation in seven modes" },
  { name: "simulation", files: ["state/simulation"], size: "1,000,000 seeds" },
];

/** All of them for no names. */
export const chosen = (names: readonly string[]): readonly Suite[] =>
  names.length === 0 ? SUITES : SUITES.filter(({ name }) => names.includes(name));

/** What is wrong with the names, in one line. */
export function fault(names: readonly string[]): string | null {
  const unknown = names.filter((name) => !SUITES.some((suite) => suite.name === name));
  return unknown.length === 0
    ? null
    : `no suite ${listed(unknown)}: \`--list\`, or some of ${SUITES.map(({ name }) => name).join(", ")}`;
}

function run(suite: Suite): Promise<boolean> {
  const files = suite.files.map((file) => `scripts/tests/${file}`);
  const child = spawn("npx", ["vitest", "run", ...files], {
    cwd: ROOT,
    env: { ...process.env, ORCHESTRATE_SOAK: "1" },
    stdio: "inherit",
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code === 0));
  });
}

const clock = (ms: number): string => `${Math.floor(ms / 60_000)}m ${Math.round((ms % 60_000) / 1_000)}s`;

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const line = ({ name, size }: Suite): string => `${name.padEnd(14)}${size}`;
  if (words.includes("--list")) {
    console.log(SUITES.map(line).join("\n"));
    return;
  }
  const wrong = fault(words);
  if (wrong !== null) return refuse(wrong);
  const results: string[] = [];
  for (const suite of chosen(words)) {
    const from = performance.now();
    const passed = await run(suite);
    if (!passed) process.exitCode = 1;
    results.push(
      `${passed ? "passed" : "FAILED"}  ${clock(performance.now() - from).padStart(8)}  ${line(suite)}`,
    );
    console.log(results.at(-1));
  }
  console.log(`\n${results.join("\n")}`);
}

if (isMain(import.meta.url)) await main();
