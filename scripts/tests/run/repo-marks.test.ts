/** What moved in a repository besides the product's own branches, told by name and never by more than a look before and after. */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { movedMarks, takeRepoMarks } from "../../src/run/repo-marks.ts";
import type { ThrowawayRepo } from "../support/repo-at.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { finishedJob } from "../support/worktrees.ts";

const marksOf = (repo: ThrowawayRepo) =>
  takeRepoMarks({ repo: repo.path, gitDir: repo.commonDir, commonDir: repo.commonDir });

async function movedBy(work: (repo: ThrowawayRepo, first: string) => unknown): Promise<string[]> {
  const repo = throwawayRepo({ "a.txt": "a\n" });
  const first = repo.head();
  repo.git("tag", "old");
  const before = await marksOf(repo);
  await work(repo, first);
  return movedMarks(before, await marksOf(repo));
}

describe("what moved in the repository", () => {
  it("is nothing when only the product's own branches and snapshots, remotes and the work tree changed", async () => {
    const moved = await movedBy(async (repo, first) => {
      await finishedJob(repo, "work", { "b.txt": "b\n" });
      repo.git("update-ref", "refs/orchestrate/run/work/attempt-1", first);
      repo.git("update-ref", "refs/remotes/origin/main", first);
      repo.git("pack-refs", "--all");
      repo.write("a.txt", "changed\n");
    });
    expect(moved).toEqual([]);
  });

  it("is named with both ends: a branch that moved, a tag that is gone, a stash that is new", async () => {
    const ids = { first: "", second: "", stash: "" };
    const moved = await movedBy((repo, first) => {
      const branch = repo.git("symbolic-ref", "HEAD");
      repo.write("a.txt", "stashed\n");
      repo.git("stash");
      Object.assign(ids, { first, stash: repo.git("rev-parse", "refs/stash"), branch });
      ids.second = repo.git("commit-tree", "-p", first, "-m", "x", `${first}^{tree}`);
      repo.git("update-ref", branch, ids.second);
      repo.git("tag", "-d", "old");
    });
    const short = (id: string) => id.slice(0, 12);
    expect(moved).toEqual([
      expect.stringMatching(
        new RegExp(`^\`refs/heads/\\w+\` \\(${short(ids.first)} to ${short(ids.second)}\\)$`),
      ),
      `\`refs/stash\` (new at ${short(ids.stash)})`,
      `\`refs/tags/old\` (gone, was ${short(ids.first)})`,
    ]);
  });

  it.each<[string, string, (repo: ThrowawayRepo) => unknown]>([
    [
      "settings",
      "the settings in `.git/config`",
      (repo) => repo.git("config", "core.hooksPath", "/tmp/elsewhere"),
    ],
    [
      "the checkout's branch",
      "the checkout's `HEAD`",
      (repo) => repo.git("symbolic-ref", "HEAD", "refs/heads/other"),
    ],
    [
      "a hook",
      "the hooks in `.git/hooks`",
      (repo) => chmodSync(repo.write(".git/hooks/post-commit", "#!/bin/sh\n"), 0o755),
    ],
    [
      "settings of one worktree",
      "the settings in `.git/config.worktree`",
      (repo) => writeFileSync(join(repo.commonDir, "config.worktree"), "[core]\n"),
    ],
  ])("says so of %s", async (_, phrase, work) => {
    expect(await movedBy(work)).toEqual([phrase]);
  });

  it("is told even of a repository that was made unreadable, without waiting for a pipe", async () => {
    const moved = await movedBy((repo) => {
      rmSync(join(repo.commonDir, "HEAD"));
      rmSync(join(repo.commonDir, "config.worktree"), { force: true });
      execFileSync("mkfifo", [join(repo.commonDir, "config.worktree")]);
    });
    expect(moved).toEqual([
      "the branches and tags, which git does not list any more",
      "the checkout's `HEAD`",
      "the settings in `.git/config.worktree`",
    ]);
  });
});
