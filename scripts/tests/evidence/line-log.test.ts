import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openLineLog, readLineLog } from "../../src/evidence/line-log.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "line-log-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const wide = { maxRecords: 1_000, maxBytes: 1_000_000, rotateAtBytes: null };

describe("a bounded line log", () => {
  it("keeps every line in order and continues an existing file", () => {
    const file = join(dir, "a.jsonl");
    const first = openLineLog(file, wide);
    for (let i = 0; i < 200; i += 1) first.log.append(`line ${i}`);
    first.log.close();
    const second = openLineLog(file, wide);
    expect(second.lastLine).toBe("line 199");
    second.log.append("line 200");
    second.log.close();
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines).toEqual(Array.from({ length: 201 }, (_, i) => `line ${i}`));
    expect(second.log.status()).toMatchObject({ records: 201, dropped: 0, fault: null });
  });

  it("stops for good at the record bound and counts what is missing", () => {
    const { log } = openLineLog(join(dir, "a.jsonl"), { ...wide, maxRecords: 3 });
    expect([1, 2, 3, 4, 5].map((n) => log.append(String(n)))).toEqual([true, true, true, false, false]);
    log.close();
    expect(log.status()).toMatchObject({ records: 3, dropped: 2, fault: "bounds" });
    expect(readFileSync(join(dir, "a.jsonl"), "utf8")).toBe("1\n2\n3\n");
  });

  it("does not record a short line after a long one was dropped", () => {
    const { log } = openLineLog(join(dir, "a.jsonl"), { ...wide, maxBytes: 10 });
    expect(log.append("12345678901234")).toBe(false);
    expect(log.append("1")).toBe(false);
    expect(log.status()).toMatchObject({ records: 0, dropped: 2, fault: "bounds" });
  });

  it("rotates into numbered parts and counts them when it is opened again", () => {
    const file = join(dir, "a.jsonl");
    const { log } = openLineLog(file, { ...wide, rotateAtBytes: 8 });
    for (const line of ["aaaa", "bbbb", "cccc", "dddd", "eeee"]) {
      log.append(line);
      log.flush();
    }
    log.close();
    expect(readdirSync(dir).sort()).toEqual(["a.jsonl", "a.jsonl.1", "a.jsonl.2"]);
    const again = openLineLog(file, { ...wide, rotateAtBytes: 8 });
    expect(again.log.status()).toMatchObject({ records: 5, bytes: 25 });
    again.log.close();
  });

  it("finds the last whole line wherever the pieces of the file end", () => {
    const piece = 256 * 1024;
    const file = join(dir, "a.jsonl");
    for (const length of [piece - 2, piece - 1, piece, piece + 1, 3 * piece])
      for (const torn of ["", "t", "t".repeat(piece)]) {
        const last = `${"é".repeat(3)}${"x".repeat(length - 6)}`;
        writeFileSync(file, `first\n\n${last}\n${torn}`);
        expect(readLineLog(file)).toEqual({
          records: 3,
          bytes: 8 + length,
          olderBytes: 0,
          lastLine: last,
          tornTail: torn !== "",
          parts: 0,
        });
      }
    writeFileSync(file, "\n");
    expect(readLineLog(file)).toMatchObject({ records: 1, lastLine: "", tornTail: false });
    writeFileSync(file, "");
    expect(readLineLog(file)).toMatchObject({ records: 0, lastLine: null, tornTail: false });
  });

  it("cuts off a torn last line and says so", () => {
    const file = join(dir, "a.jsonl");
    const first = openLineLog(file, wide);
    first.log.append("whole");
    first.log.close();
    appendFileSync(file, '{"half":');
    const second = openLineLog(file, wide);
    expect(second.tornTail).toBe(true);
    expect(second.lastLine).toBe("whole");
    second.log.append("next");
    second.log.close();
    expect(readFileSync(file, "utf8")).toBe("whole\nnext\n");
  });

  it("drops and counts instead of throwing where it cannot write", () => {
    const { log } = openLineLog(join(dir, "missing", "a.jsonl"), wide);
    expect(log.append("x")).toBe(false);
    log.flush();
    log.close();
    expect(log.status()).toEqual({
      records: 0,
      bytes: 0,
      dropped: 1,
      fault: "write-failed",
      errno: "ENOENT",
    });
  });

  it("flushes by itself once the current turn is over", async () => {
    const file = join(dir, "a.jsonl");
    const { log } = openLineLog(file, wide);
    log.append("x");
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(readFileSync(file, "utf8")).toBe("x\n");
    log.close();
  });
});
