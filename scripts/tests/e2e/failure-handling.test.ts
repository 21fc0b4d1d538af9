/** What a run does about runtimes that fail: looks again at the host, promotes, waits for a quota, or stops. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { followRun } from "../../src/state/follow.ts";
import { fakeCli } from "../support/fake-cli.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf, traceOf } from "../support/tool.ts";

const tool = builtTool();

const AGENT = `#!/bin/sh
case "$1" in --version) echo "agent 1.0.0"; exit 0;; esac
cat > /dev/null
echo '{"type":"result","result":"looked at it, nothing to report"}'
`;

const declared = (id: string, folder: string): string => `  - id: ${id}
    command: ${folder}/${id}
    version_args: [--version]
    prompt: stdin
    flags: {read_only: [--read-only]}
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    failures: [{match: {path: error, equals: broken}, class: TOOL_FAILURE}]
    controls: {approval: scoped, toolGating: coarse, isolation: none, writeBoundary: enforced}
`;

/** `folder` of the agents: outside of the workspace, or below it. */
function workspace(jobs: readonly object[], agents: Readonly<Record<string, string>> = {}, folder = "./bin") {
  const repo = throwawayRepo({ "README.md": "# failures\n" });
  const bin = resolve(repo.path, folder);
  mkdirSync(join(repo.path, ".orchestrate"));
  mkdirSync(bin, { recursive: true });
  for (const [id, script] of Object.entries(agents)) {
    writeFileSync(join(bin, id), script);
    chmodSync(join(bin, id), 0o755);
  }
  const entries = Object.keys(agents).map((id) => declared(id, folder));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    `runtimes:\n  - id: sh\n    command: sh\n    agent: false\n${entries.join("")}`,
  );
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, defaults: { timeout: "1m" }, jobs }),
  );
  repo.commit("spec");
  return repo;
}

const scout = (id: string, runtime: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime,
  prompt: "look",
  expected_output: "a note",
  ...more,
});

const trail = (runDir: string, id: string): string[] =>
  (stateOf(runDir).jobs[id]?.attemptRecords ?? []).map(
    (a) => `${a.relation} ${a.runtime} ${a.status}${a.failureClass === null ? "" : ` ${a.failureClass}`}`,
  );

describe("a runtime whose binary vanishes during the run", () => {
  const jobs = (bin: string, more: object): object[] => [
    {
      ...scout("remove", "sh"),
      invocation: { command: "rm", args: ["-f", `${bin}/gone`, `${bin}/gone-too`] },
    },
    scout("work", "gone", { depends_on: ["remove"], retry: { max_attempts: 3, backoff: "1s" }, ...more }),
  ];

  it("is not tried again, a fallback that is gone too is passed over, and the next one takes over", async () => {
    const agents = { gone: AGENT, "gone-too": AGENT, steady: AGENT };
    const bin = temporaryFolder();
    const { path } = workspace(jobs(bin, { fallback_runtime: ["gone-too", "steady"] }), agents, bin);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(trail(runDir, "work")).toEqual(["first gone failed RUNTIME_CRASH", "promotion steady success"]);
    expect(stateOf(runDir).jobs["work"]).toMatchObject({ status: "success", promotions: 1, retriesUsed: 0 });
    expect(traceOf(runDir).filter((line) => line.kind === "promote")).toEqual([
      {
        kind: "promote",
        jobId: "work",
        payload: {
          from: "gone",
          to: "steady",
          trigger: "RUNTIME_CRASH",
          promotions: 1,
          budget: 2,
          passedOver: [{ runtime: "gone-too", model: null, code: "not-fit-now" }],
        },
      },
    ]);
    const status = await tool().json(["status", runDir], { cwd: path });
    expect((status.data as { list: object[] }).list[1]).toMatchObject({
      id: "work",
      runtime: "steady",
      again: [{ attempt: 2, relation: "promotion", from: "gone", to: "steady", trigger: "RUNTIME_CRASH" }],
    });
    const told = await tool().run(["status", runDir], { cwd: path });
    expect(told.stdout).toMatch(
      /^ {2}work .* steady {2}attempt 2: promoted from gone to steady after RUNTIME_CRASH$/m,
    );
    const records = JSON.parse(readFileSync(join(runDir, "runtimes.json"), "utf8")).records as {
      id: string;
      state: string;
      reason: string | null;
    }[];
    const standing = records
      .filter((record) => ["gone", "gone-too", "steady"].includes(record.id))
      .map((record) => `${record.id} ${record.state} ${record.reason}`);
    expect(standing).toEqual([
      "gone unavailable not-found",
      "gone-too unavailable not-found",
      "steady constrained help-unknown: --read-only",
    ]);
  });

  it("blocks the job with its trigger when nobody else may take over", async () => {
    const bin = temporaryFolder();
    const more = { fallback: { maxPromotions: 0 }, fallback_runtime: ["steady"] };
    const { path } = workspace(jobs(bin, more), { gone: AGENT, steady: AGENT }, bin);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(trail(runDir, "work")).toEqual(["first gone failed RUNTIME_CRASH"]);
    expect(stateOf(runDir).jobs["work"]).toMatchObject({
      status: "blocked",
      block: {
        code: "runtime-crash",
        detail: expect.stringContaining("attempt 1 of `gone`: RUNTIME_CRASH; nothing else may be tried"),
      },
    });
  });
});

describe("a declared runtime with a relative command", () => {
  it("is the one beside its configuration, wherever the tool is started", async () => {
    const { path } = workspace([scout("work", "steady")], { steady: AGENT });
    mkdirSync(join(path, "deep/bin"), { recursive: true });
    writeFileSync(join(path, "deep/bin/steady"), "#!/bin/sh\nexit 9\n");
    chmodSync(join(path, "deep/bin/steady"), 0o755);
    const run = await tool().json(["run", "../jobs.json"], { cwd: join(path, "deep") });
    expect(trail(runDirOf(run), "work")).toEqual(["first steady success"]);
  });
});

describe("a limit with a reset time", () => {
  const limited = (reset: string) =>
    scout("work", "mock", {
      retry: { max_attempts: 2, backoff: "1s" },
      mock: [{ fail: { class: "QUOTA", reset_after: reset }, attempt: 1 }, { say: "after the wait" }],
    });

  it("is waited for: queued with the time in sight, then the job goes on by itself", async () => {
    const { path } = workspace([limited("1s")]);
    const started = await tool().json(["run", "jobs.json", "--detach"], { cwd: path });
    const runDir = runDirOf(started);
    const follower = followRun(runDir);
    for (;;) {
      follower.poll();
      if (follower.state().jobs["work"]?.notBefore !== null) break;
      if (!(await follower.changed(30_000))) throw new Error("the wait never showed");
    }
    follower.close();
    const status = await tool().json(["status", runDir], { cwd: path });
    expect((status.data as { list: object[] }).list).toEqual([
      {
        id: "work",
        status: "queued",
        outcome: "pending",
        reason: "quota",
        runtime: "mock",
        attempts: 1,
        again: [],
        notBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    ]);
    expect((await tool().json(["wait", runDir], { cwd: path })).code).toBe(0);
    expect(trail(runDir, "work")).toEqual(["first mock failed QUOTA", "retry mock success"]);
  });

  it("is cancelled while it waits", async () => {
    const { path } = workspace([limited("40s")]);
    const started = await tool().json(["run", "jobs.json", "--detach"], { cwd: path });
    const runDir = runDirOf(started);
    const follower = followRun(runDir);
    for (;;) {
      follower.poll();
      if (follower.state().jobs["work"]?.notBefore !== null) break;
      if (!(await follower.changed(30_000))) throw new Error("the wait never showed");
    }
    follower.close();
    await tool().json(["cancel", runDir, "--job", "work"], { cwd: path });
    await tool().json(["wait", runDir], { cwd: path });
    expect(stateOf(runDir).jobs["work"]).toMatchObject({ status: "blocked", block: { code: "cancelled" } });
    const after = await tool().json(["status", runDir], { cwd: path });
    expect((after.data as { list: object[] }).list).toMatchObject([{ reason: "cancelled", notBefore: null }]);
    expect(trail(runDir, "work")).toEqual(["first mock failed QUOTA"]);
  });

  it("further away than the run may wait leaves the job to `resume`", async () => {
    const { path } = workspace([limited("2h")]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(run.code).toBe(3);
    expect(stateOf(runDir).jobs["work"]?.block?.code).toBe("quota");
    const resume = run.next.find((next) => next.action === "resume");
    expect(resume?.reason).toContain(
      `; the limit opens at ${stateOf(runDir).jobs["work"]?.attemptRecords[0]?.resetAt}`,
    );
  });
});

describe("a runtime that was refused what it needed", () => {
  it("ends the job at that boundary, not as bad output", async () => {
    const { path } = workspace([
      scout("work", "mock", {
        outputs: [{ path: "note.md" }],
        mock: [{ tool: { name: "write", ok: false } }, { permission: "write note.md" }],
      }),
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(stateOf(runDirOf(run)).jobs["work"]).toMatchObject({
      status: "blocked",
      block: { code: "permission", detail: expect.stringContaining("write note.md") },
    });
  });
});

describe("another model than the one that was asked for", () => {
  it("is on record and flagged, and supports no claim of independence", async () => {
    const { path } = workspace([
      scout("asked", "mock", { model: "mock-a" }),
      scout("other", "mock", { model: "mock-a", mock: [{ model: "mock-b" }, { say: "done" }] }),
    ]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const seen = ["asked", "other"].map((id) => {
      const attempt = stateOf(runDir).jobs[id]?.attemptRecords.at(-1);
      return [attempt?.modelRequested, attempt?.model, attempt?.flags.includes("model-mismatch")];
    });
    expect(seen).toEqual([
      ["mock-a", "mock-a", false],
      ["mock-a", "mock-b", true],
    ]);
    expect(stateOf(runDir).arbiters.map((one) => one.independence)).toEqual(["not-independent-substituted"]);
  });
});

describe("a flag that the runtime refuses", () => {
  const HELP = join(import.meta.dirname, "../fixtures/help/claude-2.1.197.txt");
  const ANSWER = join(import.meta.dirname, "../fixtures/streams/claude-plain.jsonl");
  const host = (helpAfter: string) => {
    const bin = temporaryFolder();
    fakeCli(bin, "claude", {
      "--version": "echo '2.1.197 (Claude Code)'",
      "--help": `if [ -e "$FAKE/refused" ]; then ${helpAfter} '${HELP}'; else cat '${HELP}'; fi`,
      "auth status": `echo '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}'`,
      "*": `cat > /dev/null
if [ -e "$FAKE/refused" ]; then cat '${ANSWER}'; exit 0; fi
touch "$FAKE/refused"; echo "error: unknown option '--strict-mcp-config'" >&2; exit 1`,
    });
    return { PATH: `${bin}:${process.env["PATH"]}` };
  };

  it("gets one more attempt when a new probe leads to other arguments", async () => {
    const { path } = workspace([scout("work", "claude")]);
    const run = await tool().json(["run", "jobs.json"], {
      cwd: path,
      env: host("grep -v -e --strict-mcp-config"),
    });
    expect(trail(runDirOf(run), "work")).toEqual(["first claude blocked BAD_FLAG", "retry claude success"]);
    const status = await tool().run(["status", runDirOf(run)], { cwd: path });
    expect(status.stdout).toContain("  claude  attempt 2: retry after BAD_FLAG\n");
  });

  it("blocks the job at once when the new probe says the same", async () => {
    const { path } = workspace([scout("work", "claude", { retry: { max_attempts: 3, backoff: "1s" } })]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path, env: host("cat") });
    expect(trail(runDirOf(run), "work")).toEqual(["first claude blocked BAD_FLAG"]);
    expect(stateOf(runDirOf(run)).jobs["work"]?.block).toMatchObject({
      code: "bad-flag",
      detail: expect.stringContaining("unknown option '--strict-mcp-config'"),
    });
  });
});
