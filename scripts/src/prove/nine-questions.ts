/** The nine questions that every report answers, each with who answered it. */
import type { Graph, Inventory, State } from "../core/runtime.ts";
import { factsOfRun, type RunFacts } from "./report-facts.ts";
import { type Inline, idList, type Tone, text } from "./report-model.ts";
import { plural } from "./report-text.ts";

interface NineQuestion {
  readonly id: string;
  readonly question: string;
  /** An open answer here sends the work to an independent arbiter. */
  readonly forcesC3: boolean;
  readonly answer: Inline;
  readonly tone: Tone;
  readonly answeredBy: string;
}

interface Known {
  readonly graph: Graph;
  readonly state: State;
  readonly inventory: Inventory | null;
  readonly facts: RunFacts;
  /** Names of the arbiters that answered. */
  readonly arbiters: string | null;
}

const COORDINATOR = "the coordinator's own checks";
const NOBODY = "nobody yet";

export function nineQuestions(input: {
  readonly graph: Graph;
  readonly state: State;
  readonly inventory: Inventory | null;
  readonly facts?: RunFacts;
}): NineQuestion[] {
  const answered = input.state.arbiters.filter((arbiter) => arbiter.status === "answered");
  const known: Known = {
    ...input,
    facts: input.facts ?? factsOfRun(input.graph, input.state),
    arbiters:
      answered.length === 0
        ? null
        : answered
            .map((arbiter) => arbiter.arbiterId)
            .slice(0, 5)
            .join(", "),
  };
  return [
    artifacts(known),
    failures(known),
    contradictions(known),
    checks(known),
    claims(known),
    floors(known),
    availability(known),
    destructive(known),
    openQuestions(known),
  ];
}

function artifacts({ facts }: Known): NineQuestion {
  const done = facts.jobs.filter(({ attempt }) => attempt?.status === "success");
  const count = done.reduce((sum, { attempt }) => sum + (attempt?.artifacts.length ?? 0), 0);
  const open = facts.jobs.length - done.length;
  return {
    id: "artifacts",
    question: "Are the deliverables there, whole and unaltered?",
    forcesC3: false,
    answer:
      done.length === 0
        ? [text("No job has finished with a deliverable.")]
        : [
            text(
              `${plural(done.length, "job")} delivered ${plural(count, "hashed artifact")} and passed the checks on them`,
            ),
            text(open === 0 ? "." : `; ${plural(open, "job")} delivered nothing that counts.`),
          ],
    tone: open === 0 ? "good" : "waiting",
    answeredBy: COORDINATOR,
  };
}

function failures({ facts }: Known): NineQuestion {
  const failed = facts.jobs.filter(({ job }) => job.status === "failed").length;
  const blocked = facts.jobs.filter(({ job }) => job.status === "blocked").length;
  const timedOut = facts.jobs.filter(({ attempt }) => attempt?.timedOut === true).length;
  const unsettled = facts.jobs.filter(({ attempt }) => attempt?.settlement === "unsettled").length;
  const refused = facts.jobs.filter(({ attempt }) =>
    ["PERMISSION", "SANDBOX", "AUTH"].includes(attempt?.failureClass ?? ""),
  ).length;
  const clean = failed + blocked + timedOut + unsettled + refused === 0;
  return {
    id: "failures",
    question: "What failed, timed out, was refused permission or stayed uncertain?",
    forcesC3: false,
    answer: [
      text(
        clean
          ? "Nothing."
          : `${failed} failed, ${blocked} blocked, ${timedOut} timed out, ${refused} refused permission, ${unsettled} of uncertain end.`,
      ),
    ],
    tone: clean ? "good" : "bad",
    answeredBy: COORDINATOR,
  };
}

function contradictions({ facts, state, arbiters }: Known): NineQuestion {
  const named = reasonsThatStart(state, "contradiction: ");
  const flagged = facts.jobs.filter(
    ({ attempt }) =>
      attempt?.flags.includes("suspect") ||
      attempt?.c3EscalationReason.includes("contradiction") ||
      attempt?.checks.some((check) => check.code === "contradiction"),
  );
  const found = [...new Set([...named, ...flagged.map(({ plan }) => plan.id)])];
  return {
    id: "contradictions",
    question: "Does the evidence contradict itself, or one job another?",
    forcesC3: true,
    answer:
      found.length > 0
        ? [text("Yes, in the work of "), ...idList(found), text(".")]
        : [text(arbiters === null ? "None within a job; between jobs nobody has looked." : "None found.")],
    tone: found.length > 0 ? "bad" : arbiters === null ? "waiting" : "good",
    answeredBy:
      arbiters === null ? `${COORDINATOR}, within each job only` : `${COORDINATOR}; between jobs ${arbiters}`,
  };
}

function checks({ facts }: Known): NineQuestion {
  const { passed, total } = facts.checks;
  return {
    id: "checks",
    question: "Did every check run, and pass?",
    forcesC3: false,
    answer: [text(total === 0 ? "No check was recorded." : `${passed} of ${plural(total, "check")} passed.`)],
    tone: total === 0 ? "waiting" : passed === total ? "good" : "bad",
    answeredBy: COORDINATOR,
  };
}

function claims({ facts, state, arbiters }: Known): NineQuestion {
  const unsupported = reasonsThatStart(state, "unsupported claim: ");
  const waiting = facts.undecided.length;
  return {
    id: "claims",
    question: "Is every claim borne out by evidence?",
    forcesC3: false,
    answer:
      unsupported.length > 0
        ? [text("No: unsupported claims in the work of "), ...idList(unsupported), text(".")]
        : [
            text(
              waiting > 0
                ? `Not judged for ${plural(waiting, "finished job")}.`
                : arbiters === null
                  ? "No finished work waits for a judgment, and none was judged."
                  : "No unsupported claim was found.",
            ),
          ],
    tone: unsupported.length > 0 ? "bad" : waiting > 0 || arbiters === null ? "waiting" : "good",
    answeredBy: arbiters ?? NOBODY,
  };
}

function floors({ facts, graph }: Known): NineQuestion {
  const unroutable = graph.jobs.filter((job) => job.route.blocked !== null).map((job) => job.id);
  const below = facts.belowFloor;
  return {
    id: "floors",
    question: "Did every job run at or above its capability and risk floors?",
    forcesC3: false,
    answer:
      below.length > 0
        ? [text("No: below the floor ran "), ...idList(below), text(".")]
        : unroutable.length > 0
          ? [text("Yes; no candidate met them for "), ...idList(unroutable), text(", so these did not run.")]
          : [text("Yes.")],
    tone: below.length > 0 ? "bad" : "good",
    answeredBy: "routing and the safety gate",
  };
}

function availability({ facts, inventory }: Known): NineQuestion {
  const used = [...new Set(facts.jobs.flatMap(({ attempt }) => (attempt === null ? [] : [attempt.runtime])))];
  const records = new Map(inventory?.records.map((record) => [record.id, record]) ?? []);
  const unproved = used.filter((id) => {
    const record = records.get(id);
    return record === undefined || (record.state !== "available" && record.state !== "constrained");
  });
  return {
    id: "availability",
    question: "Was the availability of every runtime established in this run?",
    forcesC3: false,
    answer:
      used.length === 0
        ? [text("No runtime was used.")]
        : unproved.length > 0
          ? [text("Not for "), ...idList(unproved), text(".")]
          : [text("Yes, for "), ...idList(used), text(".")],
    tone: unproved.length > 0 ? "waiting" : "good",
    answeredBy: inventory === null ? NOBODY : "the live inventory of this run",
  };
}

function destructive({ graph, state }: Known): NineQuestion {
  const jobs = graph.jobs.filter((job) => job.riskTier === "R3" || state.jobs[job.id]?.riskTier === "R3");
  const approved = jobs.filter((job) =>
    state.approvals.some((approval) => approval.jobId === job.id && approval.decision === "approved"),
  );
  const irreversible = jobs.filter((job) => job.rollback === null).map((job) => job.id);
  const whole = approved.length === jobs.length && irreversible.length === 0;
  return {
    id: "destructive",
    question: "Was external or destructive work approved for its exact scope, with a way back?",
    forcesC3: true,
    answer:
      jobs.length === 0
        ? [text("There was none.")]
        : [
            text(`${approved.length} of ${plural(jobs.length, "such job")} approved; `),
            ...(irreversible.length === 0
              ? [text("each has a rollback plan.")]
              : [text("no rollback plan for "), ...idList(irreversible), text(".")]),
          ],
    tone: whole ? "good" : "bad",
    answeredBy: jobs.length === 0 ? COORDINATOR : "whoever approved, as recorded in the approvals",
  };
}

function openQuestions({ facts, arbiters }: Known): NineQuestion {
  const jobs = [...new Set(facts.questions.map((question) => question.jobId))];
  return {
    id: "open-questions",
    question: "Which questions are open?",
    forcesC3: true,
    answer:
      jobs.length === 0
        ? [text("None was raised.")]
        : [
            text(`${plural(facts.questions.length, "question")}, from `),
            ...idList(jobs),
            text(": listed below."),
          ],
    tone: jobs.length === 0 ? "good" : "waiting",
    answeredBy: arbiters === null ? COORDINATOR : `${COORDINATOR}; ${arbiters}`,
  };
}

function reasonsThatStart(state: State, prefix: string): string[] {
  const jobs = state.arbiters
    .filter((arbiter) => arbiter.status !== "superseded")
    .flatMap((arbiter) =>
      arbiter.attempts.filter((one) => one.reasons.some((reason) => reason.startsWith(prefix))),
    );
  return [...new Set(jobs.map((one) => one.jobId))];
}
