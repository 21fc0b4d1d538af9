import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { validate } from "../../src/core/generated/runtimes.validate.js";
import { ARGUMENT_MAX_BYTES, type DeclaredRuntime, declaredAdapter } from "../../src/runtimes/declared.ts";
import { adapterFor } from "../../src/runtimes/registry.ts";
import { foldLines, settleWith } from "../support/adapter-run.ts";
import { answer, recordOf } from "../support/probe-answers.ts";
import { PROPERTY } from "../support/property.ts";
import { startInput } from "../support/start-input.ts";

const AGENT: DeclaredRuntime = {
  id: "my-agent",
  command: "my-agent",
  version_args: ["--version"],
  help_args: ["--help"],
  argv: ["run", "--json", "--model", "{model}", "--cwd", "{cwd}"],
  prompt: "stdin",
  output: "jsonl",
  settled_by: { path: "type", equals: "result" },
  result: { path: "result" },
  usage: { path: "usage" },
  session: { path: "session_id" },
  error: { path: "error.message" },
  model: { path: "model" },
  failures: [
    { match: { path: "error.code", equals: 429 }, class: "RATE_LIMIT" },
    { match: { path: "error.message", contains: "window spent" }, class: "QUOTA" },
    { match: { exit_code: 75 }, class: "NETWORK" },
    { match: { stderr_contains: "who are you" }, class: "AUTH" },
  ],
  flags: { model: "--model", read_only: ["--read-only"] },
  bypass_flags: ["--trust-me"],
  env_allow: ["MY_AGENT_HOME"],
  provider_env: ["MY_AGENT_KEY"],
  controls: { approval: "scoped", toolGating: "coarse", isolation: "prompt-only", writeBoundary: "enforced" },
  capability: "C2",
  models: ["m1"],
};
const HELP =
  "Usage: my-agent run\n\nOptions:\n  --json  lines\n  --model <m>  model\n  --cwd <dir>  folder\n  --read-only  withhold writing\n";
const ANSWERS = { version: answer("my-agent 1.2.3"), help: [answer(HELP)], auth: null, models: null };

const agent = declaredAdapter(AGENT);
const profileOf = (spec: DeclaredRuntime, answers: object = ANSWERS) =>
  declaredAdapter(spec).profile({
    binary: "/bin/x",
    binaryReal: "/bin/x",
    answers: { ...ANSWERS, ...answers },
    envNames: new Set(),
    hostOS: "linux",
  });
const recordFor = (spec: DeclaredRuntime, answers: object = ANSWERS) => ({
  ...recordOf("claude"),
  ...profileOf(spec, answers),
  id: spec.id,
  binary: "/opt/my agent/bin/my-agent",
});
const start = (spec: DeclaredRuntime, o: Parameters<typeof startInput>[1] = {}) =>
  declaredAdapter(spec).start(startInput("claude", { record: recordFor(spec), ...o }));
const argvOf = (spec: DeclaredRuntime, o: Parameters<typeof startInput>[1] = {}): readonly string[] => {
  const planned = start(spec, o);
  if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.detail}`);
  return planned.value.argv.slice(1);
};
const refusal = (spec: DeclaredRuntime, o: Parameters<typeof startInput>[1] = {}) => {
  const planned = start(spec, o);
  return planned.ok ? null : planned.error;
};
const candidate = (model: string | null) => ({ ...startInput("claude").candidate, model });

describe("a declared agent, probed", () => {
  it("is available, its controls attested and not more", () => {
    const record = recordFor(AGENT);
    expect(validate({ schemaVersion: 1, probedAt: "x", hostOS: "linux", records: [record] })).toBe(true);
    expect(record).toMatchObject({
      state: "available",
      version: "1.2.3",
      approval: { value: "scoped", evidence: "attested" },
      toolGating: { value: "coarse", evidence: "attested" },
      writeBoundary: { value: "enforced", evidence: "attested" },
      isolation: { value: "prompt-only", evidence: "attested" },
      bypassAbsent: { value: true, evidence: "attested" },
      capture: { value: "structured", evidence: "attested" },
      flags: { "--model": true, "--read-only": true },
      authenticated: "unverified",
    });
  });

  it("is unavailable when its help does not list a flag that it names", () => {
    expect(profileOf(AGENT, { help: [answer("  --json  lines\n  --model <m>  model\n")] })).toMatchObject({
      state: "unavailable",
      reason: "flag-missing: --read-only",
    });
  });

  it("leaves a control unverified that its operator says nothing of", () => {
    const { controls, ...silent } = AGENT;
    expect(controls).toBeDefined();
    expect(profileOf(silent).toolGating).toEqual({ value: "unverified", evidence: "unverified" });
  });

  it("asks its own status command for authentication and its own list for models", () => {
    const spec = { ...AGENT, auth_args: ["whoami"], models_args: ["models"] };
    expect(profileOf(spec, { auth: answer("", { exitCode: 1 }) })).toMatchObject({
      state: "unavailable",
      reason: "not-authenticated",
    });
    expect(profileOf(spec, { auth: answer("me"), models: answer("a/m1\nm2\n\n# comment\n") })).toMatchObject({
      authenticated: true,
      models: ["a/m1", "m2"],
    });
  });
});

describe("a declared agent, started", () => {
  it("fills the placeholders, and drops a flag whose value is absent", () => {
    const tools = { allowed: ["read", "search", "edit"], disallowed: [], origin: "spec" as const };
    expect(argvOf(AGENT, { candidate: candidate("m1"), job: { tools } })).toEqual([
      "run",
      "--json",
      "--model",
      "m1",
      "--cwd",
      "/code space/repo",
    ]);
    expect(argvOf(AGENT, { job: { tools } })).toEqual(["run", "--json", "--cwd", "/code space/repo"]);
    expect(argvOf({ ...AGENT, argv: ["--model={model}", "-x"] }, { job: { tools } })).toEqual(["-x"]);
  });

  it("withholds writing from a job that may only read", () => {
    expect(argvOf(AGENT)).toEqual(["run", "--json", "--cwd", "/code space/repo", "--read-only"]);
  });

  it("adds a flag that its argv does not place", () => {
    const spec = { ...AGENT, argv: ["run"], flags: { ...AGENT.flags, cwd: "--cwd" } };
    expect(argvOf(spec, { candidate: candidate("m1") })).toEqual([
      "run",
      "--model",
      "m1",
      "--cwd",
      "/code space/repo",
      "--read-only",
    ]);
  });

  it("passes only what it declares of the environment", () => {
    const planned = start(AGENT);
    expect(planned.ok && planned.value.envPass).toEqual(["MY_AGENT_HOME", "MY_AGENT_KEY"]);
  });

  it("delivers the prompt by file or as one argument where it says so", () => {
    expect(argvOf({ ...AGENT, argv: ["run", "--file", "{prompt_file}"], prompt: "file" })).toEqual([
      "run",
      "--file",
      "/runs/job/prompt.md",
      "--read-only",
    ]);
    const byArgument = { ...AGENT, argv: ["run"], prompt: "argv" as const };
    expect(argvOf(byArgument).at(-1)).toBe("# Task\n\nDo it.\n");
    expect(argvOf(byArgument, { prompt: "- a list" }).slice(-2)).toEqual(["--", "- a list"]);
  });

  it("leaves braces in a prompt alone", () => {
    const spec = { ...AGENT, argv: ["run", "{prompt}"], prompt: "argv" as const };
    expect(argvOf(spec, { prompt: "use {model} and {cwd} $1" })).toContain("use {model} and {cwd} $1");
  });

  it.each([
    [
      "prompt-too-large",
      { ...AGENT, prompt: "argv" as const },
      { prompt: "x".repeat(ARGUMENT_MAX_BYTES + 1) },
    ],
    ["flag-missing", { ...AGENT, argv: ["run"], flags: {} }, { candidate: candidate("m1") }],
    ["session-unsupported", AGENT, { resumeSession: { handle: "h", mode: "continue" as const } }],
    ["effort-unsupported", AGENT, { candidate: { ...candidate(null), effort: "high" as const } }],
    ["bypass-flag", { ...AGENT, argv: ["run", "--trust-me"] }, {}],
    ["bypass-flag", { ...AGENT, argv: ["run", "--dangerously-skip-permissions"] }, {}],
    [
      "tool-unmapped",
      AGENT,
      { job: { tools: { allowed: ["read", "web"], disallowed: [], origin: "spec" as const } } },
    ],
    [
      "tool-unmapped",
      AGENT,
      {
        job: {
          tools: { allowed: ["read", "edit", "shell"], disallowed: ["shell"], origin: "spec" as const },
        },
      },
    ],
  ] as const)("refuses with %s", (code, spec, change) => {
    expect(refusal(spec as DeclaredRuntime, change as Parameters<typeof startInput>[1])?.code).toBe(code);
  });

  it("maps tools by name where the entry does", () => {
    const spec: DeclaredRuntime = {
      ...AGENT,
      flags: { tools: "--tools" },
      tools: { read: "ReadFile", edit: "Patch" },
    };
    const record = recordFor(spec, { help: [answer("  --tools <list>  tools\n")] });
    const tools = { allowed: ["read", "edit"], disallowed: [], origin: "spec" as const };
    expect(argvOf(spec, { record, job: { tools } }).at(-1)).toBe("--tools=ReadFile,Patch");
    expect(declaredAdapter(spec).unmappedTool(["read", "shell"], "R0")).toBe("shell");
  });
});

describe("a declared agent, observed", () => {
  const lines = (...objects: unknown[]) => objects.map((object) => JSON.stringify(object)).join("\n");

  it("settles by its own line, with session, model and usage from their places", () => {
    const { state } = foldLines(
      agent,
      lines(
        { type: "start", session_id: "s1", model: "m1" },
        { type: "step" },
        { type: "result", result: "the answer", usage: { prompt_tokens: 5, output_tokens: 2 } },
      ),
    );
    expect(state).toMatchObject({
      sessionHandle: "s1",
      model: "m1",
      settled: true,
      usage: { inputTokens: 5, outputTokens: 2 },
    });
    expect(settleWith(agent, state)).toMatchObject({ ok: true, resultText: "the answer" });
  });

  it("is not settled without that line, whatever the exit says", () => {
    const { state } = foldLines(agent, lines({ type: "step", result: "half" }));
    expect(settleWith(agent, state)).toMatchObject({ ok: false, failureClass: "BAD_OUTPUT" });
  });

  it("fails on an error, in the class that the entry gives it", () => {
    const limited = foldLines(
      agent,
      lines({ type: "error", error: { code: 429, message: "slow down" } }, { type: "result", result: "x" }),
    ).state;
    expect(settleWith(agent, limited)).toMatchObject({
      ok: false,
      failureClass: "RATE_LIMIT",
      detail: "slow down",
    });
    const spent = foldLines(
      agent,
      lines({ error: { message: "usage window spent, opens again 4pm (Europe/Paris)" } }),
    ).state;
    expect(settleWith(agent, spent, { exitCode: 1, now: Date.parse("2026-11-29T12:00:00Z") })).toMatchObject({
      failureClass: "QUOTA",
      resetAt: Date.parse("2026-11-29T15:00:00Z"),
    });
    const other = foldLines(agent, lines({ error: { message: "503 from upstream" } })).state;
    expect(settleWith(agent, other)).toMatchObject({ failureClass: "NETWORK" });
  });

  it("reads exit codes and stderr as the entry says", () => {
    expect(settleWith(agent, agent.initial(), { exitCode: 75 })).toMatchObject({ failureClass: "NETWORK" });
    expect(settleWith(agent, agent.initial(), { exitCode: 1, stderrTail: "who are you?" })).toMatchObject({
      failureClass: "AUTH",
    });
    expect(settleWith(agent, agent.initial(), { exitCode: 1, stderrTail: "?" })).toMatchObject({
      failureClass: "RUNTIME_CRASH",
    });
  });

  it("takes a rule for all that it names: a place and how it ended, in whatever order the rules stand", () => {
    const place = { path: "error.code", equals: 429 };
    const rules = [
      { match: { ...place, exit_code: 3 }, class: "QUOTA" },
      { match: { ...place, stderr_contains: "slow" }, class: "RATE_LIMIT" },
      { match: { path: "note", contains: "tired", exit_code: 4 }, class: "NETWORK" },
    ] as const;
    const end = { type: "result", result: "done" };
    const limited = { error: { code: 429 } };
    const { error: _place, ...without } = AGENT;
    for (const failures of [[...rules], [...rules].reverse()]) {
      const both = declaredAdapter({ ...without, failures });
      const classOf = (said: readonly object[], exit: { exitCode?: number; stderrTail?: string }) =>
        settleWith(both, foldLines(both, lines(...said)).state, exit).failureClass;
      expect(classOf([limited, end], { exitCode: 3 })).toBe("QUOTA");
      expect(classOf([limited, end], { exitCode: 0, stderrTail: "slow down" })).toBe("RATE_LIMIT");
      expect(classOf([{ note: "so tired" }, end], { exitCode: 4 })).toBe("NETWORK");
      // One half alone is nothing.
      expect(classOf([limited, end], { exitCode: 0 })).toBeNull();
      expect(classOf([end], { exitCode: 0, stderrTail: "slow down" })).toBeNull();
      expect(classOf([{ note: "so tired" }, end], { exitCode: 0 })).toBeNull();
    }
  });

  it("does not take prose for a failure", () => {
    const { state } = foldLines(
      agent,
      lines({ type: "result", result: "it returned 429 in my test, rate limit reached" }),
    );
    expect(settleWith(agent, state, { stderrTail: "auth gateway answered 503" })).toMatchObject({ ok: true });
  });

  it("reads one JSON document over many lines, and plain text whole", () => {
    const json = declaredAdapter({ id: "j", command: "j", output: "json", result: { path: "out.text" } });
    const document = foldLines(json, '{\n "out": {\n  "text": "done"\n }\n}\n').state;
    expect(settleWith(json, document)).toMatchObject({ ok: true, resultText: "done" });
    expect(settleWith(json, foldLines(json, '{ "out": ').state)).toMatchObject({
      ok: false,
      failureClass: "BAD_OUTPUT",
    });
    const text = declaredAdapter({ id: "t", command: "t" });
    expect(settleWith(text, foldLines(text, "one\n\ntwo\n").state)).toMatchObject({
      ok: true,
      resultText: "one\n\ntwo",
    });
    expect(settleWith(text, text.initial(), { stdoutBytes: 0 })).toMatchObject({
      ok: true,
      resultText: null,
    });
  });

  it("quotes a limit that a text program printed, only where the entry says that it is one", () => {
    const limit = "usage window spent, opens again 4pm (Europe/Paris)";
    const plain = declaredAdapter({ id: "t", command: "t" });
    expect(settleWith(plain, foldLines(plain, `${limit}\n`).state)).toMatchObject({ ok: true });
    const told = declaredAdapter({
      id: "t",
      command: "t",
      failures: [{ match: { contains: "window spent" }, class: "QUOTA" }],
    });
    for (const exitCode of [0, 1])
      expect(
        settleWith(told, foldLines(told, `${limit}\n`).state, { exitCode, stdoutTail: limit }),
      ).toMatchObject({ ok: false, failureClass: "QUOTA" });
  });

  it("never throws, whatever is printed and wherever the places point", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.json(), fc.string()), { maxLength: 8 }), fc.string(), (list, path) => {
        const odd = declaredAdapter({
          ...AGENT,
          result: { path: path === "" ? "x" : path },
          error: { path: "__proto__.x" },
        });
        const { state } = foldLines(odd, list.join("\n"));
        settleWith(odd, state);
      }),
      PROPERTY,
    );
  });
});

describe("a declared program", () => {
  const SHELL: DeclaredRuntime = { id: "shell", command: "bash", agent: false };
  const program = declaredAdapter(SHELL);
  const invocation = { command: "make", args: ["all"], stdin: "none" as const, envAllow: ["CI"] };

  it("runs its invocation and nothing else", () => {
    const planned = program.start(startInput("claude", { record: recordFor(SHELL), job: { invocation } }));
    expect(planned).toEqual({
      ok: true,
      value: {
        argv: ["make", "all"],
        stdin: null,
        env: {},
        envPass: ["CI"],
        files: [],
        toolGating: "granular",
      },
    });
    const asked = program.start(
      startInput("claude", {
        record: recordFor(SHELL),
        job: { invocation: { ...invocation, stdin: "prompt" } },
      }),
    );
    expect(asked.ok && asked.value.stdin).toBe("# Task\n\nDo it.\n");
  });

  it.each([
    ["invocation-missing", null],
    ["bypass-flag", { ...invocation, command: "claude", args: ["--dangerously-skip-permissions"] }],
    ["bypass-flag", { ...invocation, command: "sh", args: ["-c", "codex exec -s danger-full-access"] }],
  ] as const)("is refused with %s", (code, given) => {
    const planned = program.start(
      startInput("claude", { record: recordFor(SHELL), job: { invocation: given as never } }),
    );
    expect(planned.ok ? null : planned.error.code).toBe(code);
  });

  it("settles by its exit: a failure is the tool's, a signal a crash", () => {
    const { state } = foldLines(program, "built\n");
    expect(settleWith(program, state)).toMatchObject({ ok: true, resultText: "built" });
    expect(settleWith(program, state, { exitCode: 2, stderrTail: "make: *** Error 1\n" })).toMatchObject({
      ok: false,
      failureClass: "TOOL_FAILURE",
      detail: "exited with 2: make: *** Error 1",
    });
    expect(settleWith(program, state, { exitCode: null, signal: "SIGSEGV" })).toMatchObject({
      failureClass: "RUNTIME_CRASH",
    });
    expect(settleWith(program, state, { exitCode: null, endedBy: "timeout" })).toMatchObject({
      failureClass: "STALLED",
    });
  });

  it("has its argv as its gate", () => {
    expect(profileOf(SHELL)).toMatchObject({
      approval: { value: "scoped", evidence: "verified" },
      toolGating: { value: "granular", evidence: "verified" },
      bypassAbsent: { value: true, evidence: "verified" },
    });
    expect([program.agent, program.role]).toEqual([false, "program"]);
  });
});

describe("the registry", () => {
  it("finds shipped and declared runtimes, and lets no entry replace a shipped one", () => {
    expect(adapterFor("my-agent", [AGENT])?.executable).toBe("my-agent");
    expect(adapterFor("claude", [{ id: "claude", command: "evil" }])?.executable).toBe("claude");
    expect(adapterFor("nobody", [AGENT])).toBeNull();
  });
});
