/**
 * What a folder holds at one moment, so that two moments can be compared: tracked, untracked and ignored files alike, by content.
 *
 * With git, everything that differs from the index, everything that git does not track and everything that it ignores is
 * looked at one by one; the rest is vouched for by the index, whose listing is kept too, so that neither staging, nor a commit,
 * nor a moved HEAD hides a change. Index entries that are marked as unchanged are looked at themselves. No program that the
 * repository's configuration names is started, and git never runs inside a nested repository. Without git every file is
 * looked at, up to the bounds of the policy.
 */
import { basename, dirname } from "node:path";
import { SUPERVISION } from "../core/policy.ts";
import { sha256 } from "../host/files.ts";
import { type BytePath, type GitOptions, git, withoutFilters } from "../host/git.ts";
import { digestsOf, type Look, lookAt, pacer, walk } from "../host/tree.ts";
import { TRANSIENT_PATHS } from "../runtimes/registry.ts";
import type { Entry, Fingerprint, Listing, Tracking } from "./changes.ts";
import { type GitStatus, listingLookup, parseStatus, specialEntries } from "./git-status.ts";

export interface FingerprintOptions {
  /** Real path of the checkout's top level, of the worktree, or of the workspace root without git. */
  readonly root: string;
  /** Null without git. `gitDir` is the checkout's own git directory (of a worktree: below the common one). */
  readonly repo: { readonly gitDir: string } | null;
  /** Paths relative to `root` that are not measured, with all below; a last segment may end with `*`. */
  readonly exclude: readonly string[];
  /** An earlier fingerprint of the same root: unchanged files are not read again, and all its paths are looked at. */
  readonly previous?: Fingerprint;
}

/** Bigger files are told apart by size, times and inode alone. */
const READ_MAX_BYTES = 64 * 1024 * 1024;
/** Content of ignored files read in one call; the rest is told apart by times and read in a later call. */
const IGNORED_READ_MAX_FILES = 5_000;
const IGNORED_READ_MAX_BYTES = 256 * 1024 * 1024;

export async function takeFingerprint(options: FingerprintOptions): Promise<Fingerprint> {
  // A job may have removed the folder, or put a link to another one in its place.
  if (lookAt(dirname(options.root), basename(options.root))?.kind !== "folder") return UNREADABLE;
  const reader = createReader(options);
  return options.repo === null ? manifest(options, reader) : withGit(options, options.repo.gitDir, reader);
}

interface Reader {
  readonly entries: Map<string, Entry>;
  readonly excluded: (path: string) => boolean;
  /** A promise only where content had to be read. */
  add(
    path: BytePath,
    tracking: Tracking,
    o?: { readonly blob?: string | null; readonly look?: Look },
  ): Promise<void> | undefined;
}

function createReader(options: FingerprintOptions): Reader {
  const entries = new Map<string, Entry>();
  const previous = options.previous?.entries;
  let ignoredFiles = 0;
  let ignoredBytes = 0;
  const mayRead = (look: Look, tracking: Tracking): boolean => {
    if (look.kind !== "link" && (look.kind !== "file" || look.size > READ_MAX_BYTES)) return false;
    if (tracking !== "ignored") return true;
    ignoredFiles += 1;
    ignoredBytes += look.size;
    return ignoredFiles <= IGNORED_READ_MAX_FILES && ignoredBytes <= IGNORED_READ_MAX_BYTES;
  };
  const excluded = excluder(options.exclude);
  return {
    entries,
    excluded,
    add(path, tracking, o = {}) {
      if (excluded(path.text)) return undefined;
      const look = o.look ?? lookAt(options.root, path.disk);
      const blob = o.blob ?? null;
      if (look === null || look.kind === "folder" || isMountPoint(path.text, look)) {
        entries.set(path.text, { ...ABSENT, tracking });
        return undefined;
      }
      const put = (read: { readonly sha256: string | null; readonly blob: string | null } | null): void => {
        entries.set(path.text, {
          tracking,
          kind: look.kind,
          stat: look.stat,
          executable: look.executable,
          sha256: read?.sha256 ?? null,
          blob: blob ?? read?.blob ?? null,
          fresh: look.fresh,
        });
      };
      const known = previous?.get(path.text);
      const same = known !== undefined && known.stat === look.stat && !known.fresh && known.sha256 !== null;
      if (same || !mayRead(look, tracking)) {
        put(same ? known : null);
        return undefined;
      }
      return digestsOf(options.root, path.disk, look).then(put);
    },
  };
}

const UNREADABLE: Fingerprint = { kind: "unreadable", head: null, listing: null, entries: new Map() };

const ABSENT = {
  kind: "absent",
  stat: "",
  executable: false,
  sha256: null,
  blob: null,
  fresh: false,
} as const;

/** Some sandboxes leave empty mount points in the working folder for a moment. */
const isMountPoint = (path: string, look: Look): boolean =>
  look.kind === "file" && look.size === 0 && TRANSIENT_PATHS.includes(path.slice(path.lastIndexOf("/") + 1));

/** `a/b` covers itself and all below; `a/b-*` every entry of `a` whose name starts so. */
function excluder(patterns: readonly string[]): (path: string) => boolean {
  const clean = patterns.map((pattern) => pattern.replace(/\/+$/, "")).filter((pattern) => pattern !== "");
  const starts = clean.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  const exact = new Set(clean.filter((pattern) => !pattern.endsWith("*")));
  return (path) => {
    if (path === ".git" || path.startsWith(".git/")) return true;
    if (starts.some((start) => path.startsWith(start))) return true;
    if (exact.size === 0) return false;
    if (exact.has(path)) return true;
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1))
      if (exact.has(path.slice(0, slash))) return true;
    return false;
  };
}

const isGitFolder = (path: string): boolean => path === ".git" || path.endsWith("/.git");

async function manifest(options: FingerprintOptions, reader: Reader): Promise<Fingerprint> {
  let files = 0;
  let bytes = 0;
  let tooLarge = false;
  await walk(
    options.root,
    { text: "", disk: "" },
    {
      skip: (path) => reader.excluded(path) || isGitFolder(path),
      async onEntry(path, look) {
        files += 1;
        bytes += look.kind === "file" ? look.size : 0;
        tooLarge = files > SUPERVISION.manifestMaxFiles || bytes > SUPERVISION.manifestMaxBytes;
        if (!tooLarge) await reader.add(path, "tracked", { look });
        return !tooLarge;
      },
    },
  );
  return { kind: tooLarge ? "too-large" : "manifest", head: null, listing: null, entries: reader.entries };
}

async function withGit(options: FingerprintOptions, gitDir: string, reader: Reader): Promise<Fingerprint> {
  const base: GitOptions = { cwd: options.root, gitDir, workTree: options.root };
  const config = await withoutFilters(base);
  const exclude = options.exclude
    .filter((pattern) => pattern !== "")
    .map((pattern) =>
      pattern.endsWith("*") ? `:(exclude,top,glob)${pattern}/**` : `:(exclude,top,literal)${pattern}`,
    );
  const [listing, answered] = await Promise.all([
    readListing({ ...base, config }, gitDir, options.previous?.listing ?? null),
    git(
      [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--ignored=matching",
        "--no-renames",
        // Which commit each stands at, read without a git of its own being started there.
        "--ignore-submodules=dirty",
        "--",
        ".",
        ...exclude,
      ],
      { ...base, config },
    ),
  ]);
  if (listing === null || answered.exitCode !== 0) return UNREADABLE;
  const status = parseStatus(answered.stdoutBytes);
  await readStatus(options.root, status, reader);
  await readSpecial({ ...base, config }, { listing: listing.bytes, status, reader });
  await readPrevious(options, listing.bytes, reader);
  return { kind: "git", head: status.head, listing, entries: reader.entries };
}

/** The index as text. Taken over from an earlier measurement while the index file is the same. */
async function readListing(
  options: GitOptions,
  gitDir: string,
  previous: Listing | null,
): Promise<Listing | null> {
  const index = lookAt(gitDir, "index");
  if (previous !== null && index !== null && index.stat === previous.indexStat) return previous;
  const listed = await git(["ls-files", "-v", "-s", "-z"], options);
  if (listed.exitCode !== 0) return null;
  const digest = sha256(listed.stdoutBytes);
  const bytes = previous?.digest === digest ? previous.bytes : listed.stdoutBytes;
  return { digest, bytes, indexStat: index === null || index.fresh ? "" : index.stat };
}

async function readStatus(root: string, status: GitStatus, reader: Reader): Promise<void> {
  const pace = pacer();
  for (const item of status.items) {
    const rest = pace();
    if (rest !== undefined) await rest;
    if (item.submodule === true) continue;
    if (item.folder) await readFolder(root, item.path, item.tracking, reader);
    else await reader.add(item.path, item.tracking, { blob: item.blob });
  }
}

/** An ignored folder, or a repository inside this one: its files are looked at like any others, its own git is not asked. */
async function readFolder(root: string, folder: BytePath, tracking: Tracking, reader: Reader): Promise<void> {
  if (reader.excluded(folder.text)) return;
  // A link in the place of a folder is a change of its own, and not a way in.
  if (lookAt(root, folder.disk)?.kind !== "folder") return reader.add(folder, tracking);
  await walk(root, folder, {
    skip: (path) => reader.excluded(path) || isGitFolder(path),
    onEntry(path, look) {
      const reading = reader.add(path, tracking, { look });
      return reading === undefined ? true : reading.then(() => true);
    },
  });
}

/** What the index does not vouch for: entries marked as unchanged, and submodules. */
async function readSpecial(
  options: GitOptions,
  o: { readonly listing: Buffer; readonly status: GitStatus; readonly reader: Reader },
): Promise<void> {
  const { reader } = o;
  const moved = new Set(o.status.items.flatMap((item) => (item.submodule === true ? [item.path.text] : [])));
  for (const entry of specialEntries(o.listing)) {
    const { path } = entry;
    if (entry.mode !== "160000") {
      if (!reader.entries.has(path.text)) await reader.add(path, "tracked");
      continue;
    }
    await readFolder(options.cwd, path, "tracked", reader);
    if (!moved.has(path.text) || reader.entries.has(path.text) || reader.excluded(path.text)) continue;
    const commit = await submoduleCommit(options, path.text);
    reader.entries.set(path.text, { ...ABSENT, kind: "folder", tracking: "tracked", blob: commit });
  }
}

/** The commit that a submodule's HEAD names, by the outer git, which reads the reference and no configuration of it. */
async function submoduleCommit(options: GitOptions, path: string): Promise<string | null> {
  const shown = await git(
    [
      "diff-files",
      "-p",
      "--no-ext-diff",
      "--no-textconv",
      "--no-color",
      "--submodule=short",
      "--ignore-submodules=dirty",
      "--",
      `:(top,literal)${path}`,
    ],
    options,
  );
  return /^\+Subproject commit ([0-9a-f]+)$/m.exec(shown.stdout)?.[1] ?? null;
}

/** A path that was looked at before is looked at again, even when git now finds it clean. */
async function readPrevious(options: FingerprintOptions, listing: Buffer, reader: Reader): Promise<void> {
  const previous = options.previous;
  if (previous === undefined) return;
  const left = [...previous.entries.keys()].filter((path) => !reader.entries.has(path));
  if (left.length === 0) return;
  const lookup = listingLookup(listing);
  const pace = pacer();
  for (const path of left) {
    const rest = pace();
    if (rest !== undefined) await rest;
    const entry = lookup(path);
    // At the commit that the index names.
    if (entry?.mode === "160000") continue;
    const was = previous.entries.get(path)?.tracking ?? "untracked";
    const tracking = entry !== undefined ? "tracked" : was === "tracked" ? "untracked" : was;
    await reader.add(entry?.path ?? { text: path, disk: path }, tracking, { blob: entry?.blob ?? null });
  }
}
