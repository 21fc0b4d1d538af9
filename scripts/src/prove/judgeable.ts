/** Which finished work waits for a verdict, and which of it one call can judge. */
import type { Attempt, Graph, State } from "../core/runtime.ts";
import type { AttemptRef } from "./bundle.ts";
import { currentAttempt } from "./current-attempt.ts";

/** Wanted attempts in success whose acceptance is pending, in topological order. */
export function pendingArbitration(
  graph: Graph,
  state: State,
  wanted: (jobId: string) => boolean = () => true,
): AttemptRef[] {
  const pending: AttemptRef[] = [];
  for (const job of graph.jobs) {
    const attempt = currentAttempt(state, job.id);
    if (!isUndecided(attempt) || !wanted(job.id)) continue;
    pending.push({ jobId: job.id, attempt: attempt.attempt });
  }
  return pending;
}

/**
 * Those of `refs` that can be judged in one call: all they stand on is decided, or is in the same call. Work above
 * undecided work waits, since it could only share an outcome that is not there yet.
 */
export function judgeableTogether(refs: readonly AttemptRef[], graph: Graph, state: State): AttemptRef[] {
  const wanted = new Map(refs.map((ref) => [ref.jobId, ref]));
  const open = new Set<string>();
  const chosen: AttemptRef[] = [];
  for (const job of graph.jobs) {
    const ref = wanted.get(job.id);
    const waits = job.dependsOn.some((id) => open.has(id));
    if (ref !== undefined && !waits) chosen.push(ref);
    else if (waits || isUndecided(currentAttempt(state, job.id))) open.add(job.id);
  }
  return chosen;
}

const isUndecided = (attempt: Attempt | null): attempt is Attempt =>
  attempt?.status === "success" && attempt.acceptance === "pending";
