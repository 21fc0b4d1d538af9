/** The micro-arbiter's turn before C3: asks about finished attempts, and accepts those that need no C3 call. */
import type { Attempt, PlanJob } from "../core/runtime.ts";
import type { StatePiece } from "../plane/envelope.ts";
import { type MicroMode, microMode } from "../plane/sample.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import {
  type AmongOthers,
  type EscalationFacts,
  escalationFacts,
  escalationReasons,
  type MicroSignals,
} from "../prove/escalate.ts";
import { attemptEvidence } from "./evidence-of.ts";
import { copyCalibration, type PlaneView } from "./plane.ts";
import { amongOthers } from "./said.ts";
import { jobState, type Session } from "./session.ts";

/** Clauses that only the plane can lift; an attempt that meets all others is worth its question. */
const PLANE_CLAUSES: ReadonlySet<string> = new Set([
  "no-calibration",
  "invalid-calibration",
  "expired-calibration",
  "malformed-signals",
  "low-confidence",
  "no-signals",
  "not-well-formed",
  "artifact-signal",
  "claims-signal",
  "unresolved-signal",
]);

/** Questions that run at the same time. */
const AT_ONCE = 4;

/** Looks at everything that waits for a verdict, in plan order. True when something was accepted. */
export async function acceptWithoutC3(s: Session): Promise<boolean> {
  const view = await s.plane.refresh();
  if (view.setup === null) return false;
  const turn: Turn = { view, others: amongOthers(s) };
  const questions = questionsDue(s, turn);
  for (let at = 0; at < questions.length; at += AT_ONCE)
    await Promise.all(questions.slice(at, at + AT_ONCE).map((one) => askMicroArbiter(s, one, turn)));
  let accepted = false;
  for (const { job } of pendingWork(s)) accepted = (await acceptIfClear(s, job, turn)) || accepted;
  return accepted;
}

interface Turn {
  readonly view: PlaneView;
  readonly others: AmongOthers;
}

interface Pending {
  readonly job: PlanJob;
  readonly attempt: Attempt;
}

function pendingWork(s: Session): Pending[] {
  return s.graph.jobs.flatMap((job) => {
    const attempt = currentAttempt(s.store.state, job.id);
    return attempt?.status === "success" && attempt.acceptance === "pending" ? [{ job, attempt }] : [];
  });
}

/**
 * Attempts that were not asked about yet and are worth it, each with what its answer can do. What C3 must see anyway is
 * counted over all attempts in success, in plan order, so that every tenth of it is asked about however the run went.
 */
function questionsDue(s: Session, { view, others }: Turn): (Pending & { readonly mode: MicroMode })[] {
  const attempts = Object.values(s.store.state.jobs).flatMap((state) => state.attemptRecords);
  let shadowCalls = attempts.filter((one) => one.microArbiter?.mode === "shadow").length;
  let othersSoFar = 0;
  const due: (Pending & { readonly mode: MicroMode })[] = [];
  for (const job of s.graph.jobs) {
    const attempt = currentAttempt(s.store.state, job.id);
    if (attempt?.status !== "success") continue;
    const clear = otherwiseAcceptable({ job, attempt }, others);
    if (!clear) othersSoFar += 1;
    if (attempt.acceptance !== "pending" || attempt.microArbiter !== null) continue;
    const mode = microMode({
      otherwiseAcceptable: clear,
      calibrationValid: view.calibration.status === "valid",
      othersSoFar,
      shadowCalls,
    });
    if (mode === "shadow") shadowCalls += 1;
    if (mode !== null) due.push({ job, attempt, mode });
  }
  return due;
}

async function askMicroArbiter(
  s: Session,
  { job, attempt, mode }: Pending & { readonly mode: MicroMode },
  turn: Turn,
): Promise<void> {
  const { view } = turn;
  if (view.setup === null) return;
  const decision = await s.plane.ask({
    task: "micro_arbiter",
    jobId: job.id,
    attempt: attempt.attempt,
    pieces: await piecesOf(s, job, attempt),
  });
  // Without leave, or with leave for other content, nothing was asked.
  if (decision.unasked) return decision.settle({ applied: false, outcomeRef: null });
  const { answers } = decision;
  const micro: NonNullable<Attempt["microArbiter"]> = {
    classifier: { ...view.setup.identity },
    mode,
    status: answers === null ? decision.failure : "ok",
    artifactMatchesExpectedOutput: answers?.artifact_matches_expected_output ?? null,
    claimsSupportedByEvidence: answers?.claims_supported_by_evidence ?? null,
    materiallyUnresolved: answers?.materially_unresolved ?? null,
    wellFormed: answers?.well_formed ?? null,
    lowConfidence: answers?.low_confidence ?? null,
    decisionRef: decision.ref,
  };
  const c3EscalationReason = escalationReasons(
    factsWith({ job, attempt: { ...attempt, microArbiter: micro } }, turn),
  );
  decision.settle({
    applied: mode === "deciding" && c3EscalationReason.length === 0,
    outcomeRef: `jobs/${job.id}/attempt/${attempt.attempt}`,
    lowConfidence: answers?.low_confidence === true,
  });
  await s.commit([
    {
      type: "attempt",
      jobId: job.id,
      attempt: attempt.attempt,
      patch: { microArbiter: micro, c3EscalationReason, decisionTraceRef: decision.ref },
    },
  ]);
}

const otherwiseAcceptable = ({ job, attempt }: Pending, others: AmongOthers): boolean =>
  escalationReasons(escalationFacts(job, attempt, others)).every((reason) => PLANE_CLAUSES.has(reason));

async function acceptIfClear(s: Session, job: PlanJob, turn: Turn): Promise<boolean> {
  const { view } = turn;
  const attempt = currentAttempt(s.store.state, job.id);
  if (attempt === null) return false;
  // What others contradict is not even asked about: that is why the arbiter is.
  const contradicted = turn.others.disagreeing.has(job.id);
  if (attempt.microArbiter?.mode !== "deciding" && !contradicted) return false;
  if (view.setup === null || view.setup.off !== null) return false;
  const reasons = escalationReasons(factsWith({ job, attempt }, turn));
  if (reasons.length > 0) {
    await keepReasons(s, { job, attempt }, reasons);
    return false;
  }
  if (!job.dependsOn.every((id) => jobState(s, id).outcome === "accepted")) return false;
  copyCalibration(s, view.setup.identity);
  await s.commit([
    {
      type: "attempt",
      jobId: job.id,
      attempt: attempt.attempt,
      patch: { acceptance: "accepted", acceptedWithoutC3: true, c3EscalationReason: [] },
    },
  ]);
  return true;
}

/** Others may have come to say the opposite since it was asked about: the arbiter hears why it is asked. */
async function keepReasons(s: Session, { job, attempt }: Pending, reasons: string[]): Promise<void> {
  if (reasons.join() === attempt.c3EscalationReason.join()) return;
  const patch = { c3EscalationReason: reasons };
  await s.commit([{ type: "attempt", jobId: job.id, attempt: attempt.attempt, patch }]);
}

/** What state and plan say of the attempt, with the plane's part filled in. */
function factsWith({ job, attempt }: Pending, { view, others }: Turn): EscalationFacts {
  const { microArbiter } = attempt;
  return {
    ...escalationFacts(job, attempt, others),
    calibration: view.calibration.status,
    threshold: view.threshold,
    signals: microArbiter == null ? null : signalsOf(microArbiter),
  };
}

const signalsOf = (micro: NonNullable<Attempt["microArbiter"]>): MicroSignals => ({
  artifactMatchesExpectedOutput: micro.artifactMatchesExpectedOutput,
  claimsSupportedByEvidence: micro.claimsSupportedByEvidence,
  materiallyUnresolved: micro.materiallyUnresolved,
  wellFormed: micro.wellFormed,
  lowConfidence: micro.lowConfidence,
});

async function piecesOf(s: Session, job: PlanJob, attempt: Attempt): Promise<StatePiece[]> {
  const evidence = await attemptEvidence(s, { jobId: job.id, attempt: attempt.attempt });
  const facts = {
    task: job.task,
    checks: attempt.checks.map(({ id, ok }) => ({ id, ok })),
    artifacts: attempt.artifacts,
    changedPaths: attempt.changedPaths,
    flags: attempt.flags,
    diffStat: attempt.diffStat,
  };
  const pieces: (StatePiece | null)[] = [
    piece("facts", "coordinator", "result", JSON.stringify(facts)),
    piece("intent", "spec", "prompt", job.prompt),
    piece("expected_output", "spec", "prompt", job.expectedOutput),
    piece("claims", "job", "result", evidence.resultText),
    piece("open_question", "job", "result", attempt.question),
    piece("diff", "repository", "repo-excerpt", evidence.diff),
  ];
  return pieces.filter((one) => one !== null);
}

const piece = (
  label: string,
  provenance: StatePiece["provenance"],
  contentClass: StatePiece["contentClass"],
  text: string | null,
): StatePiece | null => (text === null || text === "" ? null : { label, provenance, contentClass, text });
