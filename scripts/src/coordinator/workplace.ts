/** Where an attempt works: the shared checkout, or a worktree of its own made from the base and its dependencies. */
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { mergeBases, missingFrom } from "../run/merge.ts";
import { createWorktree, removeWorktree, worktreeGitDir } from "../run/worktree.ts";
import type { DependencyCommit } from "../run/worktree-fault.ts";
import { transitiveDependencies } from "./readiness.ts";
import { branchName, jobState, type Session, worktreePath } from "./session.ts";

export interface Workplace {
  /** Folder the process runs in. */
  readonly cwd: string;
  /** What is measured: the worktree, the checkout's top level, or the workspace root without git. */
  readonly root: string;
  /** git directory of `root`, null without git. */
  readonly gitDir: string | null;
  readonly worktree: {
    readonly path: string;
    readonly branch: string;
    readonly repo: string;
    readonly commonDir: string;
  } | null;
  readonly baseCommit: string | null;
  readonly notes: readonly string[];
}

export interface WorkplaceFault {
  /** A block code: `dependency-conflict` is reopenable, all others end the job. */
  readonly code: string;
  readonly detail: string;
}

export async function makeWorkplace(
  s: Session,
  job: PlanJob,
  attempt: number,
): Promise<Result<Workplace, WorkplaceFault>> {
  if (job.isolation === "none") return sharedWorkplace(s, job);
  const found = repoOf(job);
  if (!found.ok) return found;
  const { repo, commonDir } = found.value;
  const base = await baseFor(s, job);
  if (!base.ok) return base;
  const path = worktreePath(s.runDir, job.id);
  const branch = branchName(s.runId, job.id);
  const cleared = await clearEarlier(s, { job, attempt, repo, commonDir, path, branch });
  if (!cleared.ok) return cleared;
  const made = await createWorktree({
    repo,
    commonDir,
    path,
    branch,
    baseCommit: base.value.commit,
    mergeCommits: base.value.merge,
  });
  if (!made.ok) return err({ code: made.error.code, detail: made.error.detail });
  return ok({
    cwd: join(path, relative(repo, job.cwd)),
    root: path,
    gitDir: made.value.gitDir,
    worktree: { path, branch, repo, commonDir },
    baseCommit: made.value.baseCommit,
    notes: made.value.notes,
  });
}

/** The commit that an isolated job's worktree will start from now: base and dependencies merged. */
export async function startingCommit(
  s: Session,
  job: PlanJob,
): Promise<Result<{ repo: string; commit: string }, WorkplaceFault>> {
  const repo = repoOf(job);
  if (!repo.ok) return repo;
  const base = await baseFor(s, job);
  if (!base.ok) return base;
  const merged = await mergeBases({
    repo: repo.value.repo,
    baseCommit: base.value.commit,
    mergeCommits: base.value.merge,
  });
  return merged.ok
    ? ok({ repo: repo.value.repo, commit: merged.value.commit })
    : err({ code: merged.error.code, detail: merged.error.detail });
}

function repoOf(job: PlanJob): Result<{ repo: string; commonDir: string }, WorkplaceFault> {
  const { repo } = job;
  if (repo === null)
    return err({
      code: "no-git",
      detail: `\`${job.cwd}\` is not inside a git repository; run \`git init\` and commit once.`,
    });
  const gitDir = checkoutGitDir(repo);
  return gitDir === null
    ? err({ code: "no-git", detail: `\`${repo}\` has no git directory any more.` })
    : ok({ repo, commonDir: commonDirOf(gitDir) });
}

/** The same place again, for an attempt whose process ended or that a harness works on. */
export function knownWorkplace(s: Session, job: PlanJob, attempt: Attempt): Workplace {
  const state = jobState(s, job.id);
  if (state.worktree === null || state.branch === null || job.repo === null)
    return sharedWorkplace(s, job).value;
  const gitDir = checkoutGitDir(job.repo);
  const commonDir = gitDir === null ? job.repo : commonDirOf(gitDir);
  return {
    cwd: join(state.worktree, relative(job.repo, job.cwd)),
    root: state.worktree,
    // From the registration: the job could have replaced the `.git` file of its worktree.
    gitDir: worktreeGitDir(commonDir, state.worktree),
    worktree: { path: state.worktree, branch: state.branch, repo: job.repo, commonDir },
    baseCommit: attempt.baseCommit,
    notes: [],
  };
}

function sharedWorkplace(s: Session, job: PlanJob): { readonly ok: true; readonly value: Workplace } {
  const root = job.repo ?? rootOf(s, job.cwd);
  return ok({
    cwd: job.cwd,
    root,
    gitDir: job.repo === null ? null : checkoutGitDir(job.repo),
    worktree: null,
    baseCommit: baseCommitOf(s, job),
    notes: [],
  });
}

/** The commit that the run found in the job's repository when it was prepared. */
export function baseCommitOf(s: Session, job: PlanJob): string | null {
  if (job.repo === null) return null;
  const known = [...(s.graph.repo === null ? [] : [s.graph.repo]), ...(s.graph.repos ?? [])];
  return known.find((repo) => repo.topLevel === job.repo)?.baseCommit ?? null;
}

/** The workspace root that a folder without git lies in. */
export const rootOf = (s: Session, cwd: string): string =>
  s.graph.workspaceRoots.find(
    (root) => !relative(root, cwd).startsWith("..") && !isAbsolute(relative(root, cwd)),
  ) ?? cwd;

/** The run's base plus what the dependencies committed, or the commit a user merged by hand. */
async function baseFor(
  s: Session,
  job: PlanJob,
): Promise<Result<{ commit: string; merge: readonly DependencyCommit[] }, WorkplaceFault>> {
  const merge = transitiveDependencies(s.index, job.id).flatMap((id) => {
    const last = jobState(s, id).attemptRecords.at(-1);
    const sameRepo = s.index.byId.get(id)?.repo === job.repo;
    return sameRepo && last?.status === "success" && last.commit !== null
      ? [{ jobId: id, commit: last.commit }]
      : [];
  });
  const override = jobState(s, job.id).baseOverride;
  if (override !== null) {
    const missing = await missingFrom({ repo: job.repo as string, commit: override, commits: merge });
    if (!missing.ok) return err({ code: missing.error.code, detail: missing.error.detail });
    if (missing.value.length > 0)
      return err({
        code: "dependency-conflict",
        detail: `\`${override}\` does not contain the work of ${missing.value.map((m) => `\`${m.jobId}\` (${m.commit})`).join(", ")}: merge every dependency, then give that commit with --base.`,
      });
    return ok({ commit: override, merge: [] });
  }
  const commit = baseCommitOf(s, job);
  if (commit === null)
    return err({
      code: "no-base-commit",
      detail: `\`${job.repo}\` has no commit to start from; commit once, then run again.`,
    });
  return ok({ commit, merge });
}

/** A further attempt starts from nothing; what the earlier one left is kept under a ref first. */
async function clearEarlier(
  s: Session,
  o: { job: PlanJob; attempt: number; repo: string; commonDir: string; path: string; branch: string },
): Promise<Result<null, WorkplaceFault>> {
  if (o.attempt === 1) return ok(null);
  const removed = await removeWorktree({
    repo: o.repo,
    commonDir: o.commonDir,
    path: o.path,
    branch: o.branch,
    snapshot: snapshotName(s.runId, o.job.id, o.attempt - 1),
    deleteBranch: true,
  });
  return removed.ok ? ok(null) : err({ code: removed.error.code, detail: removed.error.detail });
}

const snapshotName = (runId: string, jobId: string, attempt: number): string =>
  `refs/orchestrate/${runId}/${jobId}/attempt-${attempt}`;

/** The git directory of a checkout: `.git` itself, or where the `.git` file of a linked worktree points. */
export function checkoutGitDir(topLevel: string): string | null {
  const path = join(topLevel, ".git");
  try {
    if (statSync(path).isDirectory()) return path;
    const target = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
    return target === undefined ? null : resolve(topLevel, target.trim());
  } catch {
    return null;
  }
}

/** Where all worktrees of a checkout's repository are registered. */
export function commonDirOfRepo(repo: string): string {
  const gitDir = checkoutGitDir(repo);
  return gitDir === null ? repo : commonDirOf(gitDir);
}

function commonDirOf(gitDir: string): string {
  try {
    return resolve(gitDir, readFileSync(join(gitDir, "commondir"), "utf8").trim());
  } catch {
    return gitDir;
  }
}
