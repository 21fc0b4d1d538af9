/** One worktree per isolated job: made, committed, snapshotted and removed without ever losing work. */
import type { Result } from "../core/result.ts";

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

export interface CreateWorktreeInput {
  /** Top level of the user's checkout. */
  readonly repo: string;
  readonly commonDir: string;
  /** Absolute; must not exist, or be an empty folder. */
  readonly path: string;
  /** `orchestrate/<run-id>/<job-id>`, without `refs/heads/`. */
  readonly branch: string;
  readonly baseCommit: string;
  /** Transitive dependencies in success, in topological order. */
  readonly mergeCommits: readonly DependencyCommit[];
  readonly lockTimeoutMs?: number;
}

export interface CreatedWorktree {
  /** The commit that the worktree starts from: base and dependencies merged. */
  readonly baseCommit: string;
  /** Ignored files copied because `.worktreeinclude` names them. */
  readonly included: readonly string[];
  /** Disclosures for the report: submodules not populated, LFS pointers, files not copied. */
  readonly notes: readonly string[];
}

export function createWorktree(_input: CreateWorktreeInput): Promise<Result<CreatedWorktree, WorktreeFault>> {
  throw new Error("not built yet");
}

/** Merges dependency commits over a base without touching any checkout; the same input gives the same commit. */
export function mergeBases(_input: {
  readonly repo: string;
  readonly baseCommit: string;
  readonly mergeCommits: readonly DependencyCommit[];
}): Promise<Result<{ readonly commit: string }, WorktreeFault>> {
  throw new Error("not built yet");
}

/** Those of `commits` that `commit` does not contain: a commit given by `--base` must miss none. */
export function missingFrom(_input: {
  readonly repo: string;
  readonly commit: string;
  readonly commits: readonly DependencyCommit[];
}): Promise<Result<readonly DependencyCommit[], WorktreeFault>> {
  throw new Error("not built yet");
}

export interface CommittedWorktree {
  /** The base commit itself when nothing changed. */
  readonly commit: string;
  readonly tree: string;
  /** One line, e.g. `3 files changed, 10 insertions(+), 2 deletions(-)`; empty when nothing changed. */
  readonly diffStat: string;
  /** Paths that differ between base and commit, relative to the worktree. */
  readonly changed: readonly string[];
  readonly notes: readonly string[];
}

/** Commits all non-ignored changes to the job branch, host-side, by a fixed coordinator identity, no hooks, no signing. */
export function commitWorktree(_input: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly baseCommit: string;
  readonly message: string;
  /** Paths relative to the worktree that are never committed, e.g. `.orchestrate-inputs`. */
  readonly exclude: readonly string[];
}): Promise<Result<CommittedWorktree, WorktreeFault>> {
  throw new Error("not built yet");
}

/** The patch between two commits, bounded; text only. */
export function diffText(_input: {
  readonly repo: string;
  readonly from: string;
  readonly to: string;
  readonly maxBytes: number;
}): Promise<Result<{ readonly text: string; readonly truncated: boolean }, WorktreeFault>> {
  throw new Error("not built yet");
}

export interface Snapshot {
  readonly commit: string;
  /** Ignored folders and files that were too big to keep, by path. */
  readonly leftOut: readonly string[];
}

/** Keeps the whole state of a worktree, untracked and ignored files included, under `ref` (`refs/orchestrate/<run>/<job>/attempt-<n>`). */
export function snapshotRef(_input: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly ref: string;
}): Promise<Result<Snapshot, WorktreeFault>> {
  throw new Error("not built yet");
}

/** Snapshot first, then folder, registration and (if asked) branch go. Refuses and changes nothing when the snapshot fails. */
export function removeWorktree(_input: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly snapshot: string;
  readonly deleteBranch: boolean;
  readonly lockTimeoutMs?: number;
}): Promise<Result<Snapshot | null, WorktreeFault>> {
  throw new Error("not built yet");
}
