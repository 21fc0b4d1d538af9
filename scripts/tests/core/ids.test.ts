/** Ids are folder names: two that are accepted never share a folder, on any file system, and none leads out of its own. */
import { posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jobIdProblem } from "../../src/core/ids.ts";
import { PROPERTY } from "../support/property.ts";

const PAIRS = process.env["ORCHESTRATE_SOAK"] === "1" ? 100_000 : 10_000;

/** Mostly nearly an id, so that the rule is asked where it is close. */
const nearlyId = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9._-]{1,8}$/),
  fc.string({
    unit: fc.constantFrom("a", "A", "é", "e\u0301", ".", "-", "_", " ", "/", "\\", "\0", "\n", "0", "ſ", "K"),
    maxLength: 5,
  }),
  fc.constantFrom(
    "con",
    "nul",
    "aux.txt",
    "com1",
    "a.lock",
    "a.",
    "a..b",
    "..",
    ".",
    "lock",
    "inbox",
    "arbiter-1",
    "attempt-2",
  ),
);

/** How the least particular file system compares two names. */
const folded = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[. ]+$/, "");

describe("a job id", () => {
  it(`never shares a folder with another one (${PAIRS} pairs)`, () => {
    fc.assert(
      fc.property(nearlyId, nearlyId, (a, b) => {
        if (a === b || jobIdProblem(a) !== null || jobIdProblem(b) !== null) return;
        expect(folded(a)).not.toBe(folded(b));
      }),
      { ...PROPERTY, numRuns: PAIRS },
    );
  });

  it("never leads out of its folder, on any system", () => {
    fc.assert(
      fc.property(nearlyId, (id) => {
        if (jobIdProblem(id) !== null) return;
        expect(posix.join("/run", id)).toBe(`/run/${id}`);
        expect(win32.join("C:\\run", id)).toBe(`C:\\run\\${id}`);
        expect(Buffer.byteLength(id)).toBeLessThanOrEqual(64);
      }),
      { ...PROPERTY, numRuns: PAIRS },
    );
  });

  it.each([
    "../a",
    "a/b",
    "a\\b",
    "/a",
    ".",
    "..",
    "",
    ".a",
    "a.",
    "a..b",
    "a ",
    "a\n",
    "a\0",
    "A",
    "é",
    "e\u0301",
    "ａ",
    "a".repeat(65),
    "a".repeat(300),
    "con",
    "nul",
    "aux",
    "prn",
    "com1",
    "lpt9",
    "con.txt",
    "x.lock",
    "state.json",
    "jobs.yaml",
    "lock",
    "inbox",
    "worktrees",
    "supervisor",
    "arbiter",
    "arbiter-2",
    "attempt-1",
  ])("%j is refused", (id) => {
    expect(jobIdProblem(id)).not.toBeNull();
  });
});
