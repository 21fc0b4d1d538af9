/** status.json in a job's folder: the job's part of state.json, for those who look only there. Never read back. */
import { writePrivate } from "../host/files.ts";
import { jobFile, jobState, type Session } from "./session.ts";

export function writeJobStatus(s: Session, jobId: string): void {
  const { attemptRecords, ...job } = jobState(s, jobId);
  const attempt = attemptRecords.at(-1) ?? null;
  writePrivate(
    jobFile(s.runDir, jobId, "status"),
    `${JSON.stringify({ jobId, ...job, lastAttempt: attempt })}\n`,
  );
}
