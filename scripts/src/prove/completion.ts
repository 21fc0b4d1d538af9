/** The completion block: what the agent passes on to its user, at most 1.2 KB. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import type { Graph, State } from "../core/runtime.ts";
import { factsOfRun, type RunFacts } from "./report-facts.ts";
import { credentialsLine, planeLine } from "./report-plane.ts";
import { plainText } from "./report-text.ts";

export const COMPLETION_MAX_BYTES = 1_200;

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

function arbiterLine(state: State, facts: RunFacts): string {
  const last = state.arbiters.filter((arbiter) => arbiter.status === "answered").at(-1);
  const said =
    last === undefined
      ? "nobody has judged"
      : `${last.overall ?? "no verdict"} by ${last.arbiterId} (${last.via}, ${last.independence ?? "independence unknown"})`;
  const waiting = facts.undecided.length;
  return waiting === 0
    ? said
    : `${said}; ${waiting} finished ${waiting === 1 ? "job waits" : "jobs wait"} for an independent verdict`;
}
