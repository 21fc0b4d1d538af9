/**
 * Which jobs may start: in-degree counters over the frozen graph, so that a run of 10,000 jobs with 90,000 edges costs one
 * step per edge. Dependents start on `success`; an R3 job waits until all it depends on, directly or not, is `accepted`.
 */
import type { Job, PlanJob, State } from "../core/runtime.ts";
import { createMinHeap, type MinHeap } from "./min-heap.ts";

/** Jobs of one pool have a free slot or have none together. */
export type HasRoom = (pool: string) => boolean;

export interface Readiness {
  /** The first in plan order of those that may start now and whose pool has room; it is no longer offered. */
  take(hasRoom: HasRoom): PlanJob | null;
  /** Whether `take` would give one. */
  canTake(hasRoom: HasRoom): boolean;
  /** Tell it that a job's status or candidate changed. */
  changed(id: string): void;
  /** A job may be offered again (retry, approval given, timer over). */
  offer(id: string): void;
  readonly size: number;
}

export interface JobIndex {
  readonly byId: ReadonlyMap<string, PlanJob>;
  readonly dependents: ReadonlyMap<string, readonly string[]>;
}

export function indexJobs(jobs: readonly PlanJob[]): JobIndex {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const dependents = new Map<string, string[]>(jobs.map((job) => [job.id, []]));
  for (const job of jobs) for (const id of job.dependsOn) dependents.get(id)?.push(job.id);
  return { byId, dependents };
}

const succeeded = (job: Job): boolean => job.status === "success" && job.outcome !== "rejected";
const accepted = (job: Job): boolean => succeeded(job) && job.outcome === "accepted";

/** What `dependent` needs of the jobs above it. An accepted job stands on accepted jobs, so its direct dependencies are enough. */
const needOf = (dependent: PlanJob | undefined): ((job: Job) => boolean) =>
  dependent?.riskTier === "R3" ? accepted : succeeded;

/** `poolOf` is asked whenever a job is offered. One step costs as much as there are pools, however many jobs wait. */
export function createReadiness(
  index: JobIndex,
  state: () => State,
  poolOf: (job: PlanJob) => string,
): Readiness {
  const unmet = new Map<string, number>();
  const was = new Map<string, { succeeded: boolean; accepted: boolean }>();
  const queue = new Map<number, { readonly job: PlanJob; readonly pool: string }>();
  const orders = new Map<string, MinHeap>();

  const consider = (id: string): void => {
    const job = index.byId.get(id);
    const now = state().jobs[id];
    if (job === undefined || now === undefined) return;
    if (now.status === "queued" && unmet.get(id) === 0 && isFree(now)) {
      const pool = poolOf(job);
      if (queue.get(job.index)?.pool === pool) return;
      queue.set(job.index, { job, pool });
      const order = orders.get(pool) ?? createMinHeap();
      orders.set(pool, order);
      order.push(job.index);
    } else queue.delete(job.index);
  };

  /** Where the next job stands. What left the queue, or went to another pool, is dropped from the heaps here. */
  const next = (hasRoom: HasRoom): { readonly key: number; readonly order: MinHeap } | null => {
    let first: { readonly key: number; readonly order: MinHeap } | null = null;
    for (const [pool, order] of orders) {
      let key = order.peek();
      for (; key !== undefined && queue.get(key)?.pool !== pool; key = order.peek()) order.pop();
      if (key !== undefined && (first === null || key < first.key) && hasRoom(pool)) first = { key, order };
    }
    return first;
  };

  for (const [id, job] of index.byId) {
    const met = needOf(job);
    const open = job.dependsOn.filter((dependency) => {
      const dependencyState = state().jobs[dependency];
      return dependencyState === undefined || !met(dependencyState);
    });
    unmet.set(id, open.length);
    const own = state().jobs[id];
    was.set(id, {
      succeeded: own !== undefined && succeeded(own),
      accepted: own !== undefined && accepted(own),
    });
  }
  for (const id of index.byId.keys()) consider(id);

  return {
    take(hasRoom) {
      const found = next(hasRoom);
      if (found === null) return null;
      found.order.pop();
      const job = queue.get(found.key)?.job ?? null;
      queue.delete(found.key);
      return job;
    },
    canTake: (hasRoom) => next(hasRoom) !== null,
    changed(id) {
      const now = state().jobs[id];
      if (now === undefined) return;
      const before = was.get(id);
      const after = { succeeded: succeeded(now), accepted: accepted(now) };
      if (before?.succeeded !== after.succeeded || before.accepted !== after.accepted) {
        was.set(id, after);
        for (const dependent of index.dependents.get(id) ?? []) {
          const key = index.byId.get(dependent)?.riskTier === "R3" ? "accepted" : "succeeded";
          if (before?.[key] === after[key]) continue;
          unmet.set(dependent, (unmet.get(dependent) ?? 0) + (after[key] ? -1 : 1));
          consider(dependent);
        }
      }
      consider(id);
    },
    offer: consider,
    get size() {
      return queue.size;
    },
  };
}

/** Queued with a native attempt already handed out, or waiting for a time: not free to be dispatched. */
function isFree(job: Job): boolean {
  const last = job.attemptRecords.at(-1);
  const open = last !== undefined && (last.status === "queued" || last.status === "running");
  return !open && job.notBefore === null;
}

/** All jobs below `id`, nearest first. */
export function transitiveDependents(index: JobIndex, id: string): string[] {
  return [...below(index, [id])].slice(1);
}

/** All jobs that stand on one of `ids`, directly or not: one look at each edge, however many `ids` there are. */
export function standingOn(index: JobIndex, ids: Iterable<string>): ReadonlySet<string> {
  const reached = below(index, ids);
  const stands = (id: string): boolean =>
    index.byId.get(id)?.dependsOn.some((on) => reached.has(on)) === true;
  return new Set([...reached].filter(stands));
}

/** `ids` and all jobs below them, nearest first. */
function below(index: JobIndex, ids: Iterable<string>): Set<string> {
  const seen = new Set(ids);
  // What is added to a set while it is gone through is gone through too.
  for (const id of seen) for (const next of index.dependents.get(id) ?? []) seen.add(next);
  return seen;
}

/** All jobs above `id`, in topological order. */
export function transitiveDependencies(index: JobIndex, id: string): string[] {
  const seen = new Set<string>();
  const stack = [...(index.byId.get(id)?.dependsOn ?? [])];
  while (stack.length > 0) {
    const next = stack.pop() as string;
    if (seen.has(next)) continue;
    seen.add(next);
    stack.push(...(index.byId.get(next)?.dependsOn ?? []));
  }
  return [...seen].sort((a, b) => (index.byId.get(a)?.index ?? 0) - (index.byId.get(b)?.index ?? 0));
}
