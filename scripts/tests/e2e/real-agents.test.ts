/** A real claude and a real codex in one run: one writes a file, the other reviews it; killed in the middle, resumed, nothing lost or doubled. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { followRun } from "../../src/state/follow.ts";
import { lockOwner } from "../../src/state/lock.ts";
import { installCli } from "../support/clis.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { WIRINGS } from "../support/real-run.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, runProcess, stateOf } from "../support/tool.ts";

const tool = builtTool();
let server: ModelServer;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startModelServer();
  mkdirSync(join(ROOT, ".lab/homes"), { recursive: true });
  home = mkdtempSync(join(ROOT, ".lab/homes/pair-"));
  const bins = [await installCli("claude"), await installCli("codex")];
  const wirings = [WIRINGS.claude(server)(home), WIRINGS.codex(server)(home)];
  for (const wiring of wirings)
    for (const [path, text] of Object.entries(wiring.files)) {
      mkdirSync(join(home, path, ".."), { recursive: true });
      writeFileSync(join(home, path), text);
    }
  // An overridden base URL makes a CLI C2 with an unknown family: the home policy states what the loopback model stands for.
  mkdirSync(join(home, ".orchestrate"), { recursive: true });
  writeFileSync(
    join(home, ".orchestrate/policy.yaml"),
    "version: 1\ncandidates:\n  - {runtime: claude, capability: C3, family: anthropic}\n  - {runtime: codex, capability: C3, family: openai}\n",
  );
  env = {
    ...wirings[0]?.env,
    ...wirings[1]?.env,
    HOME: home,
    PATH: `${bins.join(":")}:${process.env["PATH"]}`,
  };
}, 600_000);

afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

const spec = (pause: string): string =>
  JSON.stringify({
    version: 1,
    concurrency: 1,
    outcome: "A note that says hello.",
    defaults: { timeout: "3m" },
    jobs: [
      {
        id: "write",
        task: "implement",
        runtime: "claude",
        isolation: "worktree",
        prompt: "[[stub: write note.txt hello]] [[stub: say wrote note.txt]]",
        expected_output: "note.txt",
        owned_paths: ["note.txt"],
        outputs: [{ path: "note.txt" }],
        verification: [{ command: "grep", args: ["-q", "hello", "note.txt"] }],
      },
      {
        id: "review",
        task: "review",
        runtime: "codex",
        model: "stub-model",
        depends_on: ["write"],
        prompt: `${pause}[[stub: say The note says hello. No risk found.]]`,
        expected_output: "A review.",
      },
    ],
  });

function scene(pause: string) {
  const repo = throwawayRepo({ "README.md": "# pair\n" });
  writeFileSync(join(repo.path, "jobs.json"), spec(pause));
  repo.commit("spec");
  return repo;
}

/** Calls of the writer, verdicts aside. */
const writes = (): number =>
  server.calls.filter(
    ({ prompt, protocol }) =>
      protocol === "anthropic" && prompt.includes("note.txt") && !prompt.includes("# Independent verdict"),
  ).length;

const arbiters = (runDir: string): string[] =>
  stateOf(runDir).arbiters.map(
    (a) =>
      `${a.runtime} ${a.status} ${a.overall} ${a.independence}: ${a.attempts.map((x) => x.jobId).join("+")}`,
  );

const agents = (runDir: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(stateOf(runDir).jobs).map(([id, job]) => [
      id,
      `${job.status} on ${job.runtime}, ${job.attempts} attempt(s)`,
    ]),
  );

describe("a real claude and a real codex in one run", () => {
  it("one writes, the other reviews, and each judges what the other did, in a session of its own", async () => {
    const repo = scene("");
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path, env });
    expect(agents(runDirOf(run))).toEqual({
      write: "success on claude, 1 attempt(s)",
      review: "success on codex, 1 attempt(s)",
    });
    const state = stateOf(runDirOf(run));
    expect(arbiters(runDirOf(run))).toEqual([
      "codex answered pass independent: write",
      "claude answered pass independent: review",
    ]);
    expect(run.code).toBe(0);
    expect(state.status).toBe("accepted");
    const sessions = [
      ...Object.values(state.jobs).flatMap((job) => job.attemptRecords.map((a) => a.sessionHandle)),
      ...state.arbiters.map((a) => a.handle),
    ];
    expect(new Set(sessions).size).toBe(4);
    for (const arbiter of state.arbiters) expect(arbiter.usage?.outputTokens).toBeGreaterThan(0);
    expect(repo.git("show", `${state.jobs["write"]?.branch}:note.txt`)).toBe("hello");
    expect(readFileSync(join(runDirOf(run), "review/prompt.md"), "utf8")).toContain("wrote note.txt");
    expect(readFileSync(join(runDirOf(run), "review/result.md"), "utf8")).toContain("The note says hello.");
  }, 480_000);

  it("runs the brief's spec to its end: a subagent scouts, a live CLI reviews, what is left is judged", async () => {
    const repo = throwawayRepo({
      "jobs.yaml": readFileSync(join(ROOT, "examples/sample.yaml"), "utf8"),
      "README.md": "# sample\n",
    });
    const asked = await tool().json(["run", "jobs.yaml", "--harness", "gemini", "--subagents"], {
      cwd: repo.path,
      env,
    });
    const runDir = runDirOf(asked);
    const [dispatch] = asked.next;
    expect([dispatch?.action, dispatch?.jobId]).toEqual(["dispatch_native", "scout-session-api"]);
    const act = async (argv: readonly string[]) =>
      tool().json(
        argv.map((part) => (part === "<handle>" ? "subagent-1" : part)),
        { cwd: repo.path, env },
      );
    const started = await act(dispatch?.argv ?? []);
    const record = started.next.find((next) => next.action === "record_native");
    writeFileSync(
      record?.resultFile as string,
      "Read src/session.ts. Seams: the store and the token check.\n",
    );
    await act(record?.argv ?? []);
    const end = await tool().json(["wait", runDir], { cwd: repo.path, env });
    const state = stateOf(runDir);
    expect(state.jobs["independent-review"]).toMatchObject({ status: "success", attempts: 1 });
    expect(["claude", "codex"]).toContain(state.jobs["independent-review"]?.runtime);
    expect(readFileSync(join(runDir, "independent-review/prompt.md"), "utf8")).toContain(
      "Seams: the store and the token check.",
    );
    expect(readFileSync(join(runDir, "jobs.yaml"), "utf8")).toMatch(/runtimeFrom: *"?<verified-cli-runtime>/);
    expect([end.code, state.status, end.next.map((next) => next.action)]).toEqual([
      0,
      "accepted",
      ["read_report"],
    ]);
  }, 480_000);

  it("killed while the second works, it resumes: the first is not run again, the second is not run twice at once", async () => {
    const repo = scene("[[stub: sleep 8]] ");
    const started = await tool().json(["run", "jobs.json", "--detach"], { cwd: repo.path, env });
    const runDir = runDirOf(started);
    const follower = followRun(runDir);
    for (;;) {
      follower.poll();
      const review = follower.state().jobs["review"]?.attemptRecords.at(-1);
      if (review?.phase === "working" && review.pid !== null) break;
      if (!(await follower.changed(120_000))) throw new Error("the review never started");
    }
    follower.close();
    const owner = lockOwner(runDir);
    process.kill(owner?.pid as number, "SIGKILL");
    const before = writes();
    const resumed = await tool().json(["resume", runDir], { cwd: repo.path, env });
    expect(agents(runDir)).toEqual({
      write: "success on claude, 1 attempt(s)",
      review: "success on codex, 2 attempt(s)",
    });
    expect(stateOf(runDir).jobs["review"]?.attemptRecords.map((a) => `${a.relation} ${a.status}`)).toEqual([
      "first interrupted",
      "resume success",
    ]);
    expect(resumed.code).toBe(0);
    expect(writes()).toBe(before);
    const left = await runProcess(
      ["sh", "-c", `grep -lz "ORCHESTRATE_JOB=${runDir}" /proc/[0-9]*/environ 2>/dev/null | wc -l`],
      { cwd: repo.path, env: { PATH: process.env["PATH"] ?? "" } },
    );
    expect(left.stdout.trim()).toBe("0");
  }, 480_000);
});
