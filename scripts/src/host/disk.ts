/**
 * The file operations that a run's state is made of, as one small seam: the real disk here, a crashing one in tests.
 * Every function throws the system's error (with `code`); nothing is retried.
 */
import * as fs from "node:fs";
import { constants } from "node:fs";
import { errorCode, PRIVATE_FILE, syncDir, writeAll } from "./files.ts";

export interface Disk {
  /**
   * Whole content, or null when there is no such file. A link or anything but a regular file throws `ENOTREG`, and a
   * FIFO does not block.
   */
  read(path: string): Buffer | null;
  /** Content from `offset`, at most `length` bytes; empty when the file is shorter or missing. */
  readFrom(path: string, offset: number, length?: number): Buffer;
  /** Changes whenever the file is replaced or written; null when there is none. `size` in bytes. */
  stamp(path: string): { readonly id: string; readonly size: number } | null;
  list(dir: string): string[];
  /** Fails with EEXIST when `path` is there. */
  openNew(path: string): number;
  /** Creates the file when it is missing. */
  openAppend(path: string): number;
  /** Writes all of `data`. */
  write(fd: number, data: Uint8Array): void;
  truncate(fd: number): void;
  close(fd: number): void;
  rename(from: string, to: string): void;
  /** Fails with EEXIST when `to` is there: the only atomic "create unless it exists" that shows whole content. */
  link(from: string, to: string): void;
  /** No error when the file is missing. */
  remove(path: string): void;
  syncNow(fd: number): void;
  syncDirNow(path: string): void;
  sync(fd: number): Promise<void>;
  /** Content and size only; enough for an append. */
  syncData(fd: number): Promise<void>;
  syncDir(path: string): Promise<void>;
}

export const systemDisk: Disk = {
  read: (path) => withFile(path, (fd, size) => readRange(fd, 0, size)) ?? null,
  readFrom: (path, offset, length = Number.POSITIVE_INFINITY) =>
    withFile(path, (fd, size) => readRange(fd, offset, Math.max(0, Math.min(length, size - offset)))) ??
    Buffer.alloc(0),
  stamp(path) {
    const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return null;
    return {
      id: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
      size: Number(stat.size),
    };
  },
  list: (dir) => fs.readdirSync(dir),
  openNew: (path) => fs.openSync(path, "wx", PRIVATE_FILE),
  openAppend: (path) =>
    fs.openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW, PRIVATE_FILE),
  write: writeAll,
  truncate: (fd) => fs.ftruncateSync(fd, 0),
  close: (fd) => fs.closeSync(fd),
  rename: (from, to) => fs.renameSync(from, to),
  link: (from, to) => fs.linkSync(from, to),
  remove: (path) => fs.rmSync(path, { force: true }),
  syncNow: (fd) => fs.fsyncSync(fd),
  syncDirNow: syncDir,
  sync: (fd) => settle((done) => fs.fsync(fd, done)),
  syncData: (fd) => settle((done) => fs.fdatasync(fd, done)),
  async syncDir(path) {
    const fd = fs.openSync(path, constants.O_RDONLY);
    try {
      await settle((done) => fs.fsync(fd, done));
    } finally {
      fs.closeSync(fd);
    }
  },
};

/** Not defined on Windows. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;

function settle(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}

function withFile<T>(path: string, use: (fd: number, size: number) => T): T | null {
  let fd: number;
  try {
    fd = fs.openSync(path, constants.O_RDONLY | NO_FOLLOW | NO_WAIT);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return null;
    if (code === "ELOOP" || code === "EMLINK" || code === "ENXIO") throw notRegular(path);
    throw error;
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw notRegular(path);
    return use(fd, stat.size);
  } finally {
    fs.closeSync(fd);
  }
}

/** The file may shrink under us (a journal that is being emptied): what is there counts. */
function readRange(fd: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const n = fs.readSync(fd, bytes, got, length - got, offset + got);
    if (n === 0) break;
    got += n;
  }
  return bytes.subarray(0, got);
}

const notRegular = (path: string): Error =>
  Object.assign(new Error(`not a regular file: ${path}`), { code: "ENOTREG", path });
