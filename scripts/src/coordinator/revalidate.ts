/**
 * Finished work is reused only while what it was made from and what it made are as recorded. What no longer holds runs
 * again, with all that stands on it, and the reason is shown.
 */
import { join } from "node:path";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { readTextIfPresent, sha256File } from "../host/files.ts";
import { changedInputs } from "../prove/fingerprint.ts";
import type { JournalRecord } from "../state/records.ts";
import { changedScripts } from "./check-scripts.ts";
import { consumedBy, inputsFile } from "./consumed.ts";
import { jobState, type Session } from "./session.ts";
import { knownWorkplace } from "./workplace.ts";

/** Records that open again what is stale; empty when everything still holds. */
export async function revalidate(s: Session): Promise<JournalRecord[]> {
  const stale = new Set<string>();
  const records: JournalRecord[] = [];
  for (const job of s.graph.jobs) {
    const state = jobState(s, job.id);
    const last = state.attemptRecords.at(-1);
    if (state.status !== "success" || last === undefined) continue;
    const reasons = [
      ...job.dependsOn.filter((id) => stale.has(id)).map((id) => `\`${id}\` runs again`),
      ...(await inputReasons(s, job, last)),
      ...(await outputReasons(s, job, last)),
      ...(await scriptReasons(s, job, last)),
    ];
    if (reasons.length === 0) continue;
    const why = `runs again because ${reasons.slice(0, 5).join("; ")}`;
    // External effects are never repeated by themselves: the report shows the difference, the user decides.
    if (job.riskTier === "R3") {
      records.push({
        type: "run",
        patch: {},
        note: `${job.id} would have to run again (${reasons.join("; ")}), but external work never does so by itself.`,
      });
      continue;
    }
    stale.add(job.id);
    records.push(
      {
        type: "job",
        jobId: job.id,
        patch: {
          reopenedAt: state.attempts,
          outcomeBlock: null,
          pendingAttempt: { relation: "resume", reason: why },
          detail: why,
        },
      },
      { type: "run", patch: {}, note: `${job.id} ${why}.` },
    );
  }
  return records;
}

async function inputReasons(s: Session, job: PlanJob, last: Attempt): Promise<readonly string[]> {
  if (last.inputFingerprint === null) return [];
  const inputs = await inputsNow(s, job, last);
  const now = consumedBy(s, job, { baseCommit: last.baseCommit, inputs });
  if (now.sha256 === last.inputFingerprint) return [];
  const before = recordedParts(s, job.id);
  return before === null ? ["its inputs changed"] : changedInputs(before, now.parts);
}

/** A missing input has an empty digest, which equals none that was recorded. */
async function inputsNow(
  s: Session,
  job: PlanJob,
  last: Attempt,
): Promise<{ path: string; sha256: string }[]> {
  const { cwd } = knownWorkplace(s, job, last);
  return Promise.all(
    job.inputs.map(async (input) => {
      if (input.fromJob === null)
        return { path: input.path, sha256: (await sha256File(join(cwd, input.path)))?.sha256 ?? "" };
      const source = jobState(s, input.fromJob).attemptRecords.at(-1);
      return {
        path: input.path,
        sha256: source?.artifacts.find((artifact) => artifact.path === input.fromPath)?.sha256 ?? "",
      };
    }),
  );
}

function recordedParts(s: Session, jobId: string): Record<string, string> | null {
  const text = readTextIfPresent(inputsFile(s.runDir, jobId));
  if (text === null) return null;
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return null;
  }
}

/** An output that a later job of the run was there to change is that job's business. */
async function outputReasons(s: Session, job: PlanJob, last: Attempt): Promise<string[]> {
  const place = knownWorkplace(s, job, last);
  const reasons: string[] = [];
  for (const artifact of last.artifacts) {
    const found = await sha256File(join(place.cwd, artifact.path));
    if (found?.sha256 === artifact.sha256 || (place.worktree === null && changedLater(s, job, artifact.path)))
      continue;
    reasons.push(
      found === null ? `output \`${artifact.path}\` is gone` : `output \`${artifact.path}\` changed`,
    );
  }
  return reasons;
}

/** A check that would do something else now says nothing about the work any more. */
async function scriptReasons(s: Session, job: PlanJob, last: Attempt): Promise<string[]> {
  const place = knownWorkplace(s, job, last);
  const changed = await changedScripts({
    runDir: s.runDir,
    jobId: job.id,
    root: place.root,
    searchPath: s.env.get("PATH") ?? "",
  });
  return changed
    .filter((path) => place.worktree !== null || !changedLater(s, job, path))
    .map((path) => `check script \`${path}\` changed`);
}

function changedLater(s: Session, job: PlanJob, path: string): boolean {
  return s.graph.jobs.some((other) => {
    if (other.index <= job.index || other.cwd !== job.cwd) return false;
    const last = jobState(s, other.id).attemptRecords.at(-1);
    return (
      last?.artifacts.some((artifact) => artifact.path === path) === true ||
      last?.changedPaths.some((changed) => changed.endsWith(path)) === true
    );
  });
}
