/** Run directories: named by the second, never shared, found by path, by id, or as the newest. */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRunDir, findRunDir } from "../../src/coordinator/run-dir.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const make = (root: string, requested: string | null = null) =>
  createRunDir({ root, requested, cwd: root, now: NOW });

describe("a run directory", () => {
  it("is named by the UTC second, private, and ignored by git", () => {
    const root = temporaryFolder();
    const made = make(root);
    expect(made).toMatchObject({
      ok: true,
      value: {
        runId: "orchestrate-20260102-030405",
        path: join(root, "plans/reports/orchestrate-20260102-030405"),
      },
    });
    if (!made.ok) return;
    expect(statSync(made.value.path).mode & 0o777).toBe(0o700);
    expect(statSync(join(made.value.path, ".gitignore")).size).toBe(2);
  });

  it("of the same second gets a number, and the highest number is the newest", () => {
    const root = temporaryFolder();
    for (let n = 0; n < 11; n++) make(root);
    const found = findRunDir({ which: undefined, root, cwd: root });
    expect(found).toMatchObject({ ok: true, value: { runId: "orchestrate-20260102-030405-11" } });
  });

  it("that was asked for by name must be new or empty", () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "empty"));
    expect(make(root, "empty").ok).toBe(true);
    mkdirSync(join(root, "full"));
    writeFileSync(join(root, "full/x"), "");
    expect(make(root, "full")).toEqual({
      ok: false,
      error: {
        code: "run-dir-exists",
        message: "`full` already holds a run or other files.",
        fix: "Name a folder that does not exist yet. If it holds a run, `resume` goes on with that one.",
      },
    });
  });

  it("is found by path and by id, and a wrong name says where was looked", () => {
    const root = temporaryFolder();
    make(root);
    const id = "orchestrate-20260102-030405";
    expect(findRunDir({ which: id, root, cwd: root }).ok).toBe(true);
    expect(findRunDir({ which: join("plans/reports", id), root, cwd: root }).ok).toBe(true);
    expect(findRunDir({ which: "nope", root, cwd: root })).toEqual({
      ok: false,
      error: {
        code: "run-not-found",
        message: `\`nope\` is neither a run directory nor the id of a run below \`${join(root, "plans/reports")}\`.`,
        fix: "Give the path that `run` printed, or leave it out to mean the newest run.",
      },
    });
  });

  it("that nobody made yet is no crash", () => {
    const root = temporaryFolder();
    expect(findRunDir({ which: undefined, root, cwd: root })).toMatchObject({
      ok: false,
      error: { code: "run-not-found" },
    });
  });
});
