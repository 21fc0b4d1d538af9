/** What an attempt was made from, as one fingerprint with its parts: recorded when it succeeds, compared when a run is resumed. */
import { join } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { type InputFingerprint, inputFingerprint } from "../prove/fingerprint.ts";
import { fixedBriefSha256 } from "./briefing.ts";
import { jobDir, jobState, type Session } from "./session.ts";

export function consumedBy(
  s: Session,
  job: PlanJob,
  o: {
    readonly baseCommit: string | null;
    readonly inputs: readonly { readonly path: string; readonly sha256: string }[];
  },
): InputFingerprint {
  return inputFingerprint({
    briefSha256: fixedBriefSha256(s, job),
    baseCommit: o.baseCommit,
    inputs: o.inputs.map(({ path, sha256 }) => ({ path, sha256 })),
    dependencies: job.dependsOn.map((id) => {
      const last = jobState(s, id).attemptRecords.at(-1);
      return {
        jobId: id,
        attempt: last?.attempt ?? 0,
        treeSha256: last?.treeSha256 ?? null,
        resultSha256: last?.resultSha256 ?? null,
      };
    }),
    invocation: job.invocation,
    verification: job.verification,
  });
}

/** The parts of the last successful attempt, to say later which one changed. Private. */
export const inputsFile = (runDir: string, jobId: string): string =>
  join(jobDir(runDir, jobId), "inputs.json");
