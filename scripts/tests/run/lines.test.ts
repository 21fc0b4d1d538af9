import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, StructuredLines } from "../../src/run/lines.ts";

function split(chunks: readonly string[], maxBytes = 1_000): { lines: string[]; dropped: number } {
  const lines: string[] = [];
  const splitter = new LineSplitter({ line: (bytes) => lines.push(bytes.toString()), maxBytes });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.flush();
  return { lines, dropped: splitter.dropped };
}

function structured(chunks: readonly string[], atLineStart = true): { lines: string[]; dropped: number } {
  const lines: string[] = [];
  const scanner = new StructuredLines({
    line: (bytes) => lines.push(bytes.toString()),
    maxBytes: 20,
    atLineStart,
  });
  for (const chunk of chunks) scanner.push(Buffer.from(chunk));
  scanner.flush();
  return { lines, dropped: scanner.dropped };
}

const pieces = (text: string, seeds: readonly number[]): string[] => {
  const cuts = [0, ...seeds.map((seed) => seed % (text.length + 1)).sort((a, b) => a - b)];
  return cuts.map((from, index) => text.slice(from, cuts[index + 1] ?? text.length));
};

describe("cutting a stream into lines", () => {
  it("delivers a last line without a line end, and takes away either kind of line end", () => {
    expect(split(["one\r\ntwo\n\nlast"])).toEqual({ lines: ["one", "two", "", "last"], dropped: 0 });
  });

  it("drops and counts a line over the bound and goes on with the next", () => {
    expect(split(["123", "45", "6\nnext\n"], 5)).toEqual({ lines: ["next"], dropped: 1 });
  });

  it("gives the same lines for any cutting", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "b", "\n", "{", "\r"), maxLength: 60 }),
        fc.array(fc.nat()),
        (text, seeds) => {
          expect(split(pieces(text, seeds), 8)).toEqual(split([text], 8));
          expect(structured(pieces(text, seeds))).toEqual(structured([text]));
        },
      ),
      { numRuns: 1_000, seed: 5 },
    );
  });
});

describe("finding structured lines in what is dropped", () => {
  it("delivers the lines that begin with a brace and no others", () => {
    expect(structured(['noise\n{"a":1}\nnoise {"b":2}\n{"c":3}'])).toEqual({
      lines: ['{"a":1}', '{"c":3}'],
      dropped: 0,
    });
  });

  it("does not take the rest of a begun line for a line", () => {
    expect(structured(['{"rest":1}\n{"a":1}\n'], false).lines).toEqual(['{"a":1}']);
  });

  it("drops and counts one that is over the bound", () => {
    expect(structured([`{${"x".repeat(30)}}\n{"a":1}\n`])).toEqual({ lines: ['{"a":1}'], dropped: 1 });
  });
});
