/** The built-in runtime of tests, examples and first runs: our own tool started again as a child that plays a script. */
import { ok, type Result } from "../core/result.ts";
import { EFFORTS } from "../core/tiers.ts";
import type {
  Adapter,
  AttemptUsage,
  ObservedState,
  Profile,
  StartInput,
  StartPlan,
  StartRefusal,
} from "./adapter.ts";
import { asNumber, asObject, asText, type JsonObject, parseObject } from "./json.ts";
import {
  addUsage,
  artifactEvent,
  endEvent,
  errorEvent,
  initialState,
  keepText,
  messageEvent,
  type Observation,
  observed,
  permissionEvent,
  toolEvent,
  USAGE_NONE,
  unfamiliar,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { found, UNPROVEN } from "./profile.ts";
import { settleAgent } from "./settle.ts";

/** Models, which are its families too: work done by one may be judged by the other. */
export const MOCK_MODELS = ["mock-a", "mock-b"] as const;

export const mock: Adapter = {
  id: "mock",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: null,
  capability: "C3",
  executable: null,
  bypassFlags: [],
  gatewayEnv: [],
  providerEnv: [],
  output: "jsonl",
  probe: { version: [], help: [], auth: null, models: null },
  profile,
  start,
  initial: () => initialState,
  observe,
  settle: (state, exit) => settleAgent(state, exit),
  resume: "verified",
  fork: "verified",
  steer: "unsupported",
  sessionScope: { continue: "anywhere", fork: "anywhere" },
  unmappedTool: () => null,
  effortLevels: EFFORTS,
};

function profile(): Profile {
  return {
    ...UNPROVEN,
    state: "available",
    version: null,
    authenticated: true,
    authSource: "none",
    provider: "mock",
    models: [...MOCK_MODELS],
    family: MOCK_MODELS[0],
    headless: true,
    cwdControl: "process-owned",
    approval: { value: "scoped", evidence: "verified" },
    toolGating: { value: "granular", evidence: "verified" },
    writeBoundary: { value: "enforced", evidence: "verified" },
    isolation: { value: "none", evidence: "verified" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: { value: "structured", evidence: "verified" },
    resume: "verified",
    fork: "verified",
    steer: "unsupported",
    structuredOutput: true,
    effortLevels: [...EFFORTS],
    evidence: [found("built in", "plays a script, has no tools of its own and writes below its folder only")],
    notes: ["no model inside: work done by it is judged by it alone"],
  };
}

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { job } = input;
  const script = {
    jobId: job.id,
    attempt: input.attempt,
    model: input.candidate.model ?? MOCK_MODELS[0],
    steps: job.mock ?? defaultSteps(job),
    session: input.resumeSession,
  };
  const file = `${input.scratch}/mock.json`;
  return ok({
    argv: [...input.self, "__mock", file],
    stdin: input.prompt,
    env: {},
    envPass: [],
    files: [{ path: file, content: JSON.stringify(script) }],
    toolGating: "granular",
  });
}

/** Without a script: every declared output, with a content that says where it comes from, and a result. */
function defaultSteps(job: StartInput["job"]): readonly JsonObject[] {
  const files = job.outputs
    .filter((output) => !output.fromResult)
    .map((output) => ({
      write: { path: output.path, content: `Written by the mock runtime for ${job.id}.\n` },
    }));
  return [...files, { say: `The mock runtime did \`${job.id}\`.` }];
}

function observe(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  const read = LINES[type];
  return read === undefined ? unfamiliar(state, type) : read(state, object);
}

const LINES: Readonly<Record<string, (state: ObservedState, line: JsonObject) => Observation>> = {
  "mock.start": (state, line) =>
    observed(
      state,
      { sessionHandle: asText(line["session"]), model: asText(line["model"]), provider: "mock" },
      [{ kind: "lifecycle", phase: "start", payload: { model: asText(line["model"]) } }],
    ),
  "mock.session": (state, line) => observed(state, { sessionHandle: asText(line["session"]) }),
  "mock.model": (state, line) => observed(state, { model: asText(line["model"]) }),
  "mock.say": (state, line) => {
    const text = asText(line["text"]) ?? "";
    return observed(state, { resultText: keepText(text) }, [messageEvent(text)]);
  },
  "mock.tool": (state, line) =>
    observed(state, {}, [
      toolEvent("end", {
        tool: asText(line["tool"]) ?? "tool",
        ok: line["ok"] === true,
        summary: asText(line["summary"]) ?? "",
      }),
    ]),
  "mock.file": (state, line) => observed(state, {}, [artifactEvent(asText(line["path"]) ?? "")]),
  "mock.permission": (state, line) => {
    const denial = {
      boundary: asText(line["boundary"]) ?? "unknown",
      requested: asText(line["requested"]) ?? "",
    };
    return observed(state, { denied: [...state.denied, denial] }, [
      permissionEvent(denial.boundary, denial.requested),
    ]);
  },
  "mock.usage": (state, line) => {
    const usage = addUsage(state.usage, {
      ...FREE,
      inputTokens: asNumber(line["input_tokens"]),
      outputTokens: asNumber(line["output_tokens"]),
      cachedTokens: asNumber(line["cached_tokens"]),
      apiEquivalentCostUsd: asNumber(line["cost_usd"]) ?? 0,
    });
    return observed(state, { usage }, [usageEvent(usage)]);
  },
  "mock.result": ended,
};

/** Nothing is ever spent, whatever a script claims. */
const FREE: AttemptUsage = {
  ...USAGE_NONE,
  actualMarginalCostUsd: 0,
  apiEquivalentCostUsd: 0,
  source: "mock",
};

function ended(state: ObservedState, line: JsonObject): Observation {
  // As with real runtimes: an error in a success envelope is an error.
  const success = line["ok"] === true && line["is_error"] !== true;
  const message = asText(line["message"]);
  const cls = asText(line["class"]);
  const usage = state.usage ?? FREE;
  return observed(
    state,
    {
      settled: true,
      model: asText(line["model"]) ?? state.model,
      resultText: success ? keepText(asText(line["text"]) ?? "") : state.resultText,
      terminal: { ok: success, message, status: null, code: cls === null ? null : `class:${cls}` },
      usage,
    },
    [success ? endEvent : errorEvent(message ?? "", cls), usageEvent(usage)],
  );
}

/** The script of an arbiter's call, from `arbiter.mock` of the spec (null: everything passes). */
export const arbiterSteps = (verdicts: unknown): readonly JsonObject[] => [
  { arbiter: asObject(verdicts) ?? {} },
];
