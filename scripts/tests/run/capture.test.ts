import { mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Capture, type CaptureSummary } from "../../src/run/capture.ts";
import { redactText, scannerFor } from "../../src/run/redact.ts";
import { freshFolder } from "./support.ts";

const folder = freshFolder();
const SECRET = "tok_TEST_ABCDEFGH12345678";
const scanner = scannerFor([SECRET]);
let files = 0;

interface Captured {
  readonly summary: CaptureSummary;
  readonly text: string;
  readonly lines: string[];
}

function capture(chunks: Iterable<Buffer>, maxBytes = 1_048_576, withLines = true): Captured {
  files += 1;
  const path = join(folder, `${files}.txt`);
  const lines: string[] = [];
  const stream = new Capture({
    path,
    maxBytes,
    scanner,
    ...(withLines ? { onLine: (line: string) => lines.push(line) } : {}),
  });
  for (const chunk of chunks) stream.push(chunk);
  const summary = stream.finish();
  expect(stream.fault).toBeNull();
  expect(summary.keptBytes + summary.droppedBytes).toBe(summary.bytes);
  return { summary, text: readFileSync(path, "utf8"), lines };
}

function* inPieces(bytes: Buffer, size: number): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** No twelve characters in a row of the secret. */
function expectNoLeak(text: string): void {
  for (let at = 0; at + 12 <= SECRET.length; at += 1) expect(text).not.toContain(SECRET.slice(at, at + 12));
}

describe("what fits is kept whole", () => {
  it("keeps an output of exactly the bound, with its figures", () => {
    const text = "0123456789abcde\n".repeat(64);
    const { summary, text: kept } = capture([Buffer.from(text)], 1_024);
    expect(kept).toBe(text);
    expect(summary).toEqual({
      bytes: 1_024,
      keptBytes: 1_024,
      droppedBytes: 0,
      invalidBytes: 0,
      truncated: false,
      redactions: 0,
      droppedLines: 0,
      tail: text,
    });
  });

  it("writes a private file, also when there is no output", () => {
    capture([]);
    capture([Buffer.from("x")]);
    for (const number of [files - 1, files])
      expect(statSync(join(folder, `${number}.txt`)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, `${files - 1}.txt`), "utf8")).toBe("");
  });

  it("is masked and the same for any cutting, in the file and in the lines", () => {
    const text = `first ${SECRET}\n{"token":"${SECRET}"}\nlast ${SECRET}`;
    const expected = capture([Buffer.from(text)]);
    expect(expected.text).toBe(redactText(text, [SECRET]));
    expect(expected.lines).toEqual(["first [REDACTED]", '{"token":"[REDACTED]"}', "last [REDACTED]"]);
    expect(expected.summary.redactions).toBe(3);
    for (let size = 1; size < text.length; size += 1) {
      const { text: kept, lines, summary } = capture(inPieces(Buffer.from(text), size));
      expect({ kept, lines, summary }).toEqual({
        kept: expected.text,
        lines: expected.lines,
        summary: expected.summary,
      });
    }
  });

  it("is masked in one piece where the head ends, which no reader sees", () => {
    const telegram = `123456789:AA${"Abc1".repeat(8)}x`;
    for (const secret of [SECRET, telegram])
      for (let shift = -secret.length - 2; shift <= 2; shift += 1) {
        const text = `${"h ".repeat(480)}${"h".repeat(64 + shift)} ${secret} ${"t ".repeat(400)}`;
        expect(capture([Buffer.from(text)], 2_048).text).toBe(redactText(text, [SECRET]));
      }
  });

  it("masks a secret at every split offset", () => {
    const bytes = Buffer.from(`before ${SECRET} after\n`);
    for (let at = 0; at <= bytes.length; at += 1)
      expect(capture([bytes.subarray(0, at), bytes.subarray(at)]).text).toBe("before [REDACTED] after\n");
  });

  it("keeps NUL and terminal codes, and makes the rest valid UTF-8", () => {
    const { text, summary } = capture([Buffer.from([0x61, 0x00, 0x1b, 0x5b, 0x6d, 0xff, 0xc3])]);
    expect(text).toBe("a\u0000\u001b[m\ufffd\ufffd");
    expect(summary.invalidBytes).toBe(2);
  });
});

describe("what does not fit", () => {
  it("loses its middle, and a line says how much of it", () => {
    const text = Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`).join("");
    const { text: kept, summary } = capture([Buffer.from(text)], 1_024);
    expect(kept).toBe(
      `${text.slice(0, 512)}\n[… ${text.length - 1_024} bytes dropped …]\n${text.slice(-512)}`,
    );
    expect(summary.truncated).toBe(true);
    expect(summary.droppedBytes).toBe(text.length - 1_024);
  });

  it("is the same for any cutting, with exact figures, whatever the bytes and the bound", () => {
    const part = fc.oneof(
      fc.constantFrom(`${SECRET}`, "한😀é", "\n", "\u001b[1m", '\n{"a":1}\n'),
      fc.string({ maxLength: 200 }),
      fc.nat({ max: 3_000 }).map((length) => "x".repeat(length)),
      fc.nat({ max: 30_000 }).map((length) => "word ".repeat(length / 5)),
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.integer({ min: 1_024, max: 40_000 }),
        fc.integer({ min: 1, max: 9_000 }),
        (parts, bound, size) => {
          const bytes = Buffer.from(parts.join(""));
          const whole = capture([bytes], bound);
          const cut = capture(inPieces(bytes, size), bound);
          expect(cut.text).toBe(whole.text);
          expect(cut.summary).toEqual(whole.summary);
          expectNoLeak(cut.text + cut.lines.join("\n"));
          expect(cut.summary.bytes).toBe(bytes.length);
          expect(cut.summary.invalidBytes).toBe(0);
          if (bytes.length <= bound) expect(cut.text).toBe(redactText(bytes.toString(), [SECRET]));
          // The bound holds for what the child wrote; a mask and the line about the gap come on top.
          else expect(cut.summary.keptBytes).toBeLessThanOrEqual(bound + scanner.reach);
        },
      ),
      { numRuns: 250, seed: 20_261_129 },
    );
  });

  it("does not leak a secret that lies across either edge, or across the whole gap", () => {
    const bound = 2_048;
    for (const gap of [1, 5, 20, 30, 5_000])
      for (let shift = -SECRET.length - 2; shift <= 2; shift += 1) {
        const head = "h".repeat(bound / 2 + shift);
        const total = bound + gap;
        const rest = "t".repeat(total - head.length - SECRET.length);
        expectNoLeak(capture([Buffer.from(head + SECRET + rest)], bound).text);
        expectNoLeak(capture([Buffer.from(rest + SECRET + head)], bound).text);
      }
  });

  it("shows one mask for a secret across either edge, and still counts to the byte", () => {
    const head = `${"h".repeat(1_014)}${SECRET}`;
    const { text, summary } = capture([Buffer.from(`${head}${"t".repeat(5_000)}`)], 2_048);
    expect(text).toBe(
      `${"h".repeat(1_014)}[REDACTED]\n[… ${5_000 - 1_024} bytes dropped …]\n${"t".repeat(1_024)}`,
    );
    expect(summary).toMatchObject({ keptBytes: head.length + 1_024, redactions: 1 });
    const tail = `${SECRET}${"t".repeat(1_014)}`;
    const other = capture([Buffer.from(`${"h".repeat(5_000)}${tail}`)], 2_048);
    expect(other.text).toBe(
      `${"h".repeat(1_024)}\n[… ${5_000 + SECRET.length - 1_024 - 10} bytes dropped …]\n[REDACTED]${"t".repeat(1_014)}`,
    );
  });

  it("ends the head and begins the tail with whole characters", () => {
    for (let shift = 0; shift < 4; shift += 1) {
      const { text, summary } = capture([Buffer.from("a".repeat(shift) + "😀".repeat(2_000))], 1_026);
      expect(text).not.toContain("\ufffd");
      expect(summary.invalidBytes).toBe(0);
    }
  });

  it("tells the last 8 KiB", () => {
    const text = Array.from({ length: 9_000 }, (_, index) => `line ${index}\n`).join("");
    expect(capture([Buffer.from(text)], 1_024).summary.tail).toMatch(/^line 0\n[\s\S]*line 8999\n$/);
    expect(capture([Buffer.from(text)]).summary.tail).toBe(text.slice(-8_192));
  });
});

describe("lines for events", () => {
  it("come whole although they arrive in pieces of 8 KB", () => {
    const line = JSON.stringify({ type: "result", text: "한 ".repeat(50_000) });
    const { lines } = capture(inPieces(Buffer.from(`${line}\n{"last":true}`), 8_192));
    expect(lines).toEqual([line, '{"last":true}']);
  });

  it("are still found when the output has long passed its bound, and are masked there", () => {
    const noise = `${"some ordinary output ".repeat(20)}\n`.repeat(3_000);
    const text = `${noise}{"type":"result","text":"${SECRET}"}\n${noise}{"type":"end"}`;
    for (const size of [1_000, 65_536, text.length]) {
      const { lines, summary } = capture(inPieces(Buffer.from(text), size), 4_096);
      expect(lines.filter((line) => line.startsWith("{"))).toEqual([
        '{"type":"result","text":"[REDACTED]"}',
        '{"type":"end"}',
      ]);
      expect(summary.droppedLines).toBe(0);
    }
  });

  it("over 1 MiB are dropped and counted, and the next one is delivered", () => {
    for (const bound of [4_096, 8_388_608]) {
      const { lines, summary } = capture(
        inPieces(Buffer.from(`{"a":1}\n{"big":"${"x".repeat(1_100_000)}"}\n{"b":2}\n`), 65_536),
        bound,
      );
      expect(lines).toEqual(['{"a":1}', '{"b":2}']);
      expect(summary.droppedLines).toBe(1);
    }
  });
});

describe("a flood", () => {
  it("of two gigabytes is counted in constant memory", () => {
    const chunk = Buffer.from("one line, written again and again\n".repeat(2_000)).subarray(0, 65_536);
    function* flood(): Iterable<Buffer> {
      for (let count = 0; count < 32_768; count += 1) yield chunk;
    }
    const before = process.memoryUsage().rss;
    const { summary } = capture(flood());
    expect(summary.bytes).toBe(2_147_483_648);
    expect(summary.keptBytes).toBe(1_048_576);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1_048_576);
  });

  it("without any line end is too", () => {
    const chunk = Buffer.alloc(65_536, "x");
    function* flood(): Iterable<Buffer> {
      for (let count = 0; count < 4_096; count += 1) yield chunk;
    }
    const { summary, text, lines } = capture(flood(), 65_536);
    expect(summary.bytes).toBe(268_435_456);
    expect(text.length).toBeLessThan(66_000);
    expect(lines).toEqual([]);
    expect(summary.droppedLines).toBe(1);
  });
});

describe("a capture that cannot be written", () => {
  const stream = (path: string): Capture => new Capture({ path, maxBytes: 4_096, scanner });

  it("goes on counting and names path and errno", () => {
    for (const [path, code] of [
      [join(folder, "missing", "out.txt"), "ENOENT"],
      ["/dev/full", "ENOSPC"],
    ] as const) {
      const failing = stream(path);
      for (let round = 0; round < 100; round += 1) failing.push(Buffer.from(`${"x".repeat(1_000)}\n`));
      expect(failing.finish().bytes).toBe(100_100);
      expect(failing.fault).toEqual({ path, code });
    }
  });

  it("does not follow a symbolic link out of the folder", () => {
    mkdirSync(join(folder, "elsewhere"));
    const link = join(folder, "link.txt");
    symlinkSync(join(folder, "elsewhere", "target"), link);
    const failing = stream(link);
    failing.push(Buffer.from("line\n"));
    failing.finish();
    expect(failing.fault).toEqual({ path: link, code: "ELOOP" });
  });
});
