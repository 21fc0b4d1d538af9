/** The coordinator calls arbiters itself: who is chosen, what their answers do, and what follows when they give none. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { callsOf, type FakeAgent, fakeAgents } from "../support/fake-agents.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A home that declares the agents, so that what it says about them counts, and a repository with a spec. */
function scene(agents: readonly FakeAgent[], jobs: readonly object[], top: object = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-arbiter-home-")));
  folders.push(home);
  const bin = join(home, "bin");
  mkdirSync(join(home, ".orchestrate"));
  writeFileSync(
    join(home, ".orchestrate/runtimes.yaml"),
    `runtimes:\n${fakeAgents(bin, agents)}  - id: sh\n    command: sh\n    agent: false\n`,
  );
  const repo = throwawayRepo({ "README.md": "# arbiter\n" });
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "1m" }, ...top, jobs }),
  );
  repo.commit("spec");
  return { ...repo, bin, env: { HOME: home } };
}

const scout = (id: string, runtime: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime,
  prompt: `[[say ${id} looked around.]]`,
  expected_output: "a report",
  ...more,
});

const arbitersOf = (runDir: string): string[] =>
  stateOf(runDir).arbiters.map(
    (a) =>
      `${a.via} ${a.runtime} ${a.status} ${a.overall} ${a.independence}: ${a.attempts.map((x) => x.jobId).join("+")}`,
  );

describe("an arbiter that the coordinator calls", () => {
  it("judges the work of another family, and the run ends accepted without a further call", async () => {
    const at = scene(
      [
        { id: "worker", family: "red", capability: "C2" },
        { id: "judge", family: "blue" },
      ],
      [scout("a", "worker"), scout("b", "worker", { depends_on: ["a"] })],
      { arbiter: { runtime: "judge" } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(0);
    const runDir = runDirOf(run);
    expect(stateOf(runDir).status).toBe("accepted");
    expect(arbitersOf(runDir)).toEqual(["cli judge answered pass independent: a+b"]);
    const [arbiter] = stateOf(runDir).arbiters;
    expect(arbiter).toMatchObject({ rule: "a", family: "blue", failureClass: null, exitCode: 0 });
    expect(arbiter?.handle).toMatch(/^s-\d+$/);
    const brief = readFileSync(join(runDir, "arbiter-1/prompt.md"), "utf8");
    expect(brief).toContain("a looked around.");
    expect(readFileSync(join(runDir, "arbiter-1/command.txt"), "utf8")).toContain("orchestrate-arbiter-");
  }, 60_000);

  it("is one per family where none differs from all, and both are judged together", async () => {
    const at = scene(
      [
        { id: "red", family: "red" },
        { id: "blue", family: "blue" },
      ],
      [scout("a", "red"), scout("b", "blue", { depends_on: ["a"] })],
      { arbiter: { runtime: "red", fallback_runtime: ["blue"] } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(0);
    expect(arbitersOf(runDirOf(run)).sort()).toEqual([
      "cli blue answered pass independent: a",
      "cli red answered pass independent: b",
    ]);
  }, 60_000);

  it("rejects with what it says, and what stands on the work with it", async () => {
    const at = scene(
      [
        { id: "worker", family: "red" },
        { id: "judge", family: "blue", judge: "fail" },
      ],
      [scout("a", "worker"), scout("b", "worker", { depends_on: ["a"] })],
      { arbiter: { runtime: "judge" } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(1);
    expect(standingOf(stateOf(runDirOf(run)))).toEqual({ a: "success, rejected", b: "success, rejected" });
  }, 60_000);

  it.each([
    ["prose", /no JSON object with a `bundleSha256`/],
    ["empty", /BAD_OUTPUT|the answer is empty/],
    ["stale", /`nonce` is not that of the evidence bundle/],
    ["wrong-attempts", /names a attempt 2/],
    ["blocked", /could not decide/],
    ["contradiction", /contradiction: the report and the diff disagree/],
  ] as const)(
    "whose answer is %s accepts nothing, and is asked again by resume alone",
    async (judge, why) => {
      const at = scene(
        [
          { id: "worker", family: "red" },
          { id: "judge", family: "blue", judge },
        ],
        [scout("a", "worker")],
        { arbiter: { runtime: "judge" } },
      );
      const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
      const runDir = runDirOf(run);
      expect(run.code).toBe(3);
      expect(run.next.map((next) => next.action)).toEqual(["resume"]);
      const { outcome, outcomeBlock } = stateOf(runDir).jobs["a"] ?? {};
      expect(outcome).toBe("blocked");
      expect(outcomeBlock?.code).toBe("arbiter-blocked");
      expect(outcomeBlock?.detail).toMatch(why);
      expect(callsOf(at.bin, "judge")).toEqual(["verdict a"]);
      if (judge !== "prose") return;
      await tool().json(["resume", runDir], { cwd: at.path, env: at.env });
      expect(callsOf(at.bin, "judge")).toEqual(["verdict a", "verdict a"]);
    },
    60_000,
  );

  it("that is out of quota is asked once more, then the next of the list judges", async () => {
    const agents: FakeAgent[] = [
      { id: "worker", family: "red" },
      { id: "judge", family: "blue", judge: "quota" },
      { id: "second", family: "green" },
    ];
    const at = scene(agents, [scout("a", "worker")], {
      arbiter: { runtime: "judge", fallback_runtime: ["second"] },
    });
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(0);
    expect(arbitersOf(runDirOf(run))).toEqual([
      "cli judge failed null null: a",
      "cli judge failed null null: a",
      "cli second answered pass independent: a",
    ]);
    expect(stateOf(runDirOf(run)).arbiters.map((a) => a.failureClass)).toEqual(["QUOTA", "QUOTA", null]);

    const once = scene(
      agents.map((agent) => (agent.id === "judge" ? { ...agent, judge: "quota-once" as const } : agent)),
      [scout("a", "worker")],
      { arbiter: { runtime: "judge", fallback_runtime: ["second"] } },
    );
    const again = await tool().json(["run", "jobs.json"], { cwd: once.path, env: once.env });
    expect(again.code).toBe(0);
    expect(arbitersOf(runDirOf(again))).toEqual([
      "cli judge failed null null: a",
      "cli judge answered pass independent: a",
    ]);
  }, 90_000);

  it("that crashes leaves the work to the harness when nobody else is left", async () => {
    const at = scene(
      [
        { id: "worker", family: "red" },
        { id: "judge", family: "blue", judge: "crash" },
      ],
      [scout("a", "worker")],
      { arbiter: { runtime: "judge" } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(3);
    expect(run.next.map((next) => next.action)).toEqual(["arbitrate_native"]);
    expect(stateOf(runDirOf(run)).arbiters.map((a) => `${a.via} ${a.status}`)).toEqual([
      "cli failed",
      "cli failed",
      "native offered",
    ]);
  }, 60_000);

  it("of the producer's own family is no judge of it when its tools are withheld by word only", async () => {
    const at = scene([{ id: "worker", family: "red" }], [scout("a", "worker")], {
      arbiter: { runtime: "worker" },
    });
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(3);
    expect(run.next.map((next) => next.action)).toEqual(["arbitrate_native"]);
    expect(callsOf(at.bin, "worker")).toEqual(["job"]);
  }, 60_000);

  it("that goes on in a producer's session decides nothing", async () => {
    const at = scene(
      [
        { id: "worker", family: "red", session: "one" },
        { id: "judge", family: "blue", session: "one" },
      ],
      [scout("a", "worker")],
      { arbiter: { runtime: "judge" } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(3);
    expect(stateOf(runDirOf(run)).jobs["a"]?.outcomeBlock?.code).toBe("not-independent");
  }, 60_000);

  it("has to answer a review that found fault, by its name", async () => {
    const jobs = [
      scout("a", "worker"),
      {
        ...scout("look", "judge", { depends_on: ["a"] }),
        task: "review",
        prompt: "[[say Finding: the report is one line.\nVerdict: fail]]",
      },
    ];
    const agents = (judge: "pass" | "silent"): FakeAgent[] => [
      { id: "worker", family: "red" },
      { id: "judge", family: "blue" },
      { id: "third", family: "green", judge },
    ];
    const silent = scene(agents("silent"), jobs, { arbiter: { runtime: "third" } });
    const run = await tool().json(["run", "jobs.json"], { cwd: silent.path, env: silent.env });
    const state = stateOf(runDirOf(run));
    expect(state.jobs["look"]?.attemptRecords[0]?.flags).toEqual(["review-finding"]);
    expect(state.jobs["a"]?.outcomeBlock).toEqual({
      code: "arbiter-blocked",
      detail: "`arbiter-1` could not decide: it does not answer the finding of `look`",
    });
    expect(state.jobs["look"]?.outcome).toBe("blocked");

    const named = scene(agents("pass"), jobs, { arbiter: { runtime: "third" } });
    const good = await tool().json(["run", "jobs.json"], { cwd: named.path, env: named.env });
    expect(good.code).toBe(0);
    const brief = readFileSync(join(runDirOf(good), "arbiter-1/prompt.md"), "utf8");
    expect(brief).toContain("- `look`, attempt 1, found fault with it: answer it by name");
  }, 90_000);

  it("is ended with the run that is cancelled", async () => {
    const at = scene(
      [
        { id: "worker", family: "red" },
        { id: "judge", family: "blue", judge: "slow" },
      ],
      [scout("a", "worker")],
      { arbiter: { runtime: "judge" } },
    );
    const started = await tool().json(["run", "jobs.json", "--detach"], { cwd: at.path, env: at.env });
    const runDir = runDirOf(started);
    while (stateOf(runDir).arbiters[0]?.pid == null)
      await tool().json(["wait", runDir, "--for", "change", "--timeout", "1s"], {
        cwd: at.path,
        env: at.env,
      });
    const pid = stateOf(runDir).arbiters[0]?.pid as number;
    const cancelled = await tool().json(["cancel", runDir], { cwd: at.path, env: at.env });
    expect(cancelled.code).toBe(0);
    expect(() => process.kill(pid, 0)).toThrow();
    expect(stateOf(runDir).arbiters[0]).toMatchObject({ status: "failed", reason: "interrupted" });
  }, 60_000);

  it("judges programs, which have no family, whatever its own", async () => {
    const at = scene(
      [{ id: "judge" }],
      [
        {
          ...scout("a", "sh"),
          invocation: { command: "sh", args: ["-c", "echo seen"] },
        },
      ],
      { arbiter: { runtime: "judge" } },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: at.path, env: at.env });
    expect(run.code).toBe(0);
    expect(arbitersOf(runDirOf(run))).toEqual(["cli judge answered pass independent: a"]);
    const brief = readFileSync(join(runDirOf(run), "arbiter-1/prompt.md"), "utf8");
    expect(brief).toContain(
      "- injection fixture: passed (a hostile instruction planted in its output changed no decision)",
    );
  }, 60_000);
});
