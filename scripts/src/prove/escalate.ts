/** The escalation matrix as one table: which facts force an independent C3 call. */
import type { Attempt, PlanJob } from "../core/runtime.ts";

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
  readonly riskTier: string | null;
  readonly riskFloorDelta: number;
  readonly settled: boolean;
  readonly layerOnePassed: boolean;
  readonly contradictions: boolean;
  readonly openQuestions: boolean;
  readonly checkEdited: boolean;
  readonly verdictOnOtherWork: boolean;
  readonly setsApproval: boolean;
  readonly emitsDispatch: boolean;
  readonly mutatesOutside: boolean;
  readonly fixture: Attempt["injectionFixture"];
  readonly calibration: "valid" | "missing" | "invalid" | "expired";
  readonly threshold: number | null;
  /** Null: the plane did not answer. */
  readonly signals: {
    readonly artifactMatchesExpectedOutput: unknown;
    readonly claimsSupportedByEvidence: unknown;
    readonly materiallyUnresolved: unknown;
    readonly wellFormed: unknown;
    readonly lowConfidence: unknown;
  } | null;
}

export interface EscalationClause {
  readonly id: string;
  /** A statement that `test` finds true or false. */
  readonly title: string;
  /** always-c3: true forces C3. required-for-no-c3: false forces C3. */
  readonly kind: "always-c3" | "required-for-no-c3";
  test(facts: EscalationFacts): boolean;
}

export const ESCALATION_MATRIX: readonly EscalationClause[] = [];

/** Ids of all clauses that force C3, in table order; empty means that acceptance without C3 is permitted. */
export function escalationReasons(_facts: EscalationFacts): string[] {
  throw new Error("not written yet");
}

/** The facts of one attempt as far as job and attempt record state them, without a decision plane. */
export function escalationFacts(_job: PlanJob, _attempt: Attempt): EscalationFacts {
  throw new Error("not written yet");
}
