/**
 * All five real CLIs in one run over one repository, against a model that limits, cuts, and asks for what was not granted,
 * while one of them vanishes from the machine: every job ends as the contract says, with the promotions it allows and no others.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { followRun } from "../../src/state/follow.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { type RealHome, realHome } from "../support/real-home.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
let server: ModelServer;
let host: RealHome;

beforeAll(async () => {
  server = await startModelServer();
  host = await realHome(["claude", "codex", "gemini", "opencode", "pi"], server);
}, 900_000);

afterAll(async () => {
  await server?.close();
  host?.remove();
});

const LIMIT = "Rate limit reached for requests. Please try again in 10s.";

const scout = (id: string, runtime: string, prompt: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime,
  prompt,
  expected_output: "a note",
  ...more,
});

const jobs = (bin: string): object[] => [
  {
    id: "limited",
    task: "implement",
    runtime: "claude",
    fallback_runtime: ["codex"],
    isolation: "worktree",
    // It asks three times before it gives up.
    prompt: `[[stub: status 429 3 - ${LIMIT}]] [[stub: write note.txt hello]] [[stub: say wrote note.txt]]`,
    expected_output: "note.txt",
    owned_paths: ["note.txt"],
    outputs: [{ path: "note.txt" }],
    verification: [{ command: "grep", args: ["-q", "hello", "note.txt"] }],
    retry: { max_attempts: 2, backoff: "1s" },
  },
  scout("cut", "pi", "[[stub: on chat drop]] [[stub: say recovered elsewhere]]", {
    fallback_runtime: ["codex"],
  }),
  {
    ...scout("remove", "sh", "take one away"),
    invocation: { command: "rm", args: [join(bin, "opencode")] },
  },
  scout("vanished", "opencode", "[[stub: say looked]]", {
    depends_on: ["remove"],
    fallback_runtime: ["gemini"],
    retry: { max_attempts: 3, backoff: "1s" },
  }),
  scout("ask", "codex", "[[stub: say first answer]]"),
  scout("go-on", "codex", "[[stub: say second answer]]", {
    depends_on: ["ask"],
    session: { from_job: "ask", mode: "continue" },
  }),
  scout("denied", "gemini", "[[stub: run touch note.md]] [[stub: say could not]]", {
    allowed_tools: ["read", "shell(echo granted)"],
    outputs: [{ path: "note.md" }],
    fallback_runtime: ["claude", "codex"],
    retry: { max_attempts: 3, backoff: "1s" },
  }),
];

const trail = (runDir: string, id: string): string[] =>
  (stateOf(runDir).jobs[id]?.attemptRecords ?? []).map(
    (a) => `${a.relation} ${a.runtime} ${a.status}${a.failureClass === null ? "" : ` ${a.failureClass}`}`,
  );

describe("five real agents in one run", () => {
  it("each end as the contract says, with the promotions and stops that it allows and no others", async () => {
    const repo = throwawayRepo({ "README.md": "# five\n" });
    mkdirSync(join(repo.path, ".orchestrate"));
    writeFileSync(
      join(repo.path, ".orchestrate/runtimes.yaml"),
      "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
    );
    const spec = { version: 1, concurrency: 2, defaults: { timeout: "4m" }, jobs: jobs(host.bin) };
    writeFileSync(join(repo.path, "jobs.json"), JSON.stringify(spec));
    repo.commit("spec");
    const at = { cwd: repo.path, env: host.env };

    const started = await tool().json(["run", "jobs.json", "--detach"], at);
    const runDir = runDirOf(started);
    const follower = followRun(runDir);
    for (;;) {
      follower.poll();
      if (follower.state().jobs["limited"]?.notBefore != null) break;
      if (!(await follower.changed(180_000))) throw new Error("nobody waited for the limit");
    }
    follower.close();
    const status = await tool().json(["status", runDir], at);
    expect(
      (status.data as { list: { id: string }[] }).list.find((row) => row.id === "limited"),
    ).toMatchObject({
      status: "queued",
      reason: "quota",
      notBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    const end = await tool().json(["wait", runDir, "--for", "settled"], at);

    expect(
      Object.fromEntries(Object.keys(stateOf(runDir).jobs).map((id) => [id, trail(runDir, id)])),
    ).toEqual({
      remove: ["first sh success"],
      ask: ["first codex success"],
      "go-on": ["first codex success"],
      limited: ["first claude failed RATE_LIMIT", "retry claude success"],
      cut: ["first pi failed NETWORK", "promotion codex success"],
      vanished: ["first opencode failed RUNTIME_CRASH", "promotion gemini success"],
      denied: ["first gemini blocked PERMISSION"],
    });
    const state = stateOf(runDir);
    expect(Object.fromEntries(Object.entries(state.jobs).map(([id, job]) => [id, job.status]))).toEqual({
      limited: "success",
      cut: "success",
      remove: "success",
      vanished: "success",
      ask: "success",
      "go-on": "success",
      denied: "blocked",
    });
    const told = await tool().run(["status", runDir], at);
    expect(told.stdout).toMatch(/^ {2}limited .* attempt 2: retry after RATE_LIMIT$/m);
    expect(told.stdout).toMatch(/^ {2}cut .* attempt 2: promoted from pi to codex after NETWORK$/m);
    expect(told.stdout).toMatch(
      /^ {2}vanished .* attempt 2: promoted from opencode to gemini after RUNTIME_CRASH$/m,
    );
    expect(state.jobs["denied"]?.block).toMatchObject({
      code: "permission",
      detail: expect.stringContaining("touch note.md"),
    });
    expect(repo.git("show", `${state.jobs["limited"]?.branch}:note.txt`)).toBe("hello");
    const [ask, goOn] = ["ask", "go-on"].map((id) => state.jobs[id]?.attemptRecords.at(-1));
    expect(goOn).toMatchObject({
      status: "success",
      sessionHandle: ask?.sessionHandle,
      // Codex counts the whole thread; what it had before is taken off.
      usage: { inputTokens: 1_000, outputTokens: 20, source: "codex thread total, its last turn" },
    });
    // The cut stream reached nobody but pi and its fallback, the refused request nobody but gemini.
    const speakers = (word: string): string[] => [
      ...new Set(
        server.calls.filter((call) => call.prompt.includes(word)).map((call) => String(call.protocol)),
      ),
    ];
    expect(speakers("recovered elsewhere").sort()).toEqual(["chat", "responses"]);
    expect(speakers("touch note.md")).toEqual(["gemini"]);
    expect(speakers("Rate limit reached")).toEqual(["anthropic"]);
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(end.code).toBe(3);
  }, 900_000);
});
