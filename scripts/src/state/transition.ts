/** Applies journal records to a state: the only code that changes one. Illegal changes throw, for they are bugs. */
import { unreachable } from "../core/result.ts";
import { maxRisk } from "../core/tiers.ts";
import { attemptMay, OPEN_ATTEMPT, runMay } from "./machine.ts";
import type { Attempt, AttemptPatch, Job, JournalRecord, RunPatch, State } from "./records.ts";

export class IllegalTransition extends Error {
  readonly code = "illegal-transition";
  constructor(message: string) {
    super(message);
    this.name = "IllegalTransition";
  }
}

/** The state after `record`; the argument is untouched. Costs a copy of the job table: for stores, see `applyAll`. */
export function apply(state: State, record: JournalRecord): State {
  const next = { ...state, jobs: { ...state.jobs } };
  applyAll(next, [record]);
  return next;
}

/**
 * Changes `state` in place, all records or none. Jobs, attempts and lists are replaced, never altered, so whoever holds
 * an older one (a snapshot that is being written) keeps a consistent value.
 */
export function applyAll(state: State, records: readonly JournalRecord[]): void {
  const before = { ...state };
  const jobsBefore = new Map<string, Job>();
  try {
    for (const record of records) applyOne(state, record, jobsBefore);
  } catch (error) {
    for (const [id, job] of jobsBefore) before.jobs[id] = job;
    Object.assign(state, before);
    throw error;
  }
}

function applyOne(state: State, record: JournalRecord, jobsBefore: Map<string, Job>): void {
  switch (record.type) {
    case "run":
      patchRun(state, record.patch);
      if (record.note !== undefined) state.notes = [...state.notes, record.note];
      return;
    case "attempt-open":
      setJob(openAttempt(record.jobId, jobOf(state, record.jobId), record.attempt));
      return;
    case "attempt":
      setJob(patchAttempt(record.jobId, jobOf(state, record.jobId), record.attempt, record.patch));
      return;
    case "job":
      setJob(merge(jobOf(state, record.jobId), record.patch));
      return;
    case "approval":
      state.approvals = upsert(state.approvals, record.approval, (approval) => approval.id);
      return;
    case "arbiter":
      state.arbiters = upsert(state.arbiters, record.arbiter, (arbiter) => arbiter.arbiterId);
      return;
    case "onboarding":
      state.onboarding = upsert(state.onboarding ?? [], record.onboarding, (onboarding) => onboarding.id);
      return;
    default:
      unreachable(record);
  }

  function setJob(job: Job): void {
    const { jobId } = record as { jobId: string };
    if (!jobsBefore.has(jobId)) jobsBefore.set(jobId, state.jobs[jobId] as Job);
    state.jobs[jobId] = computed(job);
  }
}

function jobOf(state: State, jobId: string): Job {
  // `constructor` is a legal job id, so a plain lookup would find the prototype's.
  const job = Object.hasOwn(state.jobs, jobId) ? state.jobs[jobId] : undefined;
  if (job === undefined) throw new IllegalTransition(`there is no job \`${jobId}\``);
  return job;
}

function patchRun(state: State, patch: RunPatch): void {
  if (patch.status !== undefined && !runMay(state.status, patch.status))
    throw new IllegalTransition(`the run cannot go from ${state.status} to ${patch.status}`);
  for (const [key, value] of Object.entries(patch))
    if (value !== undefined) (state as unknown as Record<string, unknown>)[key] = value;
}

function openAttempt(jobId: string, job: Job, attempt: Attempt): Job {
  const refuse = (why: string): never => {
    throw new IllegalTransition(`attempt ${attempt.attempt} of \`${jobId}\` cannot open: ${why}`);
  };
  if (attempt.attempt !== job.attemptRecords.length + 1)
    refuse(`the next ordinal is ${job.attemptRecords.length + 1}`);
  if (attempt.status !== "queued" && attempt.status !== "running") refuse(`it is ${attempt.status}`);
  if (job.block !== null) refuse(`the job is blocked: ${job.block.code}`);
  const last = job.attemptRecords.at(-1);
  if (last !== undefined && OPEN_ATTEMPT.has(last.status))
    refuse(`attempt ${last.attempt} is ${last.status}`);
  if (last?.status === "success" && last.attempt > job.reopenedAt)
    refuse(`attempt ${last.attempt} succeeded and the job was not reopened`);
  return withRoute(
    {
      ...job,
      // Opening an attempt is what was pending, and it is not waiting any more.
      pendingAttempt: null,
      notBefore: null,
      attemptRecords: [...job.attemptRecords, { ...attempt }],
    },
    attempt,
  );
}

function patchAttempt(jobId: string, job: Job, ordinal: number, patch: AttemptPatch): Job {
  const old = job.attemptRecords[ordinal - 1];
  if (old === undefined) throw new IllegalTransition(`\`${jobId}\` has no attempt ${ordinal}`);
  const next = merge(old, patch);
  const refuse = (why: string): never => {
    throw new IllegalTransition(`attempt ${ordinal} of \`${jobId}\` ${why}`);
  };
  if (next.attempt !== ordinal) refuse("cannot change its ordinal");
  if (patch.status !== undefined && !attemptMay(old.status, patch.status))
    refuse(`cannot go from ${old.status} to ${patch.status}`);
  if (next.acceptance !== old.acceptance && old.acceptance !== "pending")
    refuse(`is ${old.acceptance} for good`);
  if (next.acceptance === "accepted" && next.status !== "success")
    refuse(`cannot be accepted while ${next.status}`);
  const attemptRecords = job.attemptRecords.slice();
  attemptRecords[ordinal - 1] = next;
  const patched = { ...job, attemptRecords };
  return ordinal === attemptRecords.length ? withRoute(patched, next) : patched;
}

/** The job shows the route of its latest attempt. */
function withRoute(job: Job, attempt: Attempt): Job {
  job.runtime = attempt.runtime;
  job.model = attempt.model ?? attempt.modelRequested;
  return job;
}

/** Like a spread, but a member given as undefined is left alone: the journal cannot say it. */
function merge<T extends object>(base: T, patch: Partial<NoInfer<T>>): T {
  const next = { ...base, ...patch } as T;
  for (const key of Object.keys(patch) as (keyof T)[]) if (next[key] === undefined) next[key] = base[key];
  return next;
}

function upsert<T>(list: readonly T[], item: T, key: (item: T) => string): T[] {
  const at = list.findIndex((known) => key(known) === key(item));
  return at === -1 ? [...list, item] : list.with(at, item);
}

/** Fills in what follows from a job's own members and its attempts. Changes and returns `job`, which must be fresh. */
export function computed(job: Job): Job {
  const latest = job.attemptRecords.at(-1);
  const current = latest !== undefined && latest.attempt > job.reopenedAt ? latest : undefined;
  job.status = statusOf(job, current);
  job.outcome = outcomeOf(job, current);
  job.reason =
    job.block?.code ?? job.outcomeBlock?.code ?? job.pendingAttempt?.reason ?? current?.reason ?? null;
  job.attempts = job.attemptRecords.length;
  job.acceptedWithoutC3Count = 0;
  for (const attempt of job.attemptRecords) {
    if (attempt.acceptedWithoutC3) job.acceptedWithoutC3Count += 1;
    job.riskTier = maxRisk(job.riskTier, attempt.riskTier);
  }
  return job;
}

function statusOf(job: Job, current: Attempt | undefined): Job["status"] {
  if (job.block !== null && current?.status !== "running") return "blocked";
  if (job.pendingAttempt !== null) return "queued";
  const status = current?.status ?? "queued";
  return status === "timed_out" || status === "unsettled" ? "failed" : status;
}

function outcomeOf(job: Job, current: Attempt | undefined): Job["outcome"] {
  if (job.status === "failed") return "failed";
  if (job.outcomeBlock?.code === "dependency-rejected") return "rejected";
  if (job.status === "blocked" || job.outcomeBlock !== null) return "blocked";
  return current?.acceptance ?? "pending";
}
