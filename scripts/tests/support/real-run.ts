/** A real CLI through our own start plan, supervision, observation and settlement, against the loopback model. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { systemClock } from "../../src/host/clock.ts";
import type { Environment } from "../../src/host/env.ts";
import { exec } from "../../src/host/exec.ts";
import { childEnvironment } from "../../src/run/child-env.ts";
import { takeInventory } from "../../src/run/inventory.ts";
import { type Supervised, type SuperviseResult, superviseProcess } from "../../src/run/supervise.ts";
import type {
  Adapter,
  AdapterEvent,
  ObservedState,
  Settlement,
  StartInput,
} from "../../src/runtimes/adapter.ts";
import { adapterFor } from "../../src/runtimes/registry.ts";
import { type CliName, installCli } from "./clis.ts";
import type { ModelServer } from "./model-server.ts";
import { testEnvironment } from "./test-environment.ts";

/** State folders of CLIs lie outside the temporary folder: some refuse to work from there. */
const HOMES = fileURLToPath(new URL("../../../.lab/homes/", import.meta.url));

/** A CLI that starts in two seconds takes half a minute on a machine that does much else. */
export const REAL_TIMEOUT = 240_000;

export interface RealCli {
  readonly name: CliName;
  readonly adapter: Adapter;
  readonly record: RuntimeRecord;
  readonly home: string;
  readonly env: Environment;
  run(o: RunOptions): Promise<RealRun>;
  close(): void;
}

export interface RunOptions {
  readonly prompt: string;
  /** Neutral tool words; default reading only. */
  readonly tools?: readonly string[];
  readonly disallowed?: readonly string[];
  readonly cwd?: string;
  readonly model?: string | null;
  readonly timeoutMs?: number;
  readonly resume?: StartInput["resumeSession"];
  readonly keepSession?: boolean;
  readonly sessionDir?: string;
  /** Called for each event; may cancel. */
  readonly onEvent?: (event: AdapterEvent, supervised: Supervised) => void;
  /** Ends the run as soon as a command line that `endWhen` knows is alive below it. */
  readonly endWhenRunning?: RegExp;
}

export interface RealRun {
  readonly settlement: Settlement;
  readonly state: ObservedState;
  readonly events: readonly AdapterEvent[];
  readonly result: SuperviseResult;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly toolGating: string;
  read(path: string): string | null;
}

/** How each CLI is told to talk to the loopback model: variables, and files in its home. */
export interface Wiring {
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  readonly model: string | null;
  /** Arguments of a start that sets its home up, where the first one takes much longer than all others. */
  readonly warmUp?: readonly string[];
}

export async function realCli(name: CliName, wire: (home: string) => Wiring): Promise<RealCli> {
  const bin = await installCli(name);
  mkdirSync(HOMES, { recursive: true });
  const home = mkdtempSync(join(HOMES, `${name}-`));
  const wiring = wire(home);
  for (const [path, text] of Object.entries(wiring.files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const env = testEnvironment({
    home,
    cwd: home,
    variables: { PATH: `${bin}:${process.env["PATH"]}`, HOME: home, LANG: "C.UTF-8", ...wiring.env },
  });
  const adapter = adapterFor(name, []) as Adapter;
  if (wiring.warmUp !== undefined) {
    const { env: variables } = childEnvironment({
      parent: env.all(),
      allow: adapter.envPass ?? [],
      set: {},
      marker: "warm-up",
    });
    await exec(join(bin, name), wiring.warmUp, { env: variables, cwd: home, timeoutMs: REAL_TIMEOUT });
  }
  const inventory = await takeInventory({
    ids: [name],
    full: false,
    declared: [],
    env,
    clock: systemClock,
    // What takes a CLI half a second alone takes it a minute beside a whole suite.
    exec: (file, args, options) => exec(file, args, { ...options, timeoutMs: REAL_TIMEOUT }),
    harness: { name: "unknown", subagents: false },
  });
  const record = inventory.records.find((entry) => entry.id === name) as RuntimeRecord;
  const folders: string[] = [];
  return {
    name,
    adapter,
    record,
    home,
    env,
    run: (o) => runReal({ adapter, record, env, model: wiring.model, folders }, o),
    close: () => {
      for (const folder of [home, ...folders]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function runReal(
  c: { adapter: Adapter; record: RuntimeRecord; env: Environment; model: string | null; folders: string[] },
  o: RunOptions,
): Promise<RealRun> {
  const cwd = o.cwd ?? mkdtempSync(join(tmpdir(), "orc real "));
  const scratch = mkdtempSync(join(tmpdir(), "orc-scratch-"));
  c.folders.push(cwd, scratch);
  const promptFile = join(scratch, "prompt.md");
  writeFileSync(promptFile, o.prompt);
  const model = o.model === undefined ? c.model : o.model;
  const planned = c.adapter.start({
    job: testJob(o),
    attempt: 1,
    candidate: { ...CANDIDATE, runtime: c.adapter.id, model },
    record: c.record,
    cwd,
    prompt: o.prompt,
    promptFile,
    scratch,
    self: [],
    worktree: false,
    resumeSession: o.resume ?? null,
    ...(o.keepSession === undefined ? {} : { keepSession: o.keepSession }),
    ...(o.sessionDir === undefined ? {} : { sessionDir: o.sessionDir }),
  });
  if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.detail}`);
  const plan = planned.value;
  for (const file of plan.files) writeFileSync(file.path, file.content);
  serial += 1;
  const marker = `real-${process.pid}-${serial}`;
  const { env } = childEnvironment({ parent: c.env.all(), allow: plan.envPass, set: plan.env, marker });
  let state = c.adapter.initial();
  const events: AdapterEvent[] = [];
  const supervised = superviseProcess({
    argv: plan.argv,
    cwd,
    env,
    stdin: plan.stdin,
    marker,
    timeoutMs: o.timeoutMs ?? 120_000,
    stallAfterMs: null,
    graceMs: 2_000,
    stdoutPath: null,
    stderrPath: null,
    maxOutputBytes: 8 * 1024 * 1024,
    secretValues: ["stub-key"],
    clock: systemClock,
    onLine: (line) => {
      const step = c.adapter.observe(state, line);
      state = step.state;
      events.push(...step.events);
      for (const event of step.events) o.onEvent?.(event, supervised);
    },
  });
  const watch = o.endWhenRunning === undefined ? null : endWhenRunning(supervised, marker, o.endWhenRunning);
  const result = await supervised.done;
  clearInterval(watch ?? undefined);
  const settlement = c.adapter.settle(state, {
    exitCode: result.exitCode,
    signal: result.signal,
    endedBy: result.endedBy,
    spawnError: result.spawnError,
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    stdoutBytes: result.stdout.bytes,
    now: Date.now(),
  });
  const read = (path: string): string | null => {
    try {
      return readFileSync(join(cwd, path), "utf8");
    } catch {
      return null;
    }
  };
  return { settlement, state, events, result, argv: plan.argv, cwd, toolGating: plan.toolGating, read };
}

let serial = 0;

/** Not every CLI reports a tool when it starts, so the process table is asked. */
function endWhenRunning(supervised: Supervised, marker: string, command: RegExp): NodeJS.Timeout {
  return setInterval(() => {
    const alive = readdirSync("/proc").some(
      (pid) => /^\d+$/.test(pid) && command.test(commandOf(pid, marker)),
    );
    if (alive) supervised.cancel("graceful");
  }, 100);
}

function commandOf(pid: string, marker: string): string {
  try {
    if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(marker)) return "";
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

const CANDIDATE: StartInput["candidate"] = {
  runtime: "",
  kind: "cli",
  model: null,
  effort: null,
  provider: null,
  family: null,
  capability: "C2",
  capabilitySource: "adapter-default",
  familySource: "unknown",
  independence: null,
  strength: [],
  weaker: [],
};

function testJob(o: RunOptions): StartInput["job"] {
  return {
    id: "job",
    effect: "observe",
    tools: {
      allowed: [...(o.tools ?? ["read", "search"])],
      disallowed: [...(o.disallowed ?? [])],
      origin: "spec",
    },
    riskTier: "R0",
    verification: [],
    invocation: null,
    session: null,
    mock: null,
    task: null,
    maxOutputBytes: 1_048_576,
    outputs: [],
  };
}

/** The wirings, by CLI. */
export const WIRINGS: Readonly<Record<CliName, (server: ModelServer) => (home: string) => Wiring>> = {
  claude: (server) => () => ({
    env: { ANTHROPIC_BASE_URL: server.base, ANTHROPIC_API_KEY: "stub-key" },
    files: {},
    model: null,
  }),
  codex: (server) => (home) => ({
    env: { CODEX_API_KEY: "stub-key", CODEX_HOME: join(home, ".codex") },
    files: {
      ".codex/config.toml": [
        'model_provider = "stub"',
        'model = "stub-model"',
        "[model_providers.stub]",
        'name = "stub"',
        `base_url = "${server.base}/v1"`,
        'wire_api = "responses"',
        'env_key = "CODEX_API_KEY"',
        "request_max_retries = 1",
        "stream_max_retries = 1",
        "",
      ].join("\n"),
    },
    model: "stub-model",
  }),
  gemini: (server) => () => ({
    env: { GEMINI_API_KEY: "stub-key", GOOGLE_GEMINI_BASE_URL: server.base },
    files: {
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, maxAttempts: 2 },
        model: { name: "gemini-2.5-flash" },
      }),
    },
    model: "gemini-2.5-flash",
  }),
  opencode: (server) => () => ({
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(server.base)),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    },
    // Marks the home as one where it was set up, so that it is asked there.
    files: { ".config/opencode/opencode.json": "{}" },
    model: "stub/stub-model",
    warmUp: ["models"],
  }),
  pi: (server) => () => ({
    env: { STUB_KEY: "stub-key" },
    files: {
      ".pi/agent/settings.json": JSON.stringify({ defaultProvider: "stub", defaultModel: "stub-model" }),
      ".pi/agent/models.json": JSON.stringify({
        providers: {
          stub: {
            baseUrl: `${server.base}/v1`,
            api: "openai-completions",
            apiKey: "STUB_KEY",
            models: [{ id: "stub-model", name: "Stub", contextWindow: 200_000, maxTokens: 8_192 }],
          },
        },
      }),
    },
    model: "stub/stub-model",
  }),
};

const limit = { context: 200_000, output: 8_192 };
const opencodeConfig = (base: string) => ({
  autoupdate: false,
  share: "disabled",
  model: "stub/stub-model",
  small_model: "stub/stub-small",
  enabled_providers: ["stub"],
  provider: {
    stub: {
      npm: "@ai-sdk/openai-compatible",
      name: "Stub",
      options: { baseURL: `${base}/v1`, apiKey: "stub-key" },
      models: { "stub-model": { tool_call: true, limit }, "stub-small": { limit } },
    },
  },
});
