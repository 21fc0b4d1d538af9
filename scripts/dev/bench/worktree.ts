/**
 * Do worktrees of one repository come to be whatever is added at the same time? Plain `git worktree add` fails for some
 * in a hundred at eight at once.
 *
 *   npx tsx scripts/dev/bench/worktree.ts [--files 200] [--adds 64] [--at-once 8]
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWorktree } from "../../src/run/worktree.ts";
import { figure, option } from "./measure.ts";

const files = Number(option("files", "200"));
const adds = Number(option("adds", "64"));
const atOnce = Number(option("at-once", "8"));
const root = mkdtempSync(join(tmpdir(), "bench-worktree-"));
const repo = join(root, "repo");
const git = (...args: string[]): string =>
  execFileSync(
    "git",
    ["-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", ...args],
    {
      encoding: "utf8",
    },
  ).trim();

try {
  mkdirSync(repo);
  git("init", "-q");
  for (let number = 0; number < files; number += 1) writeFileSync(join(repo, `${number}.txt`), `${number}\n`);
  git("add", "-A");
  git("commit", "-qm", "files");
  const baseCommit = git("rev-parse", "HEAD");
  let next = 0;
  let failed = 0;
  const lane = async (): Promise<void> => {
    while (next < adds) {
      const number = next;
      next += 1;
      const made = await createWorktree({
        repo,
        commonDir: join(repo, ".git"),
        path: join(root, `w${number}`),
        branch: `orchestrate/bench/${number}`,
        baseCommit,
        mergeCommits: [],
      });
      if (!made.ok) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  console.log(`${adds} worktrees of ${files} files, ${atOnce} at once: ${failed} failed`);
  figure({
    name: `worktrees that failed, of ${adds} at ${atOnce} at once`,
    value: failed,
    unit: "",
    limit: 0,
  });
} finally {
  rmSync(root, { recursive: true, force: true });
}
