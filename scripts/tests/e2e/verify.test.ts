/** `verify`: what was judged once is judged again, on what is there now. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

async function finished() {
  const repo = throwawayRepo({ "README.md": "# verify\n", "check.sh": "grep -q done out/note.txt\n" });
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const job = {
    id: "write",
    task: "implement",
    runtime: "sh",
    isolation: "worktree",
    prompt: "write it",
    expected_output: "out/note.txt",
    owned_paths: ["out/**"],
    outputs: [{ path: "out/note.txt" }],
    invocation: { command: "sh", args: ["-c", "mkdir -p out && echo done > out/note.txt"] },
    verification: [{ command: "sh", args: ["check.sh"] }],
  };
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, defaults: { timeout: "1m" }, jobs: [job] }),
  );
  repo.commit("spec");
  const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
  const verify = async () => {
    const { code, stdout } = await tool().run(["verify", runDir], { cwd: repo.path });
    return { code, lines: stdout.trimEnd().split("\n") };
  };
  return { repo, runDir, verify, worktree: stateOf(runDir).jobs["write"]?.worktree as string };
}

describe("verify", () => {
  it("holds while everything is as it was judged, and names the file that is not", async () => {
    const { verify, worktree } = await finished();
    const first = await verify();
    expect(first.code).toBe(0);
    expect(first.lines.at(-1)).toMatch(/^\d+ checked, 0 no longer hold$/);
    expect(first.lines).toContain("ok   write artifact out/note.txt: the same bytes as recorded");
    expect(first.lines).toContain("ok   write boundary: the branch changes only what the job may write");

    writeFileSync(join(worktree, "out/note.txt"), "done, and more\n");
    const second = await verify();
    expect(second.code).toBe(1);
    expect(second.lines).toHaveLength(2);
    expect(second.lines[0]).toMatch(
      /^FAIL write artifact out\/note\.txt: `.*\/out\/note\.txt` changed: recorded [0-9a-f]{12}…, now [0-9a-f]{12}…$/,
    );
  });

  it("sees a check script that says something else now", async () => {
    const { verify, worktree } = await finished();
    writeFileSync(join(worktree, "check.sh"), "exit 0\n");
    const again = await verify();
    expect(again.code).toBe(1);
    expect(again.lines[0]).toBe(
      "FAIL write script check.sh: `check.sh` decides what a check does and changed: the pass says nothing any more",
    );
  });

  it("looks into the branch when the worktree was cleaned away", async () => {
    const { repo, runDir, verify, worktree } = await finished();
    repo.git("worktree", "remove", "--force", worktree);
    const again = await verify();
    expect([again.code, again.lines.filter((line) => line.startsWith("FAIL"))]).toEqual([0, []]);
    const branch = stateOf(runDir).jobs["write"]?.branch as string;
    expect(repo.git("show", `${branch}:out/note.txt`)).toBe("done");
  });
});
