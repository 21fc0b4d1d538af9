/** A further agent by configuration alone: every field of an entry, from its YAML to what its process got and gave. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { installCli, installFurther } from "../support/clis.ts";
import { startModelServer } from "../support/model-server.ts";
import { WIRINGS } from "../support/real-run.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
let bin: string;
let home: string;
let env: Record<string, string>;

beforeEach(() => {
  bin = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-bin-")));
  home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-home-")));
  mkdirSync(join(home, ".orchestrate"));
  env = {
    HOME: home,
    PATH: `${bin}:/usr/bin:/bin`,
    MY_AGENT_HOME: "/agent/home",
    MY_AGENT_KEY: "agent-key-12345",
  };
});
afterEach(() => {
  for (const folder of [bin, home]) rmSync(folder, { recursive: true, force: true });
});

/** An agent of nobody's: says what it got, and does what its prompt says in [[…]]. */
const FAKE = `#!/usr/bin/env node
const fs = require("node:fs");
const args = process.argv.slice(2);
if (args[0] === "--version") { console.log("my-agent 1.2.3"); process.exit(0); }
if (args[0] === "--help") { console.log("Usage: my-agent run\\n\\nOptions:\\n" + HELP.map((flag) => "  " + flag + " <x>  text\\n").join("")); process.exit(0); }
if (args[0] === "status") process.exit(fs.existsSync(__dirname + "/logged-out") ? 1 : 0);
if (args[0] === "models") { console.log("m-small\\nm-large"); process.exit(0); }
let stdin = "";
process.stdin.on("data", (d) => (stdin += d)).on("end", () => {
  const at = args.indexOf("--prompt-file");
  const prompt = stdin || (at >= 0 ? fs.readFileSync(args[at + 1], "utf8") : args.at(-1));
  const names = ["MY_AGENT_HOME", "MY_AGENT_KEY", "CLAUDECODE"];
  fs.appendFileSync(__dirname + "/got.jsonl", JSON.stringify({ args: args.filter((a) => a !== prompt), prompt, cwd: process.cwd(), env: names.filter((n) => process.env[n]) }) + "\\n");
  const order = /\\[\\[(\\w+)\\]\\]/.exec(prompt)?.[1];
  if (order === "write") fs.writeFileSync("src/a.txt", "written\\n");
  if (order === "limit") { console.log(JSON.stringify({ type: "end", error: { code: 429, message: "slow down" } })); process.exit(0); }
  if (order === "garbage") { console.log("%%%"); process.exit(0); }
  if (FORM === "text") { console.log("plain answer"); process.exit(0); }
  const usage = { input_tokens: 7, output_tokens: 3, cost_usd: 0.01 };
  const end = { type: "result", result: "the answer", usage, session_id: "s-1", model: args.includes("m-large") ? "m-large" : "m-small" };
  if (FORM === "json") console.log(JSON.stringify(end, null, 2));
  else console.log(JSON.stringify({ type: "note", text: "thinking" }) + "\\n" + JSON.stringify(end));
});
`;
const HELP = [
  "--json",
  "--model",
  "--effort",
  "--cwd",
  "--session",
  "--read-only",
  "--write",
  "--prompt-file",
];

function agent(name: string, form: "jsonl" | "json" | "text", help: readonly string[] = HELP): void {
  const script = FAKE.replace("HELP.map", `${JSON.stringify(help)}.map`).replaceAll(
    "FORM",
    JSON.stringify(form),
  );
  writeFileSync(join(bin, name), script);
  chmodSync(join(bin, name), 0o755);
}

const ENTRY = `  - id: my-agent
    command: my-agent
    version_args: [--version]
    help_args: [--help]
    auth_args: [status]
    models_args: [models]
    argv: [run, --json, --model, "{model}", --cwd, "{cwd}"]
    prompt: stdin
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    usage: {path: usage}
    session: {path: session_id}
    error: {path: error.message}
    model: {path: model}
    failures: [{match: {path: error.code, equals: 429}, class: RATE_LIMIT}]
    flags: {model: --model, effort: --effort, read_only: [--read-only], workspace_write: [--write]}
    bypass_flags: [--yolo]
    env_allow: [MY_AGENT_HOME]
    provider_env: [MY_AGENT_KEY]
    controls: {approval: scoped, toolGating: coarse, isolation: prompt-only, writeBoundary: enforced}
    capability: C2
    family: nobody
    effort_levels: [low, high]
`;

const declare = (text: string): void =>
  writeFileSync(join(home, ".orchestrate/runtimes.yaml"), `runtimes:\n${text}`);
const job = (id: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "my-agent",
  prompt: `look at ${id}`,
  expected_output: "text",
  timeout: "1m",
  ...more,
});

async function run(jobs: readonly object[], o: { env?: Record<string, string> } = {}) {
  const repo = throwawayRepo({
    "src/a.txt": "a\n",
    "jobs.json": JSON.stringify({ version: 1, outcome: "x", concurrency: 1, jobs }),
  });
  const done = await tool().json(["run", "jobs.json"], { cwd: repo.path, env: { ...env, ...o.env } });
  if (done.data === null) throw new Error(JSON.stringify(done.diagnostics));
  const runDir = runDirOf(done);
  return { ...done, runDir, path: repo.path, state: stateOf(runDir) };
}
const got = () =>
  readFileSync(join(bin, "got.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { args: string[]; prompt: string; cwd: string; env: string[] });
const attempt = (state: ReturnType<typeof stateOf>, id: string) => state.jobs[id]?.attemptRecords.at(-1);

describe("an agent that is declared", () => {
  it("is given what its entry says, and understood by what its entry says", async () => {
    agent("my-agent", "jsonl");
    declare(ENTRY);
    const { state, runDir, path } = await run(
      [
        job("plain"),
        job("pinned", { model: "m-large", effort: "high" }),
        job("writer", {
          task: "implement",
          prompt: "[[write]]",
          owned_paths: ["src/**"],
          checks: ["it is there"],
        }),
      ],
      { env: { CLAUDECODE: "1" } },
    );
    for (const id of ["plain", "pinned", "writer"])
      expect([id, state.jobs[id]?.status]).toEqual([id, "success"]);
    const by = (words: string) => got().find((one) => one.prompt.includes(words));
    const [plain, pinned, writer] = [by("look at plain"), by("look at pinned"), by("[[write]]")];
    expect(plain?.args).toEqual(["run", "--json", "--cwd", path, "--read-only"]);
    expect(plain?.prompt).toContain("look at plain");
    expect(plain?.env).toEqual(["MY_AGENT_HOME", "MY_AGENT_KEY"]);
    expect(pinned?.args).toEqual([
      "run",
      "--json",
      "--model",
      "m-large",
      "--cwd",
      path,
      "--effort",
      "high",
      "--read-only",
    ]);
    expect(writer?.args).toEqual(["run", "--json", "--cwd", writer?.cwd, "--write"]);
    expect(attempt(state, "pinned")).toMatchObject({
      model: "m-large",
      modelRequested: "m-large",
      effortLevel: "high",
      family: "nobody",
      exitCode: 0,
    });
    expect(readFileSync(join(runDir, "plain/result.md"), "utf8").trim()).toBe("the answer");
    expect(JSON.parse(readFileSync(join(runDir, "plain/session.json"), "utf8"))).toMatchObject({
      handle: "s-1",
    });
    const metrics = readFileSync(join(runDir, "metrics.jsonl"), "utf8");
    expect(metrics).toContain('"inputTokens":7');
    expect(metrics).toContain('"apiEquivalentCostUsd":0.01');
    expect(metrics).not.toContain("agent-key-12345");
  });

  it.each([
    [
      "file",
      "json",
      `argv: [--prompt-file, "{prompt_file}"], prompt: file, output: json, result: {path: result}`,
      "the answer",
    ],
    ["argv", "text", "argv: [go], prompt: argv, output: text", "plain answer"],
    ["stdin", "text", "argv: [go]", "plain answer"],
  ] as const)("takes its prompt by %s and answers in %s", async (_by, form, fields, answer) => {
    agent("my-agent", form);
    declare(
      `  - {id: my-agent, command: my-agent, flags: {read_only: [--read-only]}, controls: {toolGating: coarse}, ${fields}}\n`,
    );
    const { state, runDir } = await run([job("one")]);
    expect([state.jobs["one"]?.status, state.jobs["one"]?.reason]).toEqual(["success", expect.anything()]);
    expect(got()[0]?.prompt).toContain("look at one");
    expect(readFileSync(join(runDir, "one/result.md"), "utf8").trim()).toBe(answer);
  });

  it("ends in the class that its entry gives an error, and as BAD_OUTPUT without its settling line", async () => {
    agent("my-agent", "jsonl");
    declare(ENTRY);
    const { state } = await run([
      job("limit", { prompt: "[[limit]]" }),
      job("garbage", { prompt: "[[garbage]]" }),
    ]);
    expect(attempt(state, "limit")).toMatchObject({ failureClass: "RATE_LIMIT" });
    expect(state.jobs["limit"]?.status).toBe("blocked");
    expect(attempt(state, "garbage")).toMatchObject({ failureClass: "BAD_OUTPUT" });
    expect(state.jobs["garbage"]?.status).toBe("failed");
  });

  it("is not used when its live help lacks a flag, it is not logged in, or does not list the model", async () => {
    declare(ENTRY);
    const blockOf = async (more: object = {}) => {
      const { state } = await run([job("one", more)]);
      return [state.jobs["one"]?.block?.code, state.jobs["one"]?.block?.detail];
    };
    agent(
      "my-agent",
      "jsonl",
      HELP.filter((flag) => flag !== "--read-only"),
    );
    expect(await blockOf()).toEqual([
      "needs-onboarding",
      "`my-agent`: unavailable: flag-missing: --read-only",
    ]);
    agent("my-agent", "jsonl");
    expect(await blockOf({ model: "m-huge" })).toEqual([
      "model-not-live",
      "`my-agent m-huge`: does not list `m-huge`",
    ]);
    writeFileSync(join(bin, "logged-out"), "");
    expect((await blockOf())[0]).toBe("needs-onboarding");
    expect(existsSync(join(bin, "got.jsonl"))).toBe(false);
  });

  it("never runs with a flag that it calls a bypass", async () => {
    agent("my-agent", "jsonl");
    declare(ENTRY.replace("argv: [run,", "argv: [run, --yolo,"));
    const { path } = throwawayRepo({ "jobs.json": JSON.stringify({ version: 1, jobs: [job("one")] }) });
    const done = await tool().json(["plan", "jobs.json"], { cwd: path, env });
    expect([done.code, done.diagnostics.find((one) => one.severity === "error")?.message]).toEqual([
      2,
      "`--yolo` switches permission checks off, and no approval makes that acceptable",
    ]);
  });

  it("of a project runs only where it is named", async () => {
    agent("my-agent", "jsonl");
    const { path } = throwawayRepo({
      ".orchestrate/runtimes.yaml": `runtimes:\n${ENTRY}`,
      "jobs.json": JSON.stringify({ version: 1, jobs: [job("one", { runtime: undefined })] }),
    });
    const done = await tool().json(["plan", "jobs.json"], { cwd: path, env });
    const { plan } = done.data as {
      plan: { jobs: { route: { chain: unknown[]; blocked: { code: string } } }[] };
    };
    expect([plan.jobs[0]?.route.chain, plan.jobs[0]?.route.blocked.code]).toEqual([[], "no-live-runtime"]);
  });
});

describe("a real CLI that is declared", () => {
  it("works by its entry alone, as the reference document shows it", async () => {
    const server = await startModelServer();
    const wiring = WIRINGS.pi(server)(home);
    for (const [path, text] of Object.entries(wiring.files)) {
      mkdirSync(join(home, path, ".."), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const document = readFileSync(
      join(ROOT, "plugins/orchestrate/skills/orchestrate/references/runtime-adapter-contract.md"),
      "utf8",
    );
    const example = /```yaml\n(runtimes:\n {2}- id: pi-text\n[\s\S]*?)```/.exec(document)?.[1] as string;
    writeFileSync(join(home, ".orchestrate/runtimes.yaml"), example);
    const { state, runDir } = await run(
      [
        job("real", {
          runtime: "pi-text",
          model: wiring.model,
          prompt: "[[stub: say hello]]",
          timeout: "3m",
        }),
      ],
      { env: { ...wiring.env, PATH: `${await installCli("pi")}:${process.env["PATH"]}` } },
    );
    await server.close();
    expect([state.jobs["real"]?.status, attempt(state, "real")]).toMatchObject([
      "success",
      { runtime: "pi-text" },
    ]);
    expect(readFileSync(join(runDir, "real/result.md"), "utf8").trim().length).toBeGreaterThan(0);
    expect([...(server.calls.at(-1)?.tools ?? [])].sort()).toEqual(["find", "grep", "ls", "read"]);
  }, 240_000);
});

const FURTHER = `runtimes:
  - id: qwen
    command: qwen
    version_args: [--version]
    help_args: [--help]
    argv: [--auth-type, openai, --output-format, stream-json, --model, "{model}"]
    prompt: stdin
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    usage: {path: usage}
    session: {path: session_id}
    error: {path: error.message}
    failures:
      - {match: {path: result, contains: "[API Error: 401"}, class: AUTH}
      - {match: {path: result, contains: "[API Error:"}, class: NETWORK}
    flags: {model: --model, read_only: [--approval-mode, plan], workspace_write: [--approval-mode, auto-edit]}
    bypass_flags: [--yolo, -y]
    env_allow: [OPENAI_BASE_URL]
    provider_env: [OPENAI_API_KEY]
    controls: {approval: scoped, toolGating: coarse, isolation: none, writeBoundary: prompt-only}
`;

/** No adapter, no note and no line of code knows this one. */
if (process.env["ORCHESTRATE_SOAK"] === "1")
  describe("a further real CLI", { timeout: 600_000 }, () => {
    it("is probed, bounded and understood by its entry alone, also where it calls an error its answer", async () => {
      const server = await startModelServer();
      const path = `${await installFurther()}:${process.env["PATH"]}`;
      writeFileSync(join(home, ".orchestrate/runtimes.yaml"), FURTHER);
      const further = { runtime: "qwen", model: "stub-model", timeout: "4m" };
      const { state, runDir } = await run(
        [
          job("plain", { ...further, prompt: "[[stub: say hello from afar]]" }),
          job("refused", { ...further, prompt: "[[stub: status 401]]" }),
        ],
        { env: { PATH: path, OPENAI_BASE_URL: `${server.base}/v1`, OPENAI_API_KEY: "stub-key" } },
      );
      await server.close();
      expect(attempt(state, "plain")).toMatchObject({
        status: "success",
        exitCode: 0,
        usage: { inputTokens: expect.any(Number) },
        sessionHandle: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(readFileSync(join(runDir, "plain/result.md"), "utf8")).toContain("hello from afar");
      // It left with 0 and said `success`.
      expect(attempt(state, "refused")).toMatchObject({
        status: "blocked",
        exitCode: 0,
        failureClass: "AUTH",
      });
      const offered = new Set(server.calls.flatMap((call) => call.tools));
      for (const name of ["write_file", "edit", "run_shell_command"]) expect(offered).not.toContain(name);
    });
  });
