/** What an ended job does to those that depend on it. */
import { REOPENABLE_BLOCKS } from "../core/runtime.ts";
import type { RoundOutcome } from "../prove/accept.ts";
import type { JournalRecord } from "../state/records.ts";
import { stopNative } from "./native.ts";
import { transitiveDependents } from "./readiness.ts";
import type { Scheduler } from "./scheduler.ts";
import { jobState, type Session } from "./session.ts";
import { blockRejected } from "./verdicts.ts";

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

/** Ends the running work above a rejection and blocks it: nothing of it counts, and none of it starts again by itself. */
export async function endRejected(
  s: Session,
  scheduler: Scheduler,
  dead: RoundOutcome["rejectedDependents"],
): Promise<void> {
  for (const one of dead) {
    if (s.nativeOpen.has(one.jobId)) await stopNative(s, one.jobId);
    await scheduler.end(one.jobId, "graceful");
    if (jobState(s, one.jobId).status !== "success") {
      const records = blockRejected(s, one, { ended: true });
      if (records.length > 0) await s.commit(records);
    }
    await scheduler.changed(one.jobId);
  }
}
