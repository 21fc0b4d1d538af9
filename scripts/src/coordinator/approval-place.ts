/**
 * The tree in which a job's commands are looked at before anybody is asked: made like the job's own, from the base and the
 * work of its dependencies, without anybody's uncommitted work, and taken away again. A job without a worktree is looked
 * at where it will run.
 */
import { isAbsolute, join, relative } from "node:path";
import { ok, type Result } from "../core/result.ts";
import type { PlanJob } from "../core/runtime.ts";
import { placeJobInputs } from "./briefing.ts";
import { withScratch } from "./scratch.ts";
import type { Session } from "./session.ts";
import { commonDirOfRepo, rootOf, startingCommit, type Workplace, type WorkplaceFault } from "./workplace.ts";

export interface ApprovalPlace {
  /** Top of the scratch worktree, of the checkout, or the workspace root without git. */
  readonly root: string;
  readonly cwd: string;
  /** The commit that the job's worktree will start from; null: the job runs in this very folder. */
  readonly commit: string | null;
  /** A folder that the spec names by its place in the checkout. */
  readonly folder: (cwd: string) => string;
}

/** Errors are blocks of the job, the same as when its worktree is made: `dependency-conflict`, `no-git`, `handoff-hash`… */
export async function withApprovalPlace<T>(
  s: Session,
  job: PlanJob,
  use: (place: ApprovalPlace) => Promise<T>,
): Promise<Result<T, WorkplaceFault>> {
  if (job.isolation === "none")
    return ok(
      await use({
        root: job.repo ?? rootOf(s, job.cwd),
        cwd: job.cwd,
        commit: null,
        folder: (cwd) => cwd,
      }),
    );
  const start = await startingCommit(s, job);
  if (!start.ok) return start;
  const { repo, commit } = start.value;
  const scratch = await withScratch(
    {
      runDir: s.runDir,
      runId: s.runId,
      repo,
      commonDir: commonDirOfRepo(repo),
      commit,
      purpose: `preview-${job.id}`,
    },
    async (root): Promise<Result<T, WorkplaceFault>> => {
      const folder = (cwd: string): string => inWorktree(root, repo, cwd);
      const cwd = folder(job.cwd);
      const handed = await placeJobInputs(s, {
        cwd,
        inputs: job.inputs.filter((input) => input.fromJob !== null),
      });
      return handed.ok ? ok(await use({ root, cwd, commit, folder })) : handed;
    },
  );
  return scratch.ok ? scratch.value : scratch;
}

/** Where an attempt works, in the same terms. */
export function placeOfAttempt(job: PlanJob, place: Workplace): ApprovalPlace {
  const { root, cwd, worktree, baseCommit } = place;
  return worktree === null
    ? { root, cwd, commit: null, folder: (folder) => folder }
    : { root, cwd, commit: baseCommit, folder: (folder) => inWorktree(root, job.repo ?? job.cwd, folder) };
}

function inWorktree(root: string, repo: string, cwd: string): string {
  const below = relative(repo, cwd);
  return below.startsWith("..") || isAbsolute(below) ? cwd : join(root, below);
}
