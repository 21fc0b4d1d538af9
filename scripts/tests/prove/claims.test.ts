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
