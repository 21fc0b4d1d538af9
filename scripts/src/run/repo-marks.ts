/**
 * What a job in a worktree can reach of the user's repository, since all worktrees share one git folder: branches, tags,
 * the stash, the checkout's HEAD, local settings and hooks. Looked at before and after, to be told and never to be judged:
 * the user may have moved the same things meanwhile.
 */
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { errorCode, readNamedFile, sha256 } from "../host/files.ts";
import { git } from "../host/git.ts";

export interface RepoMarks {
  /** Full ref name → object id, without the product's own refs; null: git did not list them. */
  readonly refs: Readonly<Record<string, string>> | null;
  /** What a reader calls it → digest; null: it is not there. */
  readonly files: Readonly<Record<string, string | null>>;
}

/** Remote-tracking refs are left out: editors fetch all the time. */
const WATCHED = ["refs/heads", "refs/tags", "refs/stash", "refs/notes", "refs/replace"] as const;
const OWN = "refs/heads/orchestrate/";
/** Settings are a few kilobytes; more than this is told apart by its size. */
const FILE_BYTES_MAX = 1024 * 1024;

/** One git call. */
export async function takeRepoMarks(o: {
  readonly repo: string;
  /** Of the user's checkout. */
  readonly gitDir: string;
  readonly commonDir: string;
}): Promise<RepoMarks> {
  const listed = await git(["for-each-ref", "--format=%(objectname) %(refname)", ...WATCHED], {
    cwd: o.repo,
    gitDir: o.gitDir,
  });
  const refs = listed.stdout.split("\n").flatMap((line): [string, string][] => {
    const space = line.indexOf(" ");
    const name = line.slice(space + 1);
    return space < 1 || name.startsWith(OWN) ? [] : [[name, line.slice(0, space)]];
  });
  return {
    refs: listed.exitCode === 0 ? Object.fromEntries(refs) : null,
    files: {
      "the checkout's `HEAD`": digest(join(o.gitDir, "HEAD")),
      "the settings in `.git/config`": digest(join(o.commonDir, "config")),
      "the settings in `.git/config.worktree`": digest(join(o.gitDir, "config.worktree")),
      "the hooks in `.git/hooks`": listing(join(o.commonDir, "hooks")),
    },
  };
}

/** One phrase for each thing that is not what it was, refs first. */
export function movedMarks(before: RepoMarks, after: RepoMarks): string[] {
  const files = Object.keys(before.files).filter((name) => before.files[name] !== after.files[name]);
  if (before.refs === null) return files;
  if (after.refs === null) return ["the branches and tags, which git does not list any more", ...files];
  const names = [...new Set([...Object.keys(before.refs), ...Object.keys(after.refs)])].sort();
  const refs = names.flatMap((name) => {
    const from = before.refs?.[name];
    const to = after.refs?.[name];
    if (from === to) return [];
    const what =
      from === undefined
        ? `new at ${short(to)}`
        : to === undefined
          ? `gone, was ${short(from)}`
          : `${short(from)} to ${short(to)}`;
    return [`\`${name}\` (${what})`];
  });
  return [...refs, ...files];
}

const short = (id: string | undefined): string => (id ?? "").slice(0, 12);

/** A job may have put anything in a file's place: a link is known by its target, what is no file by that. */
function digest(path: string): string | null {
  try {
    if (lstatSync(path).isSymbolicLink()) return `link ${readlinkSync(path)}`;
    const { head, size } = readNamedFile(path, FILE_BYTES_MAX);
    return `${size} ${sha256(head)}`;
  } catch (error) {
    const code = errorCode(error);
    return code === "ENOENT" ? null : `unreadable ${code}`;
  }
}

/** Names, sizes and times of what lies in a folder. */
function listing(dir: string): string | null {
  try {
    const entries = readdirSync(dir)
      .sort()
      .map((name) => {
        const { mode, size, mtimeMs } = lstatSync(join(dir, name));
        return `${name} ${mode} ${size} ${mtimeMs}`;
      });
    return sha256(entries.join("\n"));
  } catch (error) {
    const code = errorCode(error);
    return code === "ENOENT" ? null : `unreadable ${code}`;
  }
}
