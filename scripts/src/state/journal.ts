/** The text of journal.jsonl: a line for everything that became durable together, each with its own checksum. */
import { crc32 } from "node:zlib";
import type { JournalLine } from "./records.ts";
import { hex } from "./state-file.ts";

const SEAL = ',"crc":"';
/** `,"crc":"xxxxxxxx"}` */
const SEAL_LENGTH = SEAL.length + 10;
const HEAD = /^\{"seq":(\d{1,15}),"epoch":(\d{1,15}),/;
const CLOSE = Buffer.from("}");
const LF = 10;
const CR = 13;

/** The line's bytes with its line end. */
export function encodeLine(line: JournalLine): Buffer {
  const body = JSON.stringify({ seq: line.seq, epoch: line.epoch, ts: line.ts, records: line.records });
  const bytes = Buffer.from(`${body.slice(0, -1)}${SEAL}00000000"}\n`);
  const seal = bytes.length - 1 - SEAL_LENGTH;
  bytes.write(hex(crc32(CLOSE, crc32(bytes.subarray(0, seal)))), seal + SEAL.length, "latin1");
  return bytes;
}

export interface LineRef {
  /** Byte offsets of the text, without its line end. */
  readonly start: number;
  readonly end: number;
  readonly seq: number;
  readonly epoch: number;
}

export interface Garbage {
  readonly start: number;
  readonly end: number;
  /** A whole line of ours with a wrong checksum: it was durable once. A torn write never looks like that. */
  readonly ours: boolean;
}

export interface JournalIndex {
  readonly lines: readonly LineRef[];
  readonly garbage: readonly Garbage[];
  /** Offset behind the last whole valid line: where an appending reader goes on. */
  readonly next: number;
  /** The last valid line has no line end. */
  readonly unterminated: boolean;
}

/** Finds the valid lines without parsing them, so that a long journal costs no memory. */
export function indexJournal(bytes: Buffer, from = 0): JournalIndex {
  const lines: LineRef[] = [];
  const garbage: Garbage[] = [];
  let next = from;
  let unterminated = false;
  let start = from;
  while (start < bytes.length) {
    const newline = bytes.indexOf(LF, start);
    const stop = newline === -1 ? bytes.length : newline;
    const line = refOf(bytes, start, stop) ?? (newline === -1 ? refOf(bytes, start, stop - 1) : null);
    if (line === null)
      garbage.push({ start, end: stop, ours: newline !== -1 && looksOurs(bytes, start, stop) });
    else {
      lines.push(line);
      if (newline === -1) unterminated = true;
      else next = newline + 1;
    }
    start = stop + 1;
  }
  return { lines, garbage, next, unterminated };
}

function refOf(bytes: Buffer, start: number, stop: number): LineRef | null {
  const end = stop > start && bytes[stop - 1] === CR ? stop - 1 : stop;
  if (end - start < SEAL_LENGTH + 2) return null;
  const seal = end - SEAL_LENGTH;
  if (bytes.toString("latin1", seal, seal + SEAL.length) !== SEAL) return null;
  const stated = bytes.toString("latin1", seal + SEAL.length, end - 2);
  if (stated !== hex(crc32(CLOSE, crc32(bytes.subarray(start, seal))))) return null;
  const head = HEAD.exec(bytes.toString("latin1", start, Math.min(end, start + 64)));
  return head === null ? null : { start, end, seq: Number(head[1]), epoch: Number(head[2]) };
}

/** By its head or its tail, since one flipped bit leaves one of them; a hole of zeros is an unsynced write. */
function looksOurs(bytes: Buffer, start: number, stop: number): boolean {
  const text = bytes.toString("latin1", start, stop);
  return (HEAD.test(text) || /,"crc":"[0-9a-f]{8}"\}\r?$/.test(text)) && !text.includes("\0");
}

/**
 * Drops what a fenced coordinator wrote: a line of a smaller epoch than one before it, and a line whose place in the
 * sequence a later line of a greater epoch takes again.
 */
export function withoutFenced(lines: readonly LineRef[]): LineRef[] {
  let epoch = 0;
  const rising = lines.filter((line) => {
    if (line.epoch < epoch) return false;
    epoch = line.epoch;
    return true;
  });
  const kept: LineRef[] = [];
  for (const line of rising.reverse()) {
    const later = kept.at(-1);
    if (later === undefined || line.epoch === later.epoch || line.seq < later.seq) kept.push(line);
  }
  return kept.reverse();
}

/** A copy of the seal and line end that stand before `place`; empty at the start. Tells one line from any other. */
export const sealBefore = (bytes: Buffer, place: number): Buffer =>
  Buffer.from(bytes.subarray(Math.max(0, place - SEAL_LENGTH - 1), place));

export const parseLine = (bytes: Buffer, ref: LineRef): JournalLine =>
  JSON.parse(bytes.toString("utf8", ref.start, ref.end)) as JournalLine;
