/**
 * One place where a prepared run is coordinated, killed and resumed over and over: the real built tool, plain programs as
 * jobs, and a ledger outside the run folder in which the jobs themselves say when they started and ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { planSpec } from "../../../src/coordinator/plan-spec.ts";
import { prepareRun } from "../../../src/coordinator/prepare.ts";
import { coordinatorEnvironment } from "../../../src/coordinator/start.ts";
import { systemClock } from "../../../src/host/clock.ts";
import { readRun } from "../../../src/state/store.ts";
import {
  type Fault,
  type FileOperation,
  faultEnvironment,
  readOperations,
} from "../../support/fault-shim.ts";
import { repoAt, runGit } from "../../support/repo-at.ts";
import { testEnvironment } from "../../support/test-environment.ts";
import { until } from "./until.ts";

export interface LaneJob {
  readonly id: string;
  readonly after: readonly string[];
  /** How long it works, in seconds. */
  readonly seconds: number;
  /** Shell commands in place of the wait; `$attempt` and `$top` are set. */
  readonly script?: string;
  /** Further members of the job in the spec, as YAML flow text. */
  readonly fields?: string;
  /** Attempts that end by a signal of their own and are retried. */
  readonly crashes?: number;
  /** How it ends in a run that is through, when that is not success. */
  readonly ends?: { readonly status: string; readonly outcome: string };
}

/** As a job's script: works until the lane is opened. */
export const UNTIL_OPEN = 'while [ ! -e "$top/open" ]; do sleep 0.05; done';

/** A line that a job wrote about itself. */
export interface LedgerLine {
  /** `S`: started, `E`: about to end. */
  readonly what: "S" | "E";
  readonly job: string;
  readonly attempt: number;
  readonly pid: number;
  /** The coordinator that started it, or whoever adopted the job when that one was dead already. */
  readonly parent: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

export interface Coordinator {
  readonly pid: number;
  readonly ended: Promise<Exit>;
}

export interface Client {
  readonly child: ChildProcess;
  readonly ended: Promise<Exit & { readonly stdout: string }>;
}

export interface Lane {
  readonly top: string;
  readonly work: string;
  readonly home: string;
  readonly runDir: string;
  readonly main: string;
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: readonly LaneJob[];
  /** Back to the prepared run, with an empty ledger and no process left. */
  reset(): void;
  /** From now on `reset` means the run folder as it is. */
  keep(): void;
  coordinate(o?: { resume?: boolean; fault?: Fault }): Coordinator;
  /** Starts the tool as a user does: below the workspace, in a process group of its own. */
  client(...args: readonly string[]): Client;
  /** Lets the jobs end that wait for it. */
  open(): void;
  /** Resolves once the ledger holds such a line. */
  said(what: LedgerLine["what"], job: string): Promise<LedgerLine>;
  /** What the last coordinator with a fault did to the run folder. */
  operations(): FileOperation[];
  ledger(): LedgerLine[];
  /** Bytes that the jobs wrote into their ledger. */
  progress(): number;
  /** The state on disk by the one rule every reader applies, or the refusal. */
  read(): ReturnType<typeof readRun>;
  /** Processes that carry the marker of a job of this run. */
  survivors(): number[];
  remove(): void;
}

/** A hung coordinator is a finding, not a hang of the tests. Ten thousand jobs or gigabytes of output are no hang. */
const LIFE_MAX_MS = process.env["ORCHESTRATE_SOAK"] === "1" ? 7_200_000 : 180_000;

export async function createLane(o: {
  main: string;
  jobs: readonly LaneJob[];
  concurrency?: number;
  /** Lines of the spec before `jobs`. */
  head?: string;
  /** The workspace is a repository of one commit. */
  git?: boolean;
}): Promise<Lane> {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-crash-")));
  const home = join(top, "home");
  const work = join(top, "work");
  const runDir = join(top, "run");
  const template = join(top, "template");
  const ledgerFile = join(top, "ledger");
  const log = join(top, "operations");
  mkdirSync(join(home, ".orchestrate"), { recursive: true });
  mkdirSync(work);
  writeFileSync(join(home, ".orchestrate/runtimes.yaml"), RUNTIMES);
  writeFileSync(join(top, "job.sh"), jobScript(top));
  for (const job of o.jobs)
    writeFileSync(join(top, `${job.id}.sh`), `${job.script ?? `sleep ${job.seconds}`}\n`);
  // As YAML, thousands of jobs would be more than a spec may hold.
  const spec = o.jobs.length > 1_000 ? "jobs.json" : "jobs.yaml";
  const text = specText(top, o);
  writeFileSync(join(work, spec), spec === "jobs.json" ? JSON.stringify(parse(text)) : text);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, LC_ALL: "C.UTF-8", GIT_CONFIG_NOSYSTEM: "1" };
  if (o.git === true) {
    runGit(work, "init", "-q", "-b", "main", "--template=");
    repoAt(work).commit("base");
  }
  await prepare({ home, work, runDir, env, spec });
  const repository = join(top, "repository");
  const keep = (): void => {
    rmSync(template, { recursive: true, force: true });
    cpSync(runDir, template, { recursive: true });
    if (o.git !== true) return;
    rmSync(repository, { recursive: true, force: true });
    cpSync(join(work, ".git"), repository, { recursive: true });
  };
  const survivors = (): number[] => processesOf(runDir);
  keep();
  return {
    top,
    work,
    home,
    runDir,
    main: o.main,
    env,
    jobs: o.jobs,
    keep,
    survivors,
    reset() {
      for (const pid of survivors()) killNow(pid);
      for (const path of [runDir, ledgerFile, log, join(top, "open")])
        rmSync(path, { recursive: true, force: true });
      cpSync(template, runDir, { recursive: true });
      if (o.git !== true) return;
      rmSync(join(work, ".git"), { recursive: true, force: true });
      cpSync(repository, join(work, ".git"), { recursive: true });
    },
    coordinate({ resume = false, fault } = {}) {
      if (fault !== undefined) rmSync(log, { force: true });
      const extra = fault === undefined ? {} : faultEnvironment({ root: runDir, log, fault });
      const argv = [o.main, "__coordinate", runDir, ...(resume ? ["--resume"] : [])];
      return startCoordinator(argv, coordinatorEnvironment({ ...env, ...extra }));
    },
    client: (...args) => startClient([o.main, ...args], { cwd: work, env }),
    open: () => writeFileSync(join(top, "open"), ""),
    operations: () => readOperations(log),
    ledger: () => readLedger(ledgerFile),
    said: (what, job) =>
      until(`${what} ${job} in the ledger`, () =>
        readLedger(ledgerFile).find((line) => line.what === what && line.job === job),
      ),
    progress: () => (existsSync(ledgerFile) ? statSync(ledgerFile).size : 0),
    read: () => readRun(runDir),
    remove() {
      for (const pid of survivors()) killNow(pid);
      rmSync(top, { recursive: true, force: true });
    },
  };
}

const RUNTIMES = "version: 1\nruntimes:\n  - { id: program, command: /bin/sh, agent: false }\n";

/** The attempt is the last part of the marker, so a line says which intent it belongs to. Each line is one write. */
const jobScript = (top: string): string =>
  `top=${top}
attempt=\${ORCHESTRATE_JOB##*#}
echo "S $1 $attempt $$ $PPID" >> "$top/ledger"
. "$top/$1.sh"
echo "result of $1"
echo "E $1 $attempt $$ $PPID" >> "$top/ledger"
`;

function specText(top: string, o: { jobs: readonly LaneJob[]; concurrency?: number; head?: string }): string {
  const jobs = o.jobs.map(
    ({ id, after, fields }) =>
      `  - { id: ${id}, task: scout, runtime: program, expected_output: a line, depends_on: [${after.join(", ")}], ` +
      `invocation: { command: /bin/sh, args: [${join(top, "job.sh")}, ${id}] }${fields === undefined ? "" : `, ${fields}`} }`,
  );
  const head = o.head === undefined ? "" : `${o.head}\n`;
  return `version: 1\nconcurrency: ${o.concurrency ?? 2}\ndefaults: { timeout: 10m }\n${head}jobs:\n${jobs.join("\n")}\n`;
}

async function prepare(o: {
  home: string;
  work: string;
  runDir: string;
  env: Record<string, string>;
  spec: string;
}): Promise<void> {
  const env = testEnvironment({ home: o.home, cwd: o.work, variables: o.env });
  const harness = { name: "unknown", subagents: false };
  const flags = { yes: false, internal: false, concurrency: null, only: [], harness };
  const { planned, diagnostics } = await planSpec({ path: o.spec, env, clock: systemClock, flags });
  if (planned === null) throw new Error(diagnostics.map((d) => d.message).join("\n"));
  const prepared = prepareRun({ planned, requestedDir: o.runDir, cwd: o.work, clock: systemClock });
  if (!prepared.ok) throw new Error(prepared.error.message);
}

function startCoordinator(argv: readonly string[], env: Record<string, string>): Coordinator {
  const child = spawn(process.execPath, argv, {
    cwd: "/",
    env,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Exit>((resolve, reject) => {
    const timer = setTimeout(() => {
      stderr += `\nstill running after ${LIFE_MAX_MS} ms: killed by the test\n`;
      child.kill("SIGKILL");
    }, LIFE_MAX_MS);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stderr });
    });
  });
  return { pid: child.pid as number, ended };
}

function startClient(argv: readonly string[], o: { cwd: string; env: Record<string, string> }): Client {
  const child = spawn(process.execPath, argv, { ...o, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Exit & { stdout: string }>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, ended };
}

function readLedger(file: string): LedgerLine[] {
  return (readOrNull(file)?.toString("utf8") ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [what, job, attempt, pid, parent] = line.split(" ");
      return {
        what: what as "S" | "E",
        job: job as string,
        attempt: Number(attempt),
        pid: Number(pid),
        parent: Number(parent),
      };
    });
}

function readOrNull(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}

/** Whoever carries a marker of this run in its environment: independent of how the tool itself looks for them. */
export function processesOf(runDir: string): number[] {
  const marker = `ORCHESTRATE_JOB=${runDir}#`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(marker);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
