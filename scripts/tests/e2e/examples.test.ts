/** The example specs, as the README runs them: exit code, what became of each job, and how the report begins. */
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

/** A clone of what the examples need: they live in the repository they work on. */
function clone() {
  const repo = throwawayRepo({ "README.md": "# clone\n" });
  cpSync(join(ROOT, "examples"), join(repo.path, "examples"), { recursive: true });
  repo.commit("examples");
  return repo;
}

const reportHead = (runDir: string): string[] =>
  readFileSync(join(runDir, "report.md"), "utf8").split("\n").slice(0, 3);

describe("the example specs", () => {
  it("research fans out, puts the findings together and ends accepted", async () => {
    const { path } = clone();
    const run = await tool().json(["run", "examples/research.yaml"], { cwd: path });
    const state = stateOf(runDirOf(run));
    expect(standingOf(state)).toEqual({
      "scout-write-through": "success, accepted",
      "scout-write-back": "success, accepted",
      "scout-cache-aside": "success, accepted",
      compare: "success, accepted",
    });
    expect(run.code).toBe(0);
    expect(state.status).toBe("accepted");
    expect(state.mock).toBe(true);
    expect(reportHead(runDirOf(run)).join("\n")).toContain("accepted");
    const brief = readFileSync(join(runDirOf(run), "compare", "prompt.md"), "utf8");
    expect(brief).toContain("a crash loses what was not flushed");
    expect(existsSync(join(runDirOf(run), "report.html"))).toBe(true);
  });

  it("two writers work in worktrees of their own, a test job starts from both, a review covers them", async () => {
    const { path, git } = clone();
    const run = await tool().json(["run", "examples/implement-review.yaml"], { cwd: path });
    const state = stateOf(runDirOf(run));
    expect(standingOf(state)).toEqual({
      "implement-add": "success, accepted",
      "implement-subtract": "success, accepted",
      test: "success, accepted",
      review: "success, accepted",
    });
    expect(run.code).toBe(0);
    // The two writers run at the same time, which makes them R2; the test job runs alone and keeps its own tier.
    for (const [id, tier] of [
      ["implement-add", "R2"],
      ["implement-subtract", "R2"],
      ["test", "R1"],
    ] as const) {
      const job = state.jobs[id];
      expect(job?.riskTier).toBe(tier);
      expect(job?.worktree).toBe(join(runDirOf(run), "worktrees", id));
      expect(git("rev-parse", `refs/heads/${job?.branch}`)).toBe(job?.attemptRecords.at(-1)?.commit);
    }
    const merged = git(
      "ls-tree",
      "-r",
      "--name-only",
      `refs/heads/${state.jobs["test"]?.branch}`,
      "examples/calculator",
    );
    expect(merged.split("\n")).toEqual([
      "examples/calculator/README.md",
      "examples/calculator/src/add.mjs",
      "examples/calculator/src/subtract.mjs",
      "examples/calculator/test/calculator.test.mjs",
    ]);
    expect(existsSync(join(path, "examples/calculator/src"))).toBe(false);
    expect(git("status", "--porcelain")).toBe("");
  });

  it("a failing check blocks what depends on it, lets the rest go on, and is reported", async () => {
    const { path } = clone();
    const run = await tool().json(["run", "examples/fails-in-the-middle.yaml"], { cwd: path });
    const state = stateOf(runDirOf(run));
    expect(standingOf(state)).toEqual({
      collect: "success, accepted",
      convert: "failed, failed",
      "publish-notes": "blocked, blocked",
      summarize: "success, accepted",
    });
    expect(state.jobs["convert"]?.attemptRecords[0]?.failureClass).toBe("TEST_FAILURE");
    expect(state.jobs["publish-notes"]?.block).toMatchObject({ code: "dependency-failed" });
    expect(run.code).toBe(1);
    expect(state.status).toBe("ended");
    expect(run.next.map((action) => action.action)).toEqual(["read_report"]);
    expect(readFileSync(join(runDirOf(run), "report.md"), "utf8")).toContain(
      "the list is not in the agreed form",
    );
  });

  it("the brief's spec waits for a harness, says so, and goes on when one answers", async () => {
    const { path } = clone();
    const waiting = await tool().json(["run", "examples/sample.yaml"], { cwd: path });
    expect(waiting.code).toBe(3);
    expect(stateOf(runDirOf(waiting)).jobs["scout-session-api"]?.block?.code).toBe("no-harness");

    const asked = await tool().json(["run", "examples/sample.yaml", "--harness", "claude", "--subagents"], {
      cwd: path,
    });
    expect(asked.code).toBe(3);
    const action = asked.next.find((next) => next.action === "dispatch_native");
    expect(action).toMatchObject({ jobId: "scout-session-api", attempt: 1, cwd: path });
    expect(readFileSync(action?.promptFile as string, "utf8")).toContain(
      "Inspect the session API and report extension points.",
    );
  });
});
