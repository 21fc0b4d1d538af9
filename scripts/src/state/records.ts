/** What the journal may say: a closed union of records. */
import type { Approval, Arbiter, Attempt, Block, Job, Onboarding, State } from "../core/generated/state.ts";

export type { Approval, Arbiter, Attempt, Block, Job, Onboarding, State };
export type AttemptStatus = Attempt["status"];
export type JobStatus = Job["status"];
export type RunStatus = State["status"];

export type RunPatch = Partial<
  Pick<
    State,
    | "status"
    | "reason"
    | "cancelRequested"
    | "mock"
    | "supervisorRunId"
    | "endedAt"
    | "harness"
    | "graphSha256"
    | "plane"
    | "events"
  >
>;
export type JobPatch = Partial<
  Pick<
    Job,
    | "block"
    | "outcomeBlock"
    | "worktree"
    | "branch"
    | "baseCommit"
    | "baseOverride"
    | "notBefore"
    | "candidateIndex"
    | "promotions"
    | "retriesUsed"
    | "resumes"
    | "userRetries"
    | "reopenedAt"
    | "pendingAttempt"
    | "runtime"
    | "model"
    | "agent"
    | "detail"
  >
>;
/** The ordinal is the join key: a patch that changes it is illegal. */
export type AttemptPatch = Partial<Attempt>;

/**
 * One change of a run. A job's status, outcome, reason and counts are computed from these, never written.
 * Values inside a record belong to the state once committed: do not change them afterwards.
 */
export type JournalRecord =
  /** `note` is appended to `state.notes`. */
  | { readonly type: "run"; readonly patch: RunPatch; readonly note?: string }
  /** A new attempt, queued or running; its ordinal is the number of attempts so far plus one. */
  | { readonly type: "attempt-open"; readonly jobId: string; readonly attempt: Attempt }
  | {
      readonly type: "attempt";
      readonly jobId: string;
      readonly attempt: number;
      readonly patch: AttemptPatch;
    }
  | { readonly type: "job"; readonly jobId: string; readonly patch: JobPatch }
  /** Inserted, or replaced when the `id` is known. */
  | { readonly type: "approval"; readonly approval: Approval }
  /** Inserted, or replaced when the `arbiterId` is known. */
  | { readonly type: "arbiter"; readonly arbiter: Arbiter }
  /** Inserted, or replaced when the `id` is known. */
  | { readonly type: "onboarding"; readonly onboarding: Onboarding };

/** One line of journal.jsonl without its checksum: everything that became durable together. */
export interface JournalLine {
  readonly seq: number;
  readonly epoch: number;
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly records: readonly JournalRecord[];
}
