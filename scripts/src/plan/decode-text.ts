/** Bytes to text: size, encoding and characters that no spec may hold. */
import { SPEC_LIMITS } from "../core/policy.ts";
import type { Fault } from "./fault.ts";

export type TextFormat = "yaml" | "json";

export interface DecodedText {
  /**
   * Without a byte order mark and with U+FFFD for every character that is refused, since the lexer uses some of
   * them as marks of its own. Null when the bytes are no text or too many.
   */
  readonly text: string | null;
  /** The text up to the fault when there is none after it, for the fault's place. */
  readonly before: string;
  readonly faults: readonly Fault[];
}

export function decodeText(input: string | Uint8Array, format: TextFormat): DecodedText {
  const size = typeof input === "string" ? Buffer.byteLength(input) : input.byteLength;
  const limit = format === "yaml" ? SPEC_LIMITS.maxYamlBytes : SPEC_LIMITS.maxJsonBytes;
  if (size > limit) return { text: null, before: "", faults: [tooLarge(size, limit, format)] };
  const decoded = typeof input === "string" ? input : decodeUtf8(input);
  if (typeof decoded !== "string") return { text: null, ...decoded };
  const text = decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded;
  const faults = forbiddenCharacters(text);
  return { before: "", text: faults.length === 0 ? text : text.replace(FORBIDDEN, "\ufffd"), faults };
}

function tooLarge(size: number, limit: number, format: TextFormat): Fault {
  const other = format === "yaml" ? "; JSON may have 16 MiB" : "";
  return {
    code: "too-large",
    offset: 0,
    message: `the file has ${size} bytes, but at most ${limit} are read as ${format === "yaml" ? "YAML" : "JSON"}`,
    fix: `split the work over several specs${other}`,
  };
}

function decodeUtf8(bytes: Uint8Array): string | { before: string; faults: Fault[] } {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const wide = (bytes[0] === 0xfe && bytes[1] === 0xff) || (bytes[0] === 0xff && bytes[1] === 0xfe);
    const at = wide ? 0 : firstInvalidByte(bytes);
    const before = new TextDecoder().decode(bytes.subarray(0, at));
    const fault: Fault = {
      code: "not-utf8",
      offset: before.length,
      message: wide
        ? "the file is UTF-16, but must be UTF-8"
        : `the file is not UTF-8: byte ${at} starts no character`,
      fix: "save it as UTF-8",
    };
    return { before, faults: [fault] };
  }
}

/** Index of the first byte that is not part of well-formed UTF-8 (RFC 3629). */
function firstInvalidByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const second = bytes[at + 1] ?? 0;
  const length =
    first >= 0xc2 && first < 0xe0
      ? 2
      : first >= 0xe0 && first < 0xf0
        ? 3
        : first >= 0xf0 && first < 0xf5
          ? 4
          : 0;
  if (length === 0) return 0;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let index = 2; index < length; index += 1) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/g;

function forbiddenCharacters(text: string): Fault[] {
  const faults: Fault[] = [];
  for (const match of text.matchAll(FORBIDDEN)) {
    faults.push(characterFault(match[0].charCodeAt(0), match.index));
    if (faults.length >= 20) break;
  }
  return faults;
}

/** Also for characters that an escape puts into a value. */
export function characterFault(unit: number, offset: number): Fault {
  if (unit === 0)
    return {
      code: "nul-character",
      offset,
      message: "a NUL character ends text for the programs that will read it, so it is not allowed",
      fix: "remove it",
    };
  const name = `U+${unit.toString(16).toUpperCase().padStart(4, "0")}`;
  return {
    code: "control-character",
    offset,
    message: `the control character ${name} is not allowed`,
    fix: "remove it",
  };
}
