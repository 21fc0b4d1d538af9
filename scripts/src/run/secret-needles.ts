/** The spellings under which a known secret value may appear in a text. */
import { plainView } from "./plain-view.ts";

/** Shorter values are words and numbers; masking them would shred the output and protect nothing. */
const MIN_VALUE = 6;
/** From this length on a value is also looked for in its encodings, and line by line. */
const MIN_ENCODED = 8;
/** A longer value is looked for piece by piece, so that a stream never has to hold back more than this. */
const MAX_NEEDLE = 4_096;

/** All byte strings to mask for these values, each at least six bytes long, none twice. */
export function secretNeedles(values: readonly string[]): Buffer[] {
  const texts = new Set<string>();
  for (const value of values) {
    const trimmed = value.trim();
    if (trimmed.length < MIN_VALUE) continue;
    for (const line of trimmed.split(/[\r\n]+/)) addLine(texts, line, trimmed);
    if (trimmed.length >= MIN_ENCODED) for (const form of encodings(trimmed)) addPieces(texts, seenAs(form));
  }
  return [...texts].map((text) => Buffer.from(text));
}

/** A value of several lines is masked line by line: its output may be indented, wrapped or end its lines otherwise. */
function addLine(texts: Set<string>, line: string, whole: string): void {
  const seen = seenAs(line).replace(/\\+$/, "").trim();
  if (seen.length >= (line === whole ? MIN_VALUE : MIN_ENCODED)) addPieces(texts, seen);
}

/** The text as it is searched: what a reader does not see is taken out of both, and so is a beginning of that at its end. */
const seenAs = (text: string): string => plainView(Buffer.from(text)).bytes.toString();

function addPieces(texts: Set<string>, text: string): void {
  if (Buffer.byteLength(text) < MIN_VALUE) return;
  if (text.length <= MAX_NEEDLE / 4) {
    texts.add(text);
    return;
  }
  const size = MAX_NEEDLE / 4;
  for (let at = 0; at + size < text.length; at += size) texts.add(text.slice(at, at + size));
  texts.add(text.slice(-size));
}

function encodings(value: string): string[] {
  const bytes = Buffer.from(value);
  const once = JSON.stringify(value).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  const url = percentEncoded(value);
  const hex = bytes.toString("hex");
  const forms = [once, twice, url, url.replaceAll("%20", "+"), lowerEscapes(url), hex, hex.toUpperCase()];
  for (const core of base64Cores(bytes))
    forms.push(core, core.replaceAll("+", "-").replaceAll("/", "_"), percentEncoded(core));
  return forms.filter((form) => form !== value);
}

/** `encodeURIComponent` throws on half a surrogate pair; such a value has no such form. */
function percentEncoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value;
  }
}

const lowerEscapes = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

/** The characters of its base64 that do not depend on what stands around it, for each of the three alignments. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const from = shift === 0 ? 0 : shift + 1;
    const spare = ((shift + bytes.length) % 3) * 8;
    return text.slice(from, spare === 0 ? text.length : text.length - 1);
  });
}
