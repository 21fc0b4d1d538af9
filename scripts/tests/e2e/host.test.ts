/** What the tool says of a host: one look, reuse that is said, doctor's faults, one tiny question. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeCli } from "../support/fake-cli.ts";
import { CLI_NAMES, callsOf, questionsOf, stubClis } from "../support/stub-clis.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf, traceOf } from "../support/tool.ts";

const tool = builtTool();
let bin: string;
let home: string;
let env: Record<string, string>;

beforeEach(() => {
  bin = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-bin-")));
  home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-home-")));
  env = { HOME: home, PATH: `${bin}:/usr/bin:/bin`, GEMINI_API_KEY: "stub" };
});
afterEach(() => {
  for (const folder of [bin, home]) rmSync(folder, { recursive: true, force: true });
});

const SPEC = JSON.stringify({
  version: 1,
  outcome: "x",
  jobs: [
    {
      id: "one",
      task: "scout",
      runtime: "mock",
      fallback_runtime: ["<verified-fallback-runtime>"],
      prompt: "look",
      expected_output: "text",
      timeout: "1m",
      mock: [{ say: "done" }],
    },
  ],
});

interface Fault {
  subject: string;
  weight: string;
  what: string;
  fix: string | null;
}
const doctor = async (cwd: string, args: readonly string[] = [], more: Record<string, string> = {}) => {
  const done = await tool().json(["doctor", ...args], { cwd, env: { ...env, ...more } });
  return { ...done, faults: (done.data as { faults: Fault[] }).faults };
};
const faultsOf = (list: readonly Fault[], subject: string) => list.filter((one) => one.subject === subject);

describe("a host with all five CLIs", () => {
  it("is described by one call, which asks each question once", async () => {
    stubClis(bin);
    const { path } = throwawayRepo({ "jobs.json": SPEC });
    const probe = await tool().json(["probe"], { cwd: path, env });
    const { records } = probe.data as { records: { id: string; state: string }[] };
    expect(records.filter(({ id }) => CLI_NAMES.some((name) => name === id)).map(({ id }) => id)).toEqual([
      ...CLI_NAMES,
    ]);
    for (const name of CLI_NAMES) expect([name, callsOf(bin, name)]).toEqual([name, questionsOf(name)]);
  });

  it("is asked again by each run, once, and by plan and doctor only when that is too long ago or not well", async () => {
    stubClis(bin);
    const { path } = throwawayRepo({ "jobs.json": SPEC });
    for (const round of [1, 2]) {
      expect((await tool().run(["run", "jobs.json"], { cwd: path, env })).code).toBe(0);
      for (const name of CLI_NAMES)
        expect([name, callsOf(bin, name)]).toEqual([
          name,
          Array.from({ length: round }, () => questionsOf(name))
            .flat()
            .sort(),
        ]);
    }
    const before = CLI_NAMES.map((name) => callsOf(bin, name).length);
    const plan = await tool().json(["plan", "jobs.json"], { cwd: path, env });
    const said = plan.diagnostics.find((one) => one.code === "inventory-reused")?.message;
    expect(said).toMatch(
      /^answers of (`\w+`(, )?)+ are of the newest run, up to \d min old \(reused\); `run` and `probe` ask again$/,
    );
    const reused = CLI_NAMES.filter((name) => said?.includes(`\`${name}\``));
    expect(reused).toContain("claude");
    const examined = await doctor(path);
    expect(
      (examined.data as { runtimes: { id: string; reused: boolean }[] }).runtimes
        .filter((one) => one.reused)
        .map((one) => one.id),
    ).toEqual(reused);
    CLI_NAMES.forEach((name, at) => {
      if (reused.includes(name)) expect(callsOf(bin, name)).toHaveLength(before[at] as number);
      else expect(callsOf(bin, name).length).toBeGreaterThan(before[at] as number);
    });
    // Another variable, another login: what was found before does not stand in.
    const other = await tool().json(["plan", "jobs.json"], {
      cwd: path,
      env: { ...env, ANTHROPIC_API_KEY: "x" },
    });
    expect(other.diagnostics.find((one) => one.code === "inventory-reused")?.message ?? "").not.toContain(
      "`claude`",
    );
  });
});

describe("a login that changed between plan and dispatch", () => {
  it("holds the job, says what would be billed instead, and goes on when the user accepts it", async () => {
    stubClis(bin);
    const job = { task: "scout", prompt: "look", expected_output: "text", timeout: "1m" };
    const spec = {
      version: 1,
      outcome: "x",
      jobs: [
        { ...job, id: "one", runtime: "internal" },
        { ...job, id: "two", runtime: "claude", depends_on: ["one"] },
      ],
    };
    const { path } = throwawayRepo({ "jobs.json": JSON.stringify(spec) });
    const harness = ["--harness", "claude-code", "--subagents"];
    const run = await tool().json(["run", "jobs.json", ...harness], { cwd: path, env });
    const runDir = runDirOf(run);
    expect([run.code, standingOf(stateOf(runDir))]).toEqual([
      3,
      { one: "queued, pending", two: "queued, pending" },
    ]);

    const withKey = { ...env, ANTHROPIC_API_KEY: "stub" };
    await tool().json(["resume", runDir], { cwd: path, env: withKey });
    expect(stateOf(runDir).jobs["two"]?.block).toMatchObject({
      code: "auth-source-changed",
      detail:
        "`claude` was planned with the login source `subscription` and has `key` now: other billing than planned. `resume --retry two` accepts it.",
    });
    // Nobody was asked to work.
    expect(callsOf(bin, "claude").filter((call) => !questionsOf("claude").includes(call))).toEqual([]);

    await tool().json(["resume", runDir, "--retry", "two"], { cwd: path, env: withKey });
    expect(stateOf(runDir).jobs["two"]?.block).toBeNull();
  });
});

describe("doctor", () => {
  it("finds nothing on a bare host but what it lacks, and says where it looked", async () => {
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    const { code, faults, data } = await doctor(path);
    expect(code).toBe(0);
    expect(faults.map((one) => [one.weight, one.subject, one.what])).toEqual([
      [
        "note",
        "runtimes",
        "No coding-agent CLI was found on PATH: only `mock`, declared programs and the harness's own subagents can work.",
      ],
      [
        "note",
        "harness",
        "no harness said that it dispatches subagents: `internal` jobs are blocked (no-harness).",
      ],
    ]);
    expect(faults[0]?.fix).toBe(`node '${tool().main}' onboard claude`);
    expect((data as { examined: string[] }).examined).toEqual([
      "node",
      "git",
      "folders",
      "disk",
      "login",
      "keys",
      "sandbox",
      "stdin",
      "runtimes",
      "harness",
    ]);
  });

  it("names a missing login, a shadowing key and a sandbox that does not work", async () => {
    stubClis(bin, {
      claude: { "auth status": `echo '{"loggedIn": false}'; exit 1` },
      codex: {
        "sandbox -- touch orchestrate-probe":
          'echo "bwrap: No permissions to create new namespace" >&2; exit 1',
      },
    });
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    const { code, faults } = await doctor(path);
    expect(code).toBe(1);
    expect(faultsOf(faults, "claude")[0]).toEqual({
      subject: "claude",
      weight: "fault",
      what: "not logged in: every job on it would end as AUTH.",
      fix: "claude auth login",
    });
    expect(faults.map((one) => one.weight)).toEqual([...faults.map((one) => one.weight)].sort());
    expect(faultsOf(faults, "codex").map((one) => [one.weight, one.what])).toEqual([
      [
        "fault",
        "its own sandbox does not work here: every command of a job would be refused, and it cannot carry R2 or R3.",
      ],
    ]);
    expect(faultsOf(faults, "gemini")).toEqual([
      {
        subject: "gemini",
        weight: "note",
        what: "`GEMINI_API_KEY` is set: it is billed by that key, even where a subscription is logged in.",
        fix: "unset GEMINI_API_KEY",
      },
    ]);
  });

  it("sees a key in the project's own file, a folder without git and one without a commit", async () => {
    const { path } = throwawayRepo({ "a.txt": "a\n", ".env": "export OPENAI_API_KEY=abc\nOTHER=1\n" });
    expect(faultsOf((await doctor(path)).faults, ".env")).toEqual([
      {
        subject: ".env",
        weight: "note",
        what: `\`${path}/.env\` holds \`OPENAI_API_KEY\`: a CLI that reads it bills jobs in this checkout by that key (jobs in a worktree do not see it).`,
        fix: `mv ${path}/.env ${path}/.env.off`,
      },
    ]);
    const plain = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-plain-")));
    expect(faultsOf((await doctor(plain)).faults, "git")).toEqual([
      {
        subject: "git",
        weight: "note",
        what: `\`${plain}\` is in no git repository: jobs that need a worktree are blocked (no-git).`,
        fix: "git init && git add -A && git commit -m base",
      },
    ]);
    rmSync(plain, { recursive: true, force: true });
  });

  it("knows programs without an adapter by their help, and dispatches nothing to them", async () => {
    fakeCli(bin, "grok", { "--help": "echo '  --max-tool-rounds <n>  rounds'" });
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    expect(faultsOf((await doctor(path)).faults, "grok")).toEqual([
      {
        subject: "grok",
        weight: "note",
        what: `community grok-cli, ${join(bin, "grok")}; a probe target: to use it, declare it in \`runtimes.yaml\` under an id of its own`,
        fix: null,
      },
    ]);
    const probe = await tool().json(["probe", "grok"], { cwd: path, env });
    expect(probe.data).toMatchObject({
      records: [],
      targets: [{ id: "grok", state: "stub", binary: join(bin, "grok"), program: "community grok-cli" }],
    });
    expect(new Set(callsOf(bin, "grok"))).toEqual(new Set(["--help", "--version"]));
  });
});

const AGENT = `runtimes:
  - id: tiny
    command: tiny
    argv: [go]
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: text}
    model: {path: model}
    flags: {read_only: [--read-only]}
    controls: {toolGating: coarse}
`;

describe("one tiny question", () => {
  const workspace = (script: string) => {
    fakeCli(bin, "tiny", { "*": script });
    const { path } = throwawayRepo({ "a.txt": "a\n", ".orchestrate/runtimes.yaml": AGENT });
    return path;
  };

  it("is asked in a worktree nobody saw before, raises what it proves and leaves nothing", async () => {
    const path = workspace(
      `cat > "$FAKE/prompt"; git rev-parse --git-dir > "$FAKE/place"; echo '{"type":"result","text":"ready","model":"m-1"}'`,
    );
    const done = await tool().json(["probe", "tiny", "--smoke"], { cwd: path, env });
    const { records, smoke } = done.data as {
      records: Record<string, unknown>[];
      smoke: Record<string, unknown>[];
    };
    expect(smoke).toMatchObject([{ runtime: "tiny", ok: true, model: "m-1", failureClass: null }]);
    expect(records[0]).toMatchObject({
      authenticated: true,
      headless: true,
      structuredOutput: true,
      capture: { value: "structured", evidence: "verified" },
    });
    expect(JSON.stringify(records[0])).toContain("in a fresh worktree as m-1");
    const { readFileSync } = await import("node:fs");
    expect(readFileSync(join(bin, "prompt"), "utf8")).toContain("`ready`");
    expect(readFileSync(join(bin, "place"), "utf8")).toMatch(
      /plans\/reports\/orchestrate-smoke-\w+\/repo\/\.git\/worktrees\/smoke\n$/,
    );
    expect(readdirSync(join(path, "plans/reports"))).toEqual([]);
    const plain = await tool().json(["probe", "tiny"], { cwd: path, env });
    expect((plain.data as { smoke: unknown }).smoke).toBeNull();
  });

  it.each<[string, string, string, string]>([
    [
      "trust, asked in silence",
      'echo "Do you trust the files in this folder?" >&2; exec sleep 30',
      "TRUST",
      "unusable: trust.",
    ],
    [
      "a refused login",
      `echo '{"type":"error"}'; echo "401 Unauthorized: invalid api key" >&2; exit 1`,
      "AUTH",
      "its login was refused",
    ],
    ["no answer", "exit 0", "BAD_OUTPUT", "one tiny question ended as BAD_OUTPUT"],
  ])("shows %s", async (_what, script, failureClass, words) => {
    const { code, faults, data } = await doctor(workspace(script), ["--smoke", "--timeout", "3s"]);
    expect(code).toBe(1);
    expect((data as { smoke: { failureClass: string }[] }).smoke.map((one) => one.failureClass)).toEqual([
      failureClass,
    ]);
    expect(
      faultsOf(faults, "tiny")
        .map((one) => one.what)
        .join(),
    ).toContain(words);
  });

  it("is bounded only when it is asked", async () => {
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    const done = await tool().json(["doctor", "--timeout", "3s"], { cwd: path, env });
    expect([done.code, done.diagnostics[0]?.message]).toEqual([
      2,
      "`--timeout` bounds the question of `--smoke`: give both or none.",
    ]);
  });
});

/** npm as far as an installation goes: puts a program into the prefix. */
const FAKE_NPM = `case "$3" in
@earendil-works/*) printf '%s\\n' '#!/bin/sh' 'exec "$(dirname "$0")/pi.real" "$@"' > "$FAKE/pi"; chmod +x "$FAKE/pi";;
broken) echo "npm error 404 token=$NPM_TOKEN" >&2; exit 1;;
esac
env > "$FAKE/npm.env"`;

describe("onboarding", () => {
  // No test may ever reach the npm of this machine.
  beforeEach(() => {
    fakeCli(bin, "npm", { "*": "exit 97" });
  });

  it("is offered by a run, shown, done on consent, and the run goes on", async () => {
    stubClis(bin, {
      pi: {
        "*": `cat >/dev/null; echo '{"type":"session","id":"s"}'; echo '{"type":"agent_start"}'; echo '{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"three lines"}]}]}'`,
      },
    });
    const { renameSync, readFileSync } = await import("node:fs");
    renameSync(join(bin, "pi"), join(bin, "pi.real"));
    // The recording stub counts below its own name.
    chmodSync(join(bin, "pi.real"), 0o755);
    fakeCli(bin, "npm", { "*": FAKE_NPM });
    const { path } = throwawayRepo({
      "jobs.json": JSON.stringify({
        version: 1,
        outcome: "x",
        jobs: [
          {
            id: "look",
            task: "scout",
            runtime: "pi",
            prompt: "look",
            expected_output: "text",
            timeout: "1m",
          },
        ],
      }),
    });
    const secrets = { NPM_TOKEN: "npm_secret_value_1", PI_API_KEY: "never-pass-this-1" };
    const at = { cwd: path, env: { ...env, ...secrets, npm_config_loglevel: "error" } };
    const run = await tool().json(["run", "jobs.json"], at);
    expect(run.code).toBe(3);
    const action = run.next.find((one) => one.action === "onboard_runtime");
    const runDir = runDirOf(run);
    expect(action?.argv).toEqual(["onboard", "pi", "--run", runDir]);
    expect(action?.choices?.map((one) => one.argv)).toEqual([
      ["onboard", "pi", "--apply", "--run", runDir],
      ["resume", runDir],
    ]);

    const shown = await tool().json(action?.argv as string[], at);
    expect(shown).toMatchObject({
      code: 0,
      data: {
        result: "missing",
        applied: false,
        recordedIn: null,
        undo: "npm uninstall --global @earendil-works/pi-coding-agent",
      },
    });
    expect((shown.data as { install: string }).install).toMatch(
      /^npm install --global @earendil-works\/pi-coding-agent(@0\.74\.2)?$/,
    );
    expect(existsSync(join(bin, "npm.calls"))).toBe(false);

    expect(stateOf(runDir).onboarding).toBeUndefined();
    const done = await tool().json(action?.choices?.[0]?.argv as string[], at);
    expect(done).toMatchObject({
      code: 0,
      data: { result: "installed", applied: true, recordedIn: runDir },
      diagnostics: [],
    });
    expect(done.next.map((one) => one.action)).toContain("onboard_runtime");
    const recorded = stateOf(runDir).onboarding;
    expect(recorded).toEqual([
      {
        id: expect.stringMatching(/^pi-20/),
        runtime: "pi",
        result: "installed",
        via: "command",
        at: expect.stringMatching(/Z$/),
        actor: "unknown",
        attested: true,
        install: (shown.data as { install: string }).install,
        undo: "npm uninstall --global @earendil-works/pi-coding-agent",
        binary: join(bin, "pi"),
        version: expect.any(String),
        jobs: ["look"],
      },
    ]);
    const status = await tool().run(["status", runDir], at);
    expect(status.stdout).toContain("set up: pi installed");
    expect(status.stdout).toContain("undo: npm uninstall --global @earendil-works/pi-coding-agent");
    const report = readFileSync(join(runDir, "report.md"), "utf8");
    expect(report).toContain("Done for this run:");
    expect(report).toMatch(
      /`pi`: installed, .*, by unknown \(its word\), .*, for look; ran `npm install --global .*`; undo `npm uninstall/,
    );
    const given = readFileSync(join(bin, "npm.env"), "utf8");
    expect(given).toContain("npm_config_loglevel=error");
    for (const secret of Object.values(secrets)) expect(given).not.toContain(secret);

    const resume = action?.choices?.[1]?.argv as string[];
    const after = await tool().json(resume, at);
    // Accepted by nobody yet: the work itself is done, by the runtime that was missing.
    expect([after.code, standingOf(stateOf(runDirOf(after)))]).toEqual([3, { look: "success, blocked" }]);
    const state = stateOf(runDirOf(after));
    expect(state.jobs["look"]?.attemptRecords.map((one) => one.runtime)).toEqual(["pi"]);
    // It is on record once: what the tool installed is not found by accident.
    expect(state.onboarding).toEqual(recorded);
    const traced = traceOf(runDir).filter((one) => one.jobId === "look" && one.kind === "route");
    expect(traced.map((one) => [one.payload["chosen"], one.payload["blocked"]])).toEqual([
      [null, "needs-onboarding"],
      ["pi", null],
    ]);
  });

  it("done by the user's own hand, or tried in vain, is on record too", async () => {
    const agent = `cat >/dev/null; echo '{"type":"session","id":"s"}'; echo '{"type":"agent_start"}'; echo '{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"three lines"}]}]}'`;
    const { path } = throwawayRepo({
      "jobs.json": JSON.stringify({
        version: 1,
        outcome: "x",
        jobs: ["one", "two"].map((id) => ({
          id,
          task: "scout",
          runtime: "pi",
          prompt: "look",
          expected_output: "text",
          timeout: "1m",
        })),
      }),
    });
    const at = { cwd: path, env };
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], at));
    fakeCli(bin, "npm", { "*": "echo no network >&2; exit 1" });
    // The newest run waits for it: it is told without being named.
    const failed = await tool().json(["onboard", "pi", "--apply"], at);
    expect(failed).toMatchObject({ code: 4, data: { result: "install-failed", recordedIn: runDir } });
    stubClis(bin, { pi: { "*": agent } });
    await tool().json(["resume", runDir], at);
    const steps = stateOf(runDir).onboarding?.map((one) => [
      one.result,
      one.via,
      one.install === null,
      one.jobs,
    ]);
    expect(steps).toEqual([
      ["install-failed", "command", false, ["one", "two"]],
      ["found", "look", true, ["one", "two"]],
    ]);
  });

  it("says what is wrong when it fails, is not found after it, or was never recorded", async () => {
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    const at = { cwd: path, env: { ...env, NPM_TOKEN: "npm_secret_value_1" } };
    const without = await tool().json(["onboard", "codex", "--apply"], {
      cwd: path,
      env: { ...env, PATH: home },
    });
    expect(without).toMatchObject({
      code: 4,
      data: { result: "install-failed", output: "`npm` is not on PATH" },
    });
    fakeCli(bin, "npm", { "*": 'echo "npm error token npm_secret_value_1" >&2; exit 1' });
    const failed = await tool().json(["onboard", "codex", "--apply"], at);
    expect(failed).toMatchObject({ code: 4, data: { result: "install-failed" } });
    expect((failed.data as { output: string }).output).toMatch(/^exit 1\nnpm error token /);
    expect(JSON.stringify(failed)).not.toContain("npm_secret_value_1");
    fakeCli(bin, "npm", { "*": "exit 0" });
    expect(await tool().json(["onboard", "codex", "--apply"], at)).toMatchObject({
      code: 1,
      data: { result: "not-found-after", applied: true },
    });
    expect(await tool().json(["onboard", "grok", "--apply"], at)).toMatchObject({
      code: 1,
      data: { result: "no-way", install: null },
    });
    const typo = await tool().json(["onboard", "clade"], at);
    expect([typo.code, typo.diagnostics[0]?.message]).toEqual([
      2,
      "No runtime has the id `clade`; did you mean `claude`?",
    ]);
  });

  it("leaves a login to the user", async () => {
    stubClis(bin, { claude: { "auth status": `echo '{"loggedIn": false}'; exit 1` } });
    const { path } = throwawayRepo({ "a.txt": "a\n" });
    const done = await tool().run(["onboard", "claude", "--apply"], { cwd: path, env });
    expect(done.code).toBe(1);
    expect(done.stdout).toBe(
      "claude is here and not logged in.\nlog in:   claude auth login   (the user, on a terminal; never done here)\nthen:     `resume RUN` for a run that waits for it\n",
    );
    const here = await tool().json(["onboard", "codex"], { cwd: path, env });
    expect(here).toMatchObject({ code: 0, data: { result: "present", applied: false } });
  });
});
