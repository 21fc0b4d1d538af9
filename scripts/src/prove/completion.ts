/** The completion block: what the agent passes on to its user, at most 1.2 KB. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import type { Graph, State } from "../core/runtime.ts";
import { currentAttempt } from "./current-attempt.ts";
import { factsOfRun, type RunFacts } from "./report-facts.ts";
import { credentialsLine, planeLine } from "./report-plane.ts";
import { plainText, plural } from "./report-text.ts";

export const COMPLETION_MAX_BYTES = 1_200;

type Arbiter = State["arbiters"][number];

/** Plain lines `name: value`. Paths and ids only from our own records; text of agents does not appear. */
export function completionBlock(input: {
  readonly graph: Graph;
  readonly state: State;
  readonly runDir: string;
}): string {
  const { graph, state, runDir } = input;
  const facts = factsOfRun(graph, state);
  const { status } = facts;
  const going = status.running + status.queued + status.interrupted;
  const mock =
    facts.mock === "none"
      ? ""
      : facts.mock === "all"
        ? " (mock run: no model did any of it)"
        : " (partly mock)";
  const lines = [
    `run: ${state.status}${mock}`,
    `spec: ${shortPath(graph.specPath ?? "given inline")}`,
    `report: ${goesOn(state) ? "not written yet: it is at each pause and at the end" : shortPath(join(runDir, RUN_FILES.report))}`,
    `jobs: ${status.success} success, ${status.failed} failed, ${status.blocked} blocked${going === 0 ? "" : `, ${going} not finished`} (${facts.jobs.length} in all); ${facts.outcome.accepted} accepted`,
    `arbiter: ${arbiterLine(state, facts)}`,
    `accepted without C3: ${facts.acceptedWithoutC3} of ${facts.jobs.length}`,
    `decision plane: ${planeLine(state)}`,
    `credentials: ${credentialsLine(state)}`,
    `checks: ${facts.checks.passed} of ${facts.checks.total} passed`,
    `open questions: ${facts.questions.length === 0 ? "none" : `${facts.questions.length}, in the report`}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** A report exists at every pause and end; before the first of them the path would name nothing, or an older stand. */
const goesOn = (state: State): boolean => state.status === "preparing" || state.status === "running";

/** Long paths lose their middle: both the root and the run's own folder must stay readable. */
function shortPath(path: string): string {
  const line = plainText(path, 4_096);
  if (Buffer.byteLength(line) <= 240) return line;
  const characters = [...line];
  let keep = Math.min(characters.length, 240);
  let short = line;
  while (keep > 2 && Buffer.byteLength(short) > 240) {
    keep -= 2;
    short = `${characters.slice(0, Math.floor(keep / 3)).join("")}…${characters.slice(-Math.ceil((keep * 2) / 3)).join("")}`;
  }
  return short;
}

/** Everybody whose word counts, since a look at the last one alone would hide who judged the rest. */
function arbiterLine(state: State, facts: RunFacts): string {
  const waiting = facts.undecided.length;
  const said = [...saidBy(state)];
  const parts = said.slice(0, ARBITERS_SHOWN).map(([arbiter, jobIds]) => {
    const which = said.length === 1 ? "" : ` for ${plural(jobIds.length, "job")}`;
    const held = jobIds.filter((id) => state.jobs[id]?.outcome !== "accepted").length;
    const but = arbiter.overall === "pass" && held > 0 ? `, yet ${held} not accepted` : "";
    return `${arbiter.overall ?? "no verdict"} by ${arbiter.arbiterId} (${arbiter.via}, ${arbiter.independence ?? "independence unknown"})${which}${but}`;
  });
  if (said.length > ARBITERS_SHOWN) parts.push(`${said.length - ARBITERS_SHOWN} more in the report`);
  if (said.length === 0) parts.push("nobody has judged");
  if (waiting > 0)
    parts.push(`${waiting} finished ${waiting === 1 ? "job waits" : "jobs wait"} for an independent verdict`);
  return parts.join("; ");
}

const ARBITERS_SHOWN = 3;

/** Arbiter → the jobs about whose present work it said the last word. */
function saidBy(state: State): ReadonlyMap<Arbiter, readonly string[]> {
  const last = new Map<string, Arbiter>();
  for (const arbiter of state.arbiters)
    if (arbiter.status === "answered")
      for (const { jobId, attempt } of arbiter.attempts)
        if (currentAttempt(state, jobId)?.attempt === attempt) last.set(jobId, arbiter);
  const jobs = new Map<Arbiter, string[]>(state.arbiters.map((arbiter) => [arbiter, []]));
  for (const [jobId, arbiter] of last) jobs.get(arbiter)?.push(jobId);
  for (const [arbiter, own] of jobs) if (own.length === 0) jobs.delete(arbiter);
  return jobs;
}
