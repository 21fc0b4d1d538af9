/** metrics.jsonl: one observed outcome per attempt, always rendered from the authoritative state. */
import type { MetricsRecord } from "../core/generated/metrics.ts";
import type { Attempt, Graph, Job, PlanJob, State } from "../core/runtime.ts";
import { piecesOfText, replaceFileInParts } from "../host/files.ts";

export type { MetricsRecord };

/** What only the dispatcher measured, in ms; absent means unknown. */
interface AttemptTimings {
  readonly startUpMs: number | null;
  readonly verifyMs: number | null;
}
type TimingsOf = (jobId: string, attempt: number) => AttemptTimings | null;

/** Every attempt of the run, in plan order; made as they are asked for, since a large run has tens of thousands. */
export function* metricsOf(input: {
  readonly graph: Graph;
  readonly state: State;
  readonly timings?: TimingsOf;
}): Generator<MetricsRecord> {
  for (const plan of input.graph.jobs) {
    const job = input.state.jobs[plan.id];
    if (job === undefined) continue;
    for (const attempt of job.attemptRecords)
      yield recordOf({
        runId: input.state.runId,
        plan,
        job,
        attempt,
        timings: input.timings?.(plan.id, attempt.attempt) ?? null,
      });
  }
}

/** Replaces the file as a whole: an attempt's later outcome must not become a second record of it. */
export function writeMetrics(file: string, records: Iterable<MetricsRecord>): void {
  replaceFileInParts(file, piecesOfText(linesOf(records)));
}

function* linesOf(records: Iterable<MetricsRecord>): Generator<string> {
  for (const record of records) yield `${JSON.stringify(record)}\n`;
}

interface RecordInput {
  readonly runId: string;
  readonly plan: PlanJob;
  readonly job: Job;
  readonly attempt: Attempt;
  readonly timings: AttemptTimings | null;
}

function recordOf({ runId, plan, job, attempt, timings }: RecordInput): MetricsRecord {
  const soFar = job.attemptRecords.filter((other) => other.attempt <= attempt.attempt);
  const mock = attempt.runtime === "mock";
  const usage = attempt.usage;
  return {
    schemaVersion: 1,
    runId,
    jobId: plan.id,
    attempt: attempt.attempt,
    relation: attempt.relation,
    task: plan.task,
    riskTier: attempt.riskTier,
    capabilityFloor: plan.capabilityFloor,
    runtime: attempt.runtime,
    provider: attempt.provider,
    model: attempt.model,
    modelRequested: attempt.modelRequested,
    family: attempt.family,
    effortLevel: attempt.effortLevel,
    mock,
    comparable: !mock && !attempt.flags.includes("model-mismatch") && attempt.settlement === "settled",
    queueMs: spanMs(attempt.createdAt, attempt.startedAt),
    startUpMs: timings?.startUpMs ?? null,
    runMs: attempt.wallMs,
    verifyMs: timings?.verifyMs ?? checkMs(attempt),
    status: attempt.status,
    reason: attempt.reason,
    failureClass: attempt.failureClass,
    settlement: attempt.settlement,
    flags: [...attempt.flags],
    retries: soFar.filter((other) => other.relation === "retry").length,
    promotions: soFar.filter((other) => other.relation === "promotion").length,
    interventions: null,
    inputTokens: usage?.inputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    cachedTokens: usage?.cachedTokens ?? null,
    actualMarginalCostUsd: usage?.actualMarginalCostUsd ?? null,
    apiEquivalentCostUsd: usage?.apiEquivalentCostUsd ?? null,
    quotaBurn: usage?.quotaBurn ?? null,
    usageSource: usage?.source ?? null,
    acceptancePath: attempt.acceptedWithoutC3 ? "without-c3" : attempt.arbitration === null ? "none" : "c3",
    verdict: attempt.c3Verdict,
    independence: attempt.arbitration?.independence ?? null,
    acceptance: attempt.acceptance,
    laterOutcome: attempt.laterOutcome,
  };
}

/** Wall-clock difference; null when an end is unknown or the clock was set back in between. */
function spanMs(from: string, to: string | null): number | null {
  if (to === null) return null;
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isFinite(ms) && ms >= 0 ? ms : null;
}

/** Sum of the executed checks; null when none was timed. */
function checkMs(attempt: Attempt): number | null {
  const timed = attempt.checks.flatMap((check) => (check.wallMs === null ? [] : [check.wallMs]));
  return timed.length === 0 ? null : timed.reduce((sum, ms) => sum + ms, 0);
}
