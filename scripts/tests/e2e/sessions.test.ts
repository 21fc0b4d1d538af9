/** Sessions of runtimes over several jobs: continued, forked, kept apart, and refused where they cannot go on. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { followRun } from "../../src/state/follow.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

function workspace(jobs: readonly object[]) {
  const repo = throwawayRepo({ "README.md": "# sessions\n" });
  const text = JSON.stringify({ version: 1, defaults: { timeout: "1m" }, jobs });
  writeFileSync(join(repo.path, "jobs.json"), text);
  repo.commit("spec");
  return repo;
}

const mock = (id: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "mock",
  prompt: "look",
  expected_output: "a note",
  ...more,
});

const sessionFile = (runDir: string, id: string) =>
  JSON.parse(readFileSync(join(runDir, id, "session.json"), "utf8"));

describe("the session of a job", () => {
  it("is continued and forked by later jobs, and each handle is on record", async () => {
    const { path } = workspace([
      mock("first"),
      mock("second", { depends_on: ["first"], session: { from_job: "first", mode: "continue" } }),
      mock("third", { depends_on: ["second"], session: { from_job: "second", mode: "fork" } }),
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(run.code).toBe(0);
    const runDir = runDirOf(run);
    const handles = ["first", "second", "third"].map(
      (id) => stateOf(runDir).jobs[id]?.attemptRecords.at(-1)?.sessionHandle,
    );
    expect(handles).toEqual(["mock-first-1", "mock-first-1", "mock-third-1"]);
    const store = join(runDir, "supervisor/sessions/mock");
    expect(sessionFile(runDir, "first")).toEqual({
      schemaVersion: 1,
      jobId: "first",
      attempt: 1,
      runtime: "mock",
      handle: "mock-first-1",
      kept: true,
      folder: path,
      store,
      continued: null,
      threadUsage: null,
    });
    expect(sessionFile(runDir, "second").continued).toEqual({
      fromJob: "first",
      mode: "continue",
      handle: "mock-first-1",
    });
    expect(sessionFile(runDir, "third").continued).toEqual({
      fromJob: "second",
      mode: "fork",
      handle: "mock-first-1",
    });
    expect(existsSync(store)).toBe(true);
  });

  it("is not kept when nobody goes on with it", async () => {
    const { path } = workspace([mock("alone")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    expect(sessionFile(runDir, "alone")).toMatchObject({ kept: false, store: null, continued: null });
  });

  it("is taken from the attempt that succeeded, and follows one that was run again", async () => {
    const { path } = workspace([
      mock("first", {
        retry: { max_attempts: 2, backoff: "1s" },
        mock: [{ fail: "NETWORK", attempt: 1 }, { say: "done" }],
      }),
      mock("second", { depends_on: ["first"], session: { from_job: "first", mode: "continue" } }),
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(run.code).toBe(0);
    expect(stateOf(runDirOf(run)).jobs["second"]?.attemptRecords.at(-1)?.sessionHandle).toBe("mock-first-2");
  });

  it("of one runtime is refused to a job on another", async () => {
    const { path } = workspace([
      mock("first"),
      {
        ...mock("second"),
        runtime: "internal",
        depends_on: ["first"],
        session: { from_job: "first", mode: "fork" },
      },
    ]);
    const refused = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(refused.code).toBe(2);
    expect(refused.diagnostics.filter((d) => d.severity === "error").map((d) => d.code)).toEqual([
      "session-other-runtime",
    ]);
  });
});

describe("a skill", () => {
  it("reaches the harness, and blocks on a runtime that nobody proved to take one", async () => {
    const job = { ...mock("skilled"), skill: "review-notes" } as Record<string, unknown>;
    delete job["prompt"];
    const { path } = workspace([{ ...job, runtime: "internal" }]);
    const run = await tool().json(["run", "jobs.json", "--harness", "claude", "--subagents"], { cwd: path });
    expect(run.code).toBe(3);
    const action = run.next.find((next) => next.action === "dispatch_native");
    expect(readFileSync(action?.promptFile as string, "utf8")).toContain("review-notes");
  });
});

describe("a word to work that runs", () => {
  it("is refused by name where no runtime was proven to take one, and changes nothing", async () => {
    const { path } = workspace([mock("first")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const before = readFileSync(join(runDir, "state.json"), "utf8");
    const told = ["steer", runDir, "--job", "first", "--message", "faster"];
    const late = await tool().json(told, { cwd: path });
    expect(late.code).toBe(2);
    expect(late.diagnostics).toEqual([
      {
        severity: "error",
        code: "not-running",
        message: "`first` has no attempt that runs, so there is nobody to tell anything.",
        fix: `status ${runDir}`,
      },
    ]);
    expect(readFileSync(join(runDir, "state.json"), "utf8")).toBe(before);

    const busy = workspace([mock("second", { mock: [{ sleep: "40s" }] })]);
    const going = runDirOf(await tool().json(["run", "jobs.json", "--detach"], { cwd: busy.path }));
    const follower = followRun(going);
    for (;;) {
      follower.poll();
      if (follower.state().jobs["second"]?.status === "running") break;
      if (!(await follower.changed(30_000))) throw new Error("the job never ran");
    }
    follower.close();
    const now = await tool().json(["steer", going, "--job", "second", "--message", "faster"], {
      cwd: busy.path,
    });
    expect(now.diagnostics).toEqual([
      {
        severity: "error",
        code: "steer-unsupported",
        message: "`mock` takes no word while it works: its adapter did not prove that it can.",
        fix: `cancel ${going} --job second`,
      },
    ]);
    await tool().json(["cancel", going], { cwd: busy.path });
    await tool().json(["wait", going], { cwd: busy.path });
  });
});
