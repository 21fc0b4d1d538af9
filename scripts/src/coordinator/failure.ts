/** How an attempt that did not succeed ends, and what follows: plan/ decides, this turns the decision into one atomic set of records. */

import type { Attempt, Job, PlanJob } from "../core/runtime.ts";
import { FAILURE_RULES, type FailureClass } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import type { FailureDecision } from "../plan/failure.ts";
import type { JobPatch, JournalRecord } from "../state/records.ts";
import { decideOnLiveEvidence, type Startup } from "./look-again.ts";
import { triageFailure } from "./plane-triage.ts";
import { attemptRecord, jobState, type Session } from "./session.ts";
import { traceFollowing } from "./trace-points.ts";

export interface FailedEnd {
  readonly failureClass: FailureClass;
  readonly detail: string | null;
  /** The shared checkout was compared with its state before the attempt and is the same. */
  readonly unchanged?: boolean;
  /** Code of the failing check, when layer 1 failed. */
  readonly reason?: string;
  readonly resetAt?: number | null;
  readonly patch?: Partial<Attempt>;
  /** Absent: nothing was started by us. */
  readonly startup?: Startup;
}

export async function endWithFailure(
  s: Session,
  job: PlanJob,
  ordinal: number,
  end: FailedEnd,
): Promise<void> {
  const rule = FAILURE_RULES[end.failureClass];
  const now = s.clock.now();
  const patch: Partial<Attempt> = {
    endedAt: isoTime(now),
    settlement: "settled",
    ...end.patch,
    status: rule.attemptEndsAs,
    phase: null,
    failureClass: end.failureClass,
    reason: end.reason ?? reasonOf(end.failureClass),
    detail: end.detail === null ? null : s.redact(end.detail),
    resetAt: end.resetAt == null ? null : isoTime(end.resetAt),
  };
  const attempt: Attempt = { ...attemptRecord(s, job.id, ordinal), ...patch };
  const before = jobState(s, job.id);
  const jobState_: Job = { ...before, attemptRecords: [...before.attemptRecords.slice(0, -1), attempt] };
  const decision = await decideOnLiveEvidence(
    s,
    {
      job,
      jobState: jobState_,
      attempt,
      now,
      quotaWaitMs: s.graph.quotaWaitMs,
      ...(end.unchanged === undefined ? {} : { unchanged: end.unchanged }),
    },
    end.startup ?? null,
  );
  await s.commit([
    { type: "attempt", jobId: job.id, attempt: ordinal, patch },
    { type: "job", jobId: job.id, patch: following(before, decision) },
  ]);
  traceFollowing(s, job, {
    attempt: ordinal,
    action: decision.action,
    failureClass: end.failureClass,
    reason: decision.reason,
    passedOver: decision.passedOver,
  });
  await triageFailure(s, job, { ordinal, failureClass: end.failureClass, action: decision.action });
}

function following(job: Job, decision: FailureDecision): JobPatch {
  const notBefore = decision.notBefore === null ? null : isoTime(decision.notBefore);
  switch (decision.action) {
    case "retry":
    case "wait":
      return {
        pendingAttempt: { relation: "retry", reason: decision.reason },
        notBefore,
        retriesUsed: job.retriesUsed + 1,
        detail: decision.detail,
      };
    case "promote":
      return {
        pendingAttempt: { relation: "promotion", reason: decision.reason },
        notBefore,
        candidateIndex: decision.candidateIndex,
        promotions: job.promotions + 1,
        retriesUsed: 0,
        detail: decision.detail,
      };
    case "block":
      return { block: { code: decision.reason, detail: decision.detail } };
    case "fail":
      return { detail: decision.detail };
  }
}

const reasonOf = (failureClass: FailureClass): string => failureClass.toLowerCase().replaceAll("_", "-");

/** The attempt could not be tried (or was stopped on purpose): the job is blocked with exactly this code. */
export async function endWithBlock(
  s: Session,
  job: PlanJob,
  ordinal: number,
  block: { readonly code: string; readonly detail: string },
  patch: Partial<Attempt> = {},
): Promise<void> {
  s.observation.leave(job);
  const detail = s.redact(block.detail);
  const records: JournalRecord[] = [
    {
      type: "attempt",
      jobId: job.id,
      attempt: ordinal,
      patch: {
        settlement: "settled",
        endedAt: isoTime(s.clock.now()),
        ...patch,
        status: "blocked",
        phase: null,
        reason: block.code,
        detail,
      },
    },
    { type: "job", jobId: job.id, patch: { block: { code: block.code, detail } } },
  ];
  await s.commit(records);
}
