/**
 * A patch that takes the edits of a job in the shared checkout back. Its work is already in place there, so this is what
 * stands for an undo. Only files whose former content git still has can be in it; the others are named.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { type GitOptions, git, resolveAll, withoutFilters } from "../host/git.ts";
import { type Changes, contentAt, type Fingerprint } from "./changes.ts";
import { gitFault, type WorktreeFault } from "./worktree-fault.ts";

export interface ReversePatch {
  /** For `git apply`, from the top of the checkout; empty when nothing can be taken back. */
  readonly patch: Buffer;
  /** Changed files whose former content is not known: they were uncommitted or ignored. */
  readonly missing: readonly string[];
}

/** `changes` is what `compareFingerprints(before, …)` gave, taken before anything else could change. Writes objects, nothing else. */
export async function reversePatch(o: {
  readonly root: string;
  readonly gitDir: string;
  readonly before: Fingerprint;
  readonly changes: Changes;
}): Promise<Result<ReversePatch, WorktreeFault>> {
  const indexFile = join(o.gitDir, `orchestrate-reverse-${process.pid}.index`);
  const plain: GitOptions = { cwd: o.root, gitDir: o.gitDir, workTree: o.root };
  const options: GitOptions = { ...plain, indexFile, config: await withoutFilters(plain) };
  const created = new Set(o.changes.created);
  const deleted = new Set(o.changes.deleted);
  const paths = [...created, ...o.changes.modified, ...deleted].sort();
  const former = await formerContent(
    options,
    o.before,
    paths.filter((path) => !created.has(path)),
  );
  const missing = paths.filter((path) => !created.has(path) && !former.has(path));
  const covered = paths.filter((path) => created.has(path) || former.has(path));
  try {
    const now = await tree(
      options,
      ["--add", "-z", "--stdin"],
      covered.filter((path) => !deleted.has(path)).map((path) => `${path}\0`),
    );
    if (!now.ok) return now;
    const then = await tree(
      options,
      ["--add", "-z", "--index-info"],
      covered.flatMap((path) => former.get(path) ?? []),
    );
    if (!then.ok) return then;
    const patch = await git(
      [
        "diff-tree",
        "-r",
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
        now.value,
        then.value,
      ],
      options,
    );
    return patch.exitCode === 0
      ? ok({ patch: patch.stdoutBytes, missing })
      : err(gitFault(patch, "make the reverse patch"));
  } finally {
    rmSync(indexFile, { force: true });
  }
}

/** Index lines of the files whose content before is an object that exists. */
async function formerContent(
  options: GitOptions,
  before: Fingerprint,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const known = paths.flatMap((path) => {
    const content = contentAt(before, path);
    return content === null ? [] : [{ path, ...content }];
  });
  if (known.length === 0) return new Map();
  const objects = await resolveAll(
    known.map((content) => content.blob),
    options,
  );
  return new Map(
    known
      .filter((_, i) => objects[i] !== null)
      .map(({ path, mode, blob }) => [path, `${mode} ${blob}\t${path}\0`]),
  );
}

/** The tree that an otherwise empty index of these entries stands for. */
async function tree(
  options: GitOptions,
  how: readonly string[],
  entries: readonly string[],
): Promise<Result<string, WorktreeFault>> {
  rmSync(options.indexFile ?? "", { force: true });
  const filled = await git(["update-index", ...how], { ...options, stdin: entries.join("") });
  if (filled.exitCode !== 0) return err(gitFault(filled, "read the changed files"));
  const written = await git(["write-tree"], options);
  return written.exitCode === 0 ? ok(written.stdout.trim()) : err(gitFault(written, "write a tree"));
}
