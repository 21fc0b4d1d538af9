/** Which file runs when a command names it, and a digest by which a change of it is known. Links are followed: so is what runs. */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { constants } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { chunks } from "./inside.ts";

/** Larger files are known by real path, size and time: no script is that large, and a program must not be read for minutes. */
export const EXECUTED_MAX_BYTES = 16 * 1024 * 1024;

export interface Executed {
  readonly sha256: string;
  /** False: the digest is one of real path, size and time, not of the bytes. */
  readonly content: boolean;
  /** Begins with `#!`. */
  readonly script: boolean;
  /** Somebody may execute it. */
  readonly executable: boolean;
}

/**
 * Null: there is no regular file that can be read. `programs: "by-time"` reads only scripts: what a system installs is
 * large, and its bytes change with every update of the system.
 */
export async function executedFile(
  path: string,
  o: { readonly programs: "by-content" | "by-time" } = { programs: "by-content" },
): Promise<Executed | null> {
  let fd: number;
  try {
    // A named pipe must not hold us.
    fd = fs.openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) return null;
    const head = Buffer.alloc(2);
    const script = fs.readSync(fd, head, 0, 2, 0) === 2 && head.toString("latin1") === "#!";
    const executable = (stat.mode & 0o111) !== 0;
    const content = stat.size <= EXECUTED_MAX_BYTES && (script || o.programs === "by-content");
    const hash = createHash("sha256");
    if (content) for await (const chunk of chunks(fd)) hash.update(chunk);
    else hash.update(`${fs.realpathSync(path)}\0${stat.size}\0${stat.mtimeMs}`);
    return { sha256: hash.digest("hex"), content, script, executable };
  } catch {
    return null;
  } finally {
    fs.closeSync(fd);
  }
}

/** The file that a bare name starts; null when no folder of the search path has it. */
export function onSearchPath(
  name: string,
  o: { readonly searchPath: string; readonly cwd: string },
): string | null {
  if (name === "" || name.includes("/") || name.includes("\0")) return null;
  for (const folder of o.searchPath.split(delimiter)) {
    // An empty entry is the working folder, as the system reads it.
    const path = join(resolve(o.cwd, folder), name);
    try {
      fs.accessSync(path, constants.X_OK);
      if (fs.statSync(path).isFile()) return path;
    } catch {}
  }
  return null;
}
