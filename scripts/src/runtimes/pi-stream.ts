/**
 * pi's JSON mode, as events and state. The last `agent_end` settles, by the stop reason of its last message; a failed
 * `auto_retry_end` after it overrides. Its exit code is 0 whatever happened.
 */
import type { AttemptUsage, ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { asList, asNumber, asObject, asText, type JsonObject, parseObject } from "./json.ts";
import {
  addUsage,
  artifactEvent,
  endEvent,
  errorEvent,
  keepText,
  messageEvent,
  type Observation,
  observed,
  remember,
  retryEvent,
  toolEvent,
  USAGE_NONE,
  unfamiliar,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { settleAgent } from "./settle.ts";

export function observePi(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  const read = LINES[type];
  return read === undefined ? unfamiliar(state, type) : read(state, object);
}

/** Repeats the whole message so far on every piece: only that something moves is taken from it. */
const activity = (state: ObservedState): Observation =>
  observed(state, {}, [{ kind: "progress", phase: "activity", payload: { basis: "line" } }]);
const notice =
  (phase: string) =>
  (state: ObservedState): Observation =>
    observed(state, {}, [{ kind: "lifecycle", phase, payload: {} }]);

const LINES: Readonly<Record<string, (state: ObservedState, line: JsonObject) => Observation>> = {
  session: (state, line) => observed(state, { sessionHandle: asText(line["id"]) }),
  agent_start: (state) =>
    observed(state, { settled: false, terminal: null }, [{ kind: "lifecycle", phase: "start", payload: {} }]),
  turn_start: notice("turn"),
  turn_end: notice("turn-end"),
  message_start: (state) => ({ state, events: [] }),
  message_update: activity,
  message_end: onMessageEnd,
  tool_execution_start: onToolStart,
  tool_execution_update: activity,
  tool_execution_end: onToolEnd,
  agent_end: onAgentEnd,
  auto_retry_start: (state, line) =>
    observed(state, { settled: false, terminal: null }, [
      retryEvent({
        attempt: asNumber(line["attempt"]),
        of: asNumber(line["maxAttempts"]),
        error: asText(line["errorMessage"]),
      }),
    ]),
  auto_retry_end: onRetryEnd,
  compaction_start: notice("compaction"),
  compaction_end: notice("compaction-end"),
  queue_update: notice("queue"),
};

const textOf = (message: JsonObject): string =>
  asList(message["content"])
    .map(asObject)
    .filter((block) => block?.["type"] === "text")
    .map((block) => asText(block?.["text"]) ?? "")
    .join("\n");

function onMessageEnd(state: ObservedState, line: JsonObject): Observation {
  const message = asObject(line["message"]) ?? {};
  if (message["role"] !== "assistant") return { state, events: [] };
  const text = textOf(message);
  const usage = addUsage(state.usage, usageOf(asObject(message["usage"]) ?? {}));
  return observed(
    state,
    {
      model: asText(message["model"]) ?? state.model,
      provider: asText(message["provider"]) ?? state.provider,
      usage,
    },
    [...(text === "" ? [] : [messageEvent(text)]), usageEvent(usage)],
  );
}

function usageOf(usage: JsonObject): AttemptUsage {
  const fresh = asNumber(usage["input"]);
  const cached = asNumber(usage["cacheRead"]);
  return {
    ...USAGE_NONE,
    // It counts cached input apart; everywhere else here input is all of it.
    inputTokens: fresh === null ? null : fresh + (cached ?? 0),
    outputTokens: asNumber(usage["output"]),
    cachedTokens: cached,
    apiEquivalentCostUsd: asNumber(asObject(usage["cost"])?.["total"]),
    source: "pi messages",
  };
}

const WRITING = new Set(["write", "edit"]);

function onToolStart(state: ObservedState, line: JsonObject): Observation {
  const args = asObject(line["args"]) ?? {};
  const tool = asText(line["toolName"]) ?? "tool";
  const id = asText(line["toolCallId"]);
  const path = asText(args["path"]);
  const summary = asText(args["command"]) ?? path ?? asText(args["pattern"]) ?? "";
  const open = {
    ...(asObject(state.memo["tools"]) ?? {}),
    ...(id === null ? {} : { [id]: { summary, path } }),
  };
  return observed(remember(state, { tools: open }), {}, [toolEvent("start", { tool, summary, id })]);
}

function onToolEnd(state: ObservedState, line: JsonObject): Observation {
  const id = asText(line["toolCallId"]);
  const { [id ?? ""]: found, ...open } = asObject(state.memo["tools"]) ?? {};
  const tool = asText(line["toolName"]) ?? "tool";
  const ok = line["isError"] !== true;
  const path = asText(asObject(found)?.["path"]);
  return observed(remember(state, { tools: open }), {}, [
    toolEvent("end", { tool, ok, summary: asText(asObject(found)?.["summary"]) ?? "", id }),
    ...(ok && path !== null && WRITING.has(tool) ? [artifactEvent(path)] : []),
  ]);
}

function onAgentEnd(state: ObservedState, line: JsonObject): Observation {
  const last = asList(line["messages"])
    .map(asObject)
    .findLast((message) => message?.["role"] === "assistant");
  if (last === undefined || last === null) return notice("end-without-answer")(state);
  const reason = asText(last["stopReason"]) ?? "unknown";
  const success = reason === "stop";
  const message = success ? null : (asText(last["errorMessage"]) ?? `stopped with reason \`${reason}\``);
  return observed(
    state,
    {
      settled: true,
      resultText: success ? keepText(textOf(last)) : null,
      terminal: { ok: success, message, status: null, code: success || reason === "error" ? null : reason },
    },
    [success ? endEvent : errorEvent(message ?? "", null)],
  );
}

function onRetryEnd(state: ObservedState, line: JsonObject): Observation {
  if (line["success"] === true) return notice("retried")(state);
  const message = asText(line["finalError"]) ?? state.terminal?.message ?? "gave up after its retries";
  return observed(
    state,
    { settled: true, resultText: null, terminal: { ok: false, message, status: null, code: null } },
    [errorEvent(message, null)],
  );
}

export const settlePi = (state: ObservedState, exit: ExitFacts): Settlement =>
  settleAgent(state, exit, {
    rules: [
      { class: "NETWORK", text: /\bin JSON at position \d+|^Unterminated string|^terminated$/ },
      { class: "BAD_OUTPUT", code: /^length$/ },
      { class: "UNKNOWN", code: /^(?:aborted|toolUse|unknown)$/ },
    ],
  });
