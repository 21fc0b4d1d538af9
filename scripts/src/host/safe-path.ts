/**
 * Paths below a root that no text and no link can lead out of. The words of a path are checked first; then each folder on
 * the way is opened without following links and the next name is looked up relative to that open folder (`/proc/self/fd`),
 * so that swapping a folder for a link between check and use changes nothing. Where there is no `/proc`, each part is
 * looked at before and the opened file is compared with it after.
 *
 * A hard link is an ordinary file and is read as one: who could make it could have copied the content. Nothing is ever
 * written through one, because files are replaced whole and never opened for writing.
 */
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { constants } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { errorCode, sha256, syncDir, writeAll } from "./files.ts";

export interface PathFault {
  readonly code:
    | "empty"
    | "absolute"
    | "traversal"
    | "nul"
    | "git-dir"
    | "symlink"
    | "not-regular"
    | "missing"
    | "too-long"
    | "too-large"
    | "exists"
    | "content"
    | "io";
  readonly path: string;
  readonly detail: string;
}

export interface FileFact {
  readonly sha256: string;
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
}

const CHUNK = 1024 * 1024;
const HAS_PROC = fs.existsSync("/proc/self/fd");

/**
 * Checks the words of a relative path and returns it with `/` separators and without `.` segments. Touches no disk.
 * Refused: empty, absolute (POSIX, drive letter, UNC), `..`, NUL, any part that a file system may read as `.git`.
 */
export function safeRelative(path: string): Result<string, PathFault> {
  const fault = (code: PathFault["code"], detail: string) => err({ code, path, detail });
  if (path === "") return fault("empty", "the path is empty");
  if (path.includes("\0")) return fault("nul", "the path contains a NUL character");
  if (path.length > 4096) return fault("too-long", "the path is longer than 4096 characters");
  if (/^[/\\]|^[A-Za-z]:/.test(path)) return fault("absolute", `\`${path}\` must be relative`);
  const parts = path.split(/[/\\]/).filter((part) => part !== "" && part !== ".");
  if (parts.length === 0) return fault("empty", `\`${path}\` names the folder itself`);
  if (parts.includes("..")) return fault("traversal", `\`${path}\` must not contain \`..\``);
  if (parts.some((part) => Buffer.byteLength(part) > 255))
    return fault("too-long", `a part of \`${path}\` is longer than 255 bytes`);
  if (parts.some(looksLikeGitDir)) return fault("git-dir", `\`${path}\` leads into git's own folder`);
  return ok(parts.join("/"));
}

/** Characters that HFS+ ignores in names, and endings that NTFS drops. */
function looksLikeGitDir(part: string): boolean {
  const plain = part
    .normalize("NFC")
    .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "")
    .replace(/:.*$/, "")
    .replace(/[. ]+$/, "")
    .toLowerCase();
  return plain === ".git" || plain === "git~1";
}

/** Absolute path of `relative` below the real path `root`, no existing part of which is a link. It need not exist. */
export function resolveInside(root: string, relative: string): Result<string, PathFault> {
  const words = safeRelative(relative);
  if (!words.ok) return words;
  let at = root;
  for (const part of words.value.split("/")) {
    at = join(at, part);
    const stat = lstat(at);
    if (stat === null) break;
    if (stat.isSymbolicLink())
      return err({
        code: "symlink",
        path: relative,
        detail: `\`${relative}\` leads through a symbolic link`,
      });
  }
  return ok(join(root, words.value));
}

/** Reads a regular file whole; `too-large` above `maxBytes`. */
export async function readInside(
  root: string,
  relative: string,
  options: { readonly maxBytes: number },
): Promise<Result<Buffer, PathFault>> {
  return withFile(root, relative, async (fd, stat) => {
    if (stat.size > options.maxBytes)
      return err({
        code: "too-large",
        path: relative,
        detail: `\`${relative}\` has ${stat.size} bytes, more than ${options.maxBytes}`,
      });
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of chunks(fd)) {
      bytes += chunk.length;
      if (bytes > options.maxBytes)
        return err({ code: "too-large", path: relative, detail: `\`${relative}\` grew while it was read` });
      parts.push(Buffer.from(chunk));
    }
    return ok(Buffer.concat(parts));
  });
}

/** Digest of a regular file, in constant memory. */
export async function hashInside(root: string, relative: string): Promise<Result<FileFact, PathFault>> {
  return withFile(root, relative, async (fd, stat) => {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of chunks(fd)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    return ok({ sha256: hash.digest("hex"), bytes, mode: stat.mode & 0o777 });
  });
}

export interface WriteOptions {
  /** What happens to a regular file of other content: replaced, or `exists`. The same content is left alone. */
  readonly replace: boolean;
  /** Default: as the umask says. */
  readonly mode?: number;
}

export interface Written {
  readonly sha256: string;
  readonly bytes: number;
  /** False when the file was there with this content. */
  readonly written: boolean;
}

/** Creates `relative` and its parents; whole or not at all. */
export async function writeInside(
  root: string,
  relative: string,
  data: string | Uint8Array,
  options: WriteOptions,
): Promise<Result<Written, PathFault>> {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  return place(root, relative, options, async (fd) => {
    writeAll(fd, bytes);
    return ok({ sha256: sha256(bytes), bytes: bytes.length });
  });
}

/** Copies a regular file between two roots in constant memory; `expect` refuses other content (`content`) before anything is placed. */
export async function copyInside(
  from: { readonly root: string; readonly path: string },
  to: { readonly root: string; readonly path: string },
  options: WriteOptions & { readonly expect?: string },
): Promise<Result<Written, PathFault>> {
  return withFile(from.root, from.path, async (source, stat) =>
    place(to.root, to.path, { ...options, mode: options.mode ?? stat.mode & 0o777 }, async (target) => {
      const hash = createHash("sha256");
      let bytes = 0;
      for await (const chunk of chunks(source)) {
        hash.update(chunk);
        bytes += chunk.length;
        writeAll(target, chunk);
      }
      const digest = hash.digest("hex");
      if (options.expect !== undefined && digest !== options.expect)
        return err({
          code: "content",
          path: from.path,
          detail: `\`${from.path}\` has SHA-256 ${digest}, expected ${options.expect}`,
        });
      return ok({ sha256: digest, bytes });
    }),
  );
}

/** Removes a file or folder with all below it, following no link. Absent is fine. */
export function removeInside(root: string, relative: string): Result<void, PathFault> {
  return withParent(root, relative, { create: false, absent: () => ok(undefined) }, (base, name) => {
    fs.rmSync(`${base}/${name}`, { recursive: true, force: true });
    return ok(undefined);
  });
}

/** Names in a folder; empty when there is no such folder or it is reached through a link. */
export function namesInside(root: string, relative: string): readonly string[] {
  const names = withParent<readonly string[]>(root, relative, { create: false }, (base, name) =>
    fs.lstatSync(`${base}/${name}`).isDirectory() ? ok(fs.readdirSync(`${base}/${name}`)) : ok([]),
  );
  return names.ok ? names.value : [];
}

/** Removes a folder if it is empty. */
export function removeEmptyDirInside(root: string, relative: string): Result<void, PathFault> {
  return withParent(root, relative, { create: false, absent: () => ok(undefined) }, (base, name) => {
    try {
      fs.rmdirSync(`${base}/${name}`);
    } catch (error) {
      const code = errorCode(error);
      if (code !== "ENOTEMPTY" && code !== "ENOENT" && code !== "EEXIST") throw error;
    }
    return ok(undefined);
  });
}

async function withFile<T>(
  root: string,
  relative: string,
  use: (fd: number, stat: fs.Stats) => Promise<Result<T, PathFault>>,
): Promise<Result<T, PathFault>> {
  const opened = withParent<number>(root, relative, { create: false }, (base, name) => {
    const path = `${base}/${name}`;
    const before = fs.lstatSync(path);
    const kind = notRegular(before, relative);
    if (kind !== null) return err(kind);
    const fd = fs.openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return ok(fd);
  });
  if (!opened.ok) return opened;
  const fd = opened.value;
  try {
    const stat = fs.fstatSync(fd);
    const kind = notRegular(stat, relative);
    return kind === null ? await use(fd, stat) : err(kind);
  } catch (error) {
    return err(systemFault(relative, error));
  } finally {
    fs.closeSync(fd);
  }
}

function notRegular(stat: fs.Stats, path: string): PathFault | null {
  if (stat.isFile()) return null;
  if (stat.isSymbolicLink()) return { code: "symlink", path, detail: `\`${path}\` is a symbolic link` };
  const kind = stat.isDirectory()
    ? "a folder"
    : stat.isFIFO()
      ? "a named pipe"
      : stat.isSocket()
        ? "a socket"
        : "a device";
  return { code: "not-regular", path, detail: `\`${path}\` is ${kind}, not a file` };
}

/** Writes a temporary file beside the target, then puts it in place without a moment in which half of it is visible. */
async function place(
  root: string,
  relative: string,
  options: WriteOptions,
  fill: (fd: number) => Promise<Result<{ sha256: string; bytes: number }, PathFault>>,
): Promise<Result<Written, PathFault>> {
  const parent = openParent(root, relative, true);
  if (!parent.ok) return parent;
  const { base, name, close } = parent.value;
  const temporary = `${base}/.${randomBytes(8).toString("hex")}.orchestrate.tmp`;
  try {
    const fd = fs.openSync(
      temporary,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      options.mode ?? 0o666,
    );
    let filled: Result<{ sha256: string; bytes: number }, PathFault>;
    try {
      filled = await fill(fd);
      if (filled.ok) fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    if (!filled.ok) return filled;
    const put = putInPlace({
      temporary,
      path: `${base}/${name}`,
      relative,
      replace: options.replace,
      digest: filled.value.sha256,
    });
    if (!put.ok) return put;
    if (put.value) syncDir(base);
    return ok({ ...filled.value, written: put.value });
  } catch (error) {
    return err(systemFault(relative, error));
  } finally {
    fs.rmSync(temporary, { force: true });
    close();
  }
}

function putInPlace(o: {
  readonly temporary: string;
  readonly path: string;
  readonly relative: string;
  readonly replace: boolean;
  readonly digest: string;
}): Result<boolean, PathFault> {
  const there = lstat(o.path);
  if (there === null) {
    try {
      // A link fails when somebody else was faster, where a rename would overwrite their file.
      fs.linkSync(o.temporary, o.path);
      return ok(true);
    } catch (error) {
      const code = errorCode(error);
      if (code !== "EEXIST" && code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
      if (code !== "EEXIST") {
        fs.copyFileSync(o.temporary, o.path, constants.COPYFILE_EXCL);
        return ok(true);
      }
    }
  }
  const now = there ?? lstat(o.path);
  const kind = now === null ? null : notRegular(now, o.relative);
  if (kind !== null) return err(kind);
  if (now !== null && digestOf(o.path) === o.digest) return ok(false);
  if (!o.replace)
    return err({
      code: "exists",
      path: o.relative,
      detail: `\`${o.relative}\` exists with different content`,
    });
  fs.renameSync(o.temporary, o.path);
  return ok(true);
}

function digestOf(path: string): string {
  const fd = fs.openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (let read = fs.readSync(fd, buffer); read > 0; read = fs.readSync(fd, buffer))
      hash.update(buffer.subarray(0, read));
    return hash.digest("hex");
  } finally {
    fs.closeSync(fd);
  }
}

function withParent<T>(
  root: string,
  relative: string,
  options: { readonly create: boolean; readonly absent?: () => Result<T, PathFault> },
  use: (base: string, name: string) => Result<T, PathFault>,
): Result<T, PathFault> {
  const parent = openParent(root, relative, options.create);
  if (!parent.ok)
    return parent.error.code === "missing" && options.absent !== undefined ? options.absent() : parent;
  try {
    return use(parent.value.base, parent.value.name);
  } catch (error) {
    return err(systemFault(relative, error));
  } finally {
    parent.value.close();
  }
}

interface Parent {
  /** A path whose lookup starts at the open folder. */
  readonly base: string;
  readonly name: string;
  close(): void;
}

function openParent(root: string, relative: string, create: boolean): Result<Parent, PathFault> {
  const words = safeRelative(relative);
  if (!words.ok) return words;
  const parts = words.value.split("/");
  const name = parts.pop() as string;
  return HAS_PROC
    ? openParentByHandle({ root, relative, parts, name, create })
    : openParentByPath({ root, relative, parts, name, create });
}

interface ParentRequest {
  readonly root: string;
  readonly relative: string;
  readonly parts: readonly string[];
  readonly name: string;
  readonly create: boolean;
}

function openParentByHandle(o: ParentRequest): Result<Parent, PathFault> {
  const open = (path: string, flags: number): number =>
    fs.openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | flags);
  let fd = -1;
  try {
    fd = open(o.root, 0);
    for (const part of o.parts) {
      const path = `/proc/self/fd/${fd}/${part}`;
      const stat = lstat(path);
      if (stat === null && o.create) makeDir(path);
      if (stat?.isSymbolicLink() === true) {
        fs.closeSync(fd);
        return err({
          code: "symlink",
          path: o.relative,
          detail: `\`${o.relative}\` leads through a symbolic link`,
        });
      }
      const next = open(path, constants.O_NOFOLLOW);
      fs.closeSync(fd);
      fd = next;
    }
    const held = fd;
    return ok({ base: `/proc/self/fd/${held}`, name: o.name, close: () => fs.closeSync(held) });
  } catch (error) {
    if (fd !== -1) fs.closeSync(fd);
    return err(systemFault(o.relative, error));
  }
}

function openParentByPath(o: ParentRequest): Result<Parent, PathFault> {
  try {
    let at = o.root;
    for (const part of o.parts) {
      at = join(at, part);
      const stat = lstat(at);
      if (stat === null && o.create) makeDir(at);
      else if (stat?.isSymbolicLink() === true)
        return err({
          code: "symlink",
          path: o.relative,
          detail: `\`${o.relative}\` leads through a symbolic link`,
        });
    }
    if (fs.realpathSync(at) !== join(fs.realpathSync(o.root), ...o.parts))
      return err({
        code: "symlink",
        path: o.relative,
        detail: `\`${o.relative}\` leads through a symbolic link`,
      });
    return ok({ base: at, name: o.name, close: () => {} });
  } catch (error) {
    return err(systemFault(o.relative, error));
  }
}

function makeDir(path: string): void {
  try {
    fs.mkdirSync(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

function lstat(path: string): fs.Stats | null {
  try {
    return fs.lstatSync(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

async function* chunks(fd: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (let position = 0; ; ) {
    const read = fs.readSync(fd, buffer, 0, CHUNK, position);
    if (read === 0) return;
    position += read;
    yield buffer.subarray(0, read);
    if (read === CHUNK) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function systemFault(path: string, error: unknown): PathFault {
  const code = errorCode(error);
  if (code === "ENOENT") return { code: "missing", path, detail: `\`${path}\` does not exist` };
  if (code === "ELOOP" || code === "ENOTDIR")
    return { code: "symlink", path, detail: `\`${path}\` leads through a link or a file` };
  if (code === "ENAMETOOLONG") return { code: "too-long", path, detail: `\`${path}\` is too long` };
  if (code === null) throw error;
  return { code: "io", path, detail: `\`${path}\`: ${code}` };
}
