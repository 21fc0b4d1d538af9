/** Text as a reader sees it, for matching: colour codes and wrapped lines removed, with the way back to the bytes. */

const ESC = 0x1b;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** `]`, P, X, ^, _ open a string sequence, backslash closes it; 7, 8, = and > stand alone. */
const STRING_FRAMES: ReadonlySet<number> = new Set([
  0x5d, 0x50, 0x58, 0x5e, 0x5f, 0x5c, 0x37, 0x38, 0x3d, 0x3e,
]);

/** What follows the backslash of a colour code inside a JSON string; some encoders write B. */
const JSON_ESC = [Buffer.from("u001b["), Buffer.from("u001B[")] as const;
/** Backslashes before it: in JSON, in JSON inside JSON, and once more. */
const ESC_RUNS: ReadonlySet<number> = new Set([1, 2, 4]);
/** Backslashes that stand for a backslash and the beginning of `\n` or `\r`, likewise. */
const WRAP_RUNS: ReadonlySet<number> = new Set([3, 6, 12]);
/** A longer run of backslashes is text. */
const MAX_RUN = 12;
/** The longest beginning of any of these that can stand at the end of what is there. */
const MAX_OPENING = MAX_RUN + 6;
const LETTER_N = 0x6e;
const LETTER_R = 0x72;

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
  // The end may be the beginning of one.
  for (let at = Math.max(0, raw.length - MAX_OPENING); at < raw.length; at += 1)
    if (raw[at] === BACKSLASH && wrapLength(raw, at) < 0) return true;
  return WRAPS.some((wrap) => raw.indexOf(wrap) >= 0);
}

const WRAPS: readonly (string | Buffer)[] = [
  "\\\n",
  "\\\r\n",
  "\\\\\\n",
  "\\\\\\r",
  ...JSON_ESC.map((esc) => Buffer.concat([Buffer.of(BACKSLASH), esc])),
];

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

/**
 * Length of backslash + line end, raw or escaped for JSON, or of a colour code escaped for JSON; 0 when it is none, -1
 * when more bytes decide.
 */
function wrapLength(raw: Buffer, at: number): number {
  const next = raw[at + 1];
  if (next === NEWLINE) return 2;
  if (next === RETURN) return raw[at + 2] === undefined ? -1 : raw[at + 2] === NEWLINE ? 3 : 0;
  const run = runOf(raw, at);
  if (run > MAX_RUN) return 0;
  const end = at + run;
  if (raw[end] === undefined) return -1;
  // In the middle of a run only its last backslash can begin something.
  const whole = raw[at - 1] !== BACKSLASH;
  if (ESC_RUNS.has(run) && (whole || run === 1)) {
    const esc = JSON_ESC.find((opening) => beginsWith(opening, raw, end));
    if (esc !== undefined)
      return raw.length - end < esc.length ? -1 : controlLength(raw, at, run + esc.length);
  }
  return whole && WRAP_RUNS.has(run) ? escapedWrapLength(raw, at, run) : 0;
}

/** `\\\\\\n` or `\\\\\\r\\n` and their likes one level deeper: `run` backslashes from `at` on are known. */
function escapedWrapLength(raw: Buffer, at: number, run: number): number {
  const letter = raw[at + run];
  if (letter === LETTER_N) return run + 1;
  if (letter !== LETTER_R) return 0;
  const behind = at + run + 1;
  const second = runOf(raw, behind);
  if (raw[behind + second] === undefined && second <= run / 3) return -1;
  return second === run / 3 && raw[behind + second] === LETTER_N ? run + 1 + second + 1 : 0;
}

/** Backslashes in a row from `at` on, counted up to one more than matter. */
function runOf(raw: Buffer, at: number): number {
  let run = 0;
  while (run <= MAX_RUN && raw[at + run] === BACKSLASH) run += 1;
  return run;
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
