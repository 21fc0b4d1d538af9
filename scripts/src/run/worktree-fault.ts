/** What can go wrong around worktrees, as closed codes. */
import { type GitResult, gitFailure } from "../host/git.ts";
import type { RepoLockFault } from "../host/repo-lock.ts";

export type WorktreeFaultCode =
  | "git-missing"
  | "git-too-old"
  | "git-failed"
  | "bare-repository"
  | "no-base-commit"
  | "shallow-history"
  | "repo-locked"
  | "repo-lock-unwritable"
  | "worktree-exists"
  | "worktree-locked"
  | "worktree-missing"
  | "branch-exists"
  | "branch-conflict"
  | "dependency-conflict"
  | "checkout-failed"
  | "base-mismatch"
  | "embedded-repository"
  | "submodule-changed"
  | "snapshot-failed"
  | "unsafe-path";

export interface WorktreeFault {
  readonly code: WorktreeFaultCode;
  readonly detail: string;
  /** With `dependency-conflict`: both sides. */
  readonly conflict?: { readonly jobs: readonly string[]; readonly paths: readonly string[] };
}

export interface DependencyCommit {
  readonly jobId: string;
  readonly commit: string;
}

/** `doing` completes "git could not …". */
export function gitFault(result: GitResult, doing: string): WorktreeFault {
  return {
    code: result.spawnError === null ? "git-failed" : "git-missing",
    detail: `could not ${doing}: ${gitFailure(result)}`,
  };
}

export const lockFault = (fault: RepoLockFault): WorktreeFault => ({
  code: fault.code,
  detail: fault.detail,
});

/** A full object id: the only form of a commit that goes into an argument list. */
export const isObjectId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
