/**
 * Writing below a root that somebody else may be writing to. Files are replaced whole and never opened for writing, so
 * nothing is ever written through a link of either kind.
 */
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { constants } from "node:fs";
import { err, ok, type Result } from "../core/result.ts";
import { errorCode, sha256, syncDir, writeAll } from "./files.ts";
import {
  CHUNK,
  chunks,
  lstat,
  notRegular,
  openParent,
  type PathFault,
  systemFault,
  withFile,
  withParent,
} from "./inside.ts";

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
