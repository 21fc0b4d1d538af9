/** Text as a reader sees it, for matching: colour codes and wrapped lines removed, with the way back to the bytes. */

const ESC = 0x1b;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** `]`, P, X, ^, _ open a string sequence, backslash closes it; 7, 8, = and > stand alone. */
const STRING_FRAMES: ReadonlySet<number> = new Set([
  0x5d, 0x50, 0x58, 0x5e, 0x5f, 0x5c, 0x37, 0x38, 0x3d, 0x3e,
]);

/** The opening of a colour code inside a JSON string. */
const JSON_ESC = Buffer.from("\\u001b[");

/** A control sequence longer than this is text. */
const MAX_CSI = 64;

export interface PlainView {
  readonly bytes: Buffer;
  /** Index in `bytes` → index in the raw bytes; null when they are the same. One entry more than `bytes`. */
  readonly map: Uint32Array | null;
  /** Raw index from which an unfinished escape sequence or line wrap runs to the end; the raw length if none does. */
  readonly openFrom: number;
}

export const rawIndex = (view: PlainView, index: number): number =>
  view.map === null ? index : (view.map[index] as number);

/** The view of `raw`. Cheap when there is nothing to remove: a few native searches and no copy. */
export function plainView(raw: Buffer): PlainView {
  return raw.indexOf(ESC) < 0 && !hasWraps(raw)
    ? { bytes: raw, map: null, openFrom: raw.length }
    : strip(raw);
}

function hasWraps(raw: Buffer): boolean {
  if (raw.indexOf(BACKSLASH) < 0) return false;
  const end = raw.length;
  // The end may be the beginning of one: the longest beginning has six bytes.
  const tail = raw.lastIndexOf(BACKSLASH);
  if (tail === end - 1 || (end - tail < JSON_ESC.length && beginsWith(JSON_ESC, raw, tail))) return true;
  if (tail === end - 2 && raw[end - 1] === RETURN) return true;
  return raw.indexOf("\\\n") >= 0 || raw.indexOf("\\\r\n") >= 0 || raw.indexOf(JSON_ESC) >= 0;
}

/** Whether everything in `raw` from `at` on is a beginning of `whole`. */
function beginsWith(whole: Buffer, raw: Buffer, at: number): boolean {
  const length = Math.min(whole.length, raw.length - at);
  return whole.compare(raw, at, at + length, 0, length) === 0;
}

function strip(raw: Buffer): PlainView {
  const bytes = Buffer.allocUnsafe(raw.length);
  const map = new Uint32Array(raw.length + 1);
  let out = 0;
  let at = 0;
  let openFrom = raw.length;
  while (at < raw.length) {
    const byte = raw[at] as number;
    const length = byte === ESC ? escapeLength(raw, at) : byte === BACKSLASH ? wrapLength(raw, at) : 0;
    if (length < 0) {
      openFrom = at;
      break;
    }
    if (length > 0) {
      at += length;
      continue;
    }
    bytes[out] = byte;
    map[out] = at;
    out += 1;
    at += 1;
  }
  map[out] = openFrom;
  return { bytes: bytes.subarray(0, out), map: map.subarray(0, out + 1), openFrom };
}

/** Length of backslash + line end, or of a colour code escaped for JSON; 0 when it is none, -1 when more bytes decide. */
function wrapLength(raw: Buffer, at: number): number {
  const next = raw[at + 1];
  if (next === undefined) return -1;
  if (next === NEWLINE) return 2;
  if (next === JSON_ESC[1] && beginsWith(JSON_ESC, raw, at)) {
    if (raw.length - at < JSON_ESC.length) return -1;
    return controlLength(raw, at, JSON_ESC.length);
  }
  if (next !== RETURN) return 0;
  const after = raw[at + 2];
  return after === undefined ? -1 : after === NEWLINE ? 3 : 0;
}

/**
 * Length of the escape sequence at `at`; 0 when it is none, -1 when more bytes decide. Of a string sequence (a window
 * title, a hyperlink) only its frame goes: what it carries can hold a secret and stays in sight. `ESC` before a letter
 * is left alone too: removing it could eat the first letter of a token.
 */
function escapeLength(raw: Buffer, at: number): number {
  const kind = raw[at + 1];
  if (kind === undefined) return -1;
  if (kind === 0x5b) return controlLength(raw, at, 2);
  if (STRING_FRAMES.has(kind)) return 2;
  // A choice of character set: ESC, one intermediate, one final byte.
  if (kind >= 0x28 && kind <= 0x2f) return raw[at + 2] === undefined ? -1 : 3;
  return 0;
}

function controlLength(raw: Buffer, at: number, opening: number): number {
  const end = Math.min(raw.length, at + MAX_CSI);
  for (let index = at + opening; index < end; index += 1) {
    const byte = raw[index] as number;
    if (byte >= 0x40 && byte <= 0x7e) return index + 1 - at;
    if (byte < 0x20 || byte > 0x3f) return 0;
  }
  return end === raw.length && end - at < MAX_CSI ? -1 : 0;
}
