import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compareFingerprints } from "../../src/run/changes.ts";
import { takeFingerprint } from "../../src/run/measure.ts";
import { reversePatch } from "../../src/run/reverse-patch.ts";
import type { ThrowawayRepo } from "../support/repo-at.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { value } from "../support/worktrees.ts";

async function patchOf(repo: ThrowawayRepo, work: () => void) {
  const options = { root: repo.path, repo: { gitDir: repo.commonDir }, exclude: [] };
  const before = await takeFingerprint(options);
  work();
  const changes = compareFingerprints(before, await takeFingerprint({ ...options, previous: before }));
  return value(await reversePatch({ root: repo.path, gitDir: repo.commonDir, before, changes }));
}

it("takes edits, new files, deletions, modes and links back, binary content included", async () => {
  const repo = throwawayRepo({
    "a.txt": "a\n",
    "new\nline.txt": "n\n",
    "gone.bin": "\0\x01\x02",
    "run.sh": "x\n",
  });
  const { patch, missing } = await patchOf(repo, () => {
    repo.write("a.txt", "changed\n");
    repo.write("new\nline.txt", "changed\n");
    repo.write("sub/fresh.txt", "fresh\n");
    rmSync(join(repo.path, "gone.bin"));
    chmodSync(join(repo.path, "run.sh"), 0o755);
    symlinkSync("a.txt", join(repo.path, "link"));
  });
  expect(missing).toEqual([]);
  const file = join(temporaryFolder(), "reverse.patch");
  writeFileSync(file, patch);
  repo.git("apply", file);
  expect(repo.git("status", "--porcelain")).toBe("");
  expect(existsSync(join(repo.path, "sub/fresh.txt"))).toBe(false);
});

it("leaves the user's own uncommitted work in place and names what it cannot take back", async () => {
  const repo = throwawayRepo({ "a.txt": "a\n", "b.txt": "b\n", ".gitignore": "*.log\n" });
  repo.write("a.txt", "the user's\n");
  repo.write("x.log", "1\n");
  const { patch, missing } = await patchOf(repo, () => {
    repo.write("a.txt", "the job's\n");
    repo.write("b.txt", "the job's\n");
    repo.write("x.log", "2\n");
  });
  expect(missing).toEqual(["a.txt", "x.log"]);
  const file = join(temporaryFolder(), "reverse.patch");
  writeFileSync(file, patch);
  repo.git("apply", file);
  expect([
    readFileSync(join(repo.path, "a.txt"), "utf8"),
    readFileSync(join(repo.path, "b.txt"), "utf8"),
  ]).toEqual(["the job's\n", "b\n"]);
});

it("is empty when nothing changed, and leaves no index behind", async () => {
  const repo = throwawayRepo({ "a.txt": "a\n" });
  expect(await patchOf(repo, () => {})).toEqual({ patch: Buffer.alloc(0), missing: [] });
  expect(existsSync(join(repo.commonDir, `orchestrate-reverse-${process.pid}.index`))).toBe(false);
});
