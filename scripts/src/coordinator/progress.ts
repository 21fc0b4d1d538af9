/** What changed since the last look, one plain line a job: progress for a person and for a log. */
import type { Graph, State } from "../core/runtime.ts";

export function createProgress(graph: Graph, print: (line: string) => void): (state: State) => void {
  const seen = new Map<string, string>();
  let seq = -1;
  return (state) => {
    if (state.seq === seq) return;
    seq = state.seq;
    const ended = Object.values(state.jobs).filter(
      (job) => job.status !== "queued" && job.status !== "running",
    ).length;
    for (const job of graph.jobs) {
      const now = state.jobs[job.id];
      if (now === undefined) continue;
      const text = describe(now);
      const before = seen.get(job.id);
      if (before === text) continue;
      seen.set(job.id, text);
      if (before === undefined && text === "queued") continue;
      print(`[${ended}/${graph.jobs.length}] ${job.id}: ${text}`);
    }
  };
}

function describe(job: State["jobs"][string]): string {
  const last = job.attemptRecords.at(-1);
  const runtime = last === undefined ? "" : ` on ${last.runtime}`;
  const attempt = last !== undefined && last.attempt > 1 ? ` (attempt ${last.attempt})` : "";
  if (job.status === "running") return `running${runtime}${attempt}`;
  if (job.status === "success")
    return job.outcome === "pending" ? "success, not judged yet" : `success, ${job.outcome}`;
  if (job.status === "queued" && job.detail !== null) return `queued: ${job.detail}`;
  return `${job.status}${job.reason === null ? "" : `: ${job.reason}`}`;
}
