/** What changed between two measurements of a folder (`measure.ts` takes them). Pure. */
import { gunzipSync, gzipSync } from "node:zlib";
import { sha256 } from "../host/files.ts";
import type { Look } from "../host/tree.ts";
import { listingLookup, listingMap } from "./git-status.ts";

export type Tracking = "tracked" | "untracked" | "ignored";

export interface Entry {
  readonly tracking: Tracking;
  /** "folder": a submodule, whose `blob` is the commit that it stands at. */
  readonly kind: Look["kind"] | "absent";
  readonly stat: string;
  readonly executable: boolean;
  /** SHA-256 of content or link target; null when it was not read (too big, unreadable). */
  readonly sha256: string | null;
  /** Git's object id of the content: as the index vouches for it, or of the bytes that were read. */
  readonly blob: string | null;
  /** Changed so recently that a further change could leave the same times. */
  readonly fresh: boolean;
}

export interface Listing {
  readonly digest: string;
  readonly bytes: Buffer;
  /** Size, times and inode of the index file; empty when it was written too recently to be recognised by them. */
  readonly indexStat: string;
}

/** Opaque outside this module; `encodeFingerprint` makes it a string for disk. */
export interface Fingerprint {
  /** "unreadable": there is no such folder any more, or git cannot read its repository. */
  readonly kind: "git" | "manifest" | "too-large" | "unreadable";
  readonly head: { readonly ref: string; readonly commit: string | null } | null;
  /** Output of `ls-files -v -s -z`, and its SHA-256. */
  readonly listing: Listing | null;
  readonly entries: ReadonlyMap<string, Entry>;
}

export interface Changes {
  /** False: no evidence (the folder is too large without git). */
  readonly measured: boolean;
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  /** Those of the above that git ignores, before and after. */
  readonly ignored: readonly string[];
  /** Those of the above that were tracked before (without git: that existed before). */
  readonly tracked: readonly string[];
  /** Set when HEAD of the checkout moved. */
  readonly headMoved: { readonly from: string | null; readonly to: string | null } | null;
}

/** Paths are relative to the root, sorted. Pure. */
export function compareFingerprints(before: Fingerprint, after: Fingerprint): Changes {
  const out = { created: [] as string[], modified: [] as string[], deleted: [] as string[] };
  const none = { ignored: [], tracked: [], headMoved: null };
  if (before.kind === "too-large" || before.kind === "unreadable")
    return { measured: false, ...out, ...none };
  // It could be read before: whatever made it unreadable is a change.
  if (after.kind === "unreadable" || (after.kind !== "too-large" && after.kind !== before.kind))
    return { measured: true, ...out, modified: ["."], ...none };
  const was = knownAt(before);
  const is = knownAt(after);
  const paths = new Set([
    ...before.entries.keys(),
    ...after.entries.keys(),
    ...listingDifference(before, after),
  ]);
  const ignored: string[] = [];
  const tracked: string[] = [];
  for (const path of [...paths].sort()) {
    const a = was(path);
    const b = is(path);
    // A walk that was cut off says nothing about what it did not reach.
    if (after.kind === "too-large" && b === null && !after.entries.has(path)) continue;
    const kind = changeOf(a, b);
    if (kind === null) continue;
    out[kind].push(path);
    const shown = [a, b].filter((entry) => entry !== null && entry.kind !== "absent");
    if (shown.every((entry) => entry?.tracking === "ignored")) ignored.push(path);
    if (a !== null && a.kind !== "absent" && a.tracking === "tracked") tracked.push(path);
  }
  // It fitted before and does not now, so it grew, wherever that was.
  if (after.kind === "too-large" && out.created.length + out.modified.length === 0) out.created.push(".");
  return { measured: true, ...out, ignored, tracked, headMoved: headMoved(before, after) };
}

function headMoved(before: Fingerprint, after: Fingerprint): Changes["headMoved"] {
  if (before.head === null || after.head === null) return null;
  if (before.head.ref === after.head.ref && before.head.commit === after.head.commit) return null;
  return {
    from: before.head.commit ?? before.head.ref,
    to: before.head.commit === after.head.commit ? after.head.ref : after.head.commit,
  };
}

/** What is known about a path at that moment: looked at, vouched for by the index, or (null) not there. */
function knownAt(fingerprint: Fingerprint): (path: string) => Entry | null {
  const lookup = fingerprint.listing === null ? () => undefined : listingLookup(fingerprint.listing.bytes);
  return (path) => {
    const entry = fingerprint.entries.get(path);
    if (entry !== undefined) return entry;
    const listed = lookup(path);
    if (listed === undefined) return null;
    return {
      tracking: "tracked",
      kind: listed.mode === "160000" ? "folder" : listed.mode === "120000" ? "link" : "file",
      stat: "",
      executable: listed.mode === "100755",
      sha256: null,
      blob: listed.blob,
      fresh: false,
    };
  };
}

/** Git's object of a file's content at that moment, where the index or the reading vouches for one; null otherwise. */
export function contentAt(
  fingerprint: Fingerprint,
  path: string,
): { readonly blob: string; readonly mode: "100644" | "100755" | "120000" } | null {
  const entry = knownAt(fingerprint)(path);
  if (entry === null || entry.kind === "absent" || entry.kind === "folder" || entry.blob === null)
    return null;
  return {
    blob: entry.blob,
    mode: entry.kind === "link" ? "120000" : entry.executable ? "100755" : "100644",
  };
}

/** Paths whose index entry differs: clean before and clean after, but not the same (a commit, a checkout, a reset). */
function listingDifference(before: Fingerprint, after: Fingerprint): string[] {
  if (before.listing === null || after.listing === null || before.listing.digest === after.listing.digest)
    return [];
  const a = listingMap(before.listing.bytes);
  const b = listingMap(after.listing.bytes);
  const paths: string[] = [];
  for (const [path, entry] of a) {
    const other = b.get(path);
    if (other === undefined || other.blob !== entry.blob || other.mode !== entry.mode) paths.push(path);
  }
  for (const path of b.keys()) if (!a.has(path)) paths.push(path);
  return paths;
}

function changeOf(a: Entry | null, b: Entry | null): "created" | "modified" | "deleted" | null {
  const before = a !== null && a.kind !== "absent";
  const after = b !== null && b.kind !== "absent";
  if (!before) return after ? "created" : null;
  if (!after) return "deleted";
  return sameContent(a, b) ? null : "modified";
}

function sameContent(a: Entry, b: Entry): boolean {
  if (a.kind !== b.kind || a.executable !== b.executable) return false;
  if (a.sha256 !== null && b.sha256 !== null) return a.sha256 === b.sha256;
  if (a.blob !== null && b.blob !== null) return a.blob === b.blob;
  return a.stat !== "" && a.stat === b.stat;
}

/** For an attempt that outlives this process (one that a harness works on). */
export function encodeFingerprint(fingerprint: Fingerprint): string {
  return JSON.stringify({
    version: 1,
    kind: fingerprint.kind,
    head: fingerprint.head,
    listing:
      fingerprint.listing === null
        ? null
        : gzipSync(fingerprint.listing.bytes, { level: 1 }).toString("base64"),
    entries: [...fingerprint.entries].map(([path, e]) => [
      path,
      e.tracking,
      e.kind,
      e.stat,
      e.executable,
      e.sha256,
      e.blob,
      e.fresh,
    ]),
  });
}

/** Null for text that is no fingerprint of this version. */
export function decodeFingerprint(text: string): Fingerprint | null {
  try {
    const value = JSON.parse(text) as {
      version: number;
      kind: Fingerprint["kind"];
      head: Fingerprint["head"];
      listing: string | null;
      entries: [string, Tracking, Entry["kind"], string, boolean, string | null, string | null, boolean][];
    };
    if (value.version !== 1 || !Array.isArray(value.entries)) return null;
    const bytes = value.listing === null ? null : gunzipSync(Buffer.from(value.listing, "base64"));
    return {
      kind: value.kind,
      head: value.head,
      listing: bytes === null ? null : { digest: sha256(bytes), bytes, indexStat: "" },
      entries: new Map(
        value.entries.map(([path, tracking, kind, stat, executable, digest, blob, fresh]) => [
          path,
          { tracking, kind, stat, executable, sha256: digest, blob, fresh },
        ]),
      ),
    };
  } catch {
    return null;
  }
}
