/** `clean`: removes a run's worktrees where nothing would be lost, and says what it kept and why. */
import { existsSync } from "node:fs";
import { resolveAll } from "../host/git.ts";
import { contains } from "./merge.ts";
import { removeWorktree } from "./worktree.ts";
import { findAdmin } from "./worktree-admin.ts";
import { commitPreview } from "./worktree-commit.ts";
import type { WorktreeFault } from "./worktree-fault.ts";

export interface CleanTarget {
  readonly jobId: string;
  readonly path: string;
  readonly branch: string;
  /** Latest attempt, for the snapshot's name. */
  readonly attempt: number;
  /** Where its worktree started; null when it never did. */
  readonly baseCommit: string | null;
  /** Commit that the user made and gave as the base (`resume --base`). */
  readonly givenBase: string | null;
  /** A process of the job may still be alive. */
  readonly busy: boolean;
}

export interface CleanedWorktree {
  readonly jobId: string;
  /** With `preview`, "removed" is what a real call would do; then there is no snapshot yet. */
  readonly action: "removed" | "kept" | "absent";
  readonly reason: string;
  readonly snapshotRef: string | null;
  readonly snapshotCommit: string | null;
  readonly fault: WorktreeFault | null;
}

export interface CleanInput {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  readonly targets: readonly CleanTarget[];
  /** Commit of the user's branch: work that it contains is integrated. */
  readonly integratedInto: string | null;
  /** Job ids whose unintegrated work the user gives up by name. */
  readonly discard: readonly string[];
  readonly preview: boolean;
}

/**
 * A worktree goes when its work is integrated, when it holds none, or when the user discards the job by name; always with a
 * snapshot ref first, so that even then it can be brought back. Everything else is kept, with the reason.
 */
export async function cleanRun(o: CleanInput): Promise<readonly CleanedWorktree[]> {
  const cleaned: CleanedWorktree[] = [];
  for (const target of o.targets) cleaned.push(await cleanOne(o, target));
  return cleaned;
}

async function cleanOne(o: CleanInput, target: CleanTarget): Promise<CleanedWorktree> {
  const result = (
    action: CleanedWorktree["action"],
    reason: string,
    rest: Partial<CleanedWorktree> = {},
  ): CleanedWorktree => ({
    jobId: target.jobId,
    action,
    reason,
    snapshotRef: null,
    snapshotCommit: null,
    fault: null,
    ...rest,
  });
  if (target.busy) return result("kept", "a process of the job may still be running");
  const [branch = null] = await resolveAll([`refs/heads/${target.branch}^{commit}`], { cwd: o.repo });
  const admin = findAdmin(o.commonDir, target.path);
  if (admin === null && branch === null && !existsSync(target.path))
    return result("absent", "nothing is left of it");
  const why = await whyRemovable(o, target, branch);
  if (!why.removable) return result("kept", why.reason);
  if (o.preview) return result("removed", why.reason);
  const ref = `refs/orchestrate/${o.runId}/${target.jobId}/attempt-${target.attempt}`;
  const removed = await removeWorktree({
    repo: o.repo,
    commonDir: o.commonDir,
    path: target.path,
    branch: target.branch,
    snapshot: ref,
    deleteBranch: true,
  });
  if (!removed.ok) return result("kept", removed.error.detail, { fault: removed.error });
  return result("removed", why.reason, {
    snapshotRef: removed.value === null ? null : ref,
    snapshotCommit: removed.value?.commit ?? null,
  });
}

async function whyRemovable(
  o: CleanInput,
  target: CleanTarget,
  branch: string | null,
): Promise<{ removable: boolean; reason: string }> {
  if (o.discard.includes(target.jobId)) return { removable: true, reason: "discarded by name" };
  if (branch === null)
    return {
      removable: false,
      reason: `the branch \`${target.branch}\` is gone, so its work cannot be judged`,
    };
  const integrated = o.integratedInto !== null && (await contains(o.repo, o.integratedInto, branch));
  const atBase = branch === target.baseCommit;
  // The base that we merged holds nothing beyond the branches of other jobs; one that the user gave may exist only here.
  if (atBase && (integrated || branch !== target.givenBase)) return emptyOrLoose(o, target);
  return integrated
    ? { removable: true, reason: "its work is integrated" }
    : { removable: false, reason: "its work is not integrated" };
}

/** A branch that still stands at its base holds nothing of its own: then loose files may be all the work there is. */
async function emptyOrLoose(
  o: CleanInput,
  target: CleanTarget,
): Promise<{ removable: boolean; reason: string }> {
  const [loose, ...others] = await commitPreview({ ...o, ...target });
  if (loose === undefined) return { removable: true, reason: "it holds no work" };
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return { removable: false, reason: `it holds work that is on no branch: \`${loose}\`${more}` };
}
