/**
 * Looking at files of a folder that somebody else may be writing to: never through a link, never into a pipe, without
 * holding the event loop for longer than a moment. Names that are no UTF-8 keep their bytes.
 */

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { constants } from "node:fs";
import { nextTurn } from "./clock.ts";
import { type BytePath, bytePath } from "./git.ts";

export interface Look {
  readonly kind: "file" | "link" | "folder" | "other";
  /** Size, times and inode: equal for two looks means the same content, unless the first was `fresh`. */
  readonly stat: string;
  readonly size: number;
  readonly executable: boolean;
  /** Changed so recently that a further change could leave the same times. */
  readonly fresh: boolean;
}

/** Above the coarsest clock of a file system that we care about. */
const FRESH_MS = 2_000;

/** Null when there is nothing at that path, or nothing that we may look at. */
export function lookAt(root: string, path: BytePath["disk"]): Look | null {
  try {
    const s = fs.lstatSync(below(root, path));
    return {
      kind: s.isFile() ? "file" : s.isSymbolicLink() ? "link" : s.isDirectory() ? "folder" : "other",
      // Fractions of a millisecond included: the times are exact to a quarter of a microsecond.
      stat: `${s.size}:${s.mtimeMs}:${s.ctimeMs}:${s.ino}:${s.mode}`,
      size: s.size,
      executable: (s.mode & 0o111) !== 0,
      fresh: s.ctimeMs > Date.now() - FRESH_MS,
    };
  } catch {
    return null;
  }
}

const below = (root: string, path: BytePath["disk"]): string | Buffer =>
  typeof path === "string" ? `${root}/${path}` : Buffer.concat([Buffer.from(`${root}/`), path]);

export interface Digests {
  /** Of a file's content or of a link's target. */
  readonly sha256: string;
  /** The object id that git gives these bytes in a SHA-1 repository. */
  readonly blob: string;
}

/** Null when it cannot be read as what it was a moment ago. */
export async function digestsOf(root: string, path: BytePath["disk"], look: Look): Promise<Digests | null> {
  try {
    if (look.kind === "link") {
      const target = fs.readlinkSync(below(root, path), { encoding: "buffer" });
      const hashes = createHashes(target.length);
      hashes.update(target);
      return hashes.digests();
    }
    return look.kind === "file" ? await hashRegular(below(root, path)) : null;
  } catch {
    return null;
  }
}

function createHashes(size: number): { update(bytes: Buffer): void; digests(): Digests } {
  const content = createHash("sha256");
  const blob = createHash("sha1").update(`blob ${size}\0`);
  return {
    update(bytes) {
      content.update(bytes);
      blob.update(bytes);
    },
    digests: () => ({ sha256: content.digest("hex"), blob: blob.digest("hex") }),
  };
}

const buffer = Buffer.allocUnsafe(256 * 1024);

async function hashRegular(path: string | Buffer): Promise<Digests | null> {
  const fd = fs.openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) return null;
    const hashes = createHashes(stat.size);
    for (let chunks = 1; ; chunks++) {
      // The buffer is shared: it is used up before anything else can run.
      const read = fs.readSync(fd, buffer, 0, buffer.length, null);
      if (read === 0) return hashes.digests();
      hashes.update(buffer.subarray(0, read));
      if (chunks % 16 === 0) await nextTurn();
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** Lets others run when the current turn has lasted for a while. */
export function pacer(maxMs = 10): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < maxMs) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
}

export interface WalkOptions {
  /** Folders and files that are not entered or reported. */
  readonly skip: (path: string) => boolean;
  /** Returns false to end the walk. */
  readonly onEntry: (path: BytePath, look: Look) => boolean | Promise<boolean>;
}

/** Every file, link and other non-folder below `start` (relative to `root`, empty for all), in no particular order. */
export async function walk(root: string, start: BytePath, options: WalkOptions): Promise<void> {
  const pace = pacer();
  const stack: BytePath[] = [start];
  while (stack.length > 0) {
    const folder = stack.pop() as BytePath;
    for (const name of namesIn(root, folder.disk)) {
      const path = childOf(folder, name);
      if (options.skip(path.text)) continue;
      const look = lookAt(root, path.disk);
      if (look === null) continue;
      if (look.kind === "folder") {
        stack.push(path);
        continue;
      }
      const going = options.onEntry(path, look);
      if (!(typeof going === "boolean" ? going : await going)) return;
      const rest = pace();
      if (rest !== undefined) await rest;
    }
  }
}

function childOf(folder: BytePath, name: BytePath): BytePath {
  if (folder.text === "") return name;
  const text = `${folder.text}/${name.text}`;
  if (typeof folder.disk === "string" && typeof name.disk === "string") return { text, disk: text };
  return { text, disk: Buffer.concat([Buffer.from(folder.disk), Buffer.from("/"), Buffer.from(name.disk)]) };
}

function namesIn(root: string, folder: BytePath["disk"]): BytePath[] {
  const path = folder.length === 0 ? root : below(root, folder);
  try {
    const names = fs.readdirSync(path, { encoding: "utf8" });
    if (!names.some((name) => name.includes("\uFFFD")))
      return names.map((name) => ({ text: name, disk: name }));
    return fs.readdirSync(path, { encoding: "buffer" }).map(bytePath);
  } catch {
    return [];
  }
}
