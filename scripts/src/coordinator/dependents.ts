/** What an ended job does to those that depend on it. */
import { REOPENABLE_BLOCKS } from "../core/runtime.ts";
import type { JournalRecord } from "../state/records.ts";
import { transitiveDependents } from "./readiness.ts";
import { jobState, type Session } from "./session.ts";

/** Ended for good, without a success that a dependent could start on. */
function isDeadEnd(s: Session, jobId: string): boolean {
  const job = jobState(s, jobId);
  if (job.status === "failed") return true;
  return (
    (job.status === "blocked" && job.block !== null && !(job.block.code in REOPENABLE_BLOCKS)) ||
    (job.status === "blocked" && job.block === null)
  );
}

/** Records that block every job below `jobId` that has not started; [] when `jobId` is no dead end. */
export function blockDependents(s: Session, jobId: string): JournalRecord[] {
  if (!isDeadEnd(s, jobId)) return [];
  const records: JournalRecord[] = [];
  for (const id of transitiveDependents(s.index, jobId)) {
    const job = jobState(s, id);
    if (job.status !== "queued" || job.block !== null) continue;
    records.push({
      type: "job",
      jobId: id,
      patch: {
        block: {
          code: "dependency-failed",
          detail: `\`${jobId}\` ended ${jobState(s, jobId).status}${jobState(s, jobId).reason === null ? "" : ` (${jobState(s, jobId).reason})`}, and this job depends on it.`,
        },
      },
    });
  }
  return records;
}
