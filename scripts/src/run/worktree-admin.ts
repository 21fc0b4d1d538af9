/**
 * How git has a worktree registered, read from the common git directory. The `.git` file inside a worktree is never
 * believed once a job has run there: a job could have pointed it at a repository of its own, whose configuration names
 * programs. The registration lies outside the worktree.
 */
import {
  copyFileSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  utimesSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

export interface WorktreeAdmin {
  /** The worktree's own git directory, `<commonDir>/worktrees/<name>`. */
  readonly gitDir: string;
  /** A person locked it with `git worktree lock`; the reason they gave. */
  readonly locked: string | null;
}

/** The registration of the worktree at `path`, whether or not the folder still exists; null when there is none. */
export function findAdmin(commonDir: string, path: string): WorktreeAdmin | null {
  const parent = join(commonDir, "worktrees");
  const wanted = placeOf(path);
  for (const name of names(parent)) {
    const gitDir = join(parent, name);
    const target = read(join(gitDir, "gitdir"))?.trim();
    if (target === undefined || target === "" || placeOf(dirname(target)) !== wanted) continue;
    return { gitDir, locked: read(join(gitDir, "locked"))?.trim() ?? null };
  }
  return null;
}

/** The branch that a git directory's HEAD names, as a full ref name; null when it is detached. */
export const headOf = (gitDir: string): string | null =>
  /^ref: (.+)$/m.exec(read(join(gitDir, "HEAD")) ?? "")?.[1] ?? null;

/** Branch that each registered worktree has checked out, by full ref name. */
export function checkedOut(commonDir: string): ReadonlyMap<string, string> {
  const parent = join(commonDir, "worktrees");
  const out = new Map<string, string>();
  for (const gitDir of [commonDir, ...names(parent).map((name) => join(parent, name))]) {
    const ref = headOf(gitDir);
    if (ref !== null) out.set(ref, gitDir);
  }
  return out;
}

/** The last part is not followed: a job could have put a link to somewhere else in the place of its worktree. */
const placeOf = (path: string): string => join(canonical(dirname(path)), basename(path));

/** A folder itself, not a link to one. */
export function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Real path as far as it exists; the last part may be gone. */
export function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(canonical(parent), basename(path));
  }
}

/** Index as it was right after the checkout: no job can have put bits into it that hide changes. */
export const pristineIndex = (gitDir: string): string => join(gitDir, "orchestrate-base.index");

function names(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/**
 * Copies an index with its age. A file that was changed within the second of its checkout, to the same size, looks unchanged
 * to git unless it is not older than the index: a copy that is younger than its source would lose that change.
 */
export function copyIndex(from: string, to: string): void {
  copyFileSync(from, to);
  const written = Math.floor(statSync(from).mtimeMs / 1000);
  utimesSync(to, written, written);
}
