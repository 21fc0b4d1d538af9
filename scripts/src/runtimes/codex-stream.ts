/** `codex exec --json`, as events and state. `turn.completed` and `turn.failed` settle; `error` lines before them are retries. */
import type { AdapterEvent, AttemptUsage, ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { asList, asNumber, asObject, asText, brief, type JsonObject, parseObject } from "./json.ts";
import {
  artifactEvent,
  endEvent,
  errorEvent,
  keepText,
  messageEvent,
  type Observation,
  observed,
  permissionEvent,
  retryEvent,
  toolEvent,
  USAGE_NONE,
  unfamiliar,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { settleAgent } from "./settle.ts";

export function observeCodex(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  switch (type) {
    case "thread.started":
      return observed(state, { sessionHandle: asText(object["thread_id"]) }, [
        { kind: "lifecycle", phase: "start", payload: {} },
      ]);
    case "turn.started":
      // A second turn in one stream begins unsettled again.
      return observed(state, { settled: false, terminal: null }, [
        { kind: "lifecycle", phase: "turn", payload: {} },
      ]);
    case "item.started":
    case "item.updated":
    case "item.completed":
      return onItem(state, type.slice(5), asObject(object["item"]) ?? {});
    case "error":
      return onError(state, asText(object["message"]) ?? "");
    case "turn.completed":
      return onCompleted(state, object);
    case "turn.failed": {
      const message = asText(asObject(object["error"])?.["message"]) ?? "the turn failed";
      return observed(
        state,
        { settled: true, resultText: null, terminal: { ok: false, message, status: null, code: null } },
        [errorEvent(message, null)],
      );
    }
    default:
      return unfamiliar(state, type);
  }
}

/** `Reconnecting... 2/5 (…)` is a retry; anything else is repeated by `turn.failed` and kept in case that never comes. */
function onError(state: ObservedState, message: string): Observation {
  const retry = /^Reconnecting\.\.\. (\d+)\/(\d+)/.exec(message);
  if (retry !== null)
    return observed(state, {}, [
      retryEvent({ attempt: Number(retry[1]), of: Number(retry[2]), error: brief(message) }),
    ]);
  return observed(state, { terminal: { ok: false, message, status: null, code: null } }, [
    errorEvent(message, null),
  ]);
}

function onCompleted(state: ObservedState, line: JsonObject): Observation {
  const usage = usageOf(asObject(line["usage"]) ?? {});
  return observed(
    state,
    {
      settled: true,
      resultText: keepText(asText(state.memo["message"]) ?? ""),
      terminal: { ok: true, message: null, status: null, code: null },
      usage,
    },
    [endEvent, usageEvent(usage)],
  );
}

/** Counted over the whole thread: a resumed session repeats what its earlier turns used. */
const usageOf = (usage: JsonObject): AttemptUsage => ({
  ...USAGE_NONE,
  inputTokens: asNumber(usage["input_tokens"]),
  outputTokens: asNumber(usage["output_tokens"]),
  cachedTokens: asNumber(usage["cached_input_tokens"]),
  source: "codex thread total",
});

function onItem(state: ObservedState, phase: string, item: JsonObject): Observation {
  const type = asText(item["type"]) ?? "";
  const done = phase === "completed";
  switch (type) {
    case "agent_message": {
      const text = asText(item["text"]) ?? "";
      if (!done) return observed(state, {}, []);
      return observed({ ...state, memo: { ...state.memo, message: keepText(text) } }, {}, [
        messageEvent(text),
      ]);
    }
    case "command_execution":
      return onCommand(state, done, item);
    case "file_change":
      return onFileChange(state, done, item);
    case "mcp_tool_call":
    case "collab_tool_call":
    case "web_search":
      return observed(state, {}, [
        toolEvent(done ? "end" : "start", {
          tool: asText(item["tool"]) ?? type,
          ...(done ? { ok: item["status"] !== "failed" && item["error"] == null } : {}),
          summary: asText(item["query"]) ?? asText(item["server"]) ?? "",
          id: asText(item["id"]),
        }),
      ]);
    case "reasoning":
    case "todo_list":
      return observed(state, {}, [{ kind: "progress", phase: type, payload: { basis: type } }]);
    case "error":
      // A warning about itself (an unknown model's metadata, a missing tool), not the end of the turn.
      return observed(state, {}, [
        { kind: "lifecycle", phase: "warning", payload: { message: brief(asText(item["message"]) ?? "") } },
      ]);
    default:
      return unfamiliar(state, `item:${type}`);
  }
}

const WALL = /read-only file system|operation not permitted/i;

function onCommand(state: ObservedState, done: boolean, item: JsonObject): Observation {
  const command = asText(item["command"]) ?? "";
  const id = asText(item["id"]);
  if (!done) {
    if (item["status"] !== "in_progress") return observed(state, {}, []);
    return observed(state, {}, [toolEvent("start", { tool: "shell", summary: command, id })]);
  }
  const status = asText(item["status"]);
  const exitCode = asNumber(item["exit_code"]);
  const ok = status === "completed" && (exitCode === null || exitCode === 0);
  const events: AdapterEvent[] = [toolEvent("end", { tool: "shell", ok, summary: command, id })];
  if (status === "declined") return refused(state, events, "approval", command);
  // The end of the output is where the refused call reports; a file that was printed before may hold such words.
  const tail = (asText(item["aggregated_output"]) ?? "").slice(-2_000);
  return status === "failed" && WALL.test(tail)
    ? refused(state, events, "sandbox", command)
    : observed(state, {}, events);
}

function refused(
  state: ObservedState,
  events: readonly AdapterEvent[],
  boundary: string,
  requested: string,
): Observation {
  return observed(state, { denied: [...state.denied, { boundary, requested: brief(requested) }] }, [
    ...events,
    permissionEvent(boundary, requested),
  ]);
}

function onFileChange(state: ObservedState, done: boolean, item: JsonObject): Observation {
  if (!done) return observed(state, {}, []);
  const paths = asList(item["changes"]).flatMap((change) => asText(asObject(change)?.["path"]) ?? []);
  const ok = item["status"] !== "failed" && item["status"] !== "declined";
  const tool = toolEvent("end", {
    tool: "apply_patch",
    ok,
    summary: paths.join(", "),
    id: asText(item["id"]),
  });
  if (item["status"] === "declined") return refused(state, [tool], "approval", paths.join(", "));
  return observed(state, {}, [tool, ...(ok ? paths.map(artifactEvent) : [])]);
}

export const settleCodex = (state: ObservedState, exit: ExitFacts): Settlement =>
  settleAgent(state, exit, {
    rules: [
      // It rewrites the provider's 500 to this sentence.
      { class: "NETWORK", text: /\bexperiencing high demand\b/ },
      { class: "AUTH", text: /^Missing environment variable: / },
    ],
    // Its usage error; the first line of it says which argument, and may be cut from the tail.
    exitCodes: { 2: "BAD_FLAG" },
  });
