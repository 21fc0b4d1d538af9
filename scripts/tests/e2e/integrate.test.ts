/** Work of several writers together: tried before anybody judges it, brought into the user's branch, and taken back. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

const writer = (id: string, path: string, content: string, more: object = {}): object => ({
  id,
  runtime: "mock",
  task: "implement",
  effect: "high-impact-write",
  isolation: "worktree",
  prompt: "write it",
  expected_output: path,
  owned_paths: [path],
  checks: ["the file is right"],
  mock: [{ write: { path, content } }, { say: `wrote ${path}` }],
  ...more,
});

function scene(jobs: readonly object[], files: Record<string, string> = {}, top: object = {}) {
  const repo = throwawayRepo({ "README.md": "# union\n", ".gitignore": "plans/\n", ...files });
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "1m" }, ...top, jobs }),
  );
  repo.commit("spec");
  return repo;
}

describe("work of several writers, before anybody judges it", () => {
  it("is merged and checked together, and the arbiter is told", async () => {
    const check = { command: "sh", args: ["-c", "test ! -e left.txt || test -e right.txt || exit 0"] };
    const repo = scene([
      writer("left", "left.txt", "l\n", { verification: [check] }),
      writer("right", "right.txt", "r\n", { verification: [check] }),
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect(run.code).toBe(0);
    const brief = readFileSync(join(runDirOf(run), "arbiter-1/prompt.md"), "utf8");
    expect(brief).toContain("The coordinator merged the branches of `left`, `right` without a conflict");
    expect(brief).toContain("- ok: `verification:1` of `left`\n- ok: `verification:1` of `right`");
    expect(existsSync(join(runDirOf(run), "worktrees/_union"))).toBe(false);
    expect(repo.git("branch", "--list", "orchestrate/*/_*")).toBe("");
  }, 60_000);

  it("is nothing but their work: what the setup of each worktree leaves differs and travels nowhere", async () => {
    // As an installer does: a file of its own, one of the repository's, and a link that the ignore pattern misses.
    const setup =
      "pwd > gen.txt; pwd > lock.json; ln -s /tmp node_modules; mkdir -p built && pwd > built/out.txt";
    const uses = { command: "grep", args: ["-q", "worktrees", "gen.txt"] };
    const repo = scene(
      [
        writer("left", "left.txt", "l\n", { verification: [uses] }),
        writer("right", "right.txt", "r\n", {
          depends_on: [],
          owned_paths: ["right.txt", "built/**"],
          outputs: [{ path: "built/out.txt" }],
        }),
        writer("above", "above.txt", "a\n", { depends_on: ["left"] }),
      ],
      { "lock.json": "1\n", ".gitignore": "plans/\nnode_modules/\n" },
      { worktree_setup: [{ command: "sh", args: ["-c", setup], timeout: "30s" }] },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    const runDir = runDirOf(run);
    expect(standingOf(stateOf(runDir))).toEqual({
      left: "success, accepted",
      right: "success, accepted",
      above: "success, accepted",
    });
    const changed = (id: string): string[] => {
      const branch = stateOf(runDir).jobs[id]?.branch ?? "";
      return repo.git("diff", "--name-only", repo.head(), branch).split("\n");
    };
    expect(changed("left")).toEqual(["left.txt"]);
    expect(changed("right")).toEqual(["built/out.txt", "right.txt"]);
    expect(changed("above")).toEqual(["above.txt", "left.txt"]);
    const applied = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(applied.code).toBe(0);
    expect(readFileSync(join(repo.path, "lock.json"), "utf8")).toBe("1\n");
    expect(existsSync(join(repo.path, "gen.txt"))).toBe(false);
    expect(existsSync(join(repo.path, "above.txt"))).toBe(true);
  }, 120_000);

  it("is tried together in each repository of the run, and the arbiter is told of all of them", async () => {
    const other = throwawayRepo({ "README.md": "# another\n" });
    const there = { cwd: other.path };
    const repo = scene(
      [
        writer("left", "left.txt", "l\n"),
        writer("right", "right.txt", "r\n"),
        writer("up", "up.txt", "u\n", there),
        writer("down", "down.txt", "d\n", there),
      ],
      {},
      { workspace_roots: [".", other.path] },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect([run.code, run.diagnostics.map((one) => one.message)]).toEqual([0, []]);
    const brief = readFileSync(join(runDirOf(run), "arbiter-1/prompt.md"), "utf8");
    expect(brief).toContain("The coordinator merged the branches of `left`, `right` without a conflict");
    expect(brief).toContain("The coordinator merged the branches of `down`, `up` without a conflict");
  }, 60_000);

  it("fails its declarer where a check passes alone and not together, and rejects what stands on it", async () => {
    const alone = { command: "sh", args: ["-c", "test ! -e right.txt"] };
    const repo = scene([
      writer("left", "left.txt", "l\n", { verification: [alone] }),
      writer("right", "right.txt", "r\n"),
      { ...writer("above", "above.txt", "a\n"), depends_on: ["left"] },
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect(run.code).toBe(1);
    const state = stateOf(runDirOf(run));
    expect(standingOf(state)).toEqual({
      left: "failed, failed",
      right: "success, accepted",
      above: "success, rejected",
    });
    expect(state.jobs["left"]?.attemptRecords[0]).toMatchObject({
      status: "failed",
      reason: "union",
      failureClass: "TEST_FAILURE",
      detail: "Merged with `right`, `above`, `sh -c test ! -e right.txt` exited 1.",
    });
    expect(state.arbiters.flatMap((a) => a.attempts.map((x) => x.jobId))).toEqual(["right"]);
  }, 60_000);

  it("fails both sides of a conflict, and not what they leave alone", async () => {
    const free = { owned_paths: undefined };
    const repo = scene(
      [
        writer("left", "shared.txt", "left\n", free),
        writer("right", "shared.txt", "right\n", free),
        writer("beside", "beside.txt", "b\n"),
      ],
      { "shared.txt": "base\n" },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect(run.code).toBe(1);
    const state = stateOf(runDirOf(run));
    expect(standingOf(state)).toEqual({
      left: "failed, failed",
      right: "failed, failed",
      beside: "success, accepted",
    });
    expect(["left", "right"].map((id) => state.jobs[id]?.attemptRecords[0]?.detail)).toEqual([
      "Its changes conflict with those of `right` in `shared.txt`.",
      "Its changes conflict with those of `left` in `shared.txt`.",
    ]);
  }, 60_000);
});

describe("integrating accepted work", () => {
  const jobs = [
    writer("left", "left.txt", "l\n"),
    writer("right", "right.txt", "r\n", { depends_on: ["left"] }),
  ];

  it("shows, applies and takes back, one job at a time", async () => {
    const repo = scene(jobs);
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    const runDir = runDirOf(run);
    const before = repo.git("rev-parse", "HEAD");

    const preview = await tool().run(["integrate", runDir, "--preview"], { cwd: repo.path });
    expect(preview.code).toBe(0);
    expect(preview.stdout).toContain("left: applies, 1 file changed, 1 insertion(+)");
    expect(repo.git("rev-parse", "HEAD")).toBe(before);

    const applied = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(applied.code).toBe(0);
    expect(readFileSync(join(repo.path, "left.txt"), "utf8")).toBe("l\n");
    expect(readFileSync(join(repo.path, "right.txt"), "utf8")).toBe("r\n");
    expect(readFileSync(join(runDir, "report.md"), "utf8")).toContain("in `refs/heads/main`");

    const again = await tool().run(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(again.code).toBe(0);
    expect(again.stdout).toContain("left: contained, already in the branch");

    const undone = await tool().json(["integrate", runDir, "--undo"], { cwd: repo.path });
    expect(undone.code).toBe(0);
    expect(repo.git("rev-parse", "HEAD")).toBe(before);
    expect(existsSync(join(repo.path, "left.txt"))).toBe(false);
    expect((await tool().run(["integrate", runDir, "--undo"], { cwd: repo.path })).code).toBe(1);
  }, 90_000);

  it("refuses a dirty target, and a job that is not accepted", async () => {
    const repo = scene(
      [...jobs, writer("bad", "bad.txt", "b\n")],
      {},
      { arbiter: { mock: { bad: "fail" } } },
    );
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    repo.write("README.md", "# changed\n");
    const dirty = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(dirty.code).toBe(1);
    expect(dirty.diagnostics.map((one) => one.code)).toEqual(["dirty-target"]);
    expect(existsSync(join(repo.path, "left.txt"))).toBe(false);
    const bad = await tool().json(["integrate", runDir, "--job", "bad", "--apply"], { cwd: repo.path });
    expect(bad.code).toBe(1);
    expect(bad.diagnostics.map((one) => one.message)).toEqual([
      "`bad` is rejected: only accepted work is integrated.",
    ]);
    const unknown = await tool().json(["integrate", runDir, "--job", "nobody"], { cwd: repo.path });
    expect(unknown.code).toBe(2);
  }, 90_000);

  it("stops on a conflict with the branch, with nothing half-applied", async () => {
    const repo = scene([writer("left", "left.txt", "l\n"), writer("right", "README.md", "# from the run\n")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    repo.write("README.md", "# meanwhile\n");
    repo.commit("meanwhile");
    const done = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(done.code).toBe(1);
    expect(done.diagnostics.map((one) => one.code)).toEqual(["integrate-conflict"]);
    const { runId, jobs } = stateOf(runDir);
    const branch = jobs["right"]?.branch as string;
    expect(done.diagnostics[0]?.fix).toBe(
      `In \`${repo.path}\`: \`git merge ${branch}\`, resolve the paths, commit; then \`integrate ${runId} --apply\` brings in the rest. Without it: \`integrate ${runId} --apply --job JOB\` for each of the others.`,
    );
    // What went in before the conflict is whole, and can be taken back.
    expect((await tool().json(["integrate", runDir, "--undo"], { cwd: repo.path })).code).toBe(0);
    expect(existsSync(join(repo.path, "left.txt"))).toBe(false);
    const told = await tool().run(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(told.stdout.trimEnd().split("\n").slice(1)).toEqual([
      "  left: applied, 1 file changed, 1 insertion(+)",
      "  right: conflict, conflicts in `README.md` with the branch",
      `to take it back: integrate ${runDir} --undo`,
    ]);
    expect(readFileSync(join(repo.path, "README.md"), "utf8")).toBe("# meanwhile\n");
    expect(readFileSync(join(repo.path, "left.txt"), "utf8")).toBe("l\n");
    expect(repo.git("status", "--porcelain")).toBe("");
    // As it says: merged by hand, the job is in the branch, and nothing is left to do.
    repo.git("merge", "--quiet", "-X", "ours", branch);
    const again = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect([again.code, again.diagnostics]).toEqual([0, []]);
  }, 90_000);

  it("applies nothing when a check fails on the result", async () => {
    const check = { command: "sh", args: ["-c", "test ! -e later.txt"] };
    const repo = scene([writer("left", "left.txt", "l\n", { verification: [check] })]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    repo.write("later.txt", "later\n");
    repo.commit("later");
    const done = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect(done.code).toBe(1);
    expect(done.diagnostics[0]).toMatchObject({
      code: "union-check-failed",
      message: "merged into the branch, `sh -c test ! -e later.txt` exited 1 (verification:1 of `left`).",
    });
    expect(existsSync(join(repo.path, "left.txt"))).toBe(false);
  }, 90_000);
});

describe("an integration that git refuses", () => {
  it("counts as not made: an undo leaves alone what the user merged by hand", async () => {
    const repo = scene([writer("left", "left.txt", "l\n")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    writeFileSync(join(repo.path, "left.txt"), "mine, never added\n");
    const refused = await tool().json(["integrate", runDir, "--apply"], { cwd: repo.path });
    expect([refused.code, refused.diagnostics[0]?.code]).toEqual([1, "git-failed"]);
    expect(readFileSync(join(repo.path, "left.txt"), "utf8")).toBe("mine, never added\n");

    rmSync(join(repo.path, "left.txt"));
    repo.git("merge", "--ff-only", "--quiet", stateOf(runDir).jobs["left"]?.branch as string);
    const head = repo.git("rev-parse", "HEAD");
    const undone = await tool().json(["integrate", runDir, "--undo"], { cwd: repo.path });
    expect([undone.code, undone.diagnostics[0]?.code]).toEqual([1, "nothing-to-undo"]);
    expect(repo.git("rev-parse", "HEAD")).toBe(head);
  }, 90_000);
});

describe("a writer without a worktree", () => {
  it("leaves a patch that takes its edits back, and the report says where", async () => {
    const repo = scene([
      {
        ...writer("only", "README.md", "# edited\n"),
        effect: "scoped-write",
        isolation: "none",
      },
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect(run.code).toBe(0);
    const patch = join(runDirOf(run), "only/reverse.patch");
    expect(readFileSync(join(runDirOf(run), "report.md"), "utf8")).toContain(patch);
    expect(readFileSync(join(repo.path, "README.md"), "utf8")).toBe("# edited\n");
    repo.git("apply", patch);
    expect(readFileSync(join(repo.path, "README.md"), "utf8")).toBe("# union\n");
  }, 60_000);
});
