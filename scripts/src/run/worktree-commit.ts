/** Commits what a job left in its worktree, host-side: agents need not commit, and cannot hide anything by their index. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { INPUTS_DIR } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { type GitOptions, git, resolveAll, splitPaths } from "../host/git.ts";
import { contains, diffStat } from "./merge.ts";
import { embeddedFault, holdsFiles, type StagedChanges, stagedChanges, startIndex } from "./snapshot.ts";
import { copyIndex, findAdmin, headOf, isFolder } from "./worktree-admin.ts";
import { gitFault, type WorktreeFault } from "./worktree-fault.ts";

export interface CommittedWorktree {
  /** The base commit itself when nothing changed. */
  readonly commit: string;
  /** Git object id of the committed tree. */
  readonly tree: string;
  /** One line, e.g. `3 files changed, 10 insertions(+), 2 deletions(-)`; empty when nothing changed. */
  readonly diffStat: string;
  /** Paths that differ between base and commit, relative to the worktree, sorted. */
  readonly changed: readonly string[];
  /** Sentences for the report: a branch that was moved away from its base, a HEAD that stood elsewhere. */
  readonly notes: readonly string[];
}

export interface CommitWorktreeInput {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly baseCommit: string;
  readonly message: string;
  /** Paths relative to the worktree that are never committed, e.g. `.orchestrate-inputs`. */
  readonly exclude: readonly string[];
  /**
   * Paths that measurement found changed, and declared outputs: nothing else is committed, or what `worktree_setup` made
   * would travel on every branch without anybody having looked at it. One below a submodule cannot be committed and is
   * refused. Absent: whatever differs from the base.
   */
  readonly changedPaths?: readonly string[];
}

/**
 * Commits all changes that git does not ignore to the job's branch: fixed identity, no hooks, no signing, the index of the
 * checkout as it was before the job. Commits that the agent made itself stay below it, as long as they descend from the base;
 * the content always counts, wherever the agent's HEAD stood.
 *
 * Errors: `worktree-missing`, `embedded-repository`, `submodule-changed`, `git-failed`.
 */
export async function commitWorktree(
  input: CommitWorktreeInput,
): Promise<Result<CommittedWorktree, WorktreeFault>> {
  const admin = findAdmin(input.commonDir, input.path);
  if (admin === null)
    return err({
      code: "worktree-missing",
      detail: `\`${input.path}\` is not registered as a worktree of \`${input.repo}\` any more`,
    });
  if (!isFolder(input.path))
    return err({ code: "worktree-missing", detail: `the job removed its own worktree \`${input.path}\`` });
  const indexFile = join(admin.gitDir, "orchestrate-commit.index");
  const options: GitOptions = {
    cwd: input.path,
    gitDir: admin.gitDir,
    workTree: input.path,
    indexFile,
    timeoutMs: 600_000,
  };
  try {
    startIndex(admin.gitDir, indexFile);
    const staged = await stage(input, options);
    if (!staged.ok) return staged;
    const committed = await commitTree(input, { tree: staged.value.tree, gitDir: admin.gitDir });
    if (!committed.ok) return committed;
    copyIndex(indexFile, join(admin.gitDir, "index"));
    return ok({
      ...committed.value,
      tree: staged.value.tree,
      changed: staged.value.changed,
      diffStat:
        staged.value.changed.length === 0
          ? ""
          : await diffStat(input.repo, input.baseCommit, committed.value.commit),
    });
  } finally {
    rmSync(indexFile, { force: true });
  }
}

async function stage(
  input: CommitWorktreeInput,
  options: GitOptions,
): Promise<Result<{ tree: string; changed: readonly string[] }, WorktreeFault>> {
  const exclude = input.exclude.map((path) => `:(exclude,top,literal)${path}`);
  const added = await git(["add", "-A", "--", ".", ...exclude], options);
  if (added.exitCode !== 0) return err(gitFault(added, `stage the changes of \`${input.branch}\``));
  const staged = await stagedChanges(options, input.baseCommit);
  if (!staged.ok) return staged;
  const own = measuredOnly(staged.value, input.changedPaths);
  if (own.undo.length > 0) {
    const undone = await git(["update-index", "-z", "--index-info"], { ...options, stdin: own.undo });
    if (undone.exitCode !== 0) return err(gitFault(undone, `stage the changes of \`${input.branch}\``));
  }
  if (own.links.length > 0) return err(embeddedFault(own.links));
  const inSubmodule = await changedInSubmodule(input, { options, staged: own.changed });
  if (inSubmodule !== null) return err(inSubmodule);
  const tree = await git(["write-tree"], options);
  if (tree.exitCode !== 0) return err(gitFault(tree, `write the tree of \`${input.branch}\``));
  return ok({ tree: tree.stdout.trim(), changed: own.changed });
}

/** Without what nobody measured; `undo` takes that out of the index again. */
function measuredOnly(
  staged: StagedChanges,
  measured: readonly string[] | undefined,
): { readonly changed: readonly string[]; readonly links: readonly string[]; readonly undo: Buffer } {
  // "." stands for all: the folder could not be told from what it was.
  if (measured === undefined || measured.includes(".")) return { ...staged, undo: Buffer.alloc(0) };
  // A repository that the job made is measured by the files in it, or as a folder.
  const known = new Set(measured.flatMap((path) => [path, ...foldersAbove(path)]));
  const files = new Set(measured);
  const isOwn = (path: string): boolean =>
    files.has(path) || (staged.links.includes(path) && known.has(path));
  return {
    changed: staged.changed.filter(isOwn),
    links: staged.links.filter(isOwn),
    undo: Buffer.concat([...staged.undo].flatMap(([path, line]) => (isOwn(path) ? [] : [line]))),
  };
}

function foldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
}

async function changedInSubmodule(
  input: CommitWorktreeInput,
  { options, staged }: { readonly options: GitOptions; readonly staged: readonly string[] },
): Promise<WorktreeFault | null> {
  if (input.changedPaths === undefined || input.changedPaths.length === 0) return null;
  const answer = await git(
    ["ls-tree", "-r", "-z", "--format=%(objecttype) %(path)", input.baseCommit],
    options,
  );
  const links = splitPaths(answer.stdoutBytes)
    .filter((entry) => entry.text.startsWith("commit "))
    .map((entry) => entry.text.slice("commit ".length));
  // One that was moved in the job's own index alone is nowhere in the files that are committed.
  const lost = input.changedPaths.filter((path) =>
    links.some((link) => path.startsWith(`${link}/`) || (path === link && !staged.includes(link))),
  );
  return lost.length === 0
    ? null
    : {
        code: "submodule-changed",
        detail: `${lost
          .slice(0, 5)
          .map((path) => `\`${path}\``)
          .join(", ")} is or lies in a submodule: such a change cannot travel on the job's branch`,
      };
}

async function commitTree(
  input: CommitWorktreeInput,
  o: { readonly tree: string; readonly gitDir: string },
): Promise<Result<{ commit: string; notes: string[] }, WorktreeFault>> {
  const ref = `refs/heads/${input.branch}`;
  const [tip = null, head = null] = await resolveAll([`${ref}^{commit}`, "HEAD^{commit}"], {
    cwd: input.repo,
    gitDir: o.gitDir,
  });
  const { parent, notes } = await chooseParent(input, tip, head);
  const [parentTree] = await resolveAll([`${parent}^{tree}`], { cwd: input.repo });
  let commit = parent;
  if (parentTree !== o.tree) {
    const made = await git(["commit-tree", o.tree, "-p", parent, "-F", "-"], {
      cwd: input.repo,
      stdin: `${input.message}\n`,
    });
    if (made.exitCode !== 0) return err(gitFault(made, `commit the work of \`${input.branch}\``));
    commit = made.stdout.trim();
  }
  if (commit !== tip) {
    const set = await git(["update-ref", ref, commit, tip ?? "0".repeat(commit.length)], { cwd: input.repo });
    if (set.exitCode !== 0) return err(gitFault(set, `move the branch \`${input.branch}\``));
  }
  if (headOf(o.gitDir) !== ref) {
    const attached = await git(["symbolic-ref", "HEAD", ref], { cwd: input.repo, gitDir: o.gitDir });
    if (attached.exitCode !== 0) return err(gitFault(attached, `put HEAD back on \`${input.branch}\``));
  }
  return ok({ commit, notes });
}

/** The newest commit of the agent's own that still stands on the base. */
async function chooseParent(
  input: CommitWorktreeInput,
  tip: string | null,
  head: string | null,
): Promise<{ parent: string; notes: string[] }> {
  const { repo, baseCommit } = input;
  const onBase = async (commit: string | null): Promise<boolean> =>
    commit !== null && (commit === baseCommit || (await contains(repo, commit, baseCommit)));
  const tipGood = await onBase(tip);
  if (head === tip && tip !== null && tipGood) return { parent: tip, notes: [] };
  const headGood = await onBase(head);
  if (head !== null && headGood && (tip === null || !tipGood || (await contains(repo, head, tip))))
    return {
      parent: head,
      notes: [`the job left \`${input.branch}\`; its commits were put back on the branch`],
    };
  if (tip !== null && tipGood)
    return {
      parent: tip,
      notes: [`the job's HEAD stood elsewhere; its files were committed to \`${input.branch}\``],
    };
  return {
    parent: baseCommit,
    notes: [
      `the job moved \`${input.branch}\` away from its base; its files were committed on the base again`,
    ],
  };
}

/** Paths, tracked or not, that a commit now would add to the job's branch; empty when the branch holds everything that git does not ignore. */
export async function commitPreview(o: {
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
}): Promise<readonly string[]> {
  const admin = findAdmin(o.commonDir, o.path);
  if (admin === null || !holdsFiles(o.path)) return [];
  const indexFile = join(admin.gitDir, "orchestrate-preview.index");
  const options: GitOptions = { cwd: o.path, gitDir: admin.gitDir, workTree: o.path, indexFile };
  try {
    startIndex(admin.gitDir, indexFile);
    const added = await git(["add", "-A", "--", ".", `:(exclude,top,literal)${INPUTS_DIR}`], options);
    const staged = await stagedChanges(options, `refs/heads/${o.branch}`);
    // What cannot be looked at may be work.
    return added.exitCode === 0 && staged.ok ? staged.value.changed : ["."];
  } finally {
    rmSync(indexFile, { force: true });
  }
}
