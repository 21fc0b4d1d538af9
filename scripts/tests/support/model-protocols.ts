/** Four provider protocols, as far as coding CLIs use them: reading a request, writing an answer, shaping an error. */
import type { Conversation, OfferedTool, Reply, ToolCall, ToolSchema } from "./model-script.ts";

export type Protocol = "anthropic" | "responses" | "chat" | "gemini";

/** Fixed, so that sums can be asserted. */
export const CALL_USAGE = { input: 1_000, cached: 100, output: 20 } as const;

// biome-ignore lint/suspicious/noExplicitAny: bodies of four foreign protocols, looked at and thrown away
type Json = Record<string, any>;
interface Item {
  readonly kind: "user" | "result" | "other";
  readonly text: string;
}

export function protocolOf(path: string): Protocol | null {
  if (/\/messages$/.test(path)) return "anthropic";
  if (/\/responses$/.test(path)) return "responses";
  if (/\/chat\/completions$/.test(path)) return "chat";
  return /:(?:stream)?generateContent$/i.test(path) ? "gemini" : null;
}

/** Blocks that clients put around what the user said. */
const WRAPPERS =
  /<(system-reminder|environment_context|user_instructions|permissions instructions|session_context|system_reminder|current_datetime|reminder|skills_instructions)>[\s\S]*?<\/\1>/g;
const FOLDER = /(?:[Ww]orking [Dd]irectory: |<cwd>|Workspace Directories:\*\*\\n {2}- )`?(\/[^"\\<`]+)/;

export function conversation(protocol: Protocol, body: Json, raw: string): Conversation {
  const items = ITEMS[protocol](body);
  const clean = items.map((item) => ({ ...item, text: item.text.replace(WRAPPERS, "").trim() }));
  const at = clean.findLastIndex((item) => item.kind === "user" && item.text !== "");
  return {
    prompt: clean[at]?.text ?? "",
    results: clean
      .slice(at + 1)
      .filter((item) => item.kind === "result")
      .map((item) => item.text),
    tools: TOOLS[protocol](body),
    cwd: FOLDER.exec(raw)?.[1] ?? null,
    protocol,
  };
}

const joined = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((part: Json) => part["text"] ?? "").join("\n")
      : "";

const ITEMS: Readonly<Record<Protocol, (body: Json) => Item[]>> = {
  anthropic: (body) =>
    (body["messages"] ?? []).flatMap((message: Json) => {
      if (message["role"] !== "user") return [{ kind: "other", text: "" }];
      if (typeof message["content"] === "string") return [{ kind: "user", text: message["content"] }];
      return message["content"].map((block: Json) =>
        block["type"] === "tool_result"
          ? { kind: "result", text: joined(block["content"]) }
          : { kind: "user", text: block["text"] ?? "" },
      );
    }),
  responses: (body) => {
    if (typeof body["input"] === "string") return [{ kind: "user", text: body["input"] }];
    return (body["input"] ?? []).map((item: Json) =>
      /_call_output$/.test(item["type"] ?? "")
        ? { kind: "result", text: joined(item["output"]) || JSON.stringify(item["output"]) }
        : { kind: item["role"] === "user" ? "user" : "other", text: joined(item["content"]) },
    );
  },
  chat: (body) =>
    (body["messages"] ?? []).map((message: Json) => ({
      kind: message["role"] === "user" ? "user" : message["role"] === "tool" ? "result" : "other",
      text: joined(message["content"]),
    })),
  gemini: (body) =>
    (body["contents"] ?? []).flatMap((content: Json) =>
      (content["parts"] ?? []).map((part: Json) =>
        part["functionResponse"] !== undefined
          ? { kind: "result", text: JSON.stringify(part["functionResponse"].response ?? {}) }
          : { kind: content["role"] === "model" ? "other" : "user", text: part["text"] ?? "" },
      ),
    ),
};

const flat = (tools: Json[] = []): Json[] =>
  tools.flatMap((tool) => (Array.isArray(tool["tools"]) ? flat(tool["tools"]) : [tool]));
const offered = (name: string, schema: ToolSchema | undefined, freeform = false): OfferedTool => ({
  name,
  schema: schema ?? {},
  freeform,
});

const TOOLS: Readonly<Record<Protocol, (body: Json) => OfferedTool[]>> = {
  anthropic: (body) =>
    (body["tools"] ?? []).flatMap((t: Json) =>
      t["input_schema"] ? [offered(t["name"], t["input_schema"])] : [],
    ),
  responses: (body) =>
    flat(body["tools"]).flatMap((t) =>
      t["name"] !== undefined ? [offered(t["name"], t["parameters"], t["type"] === "custom")] : [],
    ),
  chat: (body) =>
    (body["tools"] ?? []).flatMap((t: Json) =>
      t["function"] ? [offered(t["function"].name, t["function"].parameters)] : [],
    ),
  gemini: (body) =>
    (body["tools"] ?? []).flatMap((t: Json) =>
      (t["functionDeclarations"] ?? []).map((f: Json) =>
        offered(f["name"], f["parametersJsonSchema"] ?? f["parameters"]),
      ),
    ),
};

const pieces = (text: string): string[] => text.match(/[\s\S]{1,400}/g) ?? [];

export interface Encoded {
  /** Server-sent events in order: name (or null) and data. */
  readonly events: readonly (readonly [string | null, unknown])[];
  /** The answer of a request that does not stream. */
  readonly whole: unknown;
}

/** `serial` makes ids unique within the server. */
export function encode(protocol: Protocol, o: { model: string; reply: Reply; serial: number }): Encoded {
  return ENCODERS[protocol](o);
}

type Encoder = (o: { model: string; reply: Reply; serial: number }) => Encoded;

const anthropic: Encoder = ({ model, reply, serial }) => {
  const id = `msg_${serial}`;
  const usage = {
    input_tokens: CALL_USAGE.input,
    cache_read_input_tokens: CALL_USAGE.cached,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  const stop = reply.call === null ? "end_turn" : "tool_use";
  const blocks: Json[] = [];
  const events: [string, unknown][] = [
    [
      "message_start",
      {
        type: "message_start",
        message: {
          id,
          type: "message",
          role: "assistant",
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage,
        },
      },
    ],
  ];
  const block = (start: Json, deltas: Json[], done: Json): void => {
    const index = blocks.length;
    events.push(["content_block_start", { type: "content_block_start", index, content_block: start }]);
    for (const delta of deltas)
      events.push(["content_block_delta", { type: "content_block_delta", index, delta }]);
    events.push(["content_block_stop", { type: "content_block_stop", index }]);
    blocks.push(done);
  };
  if (reply.text !== "")
    block(
      { type: "text", text: "" },
      pieces(reply.text).map((text) => ({ type: "text_delta", text })),
      { type: "text", text: reply.text },
    );
  if (reply.call !== null) {
    const use = { type: "tool_use", id: `toolu_${serial}`, name: reply.call.name, input: {} };
    block(use, [{ type: "input_json_delta", partial_json: JSON.stringify(reply.call.args) }], {
      ...use,
      input: reply.call.args,
    });
  }
  events.push([
    "message_delta",
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: CALL_USAGE.output },
    },
  ]);
  events.push(["message_stop", { type: "message_stop" }]);
  const whole = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: blocks,
    stop_reason: stop,
    stop_sequence: null,
    usage: { ...usage, output_tokens: CALL_USAGE.output },
  };
  return { events, whole };
};

const responses: Encoder = ({ model, reply, serial }) => {
  const id = `resp_${serial}`;
  const output: Json[] = [];
  const events: [string, unknown][] = [];
  const push = (type: string, data: Json): void => {
    events.push([type, { type, sequence_number: events.length, ...data }]);
  };
  push("response.created", {
    response: { id, object: "response", status: "in_progress", model, output: [] },
  });
  if (reply.text !== "") {
    const item = {
      id: `item_${serial}_m`,
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: reply.text, annotations: [] }],
    };
    const where = { output_index: output.length };
    push("response.output_item.added", { ...where, item: { ...item, status: "in_progress", content: [] } });
    push("response.content_part.added", {
      ...where,
      item_id: item.id,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    });
    for (const delta of pieces(reply.text))
      push("response.output_text.delta", { ...where, item_id: item.id, content_index: 0, delta });
    push("response.output_text.done", { ...where, item_id: item.id, content_index: 0, text: reply.text });
    push("response.output_item.done", { ...where, item });
    output.push(item);
  }
  if (reply.call !== null) {
    const item = responsesCall(reply.call, serial);
    push("response.output_item.added", {
      output_index: output.length,
      item: { ...item, status: "in_progress" },
    });
    push("response.output_item.done", { output_index: output.length, item });
    output.push(item);
  }
  const usage = {
    input_tokens: CALL_USAGE.input,
    input_tokens_details: { cached_tokens: CALL_USAGE.cached },
    output_tokens: CALL_USAGE.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: CALL_USAGE.input + CALL_USAGE.output,
  };
  const whole = { id, object: "response", status: "completed", model, output, usage };
  push("response.completed", { response: whole });
  return { events, whole };
};

function responsesCall(call: ToolCall, serial: number): Json {
  const base = { id: `item_${serial}_c`, call_id: `call_${serial}`, name: call.name, status: "completed" };
  return call.text !== null
    ? { ...base, type: "custom_tool_call", input: call.text }
    : { ...base, type: "function_call", arguments: JSON.stringify(call.args) };
}

const chat: Encoder = ({ model, reply, serial }) => {
  const base = { id: `chatcmpl-${serial}`, created: 1_700_000_000, model };
  const finish = reply.call === null ? "stop" : "tool_calls";
  const calls =
    reply.call === null
      ? undefined
      : [
          {
            index: 0,
            id: `call_${serial}`,
            type: "function",
            function: { name: reply.call.name, arguments: JSON.stringify(reply.call.args) },
          },
        ];
  const usage = {
    prompt_tokens: CALL_USAGE.input,
    completion_tokens: CALL_USAGE.output,
    total_tokens: CALL_USAGE.input + CALL_USAGE.output,
    prompt_tokens_details: { cached_tokens: CALL_USAGE.cached },
  };
  const chunk = (delta: Json, finish_reason: string | null = null): [null, unknown] => [
    null,
    { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  ];
  const events: [null, unknown][] = [
    chunk({ role: "assistant", content: "" }),
    ...pieces(reply.text).map((content) => chunk({ content })),
    ...(calls === undefined ? [] : [chunk({ tool_calls: calls })]),
    chunk({}, finish),
    [null, { ...base, object: "chat.completion.chunk", choices: [], usage }],
    [null, "[DONE]"],
  ];
  const message = {
    role: "assistant",
    content: reply.text || null,
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
  const whole = {
    ...base,
    object: "chat.completion",
    choices: [{ index: 0, finish_reason: finish, message }],
    usage,
  };
  return { events, whole };
};

const gemini: Encoder = ({ model, reply, serial }) => {
  const usageMetadata = {
    promptTokenCount: CALL_USAGE.input,
    cachedContentTokenCount: CALL_USAGE.cached,
    candidatesTokenCount: CALL_USAGE.output,
    totalTokenCount: CALL_USAGE.input + CALL_USAGE.output,
  };
  const chunk = (parts: Json[], extra: Json = {}): Json => ({
    candidates: [{ index: 0, content: { role: "model", parts }, ...extra }],
    modelVersion: model,
    responseId: `r${serial}`,
    usageMetadata,
  });
  const last: Json[] =
    reply.call === null
      ? [{ text: "" }]
      : [{ functionCall: { id: `fc_${serial}`, name: reply.call.name, args: reply.call.args } }];
  const texts = pieces(reply.text).map((text) => ({ text }));
  return {
    events: [
      ...texts.map((part): [null, unknown] => [null, chunk([part])]),
      [null, chunk(last, { finishReason: "STOP" })],
    ],
    whole: chunk([...texts, ...last], { finishReason: "STOP" }),
  };
};

const ENCODERS: Readonly<Record<Protocol, Encoder>> = { anthropic, responses, chat, gemini };

const ANTHROPIC_TYPE: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};
const OPENAI_CODE: Readonly<Record<number, string>> = { 401: "invalid_api_key", 429: "rate_limit_exceeded" };
const GOOGLE_STATUS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
};

/** An error in the shape of its protocol. */
export function encodeError(
  protocol: Protocol,
  o: { error: NonNullable<Reply["error"]>; model: string; serial: number },
): unknown {
  const { status } = o.error;
  const missing = o.error.code === "model-not-found";
  const message = o.error.message || (missing ? missingModel(protocol, o.model) : `stub error ${status}`);
  switch (protocol) {
    case "anthropic":
      return {
        type: "error",
        error: { type: ANTHROPIC_TYPE[status] ?? "api_error", message },
        request_id: `req_${o.serial}`,
      };
    case "responses":
    case "chat":
      return {
        error: {
          message,
          type: status >= 500 ? "server_error" : "invalid_request_error",
          param: null,
          code: missing ? "model_not_found" : (OPENAI_CODE[status] ?? null),
        },
      };
    case "gemini":
      return { error: { code: status, message, status: GOOGLE_STATUS[status] ?? "INTERNAL" } };
  }
}

const missingModel = (protocol: Protocol, model: string): string =>
  protocol === "anthropic"
    ? `model: ${model}`
    : protocol === "gemini"
      ? `models/${model} is not found for API version v1beta`
      : `The model ${model} does not exist or you do not have access to it.`;
