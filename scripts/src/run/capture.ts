/** Bounded, redacted capture of one stream: head and tail kept, everything counted. */
import { type CaptureFault, CaptureFile } from "./capture-file.ts";
import { LineSplitter, StructuredLines } from "./lines.ts";
import { MaskStream, type Piece } from "./mask-stream.ts";
import { masked } from "./redact.ts";
import { Ring } from "./ring.ts";
import type { SecretScanner } from "./secret-scan.ts";
import { Utf8Stream } from "./utf8.ts";

/** Exact figures of one captured stream. `bytes` = `keptBytes` + `droppedBytes`, all as the child wrote them (before redaction). */
export interface CaptureSummary {
  readonly bytes: number;
  readonly keptBytes: number;
  readonly droppedBytes: number;
  /** Bytes that were no UTF-8 and stand as U+FFFD in what was kept. */
  readonly invalidBytes: number;
  readonly truncated: boolean;
  /** Replacements in what was kept. */
  readonly redactions: number;
  /** Lines too long to be delivered; their bytes are captured like all others. */
  readonly droppedLines: number;
  /** The last 8 KiB of what was kept, redacted. */
  readonly tail: string;
}

interface CaptureOptions {
  /** Created with mode 0600; null keeps no file. */
  readonly path: string | null;
  readonly maxBytes: number;
  readonly scanner: SecretScanner;
  /** Redacted lines without their line end. Past the kept head only lines that begin with `{` are delivered. */
  readonly onLine?: (line: string) => void;
}

/** The tail waits in memory until the end is known, so it has its own bound. */
const TAIL_MAX = 524_288;
const TAIL_TEXT = 8_192;
const NOTHING = Buffer.alloc(0);

/**
 * Up to the end of the head everything is masked and written as it comes. Past it bytes are only counted and kept in
 * a ring, so a flood costs a copy and no matching. The ring holds some context before the tail and the masking
 * of the head runs a little past its end: a secret that lies across an edge is seen whole and masked whole.
 */
export class Capture {
  readonly #options: CaptureOptions;
  readonly #headRoom: number;
  readonly #tailRoom: number;
  readonly #reach: number;
  readonly #file: CaptureFile;
  readonly #utf8 = new Utf8Stream();
  #mask: MaskStream | null;
  #splitter: LineSplitter | null = null;
  #structured: StructuredLines | null = null;
  #ring: Ring | null = null;
  #bytes = 0;
  /** Raw position up to which the head is kept. */
  #headEnd = 0;
  #headClosed = false;
  #redactions = 0;
  #droppedLines = 0;
  #out: Buffer[] = [];
  #recent: Buffer[] = [];
  #recentBytes = 0;
  #lastByte = 0x0a;

  constructor(options: CaptureOptions) {
    this.#options = options;
    this.#tailRoom = Math.min(options.maxBytes >> 1, TAIL_MAX);
    this.#headRoom = options.maxBytes - this.#tailRoom;
    this.#reach = options.scanner.reach;
    this.#file = new CaptureFile(options.path);
    this.#mask = new MaskStream({ scanner: options.scanner, emit: (piece) => this.#onHeadPiece(piece) });
    const { onLine } = options;
    if (onLine !== undefined)
      this.#splitter = new LineSplitter({ line: (bytes) => onLine(bytes.toString()) });
  }

  get fault(): CaptureFault | null {
    return this.#file.fault;
  }

  push(chunk: Buffer): void {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    this.#remember(chunk, before);
    if (this.#mask === null) {
      this.#structured?.push(chunk);
      return;
    }
    this.#mask.push(chunk);
    this.#writeOut();
    if (this.#headClosed && (this.#splitter === null || this.#splitter.idle)) this.#startDropping(this.#mask);
  }

  /** Writes the tail, closes the file and gives the figures. Call once. */
  finish(): CaptureSummary {
    this.#mask?.flush();
    this.#writeOut();
    this.#splitter?.flush();
    this.#structured?.flush();
    const droppedBytes = this.#finishTail();
    this.#put(this.#utf8.flush());
    this.#file.close();
    return {
      bytes: this.#bytes,
      keptBytes: this.#bytes - droppedBytes,
      droppedBytes,
      invalidBytes: this.#utf8.invalidBytes,
      truncated: droppedBytes > 0,
      redactions: this.#redactions,
      droppedLines: this.#droppedLines + (this.#splitter?.dropped ?? 0) + (this.#structured?.dropped ?? 0),
      tail: tailText(Buffer.concat(this.#recent)),
    };
  }

  #onHeadPiece(piece: Piece): void {
    if (!this.#headClosed) this.#keepHead(piece);
    this.#splitter?.push(piece.bytes);
  }

  #keepHead(piece: Piece): void {
    const over = piece.end - this.#headRoom;
    if (over <= 0 || piece.masked) {
      this.#keep(piece.bytes, piece.masked);
      this.#headEnd = piece.end;
    } else {
      const kept = piece.bytes.subarray(0, wholeCharacters(piece.bytes, piece.bytes.length - over));
      this.#keep(kept, false);
      this.#headEnd = piece.start + kept.length;
    }
    this.#headClosed = over >= 0;
  }

  /** From here on bytes are counted and dropped, but for what the ring keeps. */
  #startDropping(mask: MaskStream): void {
    const { onLine, scanner } = this.#options;
    if (onLine !== undefined && this.#splitter !== null) {
      if (this.#splitter.overlong) this.#droppedLines += 1;
      this.#structured = new StructuredLines({
        atLineStart: !this.#splitter.overlong,
        line: (bytes) => onLine(masked(bytes, scanner).bytes.toString()),
      });
      this.#droppedLines += this.#splitter.dropped;
      this.#splitter = null;
      this.#structured.push(mask.takePending());
    }
    this.#mask = null;
  }

  /** Feeds the ring with what could become the tail or its context. */
  #remember(chunk: Buffer, before: number): void {
    const origin = Math.max(0, this.#headRoom - this.#reach);
    if (this.#bytes <= origin) return;
    this.#ring ??= new Ring({ capacity: this.#tailRoom + this.#reach, origin });
    this.#ring.push(before >= origin ? chunk : chunk.subarray(origin - before));
  }

  /** Keeps everything after the head that fits the tail; answers how many bytes lie between. */
  #finishTail(): number {
    if (this.#bytes === this.#headEnd || this.#ring === null) return 0;
    const earliest = this.#bytes - this.#tailRoom;
    const gap = earliest > this.#headEnd;
    let start = gap ? earliest : this.#headEnd;
    const kept: Piece[] = [];
    const from = Math.max(this.#ring.start, start - this.#reach);
    const bytes = this.#ring.from(from);
    if (gap) start += continuationBytes(bytes, start - from);
    const stream = new MaskStream({
      scanner: this.#options.scanner,
      position: from,
      emit: (piece) => {
        if (piece.end <= start) return;
        if (piece.start >= start) kept.push(piece);
        else kept.push(piece.masked ? piece : { ...piece, bytes: piece.bytes.subarray(start - piece.start) });
      },
    });
    stream.flush(bytes);
    const dropped = start - this.#headEnd;
    if (dropped > 0) this.#put(Buffer.concat([this.#utf8.flush(), gapLine(dropped, this.#lastByte)]));
    for (const piece of kept) this.#keep(piece.bytes, piece.masked);
    this.#writeOut();
    return dropped;
  }

  #keep(bytes: Buffer, masked: boolean): void {
    if (masked && bytes.length > 0) this.#redactions += 1;
    this.#out.push(bytes);
  }

  #writeOut(): void {
    if (this.#out.length === 0) return;
    const bytes = this.#out.length === 1 ? (this.#out[0] as Buffer) : Buffer.concat(this.#out);
    this.#out = [];
    this.#put(this.#utf8.push(bytes));
  }

  #put(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#lastByte = bytes.at(-1) as number;
    this.#file.write(bytes);
    this.#recent.push(bytes);
    this.#recentBytes += bytes.length;
    while (this.#recentBytes - (this.#recent[0] ?? NOTHING).length >= TAIL_TEXT)
      this.#recentBytes -= (this.#recent.shift() ?? NOTHING).length;
  }
}

/** The line that stands for what was dropped, on a line of its own. */
function gapLine(dropped: number, lastByte: number): Buffer {
  return Buffer.from(`${lastByte === 0x0a ? "" : "\n"}[… ${dropped} bytes dropped …]\n`);
}

/** The greatest length up to `limit` that does not end inside a character. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  let length = limit;
  while (length > 0 && limit - length < 3 && ((bytes[length] as number) & 0xc0) === 0x80) length -= 1;
  return length;
}

/** How many bytes from `at` on only continue a character that began before. */
function continuationBytes(bytes: Buffer, at: number): number {
  let count = 0;
  while (count < 3 && ((bytes[at + count] ?? 0) & 0xc0) === 0x80) count += 1;
  return count;
}

function tailText(bytes: Buffer): string {
  if (bytes.length <= TAIL_TEXT) return bytes.toString();
  const start = bytes.length - TAIL_TEXT;
  return bytes.subarray(start + continuationBytes(bytes, start)).toString();
}
