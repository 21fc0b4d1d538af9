/** Keeps the whole state of a worktree under a ref, so that removing the folder loses nothing. */
import { existsSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { INPUTS_DIR } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { type BytePath, type GitOptions, git, resolveAll, splitPaths } from "../host/git.ts";
import { copyIndex, findAdmin, isFolder, pristineIndex } from "./worktree-admin.ts";
import { gitFault, type WorktreeFault } from "./worktree-fault.ts";

/** Ignored files are mostly what a setup command can make again; within these bounds they are kept all the same. */
const IGNORED_MAX_FILES = 2_000;
const IGNORED_MAX_BYTES = 64 * 1024 * 1024;

export interface Snapshot {
  readonly commit: string;
  /** Where the job's branch stood; null when there was none. */
  readonly branchCommit: string | null;
  /** Ignored folders and files that were too big to keep, by path. */
  readonly leftOut: readonly string[];
}

/**
 * Writes a commit with tracked, untracked and (bounded) ignored files of the worktree, whose parents are the job's branch
 * and whatever else HEAD stands on, and points `ref` at it. A ref that exists becomes a parent, so nothing it held is lost.
 * Without a folder the branch alone is kept. Null: neither folder nor branch exists.
 *
 * Errors: `embedded-repository` (a repository that the job made inside its worktree: its commits cannot be kept here),
 * `submodule-changed` (work inside a submodule), `snapshot-failed`, `git-failed`.
 */
export async function snapshotRef(o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly ref: string;
}): Promise<Result<Snapshot | null, WorktreeFault>> {
  const admin = findAdmin(o.commonDir, o.path);
  const branchRef = `refs/heads/${o.branch}`;
  const [branchCommit = null, existing = null, head = null] = await resolveAll(
    [`${branchRef}^{commit}`, `${o.ref}^{commit}`, ...(admin === null ? [] : ["HEAD^{commit}"])],
    { cwd: o.repo, ...(admin === null ? {} : { gitDir: admin.gitDir }) },
  );
  const parents = [...new Set([branchCommit, head, existing].filter((commit) => commit !== null))];
  if (parents.length === 0) return ok(null);
  const content =
    admin === null || !holdsFiles(o.path) ? null : await snapshotTree(o.path, admin.gitDir, parents[0] ?? "");
  if (content !== null && !content.ok) return content;
  const leftOut = content === null ? [] : content.value.leftOut;
  const commit = await snapshotCommit(o.repo, {
    parents,
    tree: content?.value.tree ?? null,
    leftOut,
    ref: o.ref,
  });
  if (!commit.ok) return commit;
  const set = await git(["update-ref", o.ref, commit.value], { cwd: o.repo });
  if (set.exitCode !== 0) return err({ ...gitFault(set, `set \`${o.ref}\``), code: "snapshot-failed" });
  return ok({ commit: commit.value, branchCommit, leftOut });
}

async function snapshotCommit(
  repo: string,
  o: {
    readonly parents: readonly string[];
    readonly tree: string | null;
    readonly leftOut: readonly string[];
    readonly ref: string;
  },
): Promise<Result<string, WorktreeFault>> {
  const [first = ""] = o.parents;
  const [own = null] = await resolveAll([`${first}^{tree}`], { cwd: repo });
  const tree = o.tree ?? own;
  if (tree === null) return err({ code: "snapshot-failed", detail: `the commit ${first} cannot be read` });
  // Nothing beyond the branch itself: the ref points at the branch's commit, no commit is needed.
  if (tree === own && (await onlyTip(repo, o.parents))) return ok(first);
  const left = o.leftOut.length === 0 ? "" : `\n\nNot kept (ignored, too big):\n${o.leftOut.join("\n")}`;
  const made = await git(["commit-tree", tree, ...o.parents.flatMap((parent) => ["-p", parent]), "-F", "-"], {
    cwd: repo,
    stdin: `orchestrate: state of the worktree before removal (${o.ref.split("/").slice(-2).join("/")})${left}\n`,
  });
  return made.exitCode === 0
    ? ok(made.stdout.trim())
    : err({ ...gitFault(made, "write the snapshot"), code: "snapshot-failed" });
}

/** The first parent contains all others. */
async function onlyTip(repo: string, parents: readonly string[]): Promise<boolean> {
  const [first = "", ...others] = parents;
  for (const other of others) {
    const answer = await git(["merge-base", "--is-ancestor", other, first], { cwd: repo });
    if (answer.exitCode !== 0) return false;
  }
  return true;
}

/** More than git's own `.git` file: a worktree that was never checked out holds nothing of a job. */
export function holdsFiles(path: string): boolean {
  return isFolder(path) && readdirSync(path).some((name) => name !== ".git");
}

async function snapshotTree(
  path: string,
  gitDir: string,
  parent: string,
): Promise<Result<{ tree: string; leftOut: readonly string[] }, WorktreeFault>> {
  const lost = await submoduleWork(path, gitDir);
  if (lost !== null) return err(lost);
  const indexFile = join(gitDir, "orchestrate-snapshot.index");
  startIndex(gitDir, indexFile);
  const options: GitOptions = { cwd: path, gitDir, workTree: path, indexFile, timeoutMs: 600_000 };
  try {
    const added = await git(["add", "-A", "--", ".", `:(exclude,top,literal)${INPUTS_DIR}`], options);
    if (added.exitCode !== 0)
      return err({ ...gitFault(added, "keep the worktree's files"), code: "snapshot-failed" });
    const staged = await stagedChanges(options, parent);
    if (!staged.ok) return staged;
    if (staged.value.links.length > 0) return err(embeddedFault(staged.value.links));
    const ignored = await ignoredWithinBounds(options);
    if (ignored.keep.length > 0) {
      const forced = await git(["add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"], {
        ...options,
        stdin: Buffer.concat(
          ignored.keep.flatMap((p) => [Buffer.from(":(top,literal)"), p, Buffer.from([0])]),
        ),
      });
      if (forced.exitCode !== 0)
        return err({ ...gitFault(forced, "keep ignored files"), code: "snapshot-failed" });
    }
    const tree = await git(["write-tree"], options);
    return tree.exitCode === 0
      ? ok({ tree: tree.stdout.trim(), leftOut: ignored.leftOut })
      : err({ ...gitFault(tree, "write the snapshot"), code: "snapshot-failed" });
  } finally {
    rmSync(indexFile, { force: true });
  }
}

/** A private index that starts from the untouched one: quick, and free of bits that a job may have set to hide changes. */
export function startIndex(gitDir: string, indexFile: string): void {
  rmSync(indexFile, { force: true });
  const source = [pristineIndex(gitDir), join(gitDir, "index")].find((file) => existsSync(file));
  if (source !== undefined) copyIndex(source, indexFile);
}

export interface StagedChanges {
  readonly changed: readonly string[];
  /** For `update-index -z --index-info`, by path: the line that puts the entry of the base back. */
  readonly undo: ReadonlyMap<string, Buffer>;
  /** Entries that `git add` made a link to another repository of: their content would not be kept. */
  readonly links: readonly string[];
}

/** How the private index differs from the tree of `base`. */
export async function stagedChanges(
  options: GitOptions,
  base: string,
): Promise<Result<StagedChanges, WorktreeFault>> {
  const answer = await git(
    ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--ignore-submodules=none", base],
    options,
  );
  if (answer.exitCode !== 0) return err(gitFault(answer, "compare with the base commit"));
  const fields = splitPaths(answer.stdoutBytes);
  const undo = new Map<string, Buffer>();
  const links: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [from = "", to, id] = (fields[i] as BytePath).text.split(" ");
    const { text: path, disk } = fields[i + 1] as BytePath;
    undo.set(
      path,
      Buffer.concat([Buffer.from(`${from.slice(1)} ${id}\t`), Buffer.from(disk), Buffer.from([0])]),
    );
    if (to === "160000" && from !== ":160000") links.push(path);
  }
  return ok({ changed: [...undo.keys()].sort(), undo, links });
}

export const embeddedFault = (paths: readonly string[]): WorktreeFault => ({
  code: "embedded-repository",
  detail: `the job made a git repository of its own in ${paths.map((path) => `\`${path}\``).join(", ")}; its content cannot be kept on the job's branch`,
});

/** Work in an initialised submodule that exists nowhere else. Its git directory goes with the worktree's. */
async function submoduleWork(path: string, gitDir: string): Promise<WorktreeFault | null> {
  for (const name of submoduleNames(join(gitDir, "modules"))) {
    const own = join(gitDir, "modules", name);
    const status = await git(["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"], {
      cwd: path,
      gitDir: own,
    });
    const lines = status.stdout.split("\0").filter((line) => line !== "" && !line.startsWith("# "));
    const unpushed = await git(["rev-list", "--count", "HEAD", "--not", "--remotes"], {
      cwd: path,
      gitDir: own,
    });
    if (status.exitCode !== 0 || lines.length > 0 || unpushed.stdout.trim() !== "0")
      return {
        code: "submodule-changed",
        detail: `the submodule \`${name}\` holds changes or commits that exist nowhere else; save them from \`${path}\` first`,
      };
  }
  return null;
}

/** A folder with a HEAD file is a git directory; names of submodules may contain slashes. */
function submoduleNames(root: string, below = ""): string[] {
  let names: string[];
  try {
    names = readdirSync(join(root, below));
  } catch {
    return [];
  }
  if (names.includes("HEAD")) return [below];
  return names.flatMap((name) => submoduleNames(root, below === "" ? name : `${below}/${name}`));
}

interface Ignored {
  readonly keep: readonly Buffer[];
  readonly leftOut: readonly string[];
}

/** Whole ignored entries, small ones first, while they fit. */
async function ignoredWithinBounds(options: GitOptions): Promise<Ignored> {
  const answer = await git(
    ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"],
    options,
  );
  const sized = splitPaths(answer.stdoutBytes)
    .filter((path) => !path.text.startsWith(`${INPUTS_DIR}/`))
    .map((path) => ({
      path,
      size: sizeOf(Buffer.concat([Buffer.from(`${options.cwd}/`), Buffer.from(path.disk)])),
    }))
    .sort((a, b) => a.size.bytes - b.size.bytes);
  const keep: Buffer[] = [];
  const leftOut: string[] = [];
  let files = 0;
  let bytes = 0;
  for (const { path, size } of sized) {
    const fits =
      !size.repository && files + size.files <= IGNORED_MAX_FILES && bytes + size.bytes <= IGNORED_MAX_BYTES;
    if (!fits) {
      leftOut.push(path.text);
      continue;
    }
    files += size.files;
    bytes += size.bytes;
    if (size.files > 0) keep.push(Buffer.from(path.disk));
  }
  return { keep, leftOut };
}

interface Size {
  files: number;
  bytes: number;
  /** Contains a repository: git would keep a link instead of the files. */
  repository: boolean;
}

/** Stops counting once past the bounds. */
function sizeOf(path: Buffer): Size {
  const size: Size = { files: 0, bytes: 0, repository: false };
  const stack = [path];
  while (stack.length > 0 && size.files <= IGNORED_MAX_FILES && size.bytes <= IGNORED_MAX_BYTES) {
    const at = stack.pop() as Buffer;
    try {
      const stat = lstatSync(at);
      if (!stat.isDirectory()) {
        if (stat.isFile() || stat.isSymbolicLink()) size.files += 1;
        size.bytes += stat.isFile() ? stat.size : 0;
        continue;
      }
      for (const name of readdirSync(at, { encoding: "buffer" })) {
        if (name.toString() === ".git") size.repository = true;
        stack.push(Buffer.concat([at, Buffer.from("/"), name]));
      }
    } catch {
      size.bytes = Number.POSITIVE_INFINITY;
    }
  }
  return size;
}
