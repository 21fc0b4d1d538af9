/** What a classifier's signals were worth against C3 verdicts: measuring it, and whether a record still holds. Pure. */
import type { CalibrationRecord } from "../core/generated/calibration.ts";
import { POLICY } from "../core/policy.ts";
import type { Attempt } from "../core/runtime.ts";

export type { CalibrationRecord };
export type ClassifierIdentity = CalibrationRecord["classifier"];

export const SIGNALS = [
  "artifact_matches_expected_output",
  "claims_supported_by_evidence",
  "materially_unresolved",
] as const;

const DAY_MS = 86_400_000;

/** All three signals clear in their direction, and the micro-arbiter stands by them. */
export function signalsClear(micro: NonNullable<Attempt["microArbiter"]>, threshold: number): boolean {
  return (
    micro.status === "ok" &&
    micro.wellFormed === true &&
    micro.lowConfidence === false &&
    atLeast(micro.artifactMatchesExpectedOutput, threshold) &&
    atLeast(micro.claimsSupportedByEvidence, threshold) &&
    below(micro.materiallyUnresolved, threshold)
  );
}

const isProbability = (value: number | null): value is number => value !== null && value >= 0 && value <= 1;
const atLeast = (value: number | null, threshold: number): boolean =>
  isProbability(value) && value >= threshold;
const below = (value: number | null, threshold: number): boolean => isProbability(value) && value < threshold;

/** The facts of an attempt that comparison rests on. */
export type AuditedAttempt = Pick<
  Attempt,
  | "runtime"
  | "status"
  | "settlement"
  | "riskTier"
  | "riskFloorDelta"
  | "c3Verdict"
  | "arbitration"
  | "acceptedWithoutC3"
  | "microArbiter"
>;

/** C3 audited it, nothing raised it above R1, and no script played it. */
export function isComparable(attempt: AuditedAttempt): boolean {
  return (
    attempt.runtime !== "mock" &&
    attempt.status === "success" &&
    attempt.settlement === "settled" &&
    (attempt.riskTier === "R0" || attempt.riskTier === "R1") &&
    attempt.riskFloorDelta === 0 &&
    !attempt.acceptedWithoutC3 &&
    (attempt.c3Verdict === "pass" || attempt.c3Verdict === "fail") &&
    attempt.arbitration !== null &&
    attempt.arbitration.independence !== "not-independent"
  );
}

export const sameClassifier = (a: ClassifierIdentity, b: ClassifierIdentity): boolean =>
  a.id === b.id && a.version === b.version && a.promptSchema === b.promptSchema;

/** Measures one classifier; outcomes of any other, or of another version or wording of it, are left out. */
export function measure(o: {
  readonly classifier: ClassifierIdentity;
  readonly attempts: readonly AuditedAttempt[];
  readonly minimum: number;
  readonly now: number;
}): CalibrationRecord {
  const threshold = POLICY.INITIAL_THRESHOLD.value;
  const cleared = o.attempts.filter(
    (attempt) =>
      attempt.microArbiter != null &&
      sameClassifier(attempt.microArbiter.classifier, o.classifier) &&
      isComparable(attempt) &&
      signalsClear(attempt.microArbiter, threshold),
  );
  const passed = cleared.filter((attempt) => attempt.c3Verdict === "pass").length;
  return {
    classifier: { ...o.classifier },
    threshold,
    signals: [...SIGNALS],
    units: POLICY.UNITS.value,
    sampleCount: cleared.length,
    minimum: o.minimum,
    agreement: cleared.length === 0 ? 0 : passed / cleared.length,
    measuredAt: new Date(o.now).toISOString(),
    expiresAt: new Date(o.now + POLICY.CALIBRATION_DAYS.value * DAY_MS).toISOString(),
  };
}

export type CalibrationStatus = "valid" | "missing" | "invalid" | "expired";

export interface CalibrationState {
  readonly status: CalibrationStatus;
  /** The clause that does not hold; null when valid. */
  readonly clause: string | null;
}

/** Every validity clause, in the order in which a failing one is told. */
export function calibrationState(o: {
  readonly record: CalibrationRecord | null;
  readonly classifier: ClassifierIdentity;
  /** `calibration.minimum_samples` of the spec; null: absent. */
  readonly specMinimum: number | null;
  /** This user's `calibrate` wrote exactly this record for this project. */
  readonly ownRecord: boolean;
  readonly now: number;
}): CalibrationState {
  const { record } = o;
  if (record === null) return { status: "missing", clause: "no-record" };
  const clause = failingClause(record, o);
  if (clause !== null) return { status: "invalid", clause };
  // Both ends: a clock set back must not make an old record new.
  const from = Date.parse(record.measuredAt);
  const until = Math.min(Date.parse(record.expiresAt), from + POLICY.CALIBRATION_DAYS.value * DAY_MS);
  return from <= o.now && o.now < until
    ? { status: "valid", clause: null }
    : { status: "expired", clause: "expired" };
}

function failingClause(
  record: CalibrationRecord,
  o: {
    readonly classifier: ClassifierIdentity;
    readonly specMinimum: number | null;
    readonly ownRecord: boolean;
  },
): string | null {
  const floor = POLICY.MINIMUM_SAMPLES.value;
  if (!o.ownRecord) return "not-written-by-calibrate";
  if (!sameClassifier(record.classifier, o.classifier)) return "other-classifier";
  if (o.specMinimum === null || o.specMinimum < floor) return "minimum-not-set";
  if (record.sampleCount < Math.max(floor, o.specMinimum, record.minimum)) return "too-few-samples";
  if (!(record.agreement >= POLICY.AGREEMENT_FLOOR.value && record.agreement <= 1))
    return "agreement-too-low";
  if (!(record.threshold >= POLICY.INITIAL_THRESHOLD.value && record.threshold <= 1))
    return "threshold-too-low";
  if (!SIGNALS.every((signal) => record.signals.includes(signal))) return "signals-missing";
  if (record.units !== POLICY.UNITS.value) return "units-missing";
  return null;
}
