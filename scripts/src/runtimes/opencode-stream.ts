/**
 * `opencode run --format json`, as events and state. There is no settling line: the last step has to finish with reason
 * `stop`, and the exit has to follow.
 */
import type { AdapterEvent, ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { asNumber, asObject, asText, brief, type JsonObject, parseObject } from "./json.ts";
import {
  addUsage,
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

export function observeOpencode(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  const first = state.sessionHandle === null;
  const next = { ...state, sessionHandle: asText(object["sessionID"]) ?? state.sessionHandle };
  const part = asObject(object["part"]) ?? {};
  switch (type) {
    case "step_start":
      return observed(remember(next, { answer: "" }), { settled: false, terminal: null, resultText: null }, [
        { kind: "lifecycle", phase: first ? "start" : "step", payload: {} },
      ]);
    case "text":
      return onText(next, asText(part["text"]) ?? "");
    case "reasoning":
      return observed(next, {}, [{ kind: "progress", phase: "reasoning", payload: { basis: "reasoning" } }]);
    case "tool_use":
      return onToolUse(next, part);
    case "step_finish":
      return onStepFinish(next, part);
    case "error":
      return onError(next, asObject(object["error"]) ?? {});
    default:
      return unfamiliar(next, type);
  }
}

function onText(state: ObservedState, text: string): Observation {
  const before = asText(state.memo["answer"]) ?? "";
  const answer = keepText(before === "" ? text : `${before}\n${text}`);
  return observed(remember(state, { answer }), {}, [messageEvent(text)]);
}

/** Sentences that its permission system puts into the state of a call, in place of a result. */
const REFUSED =
  /^The user rejected permission to use this specific tool call|^The user has specified a rule which prevents you from using this specific tool call/;
const WRITING = new Set(["write", "edit", "patch", "multiedit", "apply_patch"]);

/** Emitted once, at the end of the call. */
function onToolUse(state: ObservedState, part: JsonObject): Observation {
  const call = asObject(part["state"]) ?? {};
  const input = asObject(call["input"]) ?? {};
  const tool = asText(part["tool"]) ?? "tool";
  const path = asText(input["filePath"]);
  const summary = asText(input["command"]) ?? path ?? asText(input["pattern"]) ?? asText(call["title"]) ?? "";
  const ok = call["status"] === "completed" && (asNumber(asObject(call["metadata"])?.["exit"]) ?? 0) === 0;
  const refused = REFUSED.test(asText(call["error"]) ?? "");
  const boundary = `tool:${tool}`;
  const events: AdapterEvent[] = [
    toolEvent("end", { tool, ok, summary, id: asText(part["callID"]) }),
    ...(ok && path !== null && WRITING.has(tool) ? [artifactEvent(path)] : []),
    ...(refused ? [permissionEvent(boundary, summary)] : []),
  ];
  const denied = refused ? [...state.denied, { boundary, requested: brief(summary) }] : state.denied;
  return observed(state, { denied }, events);
}

function onStepFinish(state: ObservedState, part: JsonObject): Observation {
  const tokens = asObject(part["tokens"]) ?? {};
  const cache = asObject(tokens["cache"]) ?? {};
  const fresh = asNumber(tokens["input"]);
  const cached = asNumber(cache["read"]);
  const usage = addUsage(state.usage, {
    ...USAGE_NONE,
    // It counts cached input apart; everywhere else here input is all of it.
    inputTokens: fresh === null ? null : fresh + (cached ?? 0),
    outputTokens: asNumber(tokens["output"]),
    cachedTokens: cached,
    apiEquivalentCostUsd: asNumber(part["cost"]),
    source: "opencode steps",
  });
  const reason = asText(part["reason"]);
  if (reason === "stop")
    return observed(
      state,
      {
        settled: true,
        resultText: asText(state.memo["answer"]) ?? "",
        terminal: { ok: true, message: null, status: null, code: null },
        usage,
      },
      [endEvent, usageEvent(usage)],
    );
  if (reason === "length")
    return observed(
      state,
      {
        usage,
        terminal: {
          ok: false,
          message: "the answer was cut at the model's output limit",
          status: null,
          code: "length",
        },
      },
      [usageEvent(usage)],
    );
  return observed(state, { usage }, [usageEvent(usage)]);
}

/** Headers and bodies of the answer are in it as well; only name, status and message are taken. */
function onError(state: ObservedState, error: JsonObject): Observation {
  const data = asObject(error["data"]) ?? {};
  const message = asText(data["message"]) ?? asText(error["name"]) ?? "error";
  const body = parseObject(asText(data["responseBody"]) ?? "");
  const code = asText(asObject(body?.["error"])?.["code"]) ?? asText(asObject(data["metadata"])?.["code"]);
  const retryAfter = asText(asObject(data["responseHeaders"])?.["retry-after"]);
  const said = retryAfter === null ? message : `${message} (retry after ${retryAfter} seconds)`;
  return observed(
    state,
    {
      settled: true,
      resultText: null,
      terminal: { ok: false, message: said, status: asNumber(data["statusCode"]), code },
    },
    [errorEvent(message, null)],
  );
}

export const settleOpencode = (state: ObservedState, exit: ExitFacts): Settlement =>
  settleAgent(state, exit, {
    rules: [
      // Help that nobody asked for is how it answers an argument it does not know.
      {
        class: "BAD_FLAG",
        text: /\[(?:boolean|string|number|array)\](?:\s+\[default: [^\]\n]{0,40}\])?\s*$/,
      },
      { class: "NETWORK", text: /^JSON parsing failed/ },
      { class: "MODEL_UNAVAILABLE", text: /\bProviderModelNotFoundError\b/ },
      { class: "BAD_OUTPUT", code: /^length$/ },
    ],
  });
