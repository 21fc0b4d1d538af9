/**
 * Start-up: CPU of short commands of the built tool, as a ratio to an empty Node; with the compiled code that a run has
 * left in the user's home, and for `validate` without it too.
 *
 *   npx tsx scripts/dev/bench/startup.ts [--rounds 15]
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PAYLOAD, ROOT } from "../repo.ts";
import { median, option, table } from "./measure.ts";

const ROUNDS = Number(option("rounds", "15"));
const TOOL = join(ROOT, PAYLOAD, "scripts/orchestrate.mjs");

interface Case {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Goal, as a ratio to `node -e 0`; null: for orientation. */
  readonly goal: number | null;
}

const folder = mkdtempSync(join(tmpdir(), "orchestrate-bench-"));
const spec = join(folder, "jobs.yaml");
writeFileSync(spec, specOf(10));
const home = join(folder, "home");
mkdirSync(home);
const HOME = { HOME: home };
spawnSync(
  process.execPath,
  [TOOL, "run", join(ROOT, "examples/research.yaml"), "--run-dir", join(folder, "run")],
  {
    cwd: folder,
    env: { ...process.env, ...HOME },
    stdio: "ignore",
  },
);
const cases: readonly Case[] = [
  { name: "node -e 0", argv: ["-e", "0"], goal: null },
  { name: "--version", argv: [TOOL, "--version"], goal: 1.15 },
  { name: "--help", argv: [TOOL, "--help"], goal: 1.15 },
  { name: "run --help", argv: [TOOL, "run", "--help"], goal: 1.15 },
  { name: "validate, 10 jobs", argv: [TOOL, "validate", spec], goal: 1.5 },
  {
    name: "the same, nothing compiled before",
    argv: [TOOL, "validate", spec],
    env: { NODE_DISABLE_COMPILE_CACHE: "1" },
    goal: null,
  },
];

/** Interleaved, so that a change of the machine's mood meets all cases alike. */
const times = new Map(cases.map(({ name }) => [name, [] as number[]]));
for (let round = 0; round < ROUNDS; round += 1)
  for (const { name, argv, env } of cases)
    times.get(name)?.push(childCpuMs([process.execPath, ...argv], { ...HOME, ...env }));
rmSync(folder, { recursive: true, force: true });

const base = times.get("node -e 0") ?? [];
const rows = cases.map(({ name, goal }) => {
  const own = times.get(name) ?? [];
  const ratios = own.map((ms, round) => ms / (base[round] ?? Number.NaN)).sort((a, b) => a - b);
  const quartile = (part: number): string =>
    (ratios[Math.floor(ratios.length * part)] ?? Number.NaN).toFixed(2);
  const ratio = median(ratios);
  const verdict = goal === null ? "" : ratio <= goal ? "met" : "missed";
  return [
    name,
    median(own).toFixed(1),
    ratio.toFixed(2),
    `${quartile(0.25)} to ${quartile(0.75)}`,
    goal === null ? "" : `at most ${goal}`,
    verdict,
  ];
});
console.log(table(["command", "cpu ms", "x node -e 0", "quartiles", "goal", ""], rows));
console.log(`${ROUNDS} rounds, Node ${process.versions.node}`);

/** bash's own measure of a child: user and system time in ms, finer than the kernel's ticks. */
function childCpuMs(argv: readonly string[], env: Readonly<Record<string, string>>): number {
  const script = 'TIMEFORMAT="%3U %3S"; exec 3>&2; { time "$@" >/dev/null 2>/dev/null; } 2>&3';
  const { stderr } = spawnSync("bash", ["-c", script, "bash", ...argv], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(" ").map(Number);
  return (user + system) * 1000;
}

function specOf(jobs: number): string {
  const one = (n: number): string =>
    `  - id: job-${n}\n    task: scout\n    prompt: Look at part ${n}.\n    expected_output: What is there.\n    timeout: 5m\n`;
  return `version: 1\njobs:\n${Array.from({ length: jobs }, (_, n) => one(n)).join("")}`;
}
