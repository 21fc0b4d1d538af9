import { describe, expect, it } from "vitest";
import { findClaims, trailingQuestion } from "../../src/prove/claims.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);

describe("claims that leave no room for another reading", () => {
  it.each([
    [`${A}  out/report.md`, { kind: "hash", subject: "out/report.md", claimed: A }],
    [`${A.toUpperCase()} *bin/tool`, { kind: "hash", subject: "bin/tool", claimed: A }],
    [`SHA256 (a.txt) = ${A}`, { kind: "hash", subject: "a.txt", claimed: A }],
    [`- \`a.txt\`: sha256 \`${A}\``, { kind: "hash", subject: "a.txt", claimed: A }],
    [`| \`a.txt\` | SHA-256: ${A} |`, { kind: "hash", subject: "a.txt", claimed: A }],
    ["- Created `src/a.ts`", { kind: "file-created", subject: "src/a.ts", claimed: "exists" }],
    [
      "* wrote the new file `notes.md` — a summary",
      { kind: "file-created", subject: "notes.md", claimed: "exists" },
    ],
    ["- Removed `old/b.py`.", { kind: "file-deleted", subject: "old/b.py", claimed: "absent" }],
    ["- `npm test`: passed", { kind: "check-passed", subject: "npm test", claimed: "passed" }],
    ["| `npm test` | fail |", { kind: "check-failed", subject: "npm test", claimed: "failed" }],
    ["`make check` → exit code 2", { kind: "check-failed", subject: "make check", claimed: "failed" }],
    ["- `make check` exited with 0", { kind: "check-passed", subject: "make check", claimed: "passed" }],
  ])("%s", (line, claim) => {
    expect(findClaims(`Report\n\n${line}\n`)).toEqual([claim]);
  });

  it("are found in an answer that is one JSON document", () => {
    const text = JSON.stringify({
      files: [
        { path: "a.txt", sha256: A },
        { file: "b.txt", sha256: B },
      ],
    });
    expect(findClaims(text)).toEqual([
      { kind: "hash", subject: "b.txt", claimed: B },
      { kind: "hash", subject: "a.txt", claimed: A },
    ]);
    expect(findClaims(`\`\`\`json\n${text}\n\`\`\``)).toHaveLength(2);
  });

  it("count by their last word", () => {
    expect(findClaims("- `npm test`: failed\n\nThen I fixed it.\n\n- `npm test`: passed\n")).toEqual([
      { kind: "check-passed", subject: "npm test", claimed: "passed" },
    ]);
  });
});

describe("prose is no claim", () => {
  it.each([
    "I created `src/a.ts` and ran the tests.",
    "- Updated `src/a.ts`",
    "- Created `feature/login`",
    "- Added `Array.from`",
    "- Removed `foo.ts` from the index",
    "- Created `src/*.ts`",
    "- `npm test` passed before my change",
    "- `npm test`: failed (at first)",
    "- Initially `npm test`: failed",
    `The old digest was ${A}  a.txt`,
    `- \`a.txt\` was: sha256 ${A}`,
    `${A.slice(1)}  short.txt`,
    "- Created `https://example.invalid/a.md`",
    "- Created `two words.md`",
    "{ not json",
    "",
  ])("%s", (line) => {
    expect(findClaims(line)).toEqual([]);
  });

  it("nor is what stands in a code block, but for digests", () => {
    expect(findClaims(`\`\`\`\n- Created \`a.md\`\n- \`npm test\`: failed\n${A}  b.txt\n\`\`\`\n`)).toEqual([
      { kind: "hash", subject: "b.txt", claimed: A },
    ]);
  });

  it("and a hostile text costs little", () => {
    const started = performance.now();
    for (const text of [
      "`".repeat(200_000),
      "- Created ".repeat(20_000),
      `${"a".repeat(64)} `.repeat(3_000),
      "{".repeat(100_000),
      "- `x`".repeat(50_000),
    ])
      expect(findClaims(text).length).toBeLessThanOrEqual(200);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe("a question at the end", () => {
  it.each([
    ["Done.\n\nShall I continue?", "Shall I continue?"],
    ["Done. Do you want the tests too?", "Do you want the tests too?"],
    ["**Which one do you prefer?**", "**Which one do you prefer?"],
    ["続けますか？", "続けますか？"],
    ["> Is this right?\n", "> Is this right?"],
  ])("%j ends with one", (text, question) => {
    expect(trailingQuestion(text)).toBe(question);
  });

  it.each(["Done.", "Why? Because.", "```\nx = y?\n```", "", "Asked: why?\n\nAnswered: because."])(
    "%j does not",
    (text) => {
      expect(trailingQuestion(text)).toBe(null);
    },
  );

  it("is cut to a bound", () => {
    expect(trailingQuestion(`${"x".repeat(2_000)}?`)).toHaveLength(500);
  });
});

describe("the edges of a claim", () => {
  const found = (text: string): string[] =>
    findClaims(text).map(({ kind, subject, claimed }) => `${kind} ${subject} ${claimed}`);
  const sum = (path: string): string => `${A}  ${path}`;

  it("is one of at most two hundred, in lines that a person would write", () => {
    const many = Array.from({ length: 250 }, (_, n) => sum(`f${n}`));
    expect(found(many.join("\n"))).toHaveLength(200);
    expect(found(many.slice(0, 200).join("\n"))).toHaveLength(200);
    const documents = { files: Array.from({ length: 250 }, (_, n) => ({ path: `f${n}`, sha256: A })) };
    expect(found(JSON.stringify(documents))).toHaveLength(200);
    const padded = (length: number): string => sum("a.txt").padEnd(length);
    expect(found(padded(2_000))).toEqual([`hash a.txt ${A}`]);
    expect(found(padded(2_001))).toEqual([]);
  });

  it("is taken from a fence only where it is a digest, and a fence begins at the start of a line", () => {
    const created = "- Created `src/a.ts`";
    expect(found(`\`\`\`\n${created}\n\`\`\``)).toEqual([]);
    expect(found(`  ~~~\n${created}\n  ~~~\n${created}`)).toEqual(["file-created src/a.ts exists"]);
    expect(found(`see \`\`\`\n${created}`)).toEqual(["file-created src/a.ts exists"]);
    expect(found(`\`\`\`\n${sum("a.txt")}\n\`\`\``)).toEqual([`hash a.txt ${A}`]);
  });

  it("is about a path, not about a pattern, an option, an address or a call", () => {
    for (const path of [
      "a*.txt",
      "a?.txt",
      "-a.txt",
      "http://x/a.txt",
      "a().txt",
      "a b.txt",
      "a|b.txt",
      '"a".txt',
    ])
      expect(found(`- Created \`${path}\``), path).toEqual([]);
    for (const path of ["a-b.txt", "src/x-y/z.txt", "x/y:z.txt"])
      expect(found(`- Created \`${path}\``), path).toEqual([`file-created ${path} exists`]);
    const long = (length: number): string => `${"a".repeat(length - 4)}.txt`;
    expect(found(`- Created \`${long(500)}\``)).toHaveLength(1);
    expect(found(`- Created \`${long(501)}\``)).toEqual([]);
    expect(found("- Created `folder`")).toEqual([]);
  });

  it("tells what was removed from what was made", () => {
    expect(found("- removed `a.txt`\n- Deleted `b.txt`\n- Added `c.txt`\n- Generated `d.txt`")).toEqual([
      "file-deleted a.txt absent",
      "file-deleted b.txt absent",
      "file-created c.txt exists",
      "file-created d.txt exists",
    ]);
  });

  it("reads a result by its word or its whole exit code", () => {
    expect(
      found("`a`: exit 10\n`b`: exit code 00\n`c`: ok\n`d`: passes\n`e`: fails\n`f`: exited with 20"),
    ).toEqual([
      "check-failed a failed",
      "check-passed b passed",
      "check-passed c passed",
      "check-passed d passed",
      "check-failed e failed",
      "check-failed f failed",
    ]);
  });

  it("keeps claims on files and on checks apart, also of the same name", () => {
    expect(found("- Created `check.sh`\n`check.sh`: passed\n`check.sh`: failed")).toEqual([
      "file-created check.sh exists",
      "check-failed check.sh failed",
    ]);
    expect(found("- Created `check.sh`\n- Removed `check.sh`")).toEqual(["file-deleted check.sh absent"]);
  });

  it("reads ten as no success, and no other word as one", () => {
    expect(found("`a`: exit 01")).toEqual(["check-failed a failed"]);
    expect(found("`a`: exit code: 0")).toEqual(["check-passed a passed"]);
    expect(found("x`a`: passed")).toEqual([]);
    expect(found("`src/http://x/a.txt`: passed")).toHaveLength(1);
    expect(found("- Created `src/http://x/a.txt`")).toEqual(["file-created src/http://x/a.txt exists"]);
  });

  it("takes a file name for the path where there is no path, and nothing else", () => {
    expect(found(JSON.stringify({ path: 1, file: "b.txt", sha256: A }))).toEqual([`hash b.txt ${A}`]);
    expect(found(JSON.stringify({ path: {}, sha256: [A] }))).toEqual([]);
    expect(found(JSON.stringify({ path: "a.txt", sha256: [A] }))).toEqual([]);
    expect(found(JSON.stringify({ path: [["a.txt"]], sha256: A }))).toEqual([]);
    expect(found(JSON.stringify(`x ${A}`))).toEqual([]);
    expect(found(`"${A}"`)).toEqual([]);
    expect(found("{ broken")).toEqual([]);
  });

  it("keeps the last word on a subject, each kind by itself", () => {
    expect(found("- Created `a.txt`\n- Removed `a.txt`\n`npm test`: failed\n`npm test`: passed")).toEqual([
      "file-deleted a.txt absent",
      "check-passed npm test passed",
    ]);
    expect(found(`- Created \`a.txt\`\n${sum("a.txt")}`)).toHaveLength(2);
  });

  it("is read from one JSON document, fenced or bare, and from nothing that only holds one", () => {
    const one = JSON.stringify({ path: "a.txt", sha256: A }, null, 1);
    const claim = [`hash a.txt ${A}`];
    for (const text of [
      one,
      ` \n${one}\n`,
      `[${one}]`,
      `\`\`\`json\n${one}\n\`\`\``,
      `\n\`\`\`\n${one}\n\`\`\`\n`,
    ])
      expect(found(text), text).toEqual(claim);
    for (const text of [
      `It says:\n\`\`\`json\n${one}\n\`\`\``,
      `\`\`\`json\n${one}\n\`\`\`\nDone.`,
      `x ${one}`,
      `${one} x`,
      `{${one}`,
    ])
      expect(found(text), text).toEqual([]);
  });

  it("needs a path and a whole digest as text, however deep, up to a bound", () => {
    for (const value of [
      { path: "a.txt", sha256: A.slice(1) },
      { path: "a.txt", sha256: `${A}a` },
      { path: "a.txt", sha256: `x${A}` },
      { path: "a.txt", sha256: 1 },
      { path: 1, sha256: A },
      { sha256: A },
      { path: "a.txt" },
      { path: "a b.txt", sha256: A },
      null,
      [null],
    ])
      expect(found(JSON.stringify(value)), JSON.stringify(value)).toEqual([]);
    const nested = (depth: number): string =>
      JSON.stringify(
        Array.from({ length: depth }).reduce<unknown>((value) => [value], { path: "a.txt", sha256: A }),
      );
    expect(found(nested(20))).toHaveLength(1);
    expect(found(nested(21))).toEqual([]);
  });
});

describe("the edges of a trailing question", () => {
  it("are those of the last sentence of the last paragraph, outside of code", () => {
    expect(trailingQuestion("Done. Is it right?")).toBe("Is it right?");
    expect(trailingQuestion("Done.  Is it\n right?  \n ")).toBe("Is it\n right?");
    expect(trailingQuestion("Is it right?\n\nDone.")).toBeNull();
    expect(trailingQuestion("Done.\n \nIs it right?")).toBe("Is it right?");
    expect(trailingQuestion("Done.\n\n \n\n  Is it right?")).toBe("Is it right?");
    expect(trailingQuestion("a?\n\n```\nb?\n```")).toBeNull();
    expect(trailingQuestion("```\nb?")).toBeNull();
    expect(trailingQuestion("Is ``` a fence?")).toBe("Is ``` a fence?");
    expect(trailingQuestion("Done.\n\n\n\nIs it right?")).toBe("Is it right?");
    expect(trailingQuestion("Done.\n \t \nIs it?")).toBe("Is it?");
    expect(trailingQuestion("\n\nIs it?\n\n")).toBe("Is it?");
    expect(trailingQuestion("")).toBeNull();
    expect(trailingQuestion(`${"x".repeat(600)}?`)).toBe(`${"x".repeat(499)}?`);
    expect(trailingQuestion("One? Two? Three?")).toBe("Three?");
  });
});
