/** Reads git's machine formats: `status --porcelain=v2 -z` and `ls-files -v -s -z`. Pure. */
import { type BytePath, bytePath } from "../host/git.ts";

export interface StatusItem {
  readonly path: BytePath;
  readonly tracking: "tracked" | "untracked" | "ignored";
  /** Reported as a whole: an ignored folder, or a repository inside this one. */
  readonly folder: boolean;
  /** A submodule whose commit differs from the index, or that the index holds otherwise than HEAD. */
  readonly submodule?: true;
  /** Object id of the content in the working tree, where it equals the index. */
  readonly blob: string | null;
}

export interface GitStatus {
  readonly head: { readonly ref: string; readonly commit: string | null };
  readonly items: readonly StatusItem[];
}

export function parseStatus(bytes: Buffer): GitStatus {
  const head = { ref: "HEAD", commit: null as string | null };
  const items: StatusItem[] = [];
  for (const line of records(bytes)) {
    const kind = String.fromCharCode(line[0] ?? 0);
    if (kind === "#") readHeader(line.toString("utf8"), head);
    else if (kind === "?" || kind === "!") items.push(looseItem(line.subarray(2), kind));
    else if (kind === "1") items.push(changedItem(line));
    else if (kind === "u")
      items.push({ path: afterFields(line, 10), tracking: "tracked", folder: false, blob: null });
  }
  return { head, items };
}

function readHeader(line: string, head: { ref: string; commit: string | null }): void {
  const [, name, value = ""] = line.split(" ");
  if (name === "branch.oid") head.commit = value === "(initial)" ? null : value;
  if (name === "branch.head") head.ref = value === "(detached)" ? "HEAD" : `refs/heads/${value}`;
}

function looseItem(bytes: Buffer, kind: "?" | "!"): StatusItem {
  const folder = bytes.at(-1) === 0x2f;
  return {
    path: bytePath(folder ? bytes.subarray(0, -1) : bytes),
    tracking: kind === "?" ? "untracked" : "ignored",
    folder,
    blob: null,
  };
}

/** `1 XY sub mH mI mW hH hI path`: Y is `.` when the working tree equals the index. */
function changedItem(line: Buffer): StatusItem {
  const fields = line.toString("latin1").split(" ", 8);
  const clean = fields[1]?.[1] === ".";
  if (fields[2]?.[0] === "S")
    return {
      path: afterFields(line, 8),
      tracking: "tracked",
      folder: false,
      submodule: true,
      blob: clean ? (fields[7] ?? null) : null,
    };
  return {
    path: afterFields(line, 8),
    tracking: "tracked",
    folder: false,
    blob: clean ? (fields[7] ?? null) : null,
  };
}

/** The path starts after `count` spaces. */
function afterFields(line: Buffer, count: number): BytePath {
  let at = 0;
  for (let i = 0; i < count; i++) at = line.indexOf(0x20, at) + 1;
  return bytePath(line.subarray(at));
}

export interface TrackedEntry {
  readonly path: BytePath;
  readonly mode: string;
  readonly blob: string;
  /** Marked as unchanged or as not checked out: git does not look at the file itself. */
  readonly marked: boolean;
}

/** `H 100644 <object id> 0\t<path>`; a lower-case letter or `S` is a mark. */
function* parseListing(bytes: Buffer): Generator<TrackedEntry> {
  for (const line of records(bytes)) {
    const tab = line.indexOf(0x09);
    if (tab === -1) continue;
    const [tag = "", mode = "", blob = ""] = line.toString("latin1", 0, tab).split(" ");
    yield {
      path: bytePath(line.subarray(tab + 1)),
      mode,
      blob,
      marked: tag === "S" || tag === "s" || tag !== tag.toUpperCase(),
    };
  }
}

/**
 * What the index does not vouch for: marked entries and submodules. Looks at the first bytes of each record only, since a
 * listing of 50,000 entries is read at every measurement and hardly ever holds one.
 */
export function specialEntries(bytes: Buffer): TrackedEntry[] {
  const special: TrackedEntry[] = [];
  for (const line of records(bytes)) {
    const plain = line[0] === 0x48 && line[1] === 0x20 && !(line[2] === 0x31 && line[3] === 0x36);
    if (!plain) special.push(...parseListing(line));
  }
  return special;
}

const SEARCHES = 64;

/** Finds entries by path: a few by searching the bytes, many by a map. */
export function listingLookup(bytes: Buffer): (path: string) => TrackedEntry | undefined {
  let searches = 0;
  let map: ReadonlyMap<string, TrackedEntry> | null = null;
  return (path) => {
    searches += 1;
    if (map === null && searches <= SEARCHES && !path.includes("\\x")) return search(bytes, path);
    map ??= listingMap(bytes);
    return map.get(path);
  };
}

const maps = new WeakMap<Buffer, ReadonlyMap<string, TrackedEntry>>();

export function listingMap(bytes: Buffer): ReadonlyMap<string, TrackedEntry> {
  let map = maps.get(bytes);
  if (map === undefined) {
    map = new Map([...parseListing(bytes)].map((entry) => [entry.path.text, entry]));
    maps.set(bytes, map);
  }
  return map;
}

function search(bytes: Buffer, path: string): TrackedEntry | undefined {
  const needle = Buffer.from(`\t${path}\0`);
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + 1)) {
    const start = at === 0 ? 0 : bytes.lastIndexOf(0, at - 1) + 1;
    const [entry] = parseListing(bytes.subarray(start, at + needle.length));
    if (entry?.path.text === path) return entry;
  }
  return undefined;
}

function* records(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start);
    const stop = end === -1 ? bytes.length : end;
    if (stop > start) yield bytes.subarray(start, stop);
    start = stop + 1;
  }
}
