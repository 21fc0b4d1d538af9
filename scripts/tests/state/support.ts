/** Blank records and a lock that is always ours. */
import type { RiskTier } from "../../src/core/tiers.ts";
import type { Clock } from "../../src/host/clock.ts";
import type { Lock } from "../../src/state/lock.ts";
import type { Attempt, Job, JournalRecord, State } from "../../src/state/records.ts";

/** A job before its first attempt. */
export function blankJob(known: Partial<Job> & { riskTier: RiskTier }): Job {
  return {
    status: "queued",
    outcome: "pending",
    reason: null,
    detail: null,
    block: null,
    outcomeBlock: null,
    runtime: null,
    model: null,
    agent: null,
    attempts: 0,
    worktree: null,
    branch: null,
    baseCommit: null,
    baseOverride: null,
    acceptedWithoutC3Count: 0,
    notBefore: null,
    candidateIndex: 0,
    promotions: 0,
    retriesUsed: 0,
    resumes: 0,
    userRetries: 0,
    reopenedAt: 0,
    pendingAttempt: null,
    attemptRecords: [],
    ...known,
  };
}

/** An attempt of which nothing is known yet but what the caller states; every other field is null, empty or false. */
export function blankAttempt(
  known: Partial<Attempt> &
    Pick<Attempt, "attempt" | "relation" | "runtime" | "status" | "createdAt" | "riskTier">,
): Attempt {
  return {
    provider: null,
    model: null,
    modelRequested: null,
    family: null,
    effortLevel: null,
    effortRaw: null,
    benchmarkRef: null,
    promotionOf: null,
    promotionTrigger: null,
    phase: null,
    reason: null,
    detail: null,
    failureClass: null,
    settlement: null,
    startedAt: null,
    endedAt: null,
    wallMs: null,
    exitCode: null,
    signal: null,
    timedOut: false,
    flags: [],
    resetAt: null,
    tierDerivation: [],
    capabilityFloorDelta: 0,
    riskFloorDelta: 0,
    checks: [],
    artifacts: [],
    changedPaths: [],
    inputFingerprint: null,
    baseCommit: null,
    treeSha256: null,
    commit: null,
    resultBytes: null,
    resultSha256: null,
    diffStat: null,
    injectionFixture: "not-run",
    microArbiter: null,
    c3EscalationReason: [],
    c3Verdict: null,
    arbitration: null,
    acceptedWithoutC3: false,
    acceptance: "pending",
    laterOutcome: null,
    decisionTraceRef: null,
    supervisorRunId: null,
    pid: null,
    processStartTime: null,
    bootId: null,
    sessionHandle: null,
    nativeHandle: null,
    usage: null,
    question: null,
    ...known,
  };
}

export const SHA = "0".repeat(64);
export const AT = "2026-01-01T00:00:00.000Z";

export function blankState(jobIds: readonly string[], known: Partial<State> = {}): State {
  const jobs: Record<string, Job> = {};
  for (const id of jobIds) jobs[id] = blankJob({ riskTier: "R0" });
  return {
    schemaVersion: 1,
    seq: 0,
    epoch: 0,
    runId: "orchestrate-20260101-000000",
    specPath: null,
    specSha256: SHA,
    graphSha256: SHA,
    baseRef: null,
    baseCommit: null,
    harness: { name: "unknown", subagents: false },
    createdAt: AT,
    updatedAt: AT,
    endedAt: null,
    status: "preparing",
    reason: null,
    cancelRequested: false,
    mock: false,
    notes: [],
    supervisorRunId: null,
    approvals: [],
    arbiters: [],
    jobs,
    ...known,
  };
}

export function attempt(n: number, known: Partial<Attempt> = {}): Attempt {
  return blankAttempt({
    attempt: n,
    relation: n === 1 ? "first" : "retry",
    runtime: "mock",
    status: "queued",
    createdAt: AT,
    riskTier: "R0",
    ...known,
  });
}

/** The four transitions of a job that goes well. */
export function lifeOf(jobId: string, n = 1): JournalRecord[][] {
  const patch = (change: Partial<Attempt>): JournalRecord[] => [
    { type: "attempt", jobId, attempt: n, patch: change },
  ];
  return [
    [
      {
        type: "attempt-open",
        jobId,
        attempt: attempt(n, { status: "running", phase: "starting", startedAt: AT }),
      },
    ],
    patch({ phase: "working", pid: 4711, processStartTime: "123456", bootId: "boot" }),
    patch({ status: "success", phase: null, exitCode: 0, wallMs: 12, endedAt: AT, settlement: "settled" }),
    patch({ acceptance: "accepted", c3Verdict: "pass" }),
  ];
}

export const fixedClock: Clock = { now: () => Date.parse(AT), mono: () => 0 };

export function openLock(): Lock & { lost: boolean } {
  return {
    epoch: 0,
    lost: false,
    adopt() {},
    verify() {
      return !this.lost;
    },
    release() {},
  };
}
