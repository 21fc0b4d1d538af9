/** Runs the corpus through the built tool, as one run of the mock runtime with a scripted arbiter, and counts. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { State } from "../../src/core/runtime.ts";
import { readRun } from "../../src/state/store.ts";
import type { CorpusCase } from "./cases.ts";

export interface CorpusRow {
  readonly kind: string;
  readonly good: boolean;
  readonly cases: number;
  readonly accepted: number;
  /** Why those that were not accepted were not. */
  readonly reasons: readonly string[];
}

export interface CorpusResult {
  readonly rows: readonly CorpusRow[];
  readonly falseAccepts: readonly string[];
  readonly falseBlocks: readonly string[];
}

/** `main`: the built orchestrate.mjs. */
export async function runCorpus(cases: readonly CorpusCase[], main: string): Promise<CorpusResult> {
  const folder = mkdtempSync(join(tmpdir(), "orchestrate-corpus-"));
  try {
    prepare(folder, cases);
    const env = { PATH: process.env["PATH"] ?? "", HOME: join(folder, "home"), LC_ALL: "C.UTF-8" };
    const out = await output(
      [process.execPath, main, "run", "jobs.json", "--json"],
      join(folder, "repo"),
      env,
    );
    const runDir = (JSON.parse(out) as { data: { runDir: string } }).data.runDir;
    const read = readRun(runDir);
    if (!read.ok) throw new Error(read.error.message);
    return count(cases, read.value.state);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function prepare(folder: string, cases: readonly CorpusCase[]): void {
  const repo = join(folder, "repo");
  mkdirSync(join(folder, "home"), { recursive: true });
  const spec = {
    version: 1,
    outcome: "pieces of work whose worth is known",
    concurrency: 4,
    defaults: { timeout: "5m" },
    arbiter: {
      mock: Object.fromEntries(
        cases.flatMap(({ id, verdict }) => (verdict === undefined ? [] : [[id, verdict]])),
      ),
    },
    jobs: cases.map(({ id, job }) => ({ id, runtime: "mock", ...job })),
  };
  const files: Record<string, string> = { "README.md": "# corpus\n", ".gitignore": "plans/\n" };
  for (const one of cases) Object.assign(files, one.files ?? {});
  files["jobs.json"] = JSON.stringify(spec);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text);
  }
  const git = (...args: string[]): void => {
    const who = ["-c", "user.name=corpus", "-c", "user.email=corpus@example.invalid"];
    execFileSync("git", [...who, ...args], { cwd: repo, stdio: "ignore" });
  };
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "corpus");
}

function output(argv: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0] as string, argv.slice(1), { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", () => resolve(Buffer.concat(chunks).toString("utf8")));
  });
}

function count(cases: readonly CorpusCase[], state: State): CorpusResult {
  const accepted = (one: CorpusCase): boolean => state.jobs[one.id]?.outcome === "accepted";
  const kinds = [...new Set(cases.map((one) => `${one.good ? "good" : "bad"}\0${one.kind}`))];
  return {
    rows: kinds.map((key) => {
      const mine = cases.filter((one) => `${one.good ? "good" : "bad"}\0${one.kind}` === key);
      const reasons = mine.flatMap((one) => (accepted(one) ? [] : (reasonOf(state, one.id) ?? "unknown")));
      return {
        kind: mine[0]?.kind ?? "",
        good: mine[0]?.good ?? false,
        cases: mine.length,
        accepted: mine.filter(accepted).length,
        reasons: [...new Set(reasons)],
      };
    }),
    falseAccepts: cases.filter((one) => !one.good && accepted(one)).map((one) => one.id),
    falseBlocks: cases.filter((one) => one.good && !accepted(one)).map((one) => one.id),
  };
}

function reasonOf(state: State, id: string): string | null {
  const job = state.jobs[id];
  return job?.reason ?? job?.status ?? null;
}

/** The table that the command prints. */
export function corpusTable(result: CorpusResult): string {
  const rows = result.rows.map((row) => [
    row.good ? "good" : "bad",
    row.kind,
    String(row.cases),
    String(row.accepted),
    row.reasons.join(", "),
  ]);
  const head = ["", "work", "cases", "accepted", "otherwise"];
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] as string).length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] as number))
      .join("  ")
      .trimEnd();
  const total = (good: boolean): number =>
    result.rows.filter((row) => row.good === good).reduce((sum, row) => sum + row.cases, 0);
  return [
    line(head),
    ...rows.map(line),
    "",
    `${total(true)} good and ${total(false)} bad: false accepts ${result.falseAccepts.length}, false blocks ${result.falseBlocks.length}`,
  ].join("\n");
}
