import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tooLargeFile } from "../../src/run/work-size.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

describe("a file of a job", () => {
  it("is too large above the bound, not at it, and named with its size", () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "at"), "12345");
    writeFileSync(join(root, "above"), "123456");
    expect(tooLargeFile(root, ["at"], 5)).toBeNull();
    expect(tooLargeFile(root, ["at", "above"], 5)).toBe(
      "`above` has 6 bytes, more than the 5 that a file of a job may have",
    );
  });

  it("is neither a folder, nor what a link leads to, nor one that is gone", () => {
    const root = temporaryFolder();
    const elsewhere = join(temporaryFolder(), "large");
    writeFileSync(elsewhere, "123456");
    symlinkSync(elsewhere, join(root, "link"));
    mkdirSync(join(root, "folder"));
    expect(tooLargeFile(root, ["link", "folder", "gone"], 5)).toBeNull();
  });
});
