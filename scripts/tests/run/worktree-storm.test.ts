import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createWorktree } from "../../src/run/worktree.ts";
import { runProgram } from "../support/program.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";

const soak = process.env["ORCHESTRATE_SOAK"] === "1";

it(
  "parallel creation and removal from several processes never fails and leaves nothing behind",
  async () => {
    const files = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`dir${i % 7}/file${i}.txt`, `${i}\n`]),
    );
    const repo = throwawayRepo(files);
    const each = soak ? 250 : 6;
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map((name) =>
        runProgram("worktree-storm", [repo.path, repo.commonDir, repo.head(), name, String(each), "4"]),
      ),
    );
    expect(answers.map((answer) => JSON.parse(answer))).toEqual(Array(4).fill({ made: each, faults: [] }));
    expect(readdirSync(join(repo.path, "..", "worktrees"))).toEqual([]);
    expect(repo.git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
    expect(repo.git("for-each-ref", "refs/heads/orchestrate")).toBe("");
    expect(repo.git("for-each-ref", "--format=%(refname)", "refs/orchestrate").split("\n")).toHaveLength(
      4 * each,
    );
  },
  soak ? 3_600_000 : 120_000,
);

it("twenty at once in one process all succeed, each at the base", async () => {
  const repo = throwawayRepo({ "a.txt": "a\n" });
  const base = repo.head();
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      createWorktree({
        repo: repo.path,
        commonDir: repo.commonDir,
        path: join(repo.path, "..", "wt", `${i}`),
        branch: `orchestrate/r/${i}`,
        baseCommit: base,
        mergeCommits: [],
      }),
    ),
  );
  expect(made.map((result) => (result.ok ? result.value.baseCommit : result.error))).toEqual(
    Array(20).fill(base),
  );
});
