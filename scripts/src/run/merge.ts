/** Merges without a checkout: dependency commits over a base, and what a conflict consists of. */

import { err, ok, type Result } from "../core/result.ts";
import { type GitResult, git, MIN_GIT, splitPaths } from "../host/git.ts";
import { type DependencyCommit, gitFault, isObjectId, type WorktreeFault } from "./worktree-fault.ts";

/**
 * Merges `mergeCommits` over `baseCommit` in the given (topological) order and returns the resulting commit. No checkout,
 * index or branch is touched. A commit that is already contained adds nothing; one that contains everything so far is taken
 * as it is. Dates and identity are fixed, so the same input gives the same commit on every call and every host.
 *
 * Errors: `dependency-conflict` with the jobs of both sides and the paths; `shallow-history` when a shallow clone lacks the
 * common ancestor; `no-base-commit` when the base does not exist.
 */
export async function mergeBases(o: {
  readonly repo: string;
  readonly baseCommit: string;
  readonly mergeCommits: readonly DependencyCommit[];
  /** Title of each merge commit; absent: that of a base. */
  readonly title?: (jobId: string) => string;
}): Promise<Result<{ readonly commit: string }, WorktreeFault>> {
  for (const commit of [o.baseCommit, ...o.mergeCommits.map((m) => m.commit)])
    if (!isObjectId(commit))
      return err({ code: "no-base-commit", detail: `\`${commit}\` is no full commit id` });
  let current = o.baseCommit;
  const merged: DependencyCommit[] = [];
  for (const next of o.mergeCommits) {
    const title = (o.title ?? baseTitle)(next.jobId);
    const step = await mergeOne(o.repo, current, next, { base: o.baseCommit, merged, title });
    if (!step.ok) return step;
    current = step.value;
    merged.push(next);
  }
  return ok({ commit: current });
}

const baseTitle = (jobId: string): string => `orchestrate: base with the work of ${jobId}`;

async function mergeOne(
  repo: string,
  current: string,
  next: DependencyCommit,
  before: {
    readonly base: string;
    readonly merged: readonly DependencyCommit[];
    readonly title: string;
  },
): Promise<Result<string, WorktreeFault>> {
  if (next.commit === current) return ok(current);
  const common = await git(["merge-base", current, next.commit], { cwd: repo });
  if (common.exitCode !== 0) return err(await noCommonAncestor(repo, common, next));
  const ancestor = common.stdout.trim();
  if (ancestor === next.commit) return ok(current);
  if (ancestor === current) return ok(next.commit);
  const tree = await git(
    ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", current, next.commit],
    { cwd: repo },
  );
  const [treeId = "", ...paths] = splitPaths(tree.stdoutBytes).map((path) => path.text);
  if (tree.exitCode === 1 && isObjectId(treeId))
    return err(await conflict(repo, { current, next, paths: [...new Set(paths)].sort(), ...before }));
  if (tree.exitCode !== 0 || !isObjectId(treeId)) return err(mergeFault(tree, next));
  return mergeCommit(repo, { tree: treeId, current, next, title: before.title });
}

function mergeFault(result: GitResult, next: DependencyCommit): WorktreeFault {
  if (/unknown option|usage: git merge-tree/.test(result.stderr))
    return {
      code: "git-too-old",
      detail: `merging the work of dependencies needs git ${MIN_GIT.join(".")} or newer`,
    };
  return gitFault(result, `merge the work of \`${next.jobId}\``);
}

async function mergeCommit(
  repo: string,
  o: {
    readonly tree: string;
    readonly current: string;
    readonly next: DependencyCommit;
    readonly title: string;
  },
): Promise<Result<string, WorktreeFault>> {
  const dates = await git(["show", "-s", "--format=%ct", o.current, o.next.commit], { cwd: repo });
  const newest = Math.max(...dates.stdout.split("\n").filter(Boolean).map(Number));
  if (dates.exitCode !== 0 || !Number.isFinite(newest)) return err(gitFault(dates, "read commit dates"));
  const made = await git(["commit-tree", o.tree, "-p", o.current, "-p", o.next.commit, "-m", o.title], {
    cwd: repo,
    commitDate: `${newest} +0000`,
  });
  return made.exitCode === 0
    ? ok(made.stdout.trim())
    : err(gitFault(made, `commit the merge of \`${o.next.jobId}\``));
}

async function noCommonAncestor(
  repo: string,
  result: GitResult,
  next: DependencyCommit,
): Promise<WorktreeFault> {
  if (result.exitCode !== 1) {
    const known = await git(["cat-file", "-e", `${next.commit}^{commit}`], { cwd: repo });
    return known.exitCode === 0
      ? gitFault(result, `find where the work of \`${next.jobId}\` branched off`)
      : { code: "no-base-commit", detail: `the commit ${next.commit} of \`${next.jobId}\` does not exist` };
  }
  return {
    code: "shallow-history",
    detail: `the work of \`${next.jobId}\` and the base have no common ancestor in this clone; if it is shallow, run \`git fetch --unshallow\``,
  };
}

/** Both sides of a conflict: the job whose merge failed, and the earlier ones that changed one of the paths. */
async function conflict(
  repo: string,
  o: {
    readonly current: string;
    readonly next: DependencyCommit;
    readonly paths: readonly string[];
    readonly base: string;
    readonly merged: readonly DependencyCommit[];
  },
): Promise<WorktreeFault> {
  const paths = new Set(o.paths);
  const others: string[] = [];
  for (const earlier of o.merged) {
    const touched = await changedBetween(repo, o.base, earlier.commit);
    if (touched.some((path) => paths.has(path))) others.push(earlier.jobId);
  }
  const jobs = [...(others.length > 0 ? others : o.merged.map((m) => m.jobId)), o.next.jobId];
  return {
    code: "dependency-conflict",
    detail: `the work of ${jobs.map((id) => `\`${id}\``).join(" and ")} conflicts in ${listed(o.paths)}`,
    conflict: { jobs, paths: o.paths },
  };
}

const listed = (paths: readonly string[]): string =>
  paths
    .slice(0, 5)
    .map((path) => `\`${path}\``)
    .join(", ") + (paths.length > 5 ? ` and ${paths.length - 5} more` : "");

/** Paths that differ between the trees of two commits; renames are a deletion and a creation. */
async function changedBetween(repo: string, from: string, to: string): Promise<string[]> {
  const answer = await git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to], { cwd: repo });
  return splitPaths(answer.stdoutBytes).map((path) => path.text);
}

/** True when `commit` contains `ancestor`; false also when either does not exist. */
export async function contains(repo: string, commit: string, ancestor: string): Promise<boolean> {
  const answer = await git(["merge-base", "--is-ancestor", ancestor, commit], { cwd: repo });
  return answer.exitCode === 0;
}

/** Those of `commits` that `commit` does not contain: a commit given by `--base` must miss none. */
export async function missingFrom(o: {
  readonly repo: string;
  readonly commit: string;
  readonly commits: readonly DependencyCommit[];
}): Promise<Result<readonly DependencyCommit[], WorktreeFault>> {
  const known = isObjectId(o.commit)
    ? await git(["cat-file", "-e", `${o.commit}^{commit}`], { cwd: o.repo })
    : null;
  if (known?.exitCode !== 0)
    return err({
      code: "no-base-commit",
      detail: `\`${o.commit}\` is no commit of \`${o.repo}\`; give its full id`,
    });
  const missing: DependencyCommit[] = [];
  for (const dependency of o.commits)
    if (!(await contains(o.repo, o.commit, dependency.commit))) missing.push(dependency);
  return ok(missing);
}

/** The patch between two commits, at most `maxBytes` of it, cut at a line end; binary content is named, not shown. */
export async function diffText(o: {
  readonly repo: string;
  readonly from: string;
  readonly to: string;
  readonly maxBytes: number;
}): Promise<Result<{ readonly text: string; readonly truncated: boolean }, WorktreeFault>> {
  const answer = await git(["diff-tree", "-r", "-p", "--no-renames", "--no-color", o.from, o.to], {
    cwd: o.repo,
  });
  if (answer.exitCode !== 0) return err(gitFault(answer, "make a diff"));
  const bytes = answer.stdoutBytes;
  if (bytes.length <= o.maxBytes) return ok({ text: answer.stdout, truncated: false });
  const end = bytes.lastIndexOf(10, o.maxBytes - 1);
  return ok({ text: bytes.subarray(0, end === -1 ? 0 : end + 1).toString("utf8"), truncated: true });
}

/** `3 files changed, 10 insertions(+), 2 deletions(-)`; empty when the trees are equal. */
export async function diffStat(repo: string, from: string, to: string): Promise<string> {
  const answer = await git(["diff", "--shortstat", "--no-renames", from, to], { cwd: repo });
  return answer.stdout.trim();
}
