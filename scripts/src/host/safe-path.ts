/**
 * Reading below a root that somebody else may be writing to. A hard link is an ordinary file and is read as one: who could
 * make it could have copied the content.
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { chunks, lstat, type PathFault, safeRelative, withFile, withParent } from "./inside.ts";

export interface FileFact {
  readonly sha256: string;
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
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

/** Names in a folder; empty when there is no such folder or it is reached through a link. */
export function namesInside(root: string, relative: string): readonly string[] {
  const names = withParent<readonly string[]>(root, relative, { create: false }, (base, name) =>
    fs.lstatSync(`${base}/${name}`).isDirectory() ? ok(fs.readdirSync(`${base}/${name}`)) : ok([]),
  );
  return names.ok ? names.value : [];
}
