/**
 * The loop's hands: starts what may start, within the slots, and turns each end into records. It decides nothing itself:
 * plan/ says what follows a failure, prove/ what an answer is worth, state/ which change is legal.
 */
import type { PlanJob } from "../core/runtime.ts";
import type { JournalRecord } from "../state/records.ts";
import { gateBeforeDispatch } from "./approval.ts";
import { runAttempt } from "./attempt.ts";
import { blockDependents } from "./dependents.ts";
import { openNativeAttempt } from "./native.ts";
import { createReadiness, type HasRoom, type Readiness } from "./readiness.ts";
import { jobState, planJob, type Session } from "./session.ts";
import type { Wake } from "./wake.ts";

/** What the scheduler can tell a running attempt. */
export interface LiveAttempt {
  readonly jobId: string;
  cancel(mode: "graceful" | "hard"): void;
}

export interface Scheduler {
  /** Starts everything that may start now. */
  pump(): Promise<void>;
  /** No process runs, nothing is ready and no timer is due. Native work in a harness's hands does not count. */
  idle(): boolean;
  /** A job's record changed outside (command, verdict): look at it again. */
  changed(jobId: string): Promise<void>;
  /** Ends running work; nothing new starts. */
  stop(mode: "graceful" | "hard"): void;
  /** Ends one job's running work; resolves when it is proven gone. */
  end(jobId: string, mode: "graceful" | "hard"): Promise<void>;
  /** Resolves when nothing runs. */
  drained(): Promise<void>;
  readonly running: number;
}

export function createScheduler(s: Session, wake: Wake): Scheduler {
  const poolOf = (job: PlanJob): string => candidateOf(s, job)?.runtime ?? "";
  const readiness: Readiness = createReadiness(s.index, () => s.store.state, poolOf);
  const caps = new Map(Object.entries(s.graph.pools));
  const live = new Map<string, { handle: LiveAttempt | null; done: Promise<void> }>();
  const timers = new Map<string, NodeJS.Timeout>();
  let stopped: "graceful" | "hard" | null = null;

  /** Which pools have a free slot at this moment; null: none has. */
  const room = (): HasRoom | null => {
    const busy = busyRuntimes(s, live);
    if (busy.total >= s.graph.concurrency) return null;
    return (pool) => (busy.byRuntime.get(pool) ?? 0) < (caps.get(pool) ?? Number.POSITIVE_INFINITY);
  };

  const start = async (job: PlanJob): Promise<void> => {
    const gate = await gateBeforeDispatch(s, job);
    if (!gate.pass) {
      await s.commit(gate.records);
      await settled(job.id);
      return;
    }
    if (candidateOf(s, job)?.kind === "internal") {
      await openNativeAttempt(s, job, gate.approved);
      return;
    }
    const onLive = (handle: LiveAttempt): void => {
      const entry = live.get(job.id);
      if (entry === undefined) return;
      entry.handle = handle;
      if (stopped !== null) handle.cancel(stopped);
    };
    await runAttempt(s, job, { approved: gate.approved, onLive });
    await settled(job.id);
  };

  /** After any end: dependents that can never start are blocked with it, timers are set, readiness is told. */
  const settled = async (jobId: string): Promise<void> => {
    const blocked = blockDependents(s, jobId);
    if (blocked.length > 0) await s.commit(blocked);
    for (const record of blocked) if (record.type === "job") readiness.changed(record.jobId);
    setTimer(jobId);
    readiness.changed(jobId);
  };

  const setTimer = (jobId: string): void => {
    const at = jobState(s, jobId).notBefore;
    clearTimeout(timers.get(jobId));
    timers.delete(jobId);
    if (at === null || jobState(s, jobId).status !== "queued") return;
    const due = async (): Promise<void> => {
      timers.delete(jobId);
      await s.commit([{ type: "job", jobId, patch: { notBefore: null } } satisfies JournalRecord]);
      readiness.offer(jobId);
      wake.ring();
    };
    // setTimeout takes at most 2^31-1 ms; a longer wait is set again when it fires.
    const delay = Math.max(0, Math.min(Date.parse(at) - s.clock.now(), 2_000_000_000));
    timers.set(
      jobId,
      setTimeout(() => void due().catch(() => wake.ring()), delay),
    );
  };

  for (const id of s.index.byId.keys()) if (jobState(s, id).notBefore !== null) setTimer(id);

  return {
    async pump() {
      while (stopped === null && s.store.failed === null) {
        const free = room();
        const job = free === null ? null : readiness.take(free);
        if (job === null) return;
        const done = start(job)
          .catch((error: unknown) => crashed(s, error))
          .finally(() => {
            live.delete(job.id);
            wake.ring();
          });
        live.set(job.id, { handle: null, done });
      }
    },
    idle: () =>
      live.size === 0 &&
      timers.size === 0 &&
      (readiness.size === 0 || stopped !== null || !readiness.canTake(room() ?? noRoom)),
    async changed(jobId) {
      await settled(jobId);
    },
    stop(mode) {
      stopped = mode;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      for (const entry of live.values()) entry.handle?.cancel(mode);
    },
    async end(jobId, mode) {
      const entry = live.get(jobId);
      if (entry === undefined) return;
      entry.handle?.cancel(mode);
      await entry.done;
    },
    async drained() {
      await Promise.all([...live.values()].map((entry) => entry.done));
    },
    get running() {
      return live.size;
    },
  };
}

const candidateOf = (s: Session, job: PlanJob): PlanJob["route"]["chain"][number] | undefined =>
  job.route.chain[jobState(s, job.id).candidateIndex];

/** Slots are held by processes and by native attempts that a harness holds. */
function busyRuntimes(
  s: Session,
  live: ReadonlyMap<string, unknown>,
): { total: number; byRuntime: Map<string, number> } {
  const byRuntime = new Map<string, number>();
  let total = 0;
  const count = (jobId: string): void => {
    const runtime = candidateOf(s, planJob(s, jobId))?.runtime;
    total += 1;
    if (runtime !== undefined) byRuntime.set(runtime, (byRuntime.get(runtime) ?? 0) + 1);
  };
  for (const jobId of live.keys()) count(jobId);
  for (const jobId of s.nativeOpen) if (!live.has(jobId)) count(jobId);
  return { total, byRuntime };
}

const noRoom: HasRoom = () => false;

/** A bug in a step must not take the other jobs down silently: the store is told, the loop ends with it. */
function crashed(s: Session, error: unknown): void {
  s.fail(error instanceof Error ? error : new Error(String(error)));
}
