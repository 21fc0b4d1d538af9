/** A scratch worktree of a merge, where declared checks run on work that is not together anywhere else. Nothing of it stays. */
import { join, relative } from "node:path";
import type { Graph, PlanJob } from "../core/runtime.ts";
import { type CommandHost, runDeclaredCommand } from "./run-command.ts";
import { TRIAL_ATTEMPT, withScratch } from "./scratch.ts";

export interface TrialCheck {
  readonly jobId: string;
  /** `verification:<n>` of the job, or `worktree_setup:<n>`. */
  readonly check: string;
  readonly ok: boolean;
  /** Why not, in one sentence. */
  readonly detail: string;
}

export interface TrialInput {
  readonly host: CommandHost & { readonly runId: string; readonly graph: Pick<Graph, "worktreeSetup"> };
  readonly repo: string;
  readonly commonDir: string;
  /** The merged commit. */
  readonly commit: string;
  /** Whose `verification` runs, in this order. */
  readonly jobs: readonly PlanJob[];
  /** Names the scratch folder and the captures: `union`, `integrate`. */
  readonly purpose: string;
}

/** Runs `worktree_setup` and each job's verification on the merge. The fault says why there was no place to run them. */
export async function runTrial(
  o: TrialInput,
): Promise<{ readonly checks: readonly TrialCheck[]; readonly fault: string | null }> {
  const { runDir, runId } = o.host;
  const { repo, commonDir, commit, purpose } = o;
  const tried = await withScratch({ runDir, runId, repo, commonDir, commit, purpose }, (path) =>
    runChecks(o, path),
  );
  return tried.ok
    ? { checks: tried.value, fault: null }
    : { checks: [], fault: `${tried.error.code}: ${tried.error.detail}` };
}

async function runChecks(o: TrialInput, path: string): Promise<TrialCheck[]> {
  const checks: TrialCheck[] = [];
  const [first] = o.jobs;
  if (first === undefined) return checks;
  for (const [at, command] of o.host.graph.worktreeSetup.entries()) {
    const done = await runOne(o, {
      job: first,
      argv: [command.command, ...command.args],
      cwd: path,
      timeoutMs: command.timeoutMs,
      label: `${o.purpose}-setup-${at + 1}`,
    });
    checks.push({ jobId: first.id, check: `worktree_setup:${at + 1}`, ...done });
    if (!done.ok) return checks;
  }
  for (const job of o.jobs)
    for (const [at, command] of job.verification.entries()) {
      const done = await runOne(o, {
        job,
        argv: [command.command, ...command.args],
        cwd: placeIn(path, o.repo, command.cwd ?? job.cwd),
        timeoutMs: command.timeoutMs,
        label: `${o.purpose}-${at + 1}`,
      });
      checks.push({ jobId: job.id, check: `verification:${at + 1}`, ...done });
    }
  return checks;
}

/** A folder of the repository, in a worktree of it. */
export function placeIn(path: string, repo: string, cwd: string): string {
  const below = relative(repo, cwd);
  return below.startsWith("..") ? path : join(path, below);
}

async function runOne(
  o: TrialInput,
  command: {
    readonly job: PlanJob;
    readonly argv: readonly string[];
    readonly cwd: string;
    readonly timeoutMs: number;
    readonly label: string;
  },
): Promise<{ ok: boolean; detail: string }> {
  const run = await runDeclaredCommand(o.host, {
    argv: command.argv,
    cwd: command.cwd,
    timeoutMs: command.timeoutMs,
    label: command.label,
    jobId: command.job.id,
    attempt: TRIAL_ATTEMPT,
    maxOutputBytes: command.job.maxOutputBytes,
  });
  const shown = `\`${command.argv.join(" ")}\``;
  if (run.spawnError !== null)
    return { ok: false, detail: `${shown} could not be started (${run.spawnError})` };
  if (run.timedOut) return { ok: false, detail: `${shown} did not end in time` };
  if (run.exitCode === 0) return { ok: true, detail: `${shown} exited 0` };
  const last = (run.stderrTail || run.stdoutTail).trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
  return {
    ok: false,
    detail: `${shown} exited ${run.exitCode ?? run.signal}${last === "" ? "" : `: ${last}`}`,
  };
}
