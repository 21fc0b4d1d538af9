/** The micro-arbiter's turn before C3: asks about finished attempts, and accepts those that need no C3 call. */
import type { Attempt, PlanJob } from "../core/runtime.ts";
import type { StatePiece } from "../plane/envelope.ts";
import { type MicroMode, microMode } from "../plane/sample.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import {
  type EscalationFacts,
  escalationFacts,
  escalationReasons,
  type MicroSignals,
} from "../prove/escalate.ts";
import { openFindings } from "../prove/review-findings.ts";
import { attemptEvidence } from "./evidence-of.ts";
import { copyCalibration, type PlaneView } from "./plane.ts";
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
  const questions = questionsDue(s, view);
  for (let at = 0; at < questions.length; at += AT_ONCE)
    await Promise.all(questions.slice(at, at + AT_ONCE).map((one) => askMicroArbiter(s, one, view)));
  let accepted = false;
  for (const { job } of pendingWork(s)) accepted = (await acceptIfClear(s, job, view)) || accepted;
  return accepted;
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

/** Attempts that were not asked about yet and are worth it, each with what its answer can do. */
function questionsDue(s: Session, view: PlaneView): (Pending & { readonly mode: MicroMode })[] {
  const attempts = Object.values(s.store.state.jobs).flatMap((state) => state.attemptRecords);
  let shadowCalls = attempts.filter((one) => one.microArbiter?.mode === "shadow").length;
  return pendingWork(s).flatMap(({ job, attempt }) => {
    if (attempt.microArbiter !== null) return [];
    const mode = microMode({
      otherwiseAcceptable: otherwiseAcceptable(s, { job, attempt }),
      calibrationValid: view.calibration.status === "valid",
      othersSoFar: othersUpTo(s, job.id),
      shadowCalls,
    });
    if (mode === "shadow") shadowCalls += 1;
    return mode === null ? [] : [{ job, attempt, mode }];
  });
}

async function askMicroArbiter(
  s: Session,
  { job, attempt, mode }: Pending & { readonly mode: MicroMode },
  view: PlaneView,
): Promise<void> {
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
    factsWith(s, { job, attempt: { ...attempt, microArbiter: micro } }, view),
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

const otherwiseAcceptable = (s: Session, { job, attempt }: Pending): boolean =>
  escalationReasons(recordedFacts(s, { job, attempt })).every((reason) => PLANE_CLAUSES.has(reason));

const recordedFacts = (s: Session, { job, attempt }: Pending): EscalationFacts =>
  escalationFacts(job, attempt, openFindings(s.graph, s.store.state));

/** Attempts in success that C3 must see anyway, in plan order up to this job. */
function othersUpTo(s: Session, jobId: string): number {
  let count = 0;
  for (const job of s.graph.jobs) {
    const attempt = currentAttempt(s.store.state, job.id);
    if (attempt?.status === "success" && !otherwiseAcceptable(s, { job, attempt })) count += 1;
    if (job.id === jobId) break;
  }
  return count;
}

async function acceptIfClear(s: Session, job: PlanJob, view: PlaneView): Promise<boolean> {
  const attempt = currentAttempt(s.store.state, job.id);
  if (attempt === null || attempt.microArbiter?.mode !== "deciding") return false;
  if (view.setup === null || view.setup.off !== null) return false;
  if (escalationReasons(factsWith(s, { job, attempt }, view)).length > 0) return false;
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

/** What state and plan say of the attempt, with the plane's part filled in. */
function factsWith(s: Session, { job, attempt }: Pending, view: PlaneView): EscalationFacts {
  const { microArbiter } = attempt;
  return {
    ...recordedFacts(s, { job, attempt }),
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
