/** Agents of one test: executables that do what their prompt says and judge as they are told, with the entries that declare them. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How it answers a call for a verdict: a word for all, or one of the ways in which a judge can fail. */
export type Judge =
  | "pass"
  | "fail"
  | "blocked"
  /** Passes, without a word on what reviews found. */
  | "silent"
  | "prose"
  | "empty"
  | "stale"
  | "wrong-attempts"
  | "contradiction"
  | "quota"
  | "quota-once"
  | "crash"
  | "slow";

export interface FakeAgent {
  readonly id: string;
  readonly family?: string;
  readonly judge?: Judge;
  readonly capability?: "C1" | "C2" | "C3";
  /** Names the same session every time. */
  readonly session?: string;
}

/** Writes the executables into `bin` and returns what goes below `runtimes:` of a `runtimes.yaml`. */
export function fakeAgents(bin: string, agents: readonly FakeAgent[]): string {
  mkdirSync(bin, { recursive: true });
  return agents.map((agent) => entry(bin, agent)).join("");
}

function entry(bin: string, agent: FakeAgent): string {
  const path = join(bin, agent.id);
  writeFileSync(path, `#!${process.execPath}\n${program(join(bin, `${agent.id}.calls`), agent)}`);
  chmodSync(path, 0o755);
  return `  - id: ${agent.id}
    command: ${path}
    version_args: [--version]
    help_args: [--help]
    argv: [work]
    prompt: stdin
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    session: {path: session}
    flags: {read_only: [--read-only], workspace_write: [--workspace-write]}
    error: {path: error}
    failures: [{match: {path: error, equals: quota}, class: QUOTA}]
    controls: {approval: scoped, toolGating: coarse, isolation: prompt-only, writeBoundary: enforced}
    capability: ${agent.capability ?? "C3"}
${agent.family === undefined ? "" : `    family: ${agent.family}\n`}`;
}

/** One line per call: `job` or `verdict`, and the ids that a verdict was asked about. */
export const callsOf = (bin: string, id: string): string[] => {
  const path = join(bin, `${id}.calls`);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
};

const program = (calls: string, agent: FakeAgent): string => `
const fs = require("node:fs");
if (process.argv[2] === "--help") { console.log("  --read-only        change nothing\\n  --workspace-write  change files here"); process.exit(0); }
if (process.argv[2] === "--version") { console.log("1.0.0"); process.exit(0); }
const prompt = fs.readFileSync(0, "utf8");
const judge = ${JSON.stringify(agent.judge ?? "pass")};
const session = ${JSON.stringify(agent.session ?? null)} ?? "s-" + process.pid;
const end = (result, extra = {}) => { console.log(JSON.stringify({ type: "result", session, result, ...extra })); process.exit(0); };
const frame = /\`\`\`json\\n([\\s\\S]*?)\\n\`\`\`/.exec(prompt);
if (!prompt.startsWith("# Independent verdict") || frame === null) {
  fs.appendFileSync(${JSON.stringify(calls)}, "job\\n");
  const task = prompt.split("## Expected output")[0];
  for (const [, path, text] of task.matchAll(/\\[\\[write (\\S+) ([^\\]]*)\\]\\]/g)) fs.writeFileSync(path, text + "\\n");
  end(/\\[\\[say ([\\s\\S]*?)\\]\\]/.exec(task)?.[1] ?? "done");
}
const template = JSON.parse(frame[1]);
fs.appendFileSync(${JSON.stringify(calls)}, "verdict " + template.jobs.map((job) => job.jobId).join("+") + "\\n");
const before = fs.readFileSync(${JSON.stringify(calls)}, "utf8").split("\\n").filter((line) => line.startsWith("verdict")).length;
const quota = () => end("", { error: "quota" });
if (judge === "quota" || (judge === "quota-once" && before === 1)) quota();
if (judge === "crash") process.kill(process.pid, "SIGKILL");
if (judge === "prose") end("Everything looks good to me.");
if (judge === "empty") end("");
const word = { fail: "fail", blocked: "blocked" }[judge] ?? "pass";
const jobs = template.jobs.map((job) => ({
  ...job,
  verdict: word,
  reasons: judge === "silent" ? ["looked at it"] : job.reasons.map((reason) => reason.replace(/^<|>$/g, "")),
  contradictions: judge === "contradiction" ? ["the report and the diff disagree"] : [],
}));
const verdict = { ...template, overall: word, jobs };
if (judge === "stale") verdict.nonce = "0".repeat(16);
if (judge === "wrong-attempts") verdict.jobs = jobs.map((job) => ({ ...job, attempt: job.attempt + 1 }));
const answer = () => end(JSON.stringify(verdict));
if (judge === "slow") setTimeout(answer, 60_000); else answer();
`;
