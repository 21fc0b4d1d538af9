/** The escalation matrix as one table: which facts force an independent C3 call. */
import { POLICY } from "../core/policy.ts";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { RISK_TIERS } from "../core/tiers.ts";

/** What a micro-arbiter said, unread: a value of the wrong type is a malformed signal. */
export interface MicroSignals {
  readonly artifactMatchesExpectedOutput: unknown;
  readonly claimsSupportedByEvidence: unknown;
  readonly materiallyUnresolved: unknown;
  readonly wellFormed: unknown;
  readonly lowConfidence: unknown;
}

/** Everything the matrix looks at. A fact that is unknown is stated as its least favourable value. */
export interface EscalationFacts {
  readonly task: PlanJob["task"];
  readonly importance: PlanJob["importance"];
  readonly effect: PlanJob["effect"];
  readonly destructive: boolean;
  readonly credentialed: boolean;
  readonly writer: boolean;
  readonly parallelWriter: boolean;
  readonly untrusted: boolean;
  /** As recorded; anything but a tier reads as R2. */
  readonly riskTier: string | null;
  readonly riskFloorDelta: number;
  readonly settled: boolean;
  readonly layerOnePassed: boolean;
  readonly contradictions: boolean;
  readonly openQuestions: boolean;
  readonly checkEdited: boolean;
  /** A review of this work found fault with it. */
  readonly reviewFinding: boolean;
  readonly verdictOnOtherWork: boolean;
  readonly setsApproval: boolean;
  readonly emitsDispatch: boolean;
  readonly mutatesOutside: boolean;
  readonly fixture: Attempt["injectionFixture"];
  readonly calibration: "valid" | "missing" | "invalid" | "expired";
  /** Of the calibration record; null without one. */
  readonly threshold: number | null;
  /** Null: the plane did not answer. */
  readonly signals: MicroSignals | null;
}

interface EscalationClause {
  readonly id: string;
  /** A statement that `test` finds true or false. */
  readonly title: string;
  /** always-c3: true forces C3. required-for-no-c3: false forces C3. */
  readonly kind: "always-c3" | "required-for-no-c3";
  test(facts: EscalationFacts): boolean;
}

const always = (id: string, title: string, test: EscalationClause["test"]): EscalationClause => ({
  id,
  title,
  kind: "always-c3",
  test,
});
const required = (id: string, title: string, test: EscalationClause["test"]): EscalationClause => ({
  id,
  title,
  kind: "required-for-no-c3",
  test,
});

/** One clause per fact; the reference document's table is rendered from it. */
export const ESCALATION_MATRIX: readonly EscalationClause[] = [
  always("security-work", "the task is security", (f) => f.task === "security"),
  always("audit-work", "the task is audit", (f) => f.task === "audit"),
  always("review-work", "the task is review", (f) => f.task === "review"),
  always("verdict-on-other-work", "the artifact is a verdict on other work", (f) => f.verdictOnOtherWork),
  always("architecture-work", "the task is architecture", (f) => f.task === "architecture"),
  always(
    "high-importance-implementation",
    "the task is implement and its importance is high",
    (f) => f.task === "implement" && f.importance === "high",
  ),
  always(
    "external-effect",
    "the effect is external or destructive",
    (f) => f.effect === "external-destructive",
  ),
  always("destructive-work", "the job is declared destructive", (f) => f.destructive),
  always("credentialed-work", "the job is given a credential", (f) => f.credentialed),
  always(
    "parallel-write",
    "the job writes beside another writer of the same repository",
    (f) => f.parallelWriter,
  ),
  always(
    "untrusted-write",
    "the job writes and takes input from outside the trust boundary",
    (f) => f.untrusted && f.writer,
  ),
  always("risk-floor-raised", "a signal raised the risk floor", (f) => f.riskFloorDelta !== 0),
  always("tier-r2", "the recorded tier is R2, or is missing or unreadable", (f) => tierOf(f) === "R2"),
  always("tier-r3", "the recorded tier is R3", (f) => tierOf(f) === "R3"),
  always("contradiction", "the evidence contradicts itself or other work", (f) => f.contradictions),
  always("open-question", "a question is open", (f) => f.openQuestions),
  always("check-edited", "the job changed a file that one of its checks runs", (f) => f.checkEdited),
  always("review-finding", "a review found fault with the work", (f) => f.reviewFinding),
  always("fixture-not-run", "the injection fixture was not run", (f) => f.fixture === "not-run"),
  always(
    "no-calibration",
    "there is no calibration record for this classifier",
    (f) => f.calibration === "missing",
  ),
  always("invalid-calibration", "the calibration record is not valid", (f) => f.calibration === "invalid"),
  always("expired-calibration", "the calibration record has expired", (f) => f.calibration === "expired"),
  always(
    "malformed-signals",
    "a signal is absent, no number, or outside [0,1]",
    (f) => f.signals !== null && isMalformed(f.signals),
  ),
  always(
    "low-confidence",
    "the micro-arbiter reports low confidence",
    (f) => f.signals !== null && f.signals.lowConfidence !== false,
  ),
  required("importance-not-normal", "the importance is normal", (f) => f.importance === "normal"),
  required("not-settled", "the attempt is settled", (f) => f.settled),
  required("layer-one-failed", "every deterministic check passed", (f) => f.layerOnePassed),
  required("fixture-failed", "the injection fixture did not fail", (f) => f.fixture !== "failed"),
  required("no-signals", "the micro-arbiter answered", (f) => f.signals !== null),
  required(
    "not-well-formed",
    "the micro-arbiter finds the evidence well formed",
    (f) => f.signals === null || f.signals.wellFormed === true,
  ),
  required(
    "artifact-signal",
    "`artifact_matches_expected_output` is at or above the threshold",
    (f) => f.signals === null || reaches(f, f.signals.artifactMatchesExpectedOutput),
  ),
  required(
    "claims-signal",
    "`claims_supported_by_evidence` is at or above the threshold",
    (f) => f.signals === null || reaches(f, f.signals.claimsSupportedByEvidence),
  ),
  required(
    "unresolved-signal",
    "`materially_unresolved` is below the threshold",
    (f) => f.signals === null || staysBelow(f, f.signals.materiallyUnresolved),
  ),
  required("sets-approval", "the job sets no approval", (f) => !f.setsApproval),
  required("emits-dispatch", "the job emits no dispatch", (f) => !f.emitsDispatch),
  required("mutates-outside", "the job changed nothing outside its paths", (f) => !f.mutatesOutside),
];

/** Ids of all clauses that force C3, in table order; empty means that acceptance without C3 is permitted. */
export function escalationReasons(facts: EscalationFacts): string[] {
  return ESCALATION_MATRIX.filter((clause) => clause.test(facts) === (clause.kind === "always-c3")).map(
    (clause) => clause.id,
  );
}

const tierOf = (facts: EscalationFacts): string => RISK_TIERS.find((tier) => tier === facts.riskTier) ?? "R2";

const isProbability = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= 1;

const isMalformed = (signals: MicroSignals): boolean =>
  !isProbability(signals.artifactMatchesExpectedOutput) ||
  !isProbability(signals.claimsSupportedByEvidence) ||
  !isProbability(signals.materiallyUnresolved) ||
  typeof signals.wellFormed !== "boolean" ||
  typeof signals.lowConfidence !== "boolean";

/** The record's threshold, unless it is laxer than policy allows: then nothing clears it. */
function thresholdOf(facts: EscalationFacts): number | null {
  const { threshold } = facts;
  return isProbability(threshold) && threshold >= POLICY.INITIAL_THRESHOLD.value ? threshold : null;
}

function reaches(facts: EscalationFacts, signal: unknown): boolean {
  const threshold = thresholdOf(facts);
  return threshold !== null && isProbability(signal) && signal >= threshold;
}

function staysBelow(facts: EscalationFacts, signal: unknown): boolean {
  const threshold = thresholdOf(facts);
  return threshold !== null && isProbability(signal) && signal < threshold;
}

/** What other jobs of the run have to do with the work. */
export interface AmongOthers {
  /** Reviews that found fault, by reviewed job. */
  readonly findings: ReadonlyMap<string, readonly string[]>;
  /** Jobs whose final text another job's contradicts. */
  readonly disagreeing: ReadonlySet<string>;
}

const ALONE: AmongOthers = { findings: new Map(), disagreeing: new Set() };

/** The facts of one attempt as job and attempt record state them, without a decision plane. */
export function escalationFacts(
  job: PlanJob,
  attempt: Attempt,
  others: AmongOthers = ALONE,
): EscalationFacts {
  const derived = [...job.tierDerivation, ...attempt.tierDerivation];
  const derivedFrom = (cause: string): boolean => derived.some((step) => step.startsWith(cause));
  return {
    task: job.task,
    importance: job.importance,
    effect: job.effect,
    destructive: job.destructive,
    credentialed: derivedFrom("credential"),
    writer: job.writer,
    parallelWriter: derivedFrom("parallel") || job.isolationOrigin === "policy:parallel",
    untrusted: job.untrusted,
    riskTier: attempt.riskTier,
    riskFloorDelta: attempt.riskFloorDelta,
    settled: attempt.settlement === "settled",
    layerOnePassed: attempt.status === "success" && attempt.checks.every((check) => check.ok),
    // A result beside a non-zero exit says two things at once.
    contradictions: attempt.flags.includes("suspect") || others.disagreeing.has(job.id),
    openQuestions: attempt.question !== null || attempt.flags.includes("trailing-question"),
    checkEdited: attempt.flags.includes("check-edited"),
    reviewFinding: others.findings.has(job.id),
    verdictOnOtherWork: job.task === "review" || job.task === "audit" || job.task === "security",
    setsApproval: false,
    emitsDispatch: false,
    mutatesOutside: attempt.checks.some((check) => check.id === "owned-paths" && !check.ok),
    fixture: attempt.injectionFixture,
    calibration: "missing",
    threshold: null,
    signals: null,
  };
}
