/** Masks secrets in a stream of bytes, holding back just as much as a secret could still grow into. */
import { type PlainView, plainView, rawIndex } from "./plain-view.ts";
import type { Mask, SecretScanner } from "./secret-scan.ts";

/** A piece of the stream that may be written. `start` and `end` are positions in the raw stream. */
export interface Piece {
  readonly bytes: Buffer;
  readonly masked: boolean;
  readonly start: number;
  readonly end: number;
}

export const MASK = Buffer.from("[REDACTED]");
const NOTHING = Buffer.alloc(0);

/** Bytes already let go that are kept for the look-behinds of the patterns. */
const CONTEXT = 64;

export class MaskStream {
  readonly #scanner: SecretScanner;
  readonly #emit: (piece: Piece) => void;
  /** A line longer than this is scanned in mid-line; shorter ones wait for their end. */
  readonly #lineRoom: number;
  /** More than this is never held back, whatever it is. */
  readonly #rawRoom: number;
  #context: Buffer = NOTHING;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Raw position of the first pending byte. */
  #position: number;
  /** Pending bytes that belong to a mask already written. */
  #carry = 0;

  constructor(options: { scanner: SecretScanner; position?: number; emit: (piece: Piece) => void }) {
    this.#scanner = options.scanner;
    this.#emit = options.emit;
    this.#position = options.position ?? 0;
    this.#lineRoom = options.scanner.reach * 2;
    this.#rawRoom = options.scanner.reach * 8;
  }

  /** Raw position up to which everything has been emitted. */
  get position(): number {
    return this.#position;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes > this.#lineRoom || chunk.indexOf(0x0a) >= 0) this.#release(false);
  }

  /** The end of the stream, after `last` if there is more of it. */
  flush(last: Buffer = NOTHING): void {
    this.#pending.push(last);
    this.#pendingBytes += last.length;
    if (this.#pendingBytes > 0) this.#release(true);
  }

  /** What is still held back; the stream is at its end after this. */
  takePending(): Buffer {
    const pending = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return pending;
  }

  #release(final: boolean): void {
    const window = Buffer.concat([this.#context, ...this.#pending]);
    const before = this.#context.length;
    const view = plainView(window);
    const from = view.map === null ? before : firstAtOrAfter(view.map, before);
    const { masks, open } = this.#scanner.scan(view.bytes, from);
    const raw = masks.map((mask) => ({
      from: rawIndex(view, mask.from),
      start: rawIndex(view, mask.start),
      end: rawIndex(view, mask.end - 1) + 1,
    }));
    if (this.#carry > 0) raw.unshift({ from: before, start: before, end: before + this.#carry });
    const cut = final ? window.length : this.#cutOf({ view, raw, open, before });
    this.#write({ window, raw, before, cut });
    this.#context = Buffer.from(window.subarray(Math.max(0, cut - CONTEXT), cut));
    this.#pending = cut < window.length ? [window.subarray(cut)] : [];
    this.#pendingBytes = window.length - cut;
  }

  /** Raw end of what can be let go: whole lines, unless something in them is unfinished. */
  #cutOf(o: { view: PlainView; raw: readonly Mask[]; open: readonly number[]; before: number }): number {
    const { bytes, openFrom } = o.view;
    const { reach } = this.#scanner;
    const line = bytes.lastIndexOf(0x0a) + 1;
    if (bytes.length - line > this.#lineRoom)
      return beforeAnchors(o.raw, Math.max(o.before, rawIndex(o.view, bytes.length - reach)));
    const open = o.open.map((start) => rawIndex(o.view, start));
    const cut = Math.max(o.before, beforeFinds(o.raw, Math.min(rawIndex(o.view, line), ...open)));
    // Bytes that the view leaves out (endless colour codes, endless wraps) end no line: they must not pile up.
    return openFrom - cut > this.#rawRoom ? beforeAnchors(o.raw, openFrom - reach) : cut;
  }

  #write(o: { window: Buffer; raw: readonly Mask[]; before: number; cut: number }): void {
    const base = this.#position - o.before;
    const carried = this.#carry > 0;
    this.#carry = 0;
    let at = o.before;
    const emit = (bytes: Buffer, masked: boolean, end: number): void => {
      if (end > at) this.#emit({ bytes, masked, start: base + at, end: base + end });
      at = end;
    };
    for (const [index, mask] of o.raw.entries()) {
      if (mask.start >= o.cut) break;
      if (mask.end <= at) continue;
      if (mask.start > at) emit(o.window.subarray(at, mask.start), false, mask.start);
      if (mask.end > o.cut) this.#carry = mask.end - o.cut;
      emit(index === 0 && carried ? NOTHING : MASK, true, Math.min(mask.end, o.cut));
    }
    emit(o.window.subarray(at, o.cut), false, o.cut);
    this.#position = base + o.cut;
  }
}

/** No find is divided: a cut in or right behind one moves before it, for what ends with its line may go on in the next. */
function beforeFinds(masks: readonly Mask[], at: number): number {
  let cut = at;
  for (let moved = true; moved; ) {
    moved = false;
    for (let index = masks.length - 1; index >= 0; index -= 1) {
      const mask = masks[index] as Mask;
      if (mask.from >= cut || cut > mask.end) continue;
      cut = mask.from;
      moved = true;
    }
  }
  return cut;
}

/** In mid-line a mask may be divided (its rest is carried over), but never an anchor from the mask it led to. */
function beforeAnchors(masks: readonly Mask[], at: number): number {
  let cut = at;
  for (const mask of masks) if (mask.from < at && at <= mask.start) cut = Math.min(cut, mask.from);
  return cut;
}

function firstAtOrAfter(map: Uint32Array, raw: number): number {
  let low = 0;
  let high = map.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((map[middle] as number) < raw) low = middle + 1;
    else high = middle;
  }
  return low;
}
