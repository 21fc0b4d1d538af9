/** Answers an open arbiter call as a reviewer that passes (or fails) everything would. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Verdict } from "../../src/core/generated/verdict.ts";
import { stateOf } from "./tool.ts";

export function writeVerdict(
  runDir: string,
  word: (jobId: string) => Verdict["overall"] = () => "pass",
): string {
  const open = stateOf(runDir).arbiters.find((arbiter) => arbiter.status === "offered");
  if (open === undefined) throw new Error("no arbiter call is open");
  const jobs = open.attempts.map(({ jobId, attempt, treeSha256 }) => ({
    jobId,
    attempt,
    treeSha256,
    verdict: word(jobId),
    reasons: ["checked against the bundle"],
    unsupportedClaims: [],
    contradictions: [],
    unresolved: [],
  }));
  const overall = jobs.some((job) => job.verdict === "fail")
    ? "fail"
    : jobs.some((job) => job.verdict === "blocked")
      ? "blocked"
      : "pass";
  const verdict: Verdict = {
    schemaVersion: 1,
    bundleSha256: open.bundleSha256,
    nonce: open.nonce,
    overall,
    jobs: jobs as unknown as Verdict["jobs"],
  };
  const file = join(runDir, open.arbiterId, "verdict.json");
  writeFileSync(file, JSON.stringify(verdict));
  return file;
}
