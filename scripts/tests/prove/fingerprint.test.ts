import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Consumed, changedInputs, inputFingerprint, treeSha256 } from "../../src/prove/fingerprint.ts";

const CONSUMED: Consumed = {
  briefSha256: "b1",
  baseCommit: "c1",
  inputs: [
    { path: "a.txt", sha256: "1" },
    { path: "b c.txt", sha256: "2" },
  ],
  dependencies: [{ jobId: "dep", attempt: 1, treeSha256: "t", resultSha256: "r" }],
  invocation: null,
  verification: [{ command: "true", args: [] }],
};

describe("the fingerprint of what an attempt consumed", () => {
  it("does not depend on the order in which things are listed", () => {
    const turned = { ...CONSUMED, inputs: [...CONSUMED.inputs].reverse() };
    expect(inputFingerprint(turned)).toEqual(inputFingerprint(CONSUMED));
    expect(inputFingerprint(CONSUMED).sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[string, Partial<Consumed>, string[]]>([
    ["the brief", { briefSha256: "b2" }, ["the brief changed"]],
    ["the base", { baseCommit: "c2" }, ["the base commit changed"]],
    ["no base any more", { baseCommit: null }, ["the base commit changed"]],
    [
      "an input",
      {
        inputs: [
          { path: "a.txt", sha256: "9" },
          { path: "b c.txt", sha256: "2" },
        ],
      },
      ["input `a.txt` changed"],
    ],
    ["fewer inputs", { inputs: [{ path: "a.txt", sha256: "1" }] }, ["input `b c.txt` is gone"]],
    [
      "a dependency's attempt",
      { dependencies: [{ jobId: "dep", attempt: 2, treeSha256: "t", resultSha256: "r" }] },
      ["dependency `dep` changed"],
    ],
    [
      "a dependency's tree",
      { dependencies: [{ jobId: "dep", attempt: 1, treeSha256: "u", resultSha256: "r" }] },
      ["dependency `dep` changed"],
    ],
    [
      "a new dependency",
      {
        dependencies: [
          ...CONSUMED.dependencies,
          { jobId: "d2", attempt: 1, treeSha256: null, resultSha256: null },
        ],
      },
      ["dependency `d2` is new"],
    ],
    ["the invocation", { invocation: { command: "x" } }, ["the invocation changed"]],
    ["the checks", { verification: [{ command: "false", args: [] }] }, ["the verification commands changed"]],
  ])("tells that %s changed", (_, change, reasons) => {
    const before = inputFingerprint(CONSUMED);
    const now = inputFingerprint({ ...CONSUMED, ...change });
    expect(now.sha256).not.toBe(before.sha256);
    expect(changedInputs(before.parts, now.parts)).toEqual(reasons);
  });

  it("tells nothing when nothing changed", () => {
    expect(changedInputs(inputFingerprint(CONSUMED).parts, inputFingerprint(CONSUMED).parts)).toEqual([]);
  });
});

describe("the digest of a tree outside a worktree", () => {
  it("depends on paths and contents, not on their order", () => {
    const file = fc.record({
      path: fc.string({ minLength: 1 }),
      sha256: fc.option(fc.constantFrom("1", "2")),
    });
    fc.assert(
      fc.property(fc.uniqueArray(file, { selector: (f) => f.path, maxLength: 6 }), (files) => {
        expect(treeSha256([...files].reverse())).toBe(treeSha256(files));
        const [first, ...rest] = files;
        if (first === undefined) return;
        expect(treeSha256(rest)).not.toBe(treeSha256(files));
        expect(treeSha256([{ ...first, sha256: "other" }, ...rest])).not.toBe(treeSha256(files));
      }),
      { seed: 11, numRuns: 200 },
    );
  });
});

describe("digests that do not depend on how they were gathered", () => {
  it("list what changed by name", () => {
    expect(
      changedInputs({ "input z": "1", "input b": "1", brief: "1" }, { "input a": "1", brief: "2" }),
    ).toEqual(["the brief changed", "input `a` is new", "input `b` is gone", "input `z` is gone"]);
  });

  it("are of the last word on a path, in the order of paths", () => {
    const file = (path: string, sha256: string | null) => ({ path, sha256 });
    const sorted = treeSha256([file("a", "1"), file("b", null), file("c", "3")]);
    for (const files of [
      [file("c", "3"), file("b", null), file("a", "1")],
      [file("b", null), file("c", "3"), file("a", "1")],
      [file("a", "0"), file("c", "3"), file("a", "1"), file("b", null)],
    ])
      expect(treeSha256(files)).toBe(sorted);
    expect(treeSha256([file("a", "1"), file("b", null), file("c", "4")])).not.toBe(sorted);
    // The canonical list itself, so that recorded digests stay valid.
    expect(sorted).toBe(createHash("sha256").update('[["a","1"],["b",null],["c","3"]]').digest("hex"));
  });
});
