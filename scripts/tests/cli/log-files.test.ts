import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GrowingFile, tailOf } from "../../src/cli/log-files.ts";

let dir = "";
let path = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "orchestrate-logs-"));
  path = join(dir, "stdout.txt");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const tail = (text: string, lines: number, maxBytes = 1_000_000) => {
  writeFileSync(path, text);
  return tailOf(path, { lines, maxBytes });
};

describe("the end of a log", () => {
  it("is nothing for a file that does not exist, is empty or holds one line end", () => {
    expect(tailOf(path, { lines: 5, maxBytes: 100 })).toBeNull();
    expect(tail("", 5)).toBeNull();
    expect(tail("\n", 5)).toBeNull();
  });

  it("is the last lines, whether or not the last one is ended", () => {
    expect(tail("a\nb\nc\n", 2)).toEqual({ text: "b\nc", omittedBytes: 2 });
    expect(tail("a\nb\nc", 2)).toEqual({ text: "b\nc", omittedBytes: 2 });
    expect(tail("a\nb\nc\n", 9)).toEqual({ text: "a\nb\nc", omittedBytes: 0 });
    expect(tail("\n\nx\n", 2)).toEqual({ text: "\nx", omittedBytes: 1 });
  });

  it("drops a line that its bound cuts, unless there is no other", () => {
    expect(tail("first line\nsecond\n", 9, 10)).toEqual({ text: "second", omittedBytes: 11 });
    expect(tail("0123456789", 9, 4)).toEqual({ text: "6789", omittedBytes: 6 });
  });

  it("agrees with splitting the text, whatever the text is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("a", "é", " ") })),
        fc.nat(6),
        (lines, count) => {
          const text = lines.map((line) => `${line}\n`).join("");
          const want = lines.slice(Math.max(0, lines.length - count - 1)).join("\n");
          const got = tail(text, count + 1);
          expect(got?.text ?? "").toBe(want);
          if (got !== null) expect(text.endsWith(`${got.text}\n`)).toBe(true);
        },
      ),
    );
  });
});

describe("a log that grows", () => {
  it("gives each line once, however its bytes arrive", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("x", "ü", "漢", "🙂") }), { minLength: 1 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (lines, sizes) => {
          writeFileSync(path, "");
          const file = new GrowingFile(path, 0);
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const got: string[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
            const size = sizes[turn % sizes.length] as number;
            appendFileSync(path, bytes.subarray(at, at + size));
            got.push(...file.read());
            at += size;
          }
          expect(got).toEqual(lines);
          expect(file.rest()).toEqual([]);
        },
      ),
    );
  });

  it("reads all of a big step, and a shorter file from its start", () => {
    const file = new GrowingFile(path, 0);
    const big = Array.from({ length: 30_000 }, (_, at) => `line ${at} ${"x".repeat(60)}`);
    writeFileSync(path, `${big.join("\n")}\n`);
    expect(file.read()).toEqual(big);
    writeFileSync(path, "second attempt\nunfinished");
    expect(file.read()).toEqual(["second attempt"]);
    expect(file.rest()).toEqual(["unfinished"]);
  });

  it("begins a little before the end", () => {
    writeFileSync(path, "old\nnew\n");
    expect(new GrowingFile(path, 4).read()).toEqual(["new"]);
  });
});
