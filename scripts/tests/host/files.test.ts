import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { linesOfFile, piecesOfText, replaceFileInParts } from "../../src/host/files.ts";
import { tempDir } from "../state/temp-dir.ts";
import { PROPERTY } from "../support/property.ts";

const CHUNK = 256 * 1024;
const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** The lines and the digest of all that was shown. */
function read(path: string): { lines: string[]; digest: string } {
  const hash = createHash("sha256");
  const lines = [...linesOfFile(path, (piece) => hash.update(piece))];
  return { lines, digest: hash.digest("hex") };
}

test("the lines of a file are the file, wherever its pieces end", () => {
  const path = join(tempDir(), "lines");
  // Around the end of a piece, in characters of one to four bytes.
  const line = fc.tuple(
    fc.constantFrom(0, 1, 100, CHUNK - 3, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5),
    fc.constantFrom("x", "é", "…", "😀"),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), fc.boolean(), (parts, ended) => {
      const lines = parts.map(([length, last]) => "a".repeat(length) + last);
      const text = lines.join("\n") + (ended && lines.length > 0 ? "\n" : "");
      writeFileSync(path, text);
      expect(read(path)).toEqual({ lines, digest: sha256(text) });
    }),
    { ...PROPERTY, numRuns: 60 },
  );
});

test("empty lines are lines, and a file that is missing is the system's error", () => {
  const dir = tempDir();
  writeFileSync(join(dir, "a"), "\n\nb\n\n");
  expect(read(join(dir, "a")).lines).toEqual(["", "", "b", ""]);
  expect(() => read(join(dir, "none"))).toThrow(/ENOENT/);
});

test("texts become pieces of a worthwhile size that are the texts", () => {
  const texts = ["", "a", "é".repeat(CHUNK - 1), "b", "", "😀".repeat(2 * CHUNK), "end"];
  const pieces = [...piecesOfText(texts)];
  expect(Buffer.concat(pieces).toString("utf8")).toBe(texts.join(""));
  expect(pieces.map((piece) => piece.length)).toEqual([2 * CHUNK - 1, 8 * CHUNK + 1, 3]);
  expect([...piecesOfText(["", ""])]).toEqual([]);
});

test("a replacement whose parts fail on the way leaves the old content and nothing else", () => {
  const dir = tempDir();
  const path = join(dir, "a");
  replaceFileInParts(path, [Buffer.from("old "), Buffer.from("content")]);
  expect(readFileSync(path, "utf8")).toBe("old content");
  const parts = function* (): Generator<Buffer> {
    yield Buffer.from("new");
    throw new Error("no more");
  };
  expect(() => replaceFileInParts(path, parts())).toThrow(/no more/);
  expect(readFileSync(path, "utf8")).toBe("old content");
  expect(readdirSync(dir)).toEqual(["a"]);
});
