import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Utf8Stream } from "../../src/run/utf8.ts";

function stream(chunks: readonly Buffer[]): { text: string; invalid: number } {
  const utf8 = new Utf8Stream();
  const bytes = Buffer.concat([...chunks.map((chunk) => utf8.push(chunk)), utf8.flush()]);
  return { text: bytes.toString("latin1"), invalid: utf8.invalidBytes };
}

/** What the platform makes of the same bytes, in UTF-8 again. */
const decoded = (bytes: Uint8Array): string =>
  Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)).toString("latin1");

describe("making bytes valid UTF-8", () => {
  it("gives the same text for every split point of a multi-byte text", () => {
    const bytes = Buffer.from('{"text":"한😀é"}\n');
    for (let at = 0; at <= bytes.length; at += 1)
      expect(stream([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({
        text: bytes.toString("latin1"),
        invalid: 0,
      });
  });

  it("replaces each longest broken beginning by one U+FFFD and counts its bytes", () => {
    const cases: readonly (readonly [number[], string, number])[] = [
      [[0xff, 0x41], "\ufffdA", 1],
      [[0xc0, 0x80], "\ufffd\ufffd", 2],
      [[0xe2, 0x82, 0x41], "\ufffdA", 2],
      [[0xed, 0xa0, 0x80], "\ufffd\ufffd\ufffd", 3],
      [[0xf0, 0x9f, 0x98], "\ufffd", 3],
      [[0x80], "\ufffd", 1],
      [[0x41, 0x00, 0x42], "A\u0000B", 0],
    ];
    for (const [bytes, text, invalid] of cases)
      expect(stream([Buffer.from(bytes)])).toEqual({
        text: Buffer.from(text).toString("latin1"),
        invalid,
      });
  });

  it("agrees with the platform's decoder for any bytes and any cutting", () => {
    const byte = fc.oneof(
      fc.nat({ max: 255 }),
      fc.constantFrom(0x80, 0xbf, 0xc2, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0x9f, 0x82),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 24 }), fc.array(fc.nat({ max: 24 })), (values, seeds) => {
        const bytes = Buffer.from(values);
        const cuts = [0, ...seeds.map((seed) => Math.min(seed, bytes.length)).sort((a, b) => a - b)];
        const chunks = cuts.map((from, index) => bytes.subarray(from, cuts[index + 1] ?? bytes.length));
        expect(stream(chunks).text).toBe(decoded(bytes));
      }),
      { numRuns: 2_000, seed: 3 },
    );
  });
});
