/** Makes any bytes valid UTF-8, across chunk edges, and counts what was not. */
import { isUtf8 } from "node:buffer";

const REPLACEMENT = Buffer.from("\ufffd");
const NOTHING = Buffer.alloc(0);

/**
 * Each longest beginning of a character that no character continues becomes one U+FFFD, as the Encoding Standard has
 * it; `invalidBytes` counts the bytes so replaced. NUL and control characters are valid and stay.
 */
export class Utf8Stream {
  #held: Buffer = NOTHING;
  #invalid = 0;

  get invalidBytes(): number {
    return this.#invalid;
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const open = unfinished(bytes);
    this.#held = open === 0 ? NOTHING : Buffer.from(bytes.subarray(bytes.length - open));
    return this.#repair(bytes.subarray(0, bytes.length - open));
  }

  flush(): Buffer {
    const rest = this.#held;
    this.#held = NOTHING;
    if (rest.length === 0) return NOTHING;
    this.#invalid += rest.length;
    return REPLACEMENT;
  }

  #repair(bytes: Buffer): Buffer {
    if (isUtf8(bytes)) return bytes;
    const parts: Buffer[] = [];
    let good = 0;
    let at = 0;
    while (at < bytes.length) {
      const { length, valid } = character(bytes, at);
      if (!valid) {
        parts.push(bytes.subarray(good, at), REPLACEMENT);
        this.#invalid += length;
        good = at + length;
      }
      at += length;
    }
    parts.push(bytes.subarray(good));
    return Buffer.concat(parts);
  }
}

/** Length of a proper beginning of a character at the end of `bytes`, 0 to 3. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const at = bytes.length - back;
    if (((bytes[at] as number) & 0xc0) === 0x80) continue;
    const { length, valid } = character(bytes, at);
    return !valid && length === back && expected(bytes[at] as number) > back ? back : 0;
  }
  return 0;
}

const expected = (lead: number): number =>
  lead < 0x80
    ? 1
    : lead >= 0xc2 && lead <= 0xdf
      ? 2
      : lead >= 0xe0 && lead <= 0xef
        ? 3
        : lead >= 0xf0 && lead <= 0xf4
          ? 4
          : 0;

/** The character at `at`, or the longest beginning of one that nothing continues. */
function character(bytes: Buffer, at: number): { length: number; valid: boolean } {
  const lead = bytes[at] as number;
  const want = expected(lead);
  if (want <= 1) return { length: 1, valid: want === 1 };
  for (let index = 1; index < want; index += 1) {
    const byte = bytes[at + index];
    const low = index > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = index > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte === undefined || byte < low || byte > high) return { length: index, valid: false };
  }
  return { length: want, valid: true };
}
