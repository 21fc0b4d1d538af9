/** Claude Code's stream-json, as events and state. `result` settles; its `is_error` counts, its `subtype` does not. */
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
  remember,
  retryEvent,
  toolEvent,
  USAGE_NONE,
  unfamiliar,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { settleAgent } from "./settle.ts";

export function observeClaude(state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  const type = object === null ? null : asText(object["type"]);
  if (object === null || type === null) return unreadable(state, line);
  const next = withSession(state, object);
  switch (type) {
    case "system":
      return onSystem(next, object);
    case "assistant":
      return onAssistant(next, object);
    case "user":
      return onUser(next, object);
    case "result":
      return onResult(next, object);
    case "rate_limit_event":
      return onRateLimit(next, object);
    case "tool_progress":
    case "stream_event":
    case "auth_status":
      return observed(next, {}, [{ kind: "progress", phase: type, payload: { basis: "line" } }]);
    default:
      return unfamiliar(next, type);
  }
}

const withSession = (state: ObservedState, line: JsonObject): ObservedState => {
  const id = asText(line["session_id"]);
  return id === null || id === state.sessionHandle ? state : { ...state, sessionHandle: id };
};

function onSystem(state: ObservedState, line: JsonObject): Observation {
  const subtype = asText(line["subtype"]) ?? "";
  switch (subtype) {
    case "init":
      return observed(state, { model: asText(line["model"]) }, [
        {
          kind: "lifecycle",
          phase: "start",
          payload: {
            model: asText(line["model"]),
            permissionMode: asText(line["permissionMode"]),
            tools: asList(line["tools"])
              .filter((tool) => typeof tool === "string")
              .slice(0, 100),
          },
        },
      ]);
    case "api_retry":
      return observed(state, {}, [
        retryEvent({
          attempt: asNumber(line["attempt"]),
          of: asNumber(line["max_retries"]),
          status: asNumber(line["error_status"]),
          error: asText(line["error"]),
        }),
      ]);
    case "permission_denied":
      return denied(state, {
        id: asText(line["tool_use_id"]),
        tool: asText(line["tool_name"]) ?? "tool",
        requested: asText(line["message"]) ?? "",
      });
    default:
      // Notices of many kinds come and go between versions; none of them is progress.
      return observed(state, {}, [{ kind: "lifecycle", phase: brief(subtype, 60), payload: {} }]);
  }
}

function onRateLimit(state: ObservedState, line: JsonObject): Observation {
  const info = asObject(line["rate_limit_info"]) ?? {};
  const status = asText(info["status"]);
  const resetsAt = asNumber(info["resetsAt"]);
  const next =
    status === "rejected"
      ? remember(state, { limitResetsAt: resetsAt === null ? null : resetsAt * 1_000 })
      : state;
  return observed(next, {}, [
    { kind: "lifecycle", phase: "rate-limit", payload: { status, window: asText(info["rateLimitType"]) } },
  ]);
}

function onAssistant(state: ObservedState, line: JsonObject): Observation {
  const message = asObject(line["message"]) ?? {};
  const events: AdapterEvent[] = [];
  let next = state;
  const model = asText(message["model"]);
  // What really answered; a `<synthetic>` message is the CLI talking about an error.
  if (model !== null && model !== "<synthetic>" && line["parent_tool_use_id"] == null)
    next = { ...next, model };
  const fault = asText(line["error"]);
  if (fault !== null) next = remember(next, { fault });
  for (const block of asList(message["content"]).map(asObject)) {
    if (block === null) continue;
    const kind = asText(block["type"]);
    if (kind === "text" && fault === null) events.push(messageEvent(asText(block["text"]) ?? ""));
    else if (kind === "thinking")
      events.push({ kind: "progress", phase: "thinking", payload: { basis: "thinking" } });
    else if (kind === "tool_use") {
      const use = readUse(block);
      next = remember(next, { tools: { ...openTools(next), ...(use.id === null ? {} : { [use.id]: use }) } });
      events.push(toolEvent("start", { tool: use.tool, summary: use.summary, id: use.id }));
    }
  }
  return observed(next, {}, events);
}

interface ToolUse {
  readonly id: string | null;
  readonly tool: string;
  readonly summary: string;
  readonly path: string | null;
}

const WRITING = new Set(["Write", "Edit", "MultiEdit", "NotebookEdit"]);

function readUse(block: JsonObject): ToolUse {
  const tool = asText(block["name"]) ?? "tool";
  const input = asObject(block["input"]) ?? {};
  const path = asText(input["file_path"]) ?? asText(input["notebook_path"]);
  const said =
    asText(input["command"]) ?? path ?? asText(input["pattern"]) ?? asText(input["description"]) ?? "";
  return { id: asText(block["id"]), tool, summary: said, path: WRITING.has(tool) ? path : null };
}

/** Calls whose results are still to come; a result takes its call out, so this stays small. */
const openTools = (state: ObservedState): Readonly<Record<string, ToolUse>> =>
  (asObject(state.memo["tools"]) ?? {}) as Readonly<Record<string, ToolUse>>;

function onUser(state: ObservedState, line: JsonObject): Observation {
  const refused = refusedIds(line);
  let next = state;
  const events: AdapterEvent[] = [];
  for (const block of asList(asObject(line["message"])?.["content"]).map(asObject)) {
    if (block === null || block["type"] !== "tool_result") continue;
    const id = asText(block["tool_use_id"]);
    const { [id ?? ""]: use, ...open } = openTools(next);
    next = remember(next, { tools: open });
    const ok = block["is_error"] !== true;
    const tool = use?.tool ?? "tool";
    events.push(toolEvent("end", { tool, ok, summary: use?.summary ?? "", id }));
    if (ok && use?.path != null) events.push(artifactEvent(use.path));
    if (id !== null && refused.has(id)) {
      const denial = deny(next, { id, tool, requested: use?.summary ?? "" });
      next = denial.state;
      events.push(...denial.events);
    }
  }
  return observed(next, {}, events);
}

/** Newer versions say beside the result that a call was never executed, and who decided so. */
function refusedIds(line: JsonObject): ReadonlySet<string> {
  const ids = asList(line["tool_result_meta"])
    .map(asObject)
    .filter((meta) => asText(asObject(meta?.["permission_decision"])?.["decision"]) === "reject")
    .map((meta) => asText(meta?.["id"]));
  return new Set(ids.filter((id) => id !== null));
}

interface Denial {
  readonly id: string | null;
  readonly tool: string;
  readonly requested: string;
}

/** The same refusal is reported in up to three places; it counts once. */
function deny(state: ObservedState, denial: Denial): { state: ObservedState; events: AdapterEvent[] } {
  const seen = asList(state.memo["denied"]);
  if (denial.id !== null && seen.includes(denial.id)) return { state, events: [] };
  const boundary = `tool:${denial.tool}`;
  const next = {
    ...state,
    denied: [...state.denied, { boundary, requested: brief(denial.requested) }],
  };
  return {
    state: denial.id === null ? next : remember(next, { denied: [...seen, denial.id] }),
    events: [permissionEvent(boundary, denial.requested)],
  };
}

function denied(state: ObservedState, denial: Denial): Observation {
  const next = deny(state, denial);
  return observed(next.state, {}, next.events);
}

function onResult(state: ObservedState, line: JsonObject): Observation {
  let next = state;
  const events: AdapterEvent[] = [];
  for (const entry of asList(line["permission_denials"]).map(asObject)) {
    if (entry === null) continue;
    const input = asObject(entry["tool_input"]) ?? {};
    const denial = deny(next, {
      id: asText(entry["tool_use_id"]),
      tool: asText(entry["tool_name"]) ?? "tool",
      requested: asText(input["command"]) ?? asText(input["file_path"]) ?? "",
    });
    next = denial.state;
    events.push(...denial.events);
  }
  const subtype = asText(line["subtype"]) ?? "";
  const success = line["is_error"] !== true && subtype === "success";
  const text = asText(line["result"]);
  const message = success ? null : (text ?? errorsOf(line) ?? subtype);
  const usage = usageOf(line);
  return observed(
    next,
    {
      settled: true,
      resultText: success ? keepText(text ?? "") : null,
      terminal: {
        ok: success,
        message,
        status: asNumber(line["api_error_status"]),
        code: codeOf(next, subtype),
      },
      usage,
    },
    [...events, success ? endEvent : errorEvent(message ?? subtype, null), usageEvent(usage)],
  );
}

function errorsOf(line: JsonObject): string | null {
  const errors = asList(line["errors"]).filter((error) => typeof error === "string");
  return errors.length === 0 ? null : errors.join("; ");
}

/** The API fault of the message before; for the CLI's own endings the subtype says more. */
function codeOf(state: ObservedState, subtype: string): string | null {
  const fault = asText(state.memo["fault"]);
  if (fault !== null && fault !== "unknown") return fault;
  return subtype === "success" || subtype === "" ? null : subtype;
}

function usageOf(line: JsonObject): AttemptUsage {
  const usage = asObject(line["usage"]) ?? {};
  return {
    ...USAGE_NONE,
    inputTokens: asNumber(usage["input_tokens"]),
    outputTokens: asNumber(usage["output_tokens"]),
    cachedTokens: asNumber(usage["cache_read_input_tokens"]),
    // List price, also where a subscription pays: never what was really spent.
    apiEquivalentCostUsd: asNumber(line["total_cost_usd"]),
    source: "claude result",
  };
}

export function settleClaude(state: ObservedState, exit: ExitFacts): Settlement {
  const settled = settleAgent(state, exit, {
    rules: [
      { class: "RATE_LIMIT", code: /^rate_limit$/ },
      { class: "AUTH", code: /^(?:authentication_failed|oauth_org_not_allowed|billing_error_auth)$/ },
      { class: "QUOTA", code: /^billing_error$/ },
      { class: "NETWORK", code: /^(?:server_error|overloaded)$/ },
      // The CLI ran out of its own allowance for this job: the work is not done and a new try would do the same.
      { class: "UNKNOWN", code: /^error_(?:max_turns|max_budget_usd|max_structured_output_retries)$/ },
    ],
  });
  const limit = asNumber(state.memo["limitResetsAt"]);
  const limited = settled.failureClass === "RATE_LIMIT" || settled.failureClass === "QUOTA";
  if (!limited || limit === null || limit <= exit.now) return settled;
  // A window that was used up and has a known end is an allowance, whatever status it came with.
  return { ...settled, failureClass: "QUOTA", resetAt: limit };
}
