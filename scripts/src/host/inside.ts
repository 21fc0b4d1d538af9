/**
 * Paths below a root that no text and no link can lead out of. The words of a path are checked first; then each folder on
 * the way is opened without following links and the next name is looked up relative to that open folder (`/proc/self/fd`),
 * so that swapping a folder for a link between check and use changes nothing. Where there is no `/proc`, each part is
 * looked at before and the way is resolved once more after.
 */

import * as fs from "node:fs";
import { constants } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { nextTurn } from "./clock.ts";
import { errorCode } from "./files.ts";

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

export const CHUNK = 1024 * 1024;
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

/** Opens a regular file for reading; `use` gets its descriptor. */
export async function withFile<T>(
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

/** Null for a regular file. */
export function notRegular(stat: fs.Stats, path: string): PathFault | null {
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

/** `use` gets a path whose lookup starts at the open parent folder, and the last name. */
export function withParent<T>(
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

export function openParent(root: string, relative: string, create: boolean): Result<Parent, PathFault> {
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

/** Null when there is nothing at that path. */
export function lstat(path: string): fs.Stats | null {
  try {
    return fs.lstatSync(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** The content of an open file, piece by piece; a piece is valid until the next is asked for. */
export async function* chunks(fd: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (let position = 0; ; ) {
    const read = fs.readSync(fd, buffer, 0, CHUNK, position);
    if (read === 0) return;
    position += read;
    yield buffer.subarray(0, read);
    if (read === CHUNK) await nextTurn();
  }
}

export function systemFault(path: string, error: unknown): PathFault {
  const code = errorCode(error);
  if (code === "ENOENT") return { code: "missing", path, detail: `\`${path}\` does not exist` };
  if (code === "ELOOP" || code === "ENOTDIR")
    return { code: "symlink", path, detail: `\`${path}\` leads through a link or a file` };
  if (code === "ENAMETOOLONG") return { code: "too-long", path, detail: `\`${path}\` is too long` };
  if (code === null) throw error;
  return { code: "io", path, detail: `\`${path}\`: ${code}` };
}
