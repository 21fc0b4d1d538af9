/** The only door to files that must survive: atomic replacement, synced appends, bounded reads, digests. */
import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { constants, createReadStream } from "node:fs";
import { dirname } from "node:path";

export const PRIVATE_FILE = 0o600;
export const PRIVATE_DIR = 0o700;

let temporary = 0;

/** Writes all of `data`, however many calls it takes. */
export function writeAll(fd: number, data: Uint8Array): void {
  let offset = 0;
  while (offset < data.length) offset += fs.writeSync(fd, data, offset, data.length - offset);
}

export function syncDir(path: string): void {
  const fd = fs.openSync(path, constants.O_RDONLY);
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Replaces `path` by temporary file + fsync + rename + folder fsync, so a reader sees the old or the new content
 * and a power loss keeps one of them. Throws the system error (with `path`, `code`) when any step fails.
 */
export function replaceFile(path: string, data: string | Uint8Array, mode = PRIVATE_FILE): void {
  replaceFileInParts(path, [typeof data === "string" ? Buffer.from(data) : data], mode);
}

/** The same for content that is made while it is written, and never in memory whole. */
export function replaceFileInParts(path: string, parts: Iterable<Uint8Array>, mode = PRIVATE_FILE): void {
  temporary += 1;
  const temp = `${path}.${process.pid}.${temporary}.tmp`;
  const fd = fs.openSync(temp, "wx", mode);
  try {
    for (const part of parts) writeAll(fd, part);
    fs.fsyncSync(fd);
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(temp, { force: true });
    throw withPath(error, path);
  }
  fs.closeSync(fd);
  try {
    fs.renameSync(temp, path);
  } catch (error) {
    fs.rmSync(temp, { force: true });
    throw error;
  }
  syncDir(dirname(path));
}

/** Texts one after another as bytes, in pieces of a size that is worth a write. */
export function* piecesOfText(texts: Iterable<string>): Generator<Buffer> {
  let piece = "";
  for (const text of texts) {
    piece += text;
    if (piece.length < CHUNK_BYTES) continue;
    yield Buffer.from(piece);
    piece = "";
  }
  if (piece !== "") yield Buffer.from(piece);
}

/** Writes a private file whole, not durably. The error of a failed write names `path`, which the system's own does not. */
export function writePrivate(path: string, data: string | Uint8Array): void {
  try {
    fs.writeFileSync(path, data, { mode: PRIVATE_FILE });
  } catch (error) {
    throw withPath(error, path);
  }
}

/** The system says where an open failed, but not where a write or a sync did. */
function withPath(error: unknown, path: string): unknown {
  if (error instanceof Error && !("path" in error)) {
    error.message += ` '${path}'`;
    Object.assign(error, { path });
  }
  return error;
}

/**
 * Creates `path` and its missing parents, mode 0700 for what it creates. Step by step: the recursive call of the system
 * library reports a failing disk as a missing folder.
 */
export function ensureDir(path: string): void {
  if (makeDir(path)) return;
  ensureDir(dirname(path));
  if (!makeDir(path)) fs.mkdirSync(path, { mode: PRIVATE_DIR });
}

/** False when the parent is missing. */
function makeDir(path: string): boolean {
  try {
    fs.mkdirSync(path, { mode: PRIVATE_DIR });
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" && dirname(path) !== path) return false;
    if (code !== "EEXIST" || !fs.statSync(path).isDirectory()) throw error;
  }
  return true;
}

/** Content, or null when there is no such file. Any other fault throws. */
export function readTextIfPresent(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * The first `maxBytes` of a regular file that somebody names to us, with its whole size. Throws the system error; a
 * folder, device or pipe is `EISDIR` or `ENOTREG`, and none of them can hold us or fill the memory.
 */
export function readNamedFile(
  path: string,
  maxBytes: number,
): { readonly head: Buffer; readonly size: number } {
  const fd = fs.openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw withCode(stat.isDirectory() ? "EISDIR" : "ENOTREG", path);
    const head = Buffer.alloc(Math.min(stat.size, maxBytes));
    let length = 0;
    for (let read = -1; read !== 0 && length < head.length; length += read)
      read = fs.readSync(fd, head, length, head.length - length, length);
    return { head: head.subarray(0, length), size: stat.size };
  } finally {
    fs.closeSync(fd);
  }
}

const withCode = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: no regular file, ${path}`), { code, path });

const CHUNK_BYTES = 256 * 1024;
const LF = 10;

/** The bytes of a file, a piece at a time; each is gone when the next one is asked for. Throws the system error. */
export function* piecesOfFile(path: string): Generator<Buffer> {
  const fd = fs.openSync(path, constants.O_RDONLY);
  try {
    // One for all pieces: hundreds of them would stay in the allocator's heap for good.
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (let size = -1; size !== 0; ) {
      size = fs.readSync(fd, chunk, 0, CHUNK_BYTES, null);
      if (size > 0) yield chunk.subarray(0, size);
    }
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * The lines of a file, without their ends, so that a long file is never in memory whole; `seen` is shown each piece of
 * the file before its lines are given. A last line without an end is a line too. Throws the system error.
 */
export function* linesOfFile(path: string, seen: (piece: Uint8Array) => void): Generator<string> {
  let rest: Buffer[] = [];
  for (const piece of piecesOfFile(path)) {
    seen(piece);
    let start = 0;
    for (let end = piece.indexOf(LF); end !== -1; end = piece.indexOf(LF, start)) {
      const part = piece.subarray(start, end);
      yield utf8Text(rest.length === 0 ? part : Buffer.concat([...rest, part]));
      rest = [];
      start = end + 1;
    }
    if (start < piece.length) rest.push(Buffer.from(piece.subarray(start)));
  }
  if (rest.length > 0) yield utf8Text(Buffer.concat(rest));
}

/** As `toString("utf8")`, which for large plain text takes several times as long as copying it. */
export const utf8Text = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? "latin1" : "utf8");

export const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** Streams a regular file; null when it is missing or not a regular file. Does not follow a final symlink. */
export async function sha256File(path: string): Promise<{ sha256: string; bytes: number } | null> {
  let stat: fs.Stats;
  try {
    stat = fs.lstatSync(path);
  } catch {
    return null;
  }
  if (!stat.isFile()) return null;
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path, {
    flags: constants.O_RDONLY | constants.O_NOFOLLOW,
  } as never)) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { sha256: hash.digest("hex"), bytes };
}

export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
