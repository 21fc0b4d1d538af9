/** Gemini CLI's stream-json, as events and state. `result` settles. API errors also wrap their HTTP status into the exit code. */
import type { AttemptUsage, ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { asNumber, asObject, asText, brief, type JsonObject, parseObject } from "./json.ts";
import {
  artifactEvent,
  endEvent,
  errorEvent,
  keepText,
  messageEvent,
  type Observation,
  observed,
  permissionEvent,
  remember,
  toolEvent,
  USAGE_NONE,
  unfamiliar,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { settleAgent } from "./settle.ts";

export function observeGemini(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  switch (type) {
    case "init":
      return observed(
        state,
        { sessionHandle: asText(object["session_id"]), model: asText(object["model"]) },
        [{ kind: "lifecycle", phase: "start", payload: { model: asText(object["model"]) } }],
      );
    case "message":
      return onMessage(state, object);
    case "tool_use":
      return onToolUse(state, object);
    case "tool_result":
      return onToolResult(state, object);
    case "error":
      return onError(state, object);
    case "result":
      return onResult(state, object);
    default:
      return unfamiliar(state, type);
  }
}

/** Pieces of one answer; what comes after the last tool result is the final text. */
function onMessage(state: ObservedState, line: JsonObject): Observation {
  if (line["role"] !== "assistant") return { state, events: [] };
  const piece = asText(line["content"]) ?? "";
  const before = line["delta"] === true ? (asText(state.memo["answer"]) ?? "") : "";
  return observed(remember(state, { answer: keepText(before + piece) }), {}, [messageEvent(piece)]);
}

const WRITING = new Set(["write_file", "replace"]);

function onToolUse(state: ObservedState, line: JsonObject): Observation {
  const input = asObject(line["parameters"]) ?? {};
  const tool = asText(line["tool_name"]) ?? "tool";
  const id = asText(line["tool_id"]);
  const path = asText(input["file_path"]) ?? asText(input["absolute_path"]);
  const summary = asText(input["command"]) ?? path ?? asText(input["pattern"]) ?? "";
  const use = { tool, summary, path: WRITING.has(tool) ? path : null };
  const open = { ...(asObject(state.memo["tools"]) ?? {}), ...(id === null ? {} : { [id]: use }) };
  return observed(remember(state, { tools: open, answer: "" }), {}, [
    toolEvent("start", { tool, summary, id }),
  ]);
}

function onToolResult(state: ObservedState, line: JsonObject): Observation {
  const id = asText(line["tool_id"]);
  const { [id ?? ""]: found, ...open } = asObject(state.memo["tools"]) ?? {};
  const use = asObject(found) ?? {};
  const tool = asText(use["tool"]) ?? "tool";
  const summary = asText(use["summary"]) ?? "";
  const path = asText(use["path"]);
  // A shell command that failed is still "success" here: the tool ran.
  const ok = line["status"] === "success";
  const refused = asText(asObject(line["error"])?.["type"]) === "policy_violation";
  const boundary = `tool:${tool}`;
  return observed(
    remember(state, { tools: open, answer: "" }),
    { denied: refused ? [...state.denied, { boundary, requested: brief(summary) }] : state.denied },
    [
      toolEvent("end", { tool, ok, summary, id }),
      ...(ok && path !== null ? [artifactEvent(path)] : []),
      ...(refused ? [permissionEvent(boundary, summary)] : []),
    ],
  );
}

/** It stops at a repeating answer and then reports success: what it stopped over is kept. */
function onError(state: ObservedState, line: JsonObject): Observation {
  const message = asText(line["message"]) ?? "error";
  const stopped = /\bloop detected\b|\bstopping execution\b|\bmaximum (?:session )?turns\b/i.test(message);
  return observed(stopped ? remember(state, { stopped: message }) : state, {}, [errorEvent(message, null)]);
}

function onResult(state: ObservedState, line: JsonObject): Observation {
  const error = asObject(line["error"]);
  const stopped = asText(state.memo["stopped"]);
  const success = line["status"] === "success" && error === null && stopped === null;
  const message = success ? null : (asText(error?.["message"]) ?? stopped ?? "ended with an error");
  const usage = usageOf(asObject(line["stats"]) ?? {});
  return observed(
    state,
    {
      settled: true,
      resultText: success ? (asText(state.memo["answer"]) ?? "") : null,
      terminal: { ok: success, message, status: null, code: asText(error?.["type"]) },
      usage,
    },
    [success ? endEvent : errorEvent(message ?? "", null), usageEvent(usage)],
  );
}

const usageOf = (stats: JsonObject): AttemptUsage => ({
  ...USAGE_NONE,
  inputTokens: asNumber(stats["input_tokens"]),
  outputTokens: asNumber(stats["output_tokens"]),
  cachedTokens: asNumber(stats["cached"]),
  source: "gemini result",
});

export const settleGemini = (state: ObservedState, exit: ExitFacts): Settlement =>
  settleAgent(state, exit, {
    rules: [
      // Help that nobody asked for is how it answers an argument it does not know.
      {
        class: "BAD_FLAG",
        text: /\[(?:boolean|string|number|array)\](?:\s+\[default: [^\]\n]{0,40}\])?\s*$/,
      },
      { class: "NETWORK", text: /\[API Error: (?:terminated|Incomplete JSON segment)/ },
      { class: "UNKNOWN", text: /\bloop detected\b/i },
    ],
    exitCodes: {
      41: "AUTH",
      42: "UNKNOWN",
      44: "SANDBOX",
      53: "UNKNOWN",
      54: "TOOL_FAILURE",
      55: "PERMISSION",
    },
    // 401 leaves as 145, 429 as 173, 500 as 244: the status, less 256.
    statusOfExit: (exitCode) => (exitCode >= 144 && exitCode <= 255 ? exitCode + 256 : null),
  });
