/** What changed since the last look, in plain lines: progress for a person and for a log, never more than a reader wants. */
import type { Graph, State } from "../core/runtime.ts";
import type { Changes } from "../state/follow.ts";

/** Up to here every change of every job is a line; above, only what went wrong is, and a count now and then. */
const EACH_JOB = 20;
const TROUBLES_SHOWN = 30;

/** `changes`: what moved since the last call, as a follower tells it; only that is looked at. */
export function createProgress(
  graph: Graph,
  print: (line: string) => void,
): (state: State, changes: Changes | null) => void {
  const total = graph.jobs.length;
  const small = total <= EACH_JOB;
  // A job that has not moved yet is nothing to tell.
  const seen = new Map(graph.jobs.map((job) => [job.id, "queued"]));
  const ended = new Set<string>();
  let troubles = 0;
  let counted = 0;
  return (state, changes) => {
    const moved = [...(changes?.jobs ?? seen.keys())].flatMap((id) => {
      const job = state.jobs[id];
      return job === undefined ? [] : [{ id, job }];
    });
    for (const { id, job } of moved)
      if (job.status === "queued" || job.status === "running") ended.delete(id);
      else ended.add(id);
    for (const { id, job } of moved) {
      const text = describe(job);
      if (seen.get(id) === text) continue;
      seen.set(id, text);
      const trouble = job.status === "failed" || job.status === "blocked";
      if (trouble) troubles += 1;
      if (small || (trouble && troubles <= TROUBLES_SHOWN)) print(`[${ended.size}/${total}] ${id}: ${text}`);
    }
    const tenth = Math.floor((ended.size * 10) / total);
    if (!small && tenth > counted) {
      counted = tenth;
      print(`[${ended.size}/${total}] ended${troubles > 0 ? `, ${troubles} failed or blocked` : ""}`);
    }
  };
}

function describe(job: State["jobs"][string]): string {
  const last = job.attemptRecords.at(-1);
  const runtime = last === undefined ? "" : ` on ${last.runtime}`;
  const attempt = last !== undefined && last.attempt > 1 ? ` (attempt ${last.attempt})` : "";
  if (job.status === "running") return `running${runtime}${attempt}`;
  if (job.status === "success")
    return `success, ${job.outcome === "pending" || job.outcome === "blocked" ? "not judged yet" : job.outcome}`;
  if (job.status === "queued" && job.detail !== null) return `queued: ${job.detail}`;
  return `${job.status}${job.reason === null ? "" : `: ${job.reason}`}`;
}
