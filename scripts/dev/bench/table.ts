/**
 * The whole table of goals, side by side with make, ninja, wireit and a bare Node loop.
 *
 *   npm run bench -- table [--jobs 100,1000] [--rounds 3] [--large-rounds 1] [--start-rounds 15] [--wireit DIR]
 *                          [--record] [--skip parts]
 *
 * Figures are CPU ratios of interleaved rounds, never wall time; only a turn of the event loop is wall time, less what
 * its spawns took. Runs of 10,000 jobs have rounds of their own, since one takes a quarter of an hour with its peers. A peer that is not there is named and left out; wireit
 * is looked for in `DIR/node_modules/.bin` (`npm install --prefix DIR wireit`). `--record` keeps the figures in
 * recorded.json; without it the command ends with 1 when a line is 20 % worse than recorded. `--skip parts` leaves out
 * the benchmarks of single parts (state, redaction, capture, worktrees).
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PAYLOAD, ROOT } from "../repo.ts";
import { AT_ONCE, type GraphFiles, writeGraph } from "./graphs.ts";
import { type Line, printLines } from "./lines.ts";
import { bundleOf, FIGURE, type Figure, median, option } from "./measure.ts";
import { type Metered, metered, native, present } from "./metered.ts";

const TOOL = join(ROOT, PAYLOAD, "scripts/orchestrate.mjs");
const TURNS = join(ROOT, "scripts/dev/bench/native/turns.cjs");
const NODE = process.execPath;
const sizes = option("jobs", "100,1000")
  .split(",")
  .map(Number)
  .sort((a, b) => a - b);
const rounds = Number(option("rounds", "3"));
const largeRounds = Number(option("large-rounds", "1"));
const startRounds = Number(option("start-rounds", "15"));
/** From here on a run is large. */
const LARGE = 10_000;
const root = mkdtempSync(join(tmpdir(), "orchestrate-bench-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const home = join(root, "home");
/** The runs leave compiled code there, which all that comes after them takes. */
const ENV = { HOME: home };
const NOT_COMPILED = { NODE_DISABLE_COMPILE_CACHE: "1" };

const graph = (jobs: number): GraphFiles => writeGraph({ folder: join(root, `n${jobs}`), home, jobs });
const orchestrate = (...args: string[]): string[] => [NODE, TOOL, ...args];
const runDir = (jobs: number): string => join(root, `run-${jobs}`);
/** 10,000 jobs are more than a YAML spec may have. */
const specOf = (files: GraphFiles): string => (files.jobs >= LARGE ? files.json : files.yaml);

/** Rounds of several commands in turn, so that a slow minute of the machine meets all alike. */
function inTurn(
  count: number,
  commands: ReadonlyMap<string, () => Metered>,
): ReadonlyMap<string, readonly Metered[]> {
  const results = new Map([...commands.keys()].map((name) => [name, [] as Metered[]]));
  for (let index = 0; index < count; index += 1)
    for (const [name, command] of commands) results.get(name)?.push(command());
  return results;
}

const ratios = (own: readonly Metered[] = [], base: readonly Metered[] = []): number[] =>
  own.map(({ cpuMs }, index) => cpuMs / (base[index]?.cpuMs ?? Number.NaN));

function runLines(jobs: number, total: Map<number, number>): Line[] {
  const files = graph(jobs);
  const at = { cwd: files.folder, env: ENV };
  const commands = new Map<string, () => Metered>([
    ["floor", () => metered([native("floor"), String(jobs), String(AT_ONCE), "/bin/true"], at)],
    ["bare Node loop", () => metered([NODE, files.nodeLoop, String(jobs), String(AT_ONCE), "ignore"], at)],
    [
      "bare Node loop with pipes",
      () => metered([NODE, files.nodeLoop, String(jobs), String(AT_ONCE), "pipe"], at),
    ],
    ["orchestrate", () => wholeRun(files)],
  ]);
  const missing: Line[] = [];
  const peer = (name: string, there: boolean, command: () => Metered, absent = "not installed"): void => {
    if (there)
      commands.set(name, () => {
        const result = command();
        if (result.status !== 0) throw new Error(`${name} ended with ${result.status} at ${jobs} jobs`);
        return result;
      });
    else
      missing.push({
        name: `${name}, ${jobs} jobs`,
        values: [],
        unit: "",
        goal: null,
        missing: absent,
      });
  };
  peer("make", present("make"), () => metered(["make", "-s", `-j${AT_ONCE}`, "all"], at));
  peer("ninja", present("ninja"), () => {
    rmSync(join(files.folder, ".ninja_log"), { force: true });
    return metered(["ninja", "-j", String(AT_ONCE), "all"], at);
  });
  const wireit = join(option("wireit", join(root, "no-wireit")), "node_modules/.bin");
  // At 10,000 scripts it would be the longest part of the table by far.
  const small = jobs < LARGE;
  const runWireit = (): Metered => {
    rmSync(join(files.wireit, ".wireit"), { recursive: true, force: true });
    const env = {
      ...ENV,
      PATH: `${wireit}:${process.env["PATH"]}`,
      WIREIT_PARALLEL: String(AT_ONCE),
      WIREIT_CACHE: "none",
      WIREIT_LOGGER: "simple",
    };
    return metered(["npm", "run", "-s", "all"], { cwd: files.wireit, env });
  };
  peer("wireit", small && present(join(wireit, "wireit")), runWireit, small ? "not installed" : "not asked");
  const results = inTurn(jobs >= LARGE ? largeRounds : rounds, commands);
  const own = results.get("orchestrate") ?? [];
  total.set(jobs, median(own.map(({ cpuMs }) => cpuMs)));
  const floor = results.get("floor");
  const goal = jobs >= LARGE ? { limit: 3.5 } : jobs >= 1_000 ? { limit: 4 } : null;
  return [
    ...[...results]
      .filter(([name]) => name !== "floor")
      .map(
        ([name, list]): Line => ({
          name: `${name}, ${jobs} jobs`,
          values: ratios(list, floor),
          unit: "x floor",
          goal: name === "orchestrate" ? goal : null,
        }),
      ),
    ...missing,
    {
      name: `orchestrate a job, ${jobs} jobs`,
      values: own.map((m) => m.cpuMs / jobs),
      unit: "cpu ms",
      goal: null,
    },
    {
      name: `orchestrate to the Node loop with pipes, ${jobs} jobs`,
      values: ratios(own, results.get("bare Node loop with pipes")),
      unit: "x",
      goal: null,
    },
    {
      name: `largest process, ${jobs} jobs`,
      values: own.map((m) => m.peakMb),
      unit: "MB",
      goal: null,
    },
  ];
}

/** Until every job has ended: what comes then is a verdict, which these jobs wait for (exit code 3). */
function wholeRun(files: GraphFiles, env: Readonly<Record<string, string>> = {}): Metered {
  rmSync(runDir(files.jobs), { recursive: true, force: true });
  const result = metered(orchestrate("run", specOf(files), "--run-dir", runDir(files.jobs)), {
    cwd: files.folder,
    env: { ...ENV, ...env },
  });
  if (result.status !== 3) throw new Error(`the run of ${files.jobs} jobs ended with ${result.status}`);
  return result;
}

/** Slope of log CPU on log jobs, without what the smallest possible run costs: 1 is linear. */
function growthLines(total: ReadonlyMap<number, number>): Line[] {
  const fixed = wholeRun(graph(2)).cpuMs;
  const net = new Map([...total].map(([jobs, cpu]) => [jobs, Math.max(1, cpu - fixed)]));
  const points = [...net].map(([jobs, cpu]) => [Math.log(jobs), Math.log(cpu)] as const);
  const [first, last] = [points[0], points.at(-1)];
  const slope =
    first === undefined || last === undefined ? Number.NaN : (last[1] - first[1]) / (last[0] - first[0]);
  const each = (jobs: number): number => (net.get(jobs) ?? Number.NaN) / jobs;
  const lines: Line[] = [
    { name: "slope of net CPU on jobs", values: [slope], unit: "", goal: { limit: 1.05 } },
  ];
  if (net.has(1_000) && net.has(LARGE))
    lines.push({
      name: "net CPU a job, 10,000 jobs to 1,000",
      values: [each(LARGE) / each(1_000)],
      unit: "x",
      goal: { limit: 1.2 },
    });
  return lines;
}

/** A further run, with a clock in its coordinator: that costs CPU, so that the figures above do without. */
function coordinatorLines(jobs: number): Line[] {
  const out = join(root, "turns.json");
  wholeRun(graph(jobs), { NODE_OPTIONS: `--require ${TURNS}`, ORCHESTRATE_BENCH_TURNS: out });
  const { workingMs, startMs, endMs, peakMb } = JSON.parse(readFileSync(out, "utf8")) as CoordinatorTimes;
  const line = (name: string, value: number, unit: string, limit: number | null): Line => ({
    name: `${name}, ${jobs} jobs`,
    values: [value],
    unit,
    goal: limit === null ? null : { limit },
  });
  return [
    line("longest turn of the event loop without its spawns, while jobs run", workingMs, "ms", 50),
    line("the same, before the first job", startMs, "ms", 50),
    line("the same, after the last job", endMs, "ms", 50),
    line("peak memory of the coordinator", peakMb, "MB", 110),
  ];
}

/** What native/turns.cjs writes. */
interface CoordinatorTimes {
  readonly workingMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly peakMb: number;
}

/** A run that is over (exit code 1: no job succeeded), with as many jobs. */
function finishedRun(jobs: number): string {
  const files = graph(jobs);
  const path = join(root, `finished-${jobs}`);
  const { status } = metered(orchestrate("run", files.failing, "--run-dir", path), {
    cwd: files.folder,
    env: ENV,
  });
  if (status !== 1) throw new Error(`the failing run of ${jobs} jobs ended with ${status}`);
  return path;
}

function startLines(o: { readonly waiting: number; readonly finished: number }): Line[] {
  const over = finishedRun(o.finished);
  const ten = graph(10);
  const many = graph(10_000);
  const at = { cwd: ten.folder, env: ENV };
  const cases: readonly (readonly [string, string[], number | null, Readonly<Record<string, string>>?])[] = [
    ["--version", orchestrate("--version"), 1.15],
    ["--help", orchestrate("--help"), 1.15],
    ["validate, 10 jobs", orchestrate("validate", ten.plain), 1.5],
    ["the same, nothing compiled before", orchestrate("validate", ten.plain), null, NOT_COMPILED],
    [`status of a run of ${o.waiting} jobs`, orchestrate("status", runDir(o.waiting)), 1.4],
    [`resume of a finished run of ${o.finished} jobs`, orchestrate("resume", over), 3],
    // Looks at every runtime again: one that may judge could have been set up since.
    [
      `resume of a run of ${o.waiting} jobs that waits for a verdict`,
      orchestrate("resume", runDir(o.waiting)),
      null,
    ],
    ["validate, 10,000 jobs as JSON", orchestrate("validate", many.json), 11],
  ];
  const results = inTurn(
    startRounds,
    new Map([
      ["base", () => metered([NODE, "-e", "0"], at)],
      ...cases.map(
        ([name, argv, , env]) => [name, () => metered(argv, { ...at, env: { ...ENV, ...env } })] as const,
      ),
    ]),
  );
  return cases.map(([name, , limit]) => ({
    name,
    values: ratios(results.get(name), results.get("base")),
    unit: "x node -e 0",
    goal: limit === null ? null : { limit },
  }));
}

/** Against a bundled Node program that parses the same text with the same library and does nothing else. */
async function yamlLines(): Promise<Line[]> {
  const files = graph(1_000);
  const parse = await bundleOf(
    'import { readFileSync } from "node:fs"; import { parse } from "yaml"; parse(readFileSync(process.argv[2], "utf8"));',
  );
  const at = { cwd: files.folder, env: ENV };
  const results = inTurn(
    rounds,
    new Map([
      ["base", () => metered([NODE, parse, files.yaml], at)],
      ["validate, 1,000 jobs as YAML", () => metered(orchestrate("validate", files.yaml), at)],
      ["plan, 1,000 jobs as YAML", () => metered(orchestrate("plan", files.yaml), at)],
    ]),
  );
  return [...results.keys()].slice(1).map((name) => ({
    name,
    values: ratios(results.get(name), results.get("base")),
    unit: "x yaml alone",
    goal: { limit: 1.3 },
  }));
}

/** Benchmarks of single parts, each in its own process, with the figures that they print. */
function partLines(): Line[] {
  const parts: readonly (readonly [string, ...string[]])[] = [
    ["state"],
    ["spawn", "--rounds", "3"],
    ["redact", "--mb", "60", "--rounds", "3"],
    ["capture", "--mb", "1024", "--rounds", "3"],
    ["worktree"],
  ];
  return parts.flatMap(([name, ...args]): Line[] => {
    const { stdout, status } = spawnSync(
      join(ROOT, "node_modules/.bin/tsx"),
      [join(ROOT, `scripts/dev/bench/${name}.ts`), ...args, "--figures"],
      { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
    );
    if (status !== 0)
      return [{ name, values: [], unit: "", goal: null, missing: `the benchmark ended with ${status}` }];
    return stdout
      .split("\n")
      .filter((line) => line.startsWith(FIGURE))
      .map((line) => {
        const { name: what, value, unit, ...goal } = JSON.parse(line.slice(FIGURE.length)) as Figure;
        return { name: what, values: [value], unit, goal };
      });
  });
}

mkdirSync(home, { recursive: true });
const total = new Map<number, number>();
const largest = sizes.at(-1) ?? 100;
const lines = sizes.flatMap((jobs) => runLines(jobs, total));
if (sizes.length > 1) lines.push(...growthLines(total));
lines.push(
  ...coordinatorLines(largest),
  ...startLines({ waiting: sizes.filter((jobs) => jobs < LARGE).at(-1) ?? largest, finished: largest }),
  ...(await yamlLines()),
);
if (option("skip", "") !== "parts") lines.push(...partLines());
const { regressed } = printLines(lines, { record: process.argv.includes("--record") });
console.log(
  `Node ${process.versions.node}, ${AT_ONCE} jobs at once; CPU of user and system, ratios of interleaved rounds`,
);
process.exitCode = regressed === 0 ? 0 : 1;
