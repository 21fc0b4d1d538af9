/** Which attempt counts. A file of its own, since every command that looks at a run asks, and few read verdicts. */
import type { Attempt, State } from "../core/runtime.ts";

/** Work done by the mock runtime: judged only by the mock arbiter, which judges nothing else. */
export const MOCK_RUNTIME = "mock";

/** The attempt that counts for a job: the newest, unless the job was reopened after it. */
export function currentAttempt(state: State, jobId: string): Attempt | null {
  const job = state.jobs[jobId];
  const attempt = job?.attemptRecords.at(-1);
  return job === undefined || attempt === undefined || attempt.attempt <= job.reopenedAt ? null : attempt;
}
