/** What a resume makes of the state it finds: of attempts that were cut off, and of work that was already accepted. Pure. */
import { SUPERVISION } from "../core/policy.ts";
import type { Attempt, Job, PlanJob } from "../core/runtime.ts";

export interface InterruptionInput {
  readonly job: PlanJob;
  readonly jobState: Job;
  readonly attempt: Attempt;
  /** It is proven that nothing of the attempt runs any more. */
  readonly processGone: boolean;
}

export interface InterruptionDecision {
  /**
   * `resume`: a new attempt by itself; `block`: only the user's `--retry` goes on; `unsettled`: the attempt closes as
   * failed with `settlement: unsettled`, its ownership stays held.
   */
  readonly action: "resume" | "block" | "unsettled";
  /** Stable code. */
  readonly reason: string;
  /** One sentence for a person. */
  readonly detail: string;
}

/**
 * Decides about an attempt whose end nobody recorded. A process that lives is waited for or stopped first: ask again
 * when it is gone, or with `processGone: false` once that could not be proven in time.
 */
export function decideAfterInterruption(input: InterruptionInput): InterruptionDecision {
  const { job, jobState, attempt, processGone } = input;
  if (!processGone)
    return {
      action: "unsettled",
      reason: "process-not-gone",
      detail: "its process could not be proven gone, so nothing may start in its place",
    };
  const started = mayHaveStarted(attempt);
  if (started && (job.riskTier === "R3" || job.effect === "external-destructive"))
    return {
      action: "unsettled",
      reason: "external-effect",
      detail:
        "it died after its start and what it did outside is unknown; only `resume --retry` with a fresh approval runs it again",
    };
  if (started && job.writer && job.isolation === "none")
    return {
      action: "block",
      reason: "interrupted-writer",
      detail:
        "it may have left half an edit in the shared checkout: look at it, then `resume --retry` this job",
    };
  if (jobState.resumes >= SUPERVISION.resumeAttemptsMax)
    return {
      action: "block",
      reason: "resume-limit",
      detail: `it was interrupted and started again ${jobState.resumes} times, which is the limit`,
    };
  const why = started ? (job.writer ? "isolated-writer" : "observer") : "never-started";
  return { action: "resume", reason: why, detail: RESUMED[why] };
}

const RESUMED = {
  "never-started": "it had not started",
  "isolated-writer": "its edits are in its own worktree and kept aside; a new attempt starts from nothing",
  observer: "it changes no files, so it may start again",
} as const;

/**
 * False only while nothing but the intent is on record. A recorded intent without a process may still have had one: the
 * coordinator can die between starting it and writing that down.
 */
const mayHaveStarted = (attempt: Attempt): boolean =>
  attempt.status !== "queued" || attempt.startedAt !== null || attempt.pid !== null;

/** What was recorded of finished work, and what is found now. Hashes as hex, null where nothing is there. */
export interface ReuseInput {
  readonly attempt: Pick<Attempt, "baseCommit" | "inputFingerprint" | "artifacts">;
  readonly now: {
    readonly baseCommit: string | null;
    readonly inputFingerprint: string | null;
    /** SHA-256 of each artifact's present content by path; a missing file is absent or null. */
    readonly artifacts: Readonly<Record<string, string | null>>;
  };
}

export interface ReuseDecision {
  readonly reuse: boolean;
  /** One per difference, for the report. */
  readonly reasons: readonly string[];
}

/** Finished work counts on only while base, inputs and every output are what they were. */
export function decideReuse({ attempt, now }: ReuseInput): ReuseDecision {
  const reasons: string[] = [];
  if (attempt.baseCommit !== now.baseCommit)
    reasons.push(`base commit was ${short(attempt.baseCommit)} and is ${short(now.baseCommit)}`);
  if (attempt.inputFingerprint !== now.inputFingerprint) reasons.push("its inputs changed");
  for (const { path, sha256 } of attempt.artifacts) {
    const found = now.artifacts[path] ?? null;
    if (found === null) reasons.push(`\`${path}\` is gone`);
    else if (found !== sha256) reasons.push(`\`${path}\` changed`);
  }
  return { reuse: reasons.length === 0, reasons };
}

const short = (commit: string | null): string => (commit === null ? "none" : commit.slice(0, 12));
