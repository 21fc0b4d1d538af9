/** An append-only JSON Lines file with a bound: evidence that may be lost, but never without being counted. */
import * as fs from "node:fs";
import { errorCode, PRIVATE_FILE, piecesOfFile, writeAll } from "../host/files.ts";

export interface LineLogLimits {
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** The file is renamed to `<name>.<n>` once it is this long; null: never. */
  readonly rotateAtBytes: number | null;
}

interface LineLogStatus {
  readonly records: number;
  readonly bytes: number;
  /** Lines that this writer was given and did not store. */
  readonly dropped: number;
  readonly fault: "bounds" | "write-failed" | null;
  /** errno name of the failed write. */
  readonly errno: string | null;
}

interface LineLog {
  /** False when the line was dropped. Never throws: a log is no reason to stop a run. */
  append(line: string): boolean;
  flush(): void;
  close(): void;
  status(): LineLogStatus;
}

interface OpenedLineLog {
  readonly log: LineLog;
  /** The last whole line that an earlier writer left, or null. */
  readonly lastLine: string | null;
  /** An earlier writer died in the middle of a line; that line is cut off. */
  readonly tornTail: boolean;
}

const BUFFER_LINES = 64;

/** Opens or continues `path`. A file that cannot be opened gives a log that drops and counts everything. */
export function openLineLog(path: string, limits: LineLogLimits): OpenedLineLog {
  let fd: number | null = null;
  let existing: Existing = { records: 0, bytes: 0, olderBytes: 0, lastLine: null, tornTail: false, parts: 0 };
  let errno: string | null = null;
  try {
    existing = measure(path);
    if (existing.tornTail) fs.truncateSync(path, existing.bytes);
    fd = fs.openSync(path, "a", PRIVATE_FILE);
  } catch (error) {
    errno = errorCode(error) ?? "UNKNOWN";
  }
  return {
    log: createLog({ path, limits, fd, existing, errno }),
    lastLine: existing.lastLine,
    tornTail: existing.tornTail,
  };
}

interface Existing {
  readonly records: number;
  /** Of the current file. */
  readonly bytes: number;
  readonly olderBytes: number;
  readonly lastLine: string | null;
  readonly tornTail: boolean;
  readonly parts: number;
}

interface LogStart {
  readonly path: string;
  readonly limits: LineLogLimits;
  readonly fd: number | null;
  readonly existing: Existing;
  readonly errno: string | null;
}

function createLog({ path, limits, fd: opened, existing, errno: openFault }: LogStart): LineLog {
  let fd = opened;
  let errno = openFault;
  let fault: LineLogStatus["fault"] = opened === null ? "write-failed" : null;
  let { records, bytes, olderBytes, parts } = existing;
  let dropped = 0;
  let pending: string[] = [];
  let scheduled: NodeJS.Immediate | null = null;

  const fail = (error: unknown, lost: number): void => {
    fault = "write-failed";
    errno = errorCode(error) ?? "UNKNOWN";
    dropped += lost;
    records -= lost;
  };
  const flush = (): void => {
    if (scheduled !== null) clearImmediate(scheduled);
    scheduled = null;
    if (pending.length === 0 || fd === null) return;
    const lines = pending;
    pending = [];
    try {
      if (limits.rotateAtBytes !== null && bytes >= limits.rotateAtBytes) rotate();
      writeAll(fd, Buffer.from(lines.join("")));
      for (const line of lines) bytes += Buffer.byteLength(line);
    } catch (error) {
      fail(error, lines.length);
    }
  };
  const rotate = (): void => {
    if (fd !== null) fs.closeSync(fd);
    fd = null;
    fs.renameSync(path, `${path}.${parts + 1}`);
    parts += 1;
    olderBytes += bytes;
    bytes = 0;
    fd = fs.openSync(path, "a", PRIVATE_FILE);
  };
  let queuedBytes = 0;
  return {
    append(line) {
      const text = `${line}\n`;
      const size = Buffer.byteLength(text);
      if (pending.length === 0) queuedBytes = 0;
      const full = records >= limits.maxRecords || olderBytes + bytes + queuedBytes + size > limits.maxBytes;
      // Once something is missing, later lines would suggest that nothing is: recording stops for good.
      if (fault !== null || full) {
        fault ??= "bounds";
        dropped += 1;
        return false;
      }
      records += 1;
      queuedBytes += size;
      pending.push(text);
      if (pending.length >= BUFFER_LINES) flush();
      else scheduled ??= setImmediate(flush);
      return fault === null;
    },
    flush,
    close() {
      flush();
      if (fd !== null) fs.closeSync(fd);
      fd = null;
    },
    status: () => ({ records, bytes: olderBytes + bytes, dropped, fault, errno }),
  };
}

/** What a log holds, without touching it. Throws the system error when a part cannot be read. */
export function readLineLog(path: string): {
  readonly records: number;
  readonly lastLine: string | null;
  readonly tornTail: boolean;
} {
  return measure(path);
}

/** Counts what earlier writers left, over all rotated parts; `bytes` ends before a torn last line. */
function measure(path: string): Existing {
  let records = 0;
  let olderBytes = 0;
  let parts = 0;
  let lastLine: string | null = null;
  for (;;) {
    const part = measurePart(`${path}.${parts + 1}`);
    if (part === null) break;
    parts += 1;
    olderBytes += part.bytes;
    records += part.lines;
    lastLine = part.lastLine ?? lastLine;
  }
  const current = measurePart(path);
  if (current === null) return { records, bytes: 0, olderBytes, lastLine, tornTail: false, parts };
  return {
    records: records + current.lines,
    bytes: current.whole,
    olderBytes,
    lastLine: current.lastLine ?? lastLine,
    tornTail: current.whole < current.bytes,
    parts,
  };
}

interface Part {
  /** Whole ones. */
  readonly lines: number;
  readonly bytes: number;
  /** Where the last whole line ends. */
  readonly whole: number;
  readonly lastLine: string | null;
}

/** Null when there is no such file. A trace has many megabytes, and a coordinator that read it whole would never shrink again. */
function measurePart(path: string): Part | null {
  let lines = 0;
  let bytes = 0;
  let whole = 0;
  let last: Buffer | null = null;
  let rest: Buffer[] = [];
  try {
    for (const piece of piecesOfFile(path)) {
      lines += countLines(piece);
      const end = piece.lastIndexOf(LF);
      if (end !== -1) {
        const start = end === 0 ? 0 : piece.lastIndexOf(LF, end - 1) + 1;
        last = Buffer.concat([...(start === 0 ? rest : []), piece.subarray(start, end)]);
        rest = [];
        whole = bytes + end + 1;
      }
      rest.push(Buffer.from(piece.subarray(end + 1)));
      bytes += piece.length;
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  return { lines, bytes, whole, lastLine: last === null ? null : last.toString("utf8") };
}

const LF = 0x0a;

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}
