/** What is traced, and where: enums, numbers and references only. A trace that fails costs evidence, never a job. */

import type { Arbiter } from "../core/generated/state.ts";
import type { Attempt, Candidate, FailureClass, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import { spanIdOf, type TraceRelation, traceRef, traceRefs } from "../evidence/trace.ts";
import { nextTurn } from "../host/clock.ts";
import type { ControlCheck } from "../plan/controls.ts";
import type { PassedOver } from "../plan/failure.ts";
import type { AttemptOutcome } from "../prove/accept.ts";
import { attemptRecord, jobState, planJob, type Session } from "./session.ts";

const RELATION: Readonly<Record<Attempt["relation"], TraceRelation>> = {
  first: "child",
  retry: "retry",
  promotion: "promotion",
  resume: "resume",
  "user-retry": "user-retry",
};

const spanOf = (s: Session, jobId: string, attempt: number): string =>
  spanIdOf(s.runId, jobId, String(attempt));

/** On a resume: what was asked again, and the routes that came of it. */
export async function traceStart(
  s: Session,
  resumed: boolean,
  again: ReadonlySet<string> | null = null,
): Promise<void> {
  s.trace.record({
    kind: "run.start",
    spanId: spanIdOf(s.runId),
    parentSpanId: null,
    relation: resumed ? "resume" : "root",
    payload: {
      jobs: s.graph.jobs.length,
      stages: s.graph.stages.length,
      writers: s.graph.jobs.filter((job) => job.writer).length,
      mock: s.graph.jobs.some((job) => job.route.chain.some((c) => c.runtime === "mock")),
      resumed,
      harness: traceRef(s.graph.harness.name),
    },
  });
  if (resumed && again === null) return;
  for (const record of s.inventory.records) traceProbe(s, record);
  const routed = s.graph.jobs.filter((job) => again === null || again.has(job.id));
  for (const [index, job] of routed.entries()) {
    if (index % ROUTES_A_TURN === ROUTES_A_TURN - 1) await nextTurn();
    traceRoute(s, job);
  }
}

/** About 10 ms. */
const ROUTES_A_TURN = 200;

export function traceProbe(s: Session, record: RuntimeRecord): void {
  s.trace.record({
    kind: "probe",
    payload: {
      runtime: traceRef(record.id),
      state: record.state,
      reason: traceRef(record.reason),
      version: traceRef(record.version),
      authenticated: record.authenticated,
      reused: record.reused,
    },
  });
}

function traceRoute(s: Session, job: PlanJob): void {
  const first = job.route.chain[0];
  s.trace.record({
    kind: "route",
    jobId: job.id,
    payload: {
      chosen: traceRef(first?.runtime ?? null),
      model: traceRef(first?.model ?? null),
      effort: first?.effort ?? null,
      capabilityFloor: job.capabilityFloor,
      riskTier: job.riskTier,
      pinned: job.route.pinned,
      runtimeFrom: traceRef(job.route.runtimeFrom),
      chain: job.route.chain.slice(0, 64).map((c) => ({
        runtime: traceRef(c.runtime),
        model: traceRef(c.model),
        effort: c.effort,
        capability: c.capability,
        capabilitySource: c.capabilitySource,
        family: traceRef(c.family),
        familySource: c.familySource,
        independence: c.independence,
        weaker: traceRefs(c.weaker),
      })),
      chainOmitted: Math.max(0, job.route.chain.length - 64),
      runnerUp: traceRef(job.route.runnerUp),
      margin: traceRef(job.route.margin),
      blocked: traceRef(job.route.blocked?.code ?? null),
      rejected: job.route.rejected
        .slice(0, 64)
        .map((r) => ({ runtime: traceRef(r.runtime), codes: traceRefs(r.codes) })),
      rejectedOmitted: Math.max(0, job.route.rejected.length - 64),
    },
  });
}

export function traceGate(
  s: Session,
  job: PlanJob,
  o: {
    outcome: "passed" | "blocked" | "needs-approval";
    controls: readonly ControlCheck[];
    scope: string | null;
    code: string | null;
  },
): void {
  s.trace.record({
    kind: "gate",
    jobId: job.id,
    payload: {
      riskTier: job.riskTier,
      outcome: o.outcome,
      required: traceRefs(o.controls.map((c) => c.concern)),
      met: o.controls
        .filter((c) => c.met)
        .slice(0, 64)
        .map((c) => ({ control: traceRef(c.concern), evidence: c.evidence })),
      missing: traceRefs([
        ...o.controls.filter((c) => !c.met).map((c) => c.concern),
        ...(o.code === null ? [] : [o.code]),
      ]),
      scope: o.scope,
    },
  });
}

export function traceDispatch(
  s: Session,
  job: PlanJob,
  o: {
    attempt: number;
    candidate: Candidate;
    native: boolean;
    promptSha256: string | null;
    droppedEnv: readonly string[];
  },
): void {
  const record = attemptRecord(s, job.id, o.attempt);
  s.trace.record({
    kind: "dispatch",
    jobId: job.id,
    attempt: o.attempt,
    spanId: spanOf(s, job.id, o.attempt),
    relation: RELATION[record.relation],
    payload: {
      runtime: traceRef(o.candidate.runtime),
      model: traceRef(o.candidate.model),
      effort: o.candidate.effort,
      relation: record.relation,
      isolation: job.isolation,
      native: o.native,
      baseCommit: traceRef(record.baseCommit),
      promptSha256: o.promptSha256,
      droppedEnv: traceRefs(o.droppedEnv),
    },
  });
}

/** After an attempt ended: what was observed of it, and each of its checks. */
export function traceEnd(
  s: Session,
  job: PlanJob,
  o: {
    attempt: number;
    events: number;
    unknown: number;
    bytes: number;
    /** From the start to the first line that the adapter knows; null: none came, or nobody could see. */
    firstEventMs: number | null;
    endedBy: "self" | "timeout" | "stall" | "cancel" | "spawn-failed" | "native";
  },
): void {
  const record = attemptRecord(s, job.id, o.attempt);
  if (record.status === "queued" || record.status === "running") return;
  const parentSpanId = spanOf(s, job.id, o.attempt);
  s.trace.record({
    kind: "observe",
    jobId: job.id,
    attempt: o.attempt,
    parentSpanId,
    payload: {
      events: o.events,
      bytes: o.bytes,
      unknown: o.unknown,
      truncated: record.flags.includes("truncated"),
      firstEventMs: o.firstEventMs,
      endedBy: o.endedBy,
      exitCode: record.exitCode,
      signal: traceRef(record.signal),
      leaky: record.flags.includes("leaky"),
      survivors: record.flags.includes("group-survivors") ? 1 : 0,
      status: record.status,
      failureClass: record.failureClass,
    },
  });
  for (const check of record.checks)
    s.trace.record({
      kind: "check",
      jobId: job.id,
      attempt: o.attempt,
      parentSpanId,
      payload: {
        check: traceRef(check.id),
        ok: check.ok,
        code: traceRef(check.code),
        exitCode: check.exitCode,
        wallMs: check.wallMs,
      },
    });
}

/** After a failure was decided: a promotion, or the fail-safe with the chain of triggers that led to it. */
export function traceFollowing(
  s: Session,
  job: PlanJob,
  o: {
    attempt: number;
    action: string;
    failureClass: FailureClass;
    reason: string;
    passedOver: readonly PassedOver[];
  },
): void {
  const passedOver = o.passedOver
    .slice(0, 64)
    .map((one) => ({ runtime: traceRef(one.runtime), model: traceRef(one.model), code: one.code }));
  const state = jobState(s, job.id);
  const from = attemptRecord(s, job.id, o.attempt).runtime;
  if (o.action === "promote")
    s.trace.record({
      kind: "promote",
      jobId: job.id,
      attempt: o.attempt,
      payload: {
        from: traceRef(from),
        to: traceRef(job.route.chain[state.candidateIndex]?.runtime ?? null),
        trigger: o.failureClass,
        promotions: state.promotions,
        budget: job.maxPromotions,
        passedOver,
      },
    });
  if (o.action === "block")
    s.trace.record({
      kind: "fail_safe",
      jobId: job.id,
      attempt: o.attempt,
      payload: {
        code: traceRef(o.reason),
        failureClass: o.failureClass,
        chain: traceRefs(
          state.attemptRecords
            .filter((a) => a.attempt > state.reopenedAt)
            .map((a) => `${a.runtime}:${a.failureClass ?? a.status}`),
        ),
        passedOver,
        dispatches: state.attempts,
        ceiling: (1 + job.maxPromotions) * Math.max(1, job.retry.maxAttempts),
      },
    });
}

export function traceVerdict(s: Session, arbiter: Arbiter, outcome: AttemptOutcome): void {
  if (outcome.c3Verdict === null) return;
  const job = planJob(s, outcome.jobId);
  s.trace.record({
    kind: "verdict",
    jobId: job.id,
    attempt: outcome.attempt,
    payload: {
      arbiter: traceRef(arbiter.arbiterId),
      via: arbiter.via,
      verdict: outcome.c3Verdict,
      independence: outcome.arbitration?.independence ?? null,
      acceptance: outcome.acceptance,
      bundleSha256: arbiter.bundleSha256,
      treeSha256: traceRef(outcome.arbitration?.treeSha256 ?? null),
      reasons: outcome.reasons.length,
      escalation: traceRefs(attemptRecord(s, job.id, outcome.attempt).c3EscalationReason),
    },
  });
}

export function traceRunEnd(s: Session): void {
  const jobs = Object.values(s.store.state.jobs);
  const count = (outcome: string): number => jobs.filter((job) => job.outcome === outcome).length;
  s.trace.record({
    kind: "run.end",
    payload: {
      status: s.store.state.status,
      accepted: count("accepted"),
      rejected: count("rejected"),
      failed: count("failed"),
      blocked: count("blocked"),
      pending: count("pending"),
      acceptedWithoutC3: jobs.reduce((sum, job) => sum + job.acceptedWithoutC3Count, 0),
    },
  });
}

/** The last record of an orderly pause or end. */
export function traceReport(s: Session, bytes: number): void {
  const status = s.trace.status();
  s.trace.record({
    kind: "report",
    payload: { status: s.store.state.status, bytes, traceStatus: status.status, lost: status.lost },
  });
}
