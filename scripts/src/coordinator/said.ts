/** What the final texts of a run's finished work claim, compared with each other: who says the opposite of somebody else. */
import { readNamedFile } from "../host/files.ts";
import { type Claim, findClaims } from "../prove/claims.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import { disagreeingJobs } from "../prove/disagreement.ts";
import type { AmongOthers } from "../prove/escalate.ts";
import { openFindings } from "../prove/review-findings.ts";
import { jobFile, type Session } from "./session.ts";

/** Claims stand in reports and summaries, not behind megabytes of text. */
const TEXT_MAX_BYTES = 1024 * 1024;

/** Looked up once for all that is decided at the same time. */
export function amongOthers(s: Session): AmongOthers {
  return {
    findings: openFindings(s.graph, s.store.state),
    disagreeing: disagreeingJobs(s.graph.jobs, claimsOfRun(s)),
  };
}

/** Of agents alone: what a program prints is no claim of anybody's. Work that was rejected says nothing any more. */
function claimsOfRun(s: Session): Map<string, readonly Claim[]> {
  const found = new Map<string, readonly Claim[]>();
  for (const job of s.graph.jobs) {
    const attempt = currentAttempt(s.store.state, job.id);
    if (attempt?.status !== "success" || attempt.acceptance === "rejected") continue;
    if (s.adapters.get(attempt.runtime)?.agent !== true) continue;
    const key = `${job.id}#${attempt.attempt}`;
    const claims = s.claims.get(key) ?? findClaims(textOf(jobFile(s.runDir, job.id, "result")));
    s.claims.set(key, claims);
    found.set(job.id, claims);
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readNamedFile(path, TEXT_MAX_BYTES).head.toString("utf8");
  } catch {
    return "";
  }
}
