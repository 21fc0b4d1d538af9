/** The captured streams of jobs: their ends, and what is added to them. Reads only. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { JOB_FILES } from "../core/layout.ts";

export const STREAMS = ["stdout", "stderr"] as const;
export type StreamName = (typeof STREAMS)[number];

/** An end is looked for in this much of a file. */
const TAIL_MAX_BYTES = 1_048_576;
const READ_BYTES = 65_536;

export const logFile = (runDir: string, job: string, stream: StreamName): string =>
  join(runDir, job, JOB_FILES[stream]);

export const hasOutput = (path: string): boolean => existsSync(path) && statSync(path).size > 0;

export interface Tail {
  readonly text: string;
  /** Bytes of the file before `text`. */
  readonly omittedBytes: number;
}

/** The last whole lines of a file: at most `lines` of them and about `maxBytes`; null when there is nothing in it. */
export function tailOf(path: string, o: { lines: number; maxBytes: number }): Tail | null {
  if (!existsSync(path)) return null;
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(0, size - Math.min(o.maxBytes, TAIL_MAX_BYTES));
    const bytes = readRange(fd, from, size);
    const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
    let start = end;
    for (let left = o.lines; left > 0 && start >= 0; left -= 1)
      start = start === 0 ? -1 : bytes.lastIndexOf(NEWLINE, start - 1);
    // Nothing but a cut line: its end is better than nothing.
    const first = start >= 0 ? start + 1 : from === 0 ? 0 : afterCut(bytes, end);
    return end <= first
      ? null
      : { text: bytes.subarray(first, end).toString("utf8"), omittedBytes: from + first };
  } finally {
    closeSync(fd);
  }
}

const NEWLINE = 0x0a;

function afterCut(bytes: Buffer, end: number): number {
  const newline = bytes.indexOf(NEWLINE);
  return newline < 0 || newline + 1 >= end ? 0 : newline + 1;
}

function readRange(fd: number, from: number, to: number): Buffer {
  const buffer = Buffer.alloc(Math.max(0, to - from));
  let at = 0;
  while (at < buffer.length) {
    const read = readSync(fd, buffer, at, buffer.length - at, from + at);
    if (read === 0) break;
    at += read;
  }
  return buffer.subarray(0, at);
}

/** Gives whole lines as a file grows; a file that was replaced by a shorter one (a new attempt) is read from its start. */
export class GrowingFile {
  readonly #path: string;
  #offset: number;
  #decoder = new StringDecoder("utf8");
  #begun = "";

  /** `backlog`: how many bytes before the present end are shown first. */
  constructor(path: string, backlog: number) {
    this.#path = path;
    this.#offset = existsSync(path) ? Math.max(0, statSync(path).size - backlog) : 0;
  }

  /** All lines that were completed since the last call. */
  read(): string[] {
    if (!existsSync(this.#path)) return [];
    const fd = openSync(this.#path, "r");
    const lines: string[] = [];
    try {
      const { size } = fstatSync(fd);
      if (size < this.#offset) this.#restart();
      while (this.#offset < size) {
        const bytes = readRange(fd, this.#offset, Math.min(size, this.#offset + READ_BYTES));
        if (bytes.length === 0) break;
        this.#offset += bytes.length;
        const parts = (this.#begun + this.#decoder.write(bytes)).split("\n");
        this.#begun = parts.pop() ?? "";
        lines.push(...parts);
      }
    } finally {
      closeSync(fd);
    }
    return lines;
  }

  /** The line that was begun and never ended. */
  rest(): string[] {
    const left = this.#begun + this.#decoder.end();
    this.#begun = "";
    return left === "" ? [] : [left];
  }

  #restart(): void {
    this.#offset = 0;
    this.#begun = "";
    this.#decoder = new StringDecoder("utf8");
  }
}
