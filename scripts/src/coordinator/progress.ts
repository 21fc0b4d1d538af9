/** What changed since the last look, in plain lines: progress for a person and for a log, never more than a reader wants. */
import type { Graph, State } from "../core/runtime.ts";

/** Up to here every change of every job is a line; above, only what went wrong is, and a count now and then. */
const EACH_JOB = 20;
const TROUBLES_SHOWN = 30;

export function createProgress(graph: Graph, print: (line: string) => void): (state: State) => void {
  const small = graph.jobs.length <= EACH_JOB;
  const seen = new Map<string, string>();
  let seq = -1;
  let troubles = 0;
  let counted = 0;
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
      const trouble = now.status === "failed" || now.status === "blocked";
      if (trouble) troubles += 1;
      if (small || (trouble && troubles <= TROUBLES_SHOWN))
        print(`[${ended}/${graph.jobs.length}] ${job.id}: ${text}`);
    }
    const tenth = Math.floor((ended * 10) / graph.jobs.length);
    if (!small && tenth > counted) {
      counted = tenth;
      print(`[${ended}/${graph.jobs.length}] ended${troubles > 0 ? `, ${troubles} failed or blocked` : ""}`);
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
