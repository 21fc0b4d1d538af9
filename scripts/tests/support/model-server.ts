/** A loopback model for real coding CLIs: port 0, deterministic, bounded, and a log that never holds a credential. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { conversation, encode, encodeError, type Protocol, protocolOf } from "./model-protocols.ts";
import { type Reply, replyTo } from "./model-script.ts";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly protocol: Protocol | null;
  readonly model: string | null;
  /** Header names that carried a credential, never what they carried. */
  readonly auth: readonly string[];
  readonly tools: readonly string[];
  readonly prompt: string;
  readonly promptBytes: number;
  readonly results: readonly string[];
  readonly call: string | null;
  readonly status: number;
}

export interface ModelServer {
  /** Below `/refused` every login is refused. */
  readonly base: string;
  /** Model calls only, in order. */
  readonly calls: readonly SeenRequest[];
  /** Everything else that clients asked for (model lists, health). */
  readonly others: readonly string[];
  close(): Promise<void>;
}

const BODY_MAX = 32 * 1024 * 1024;
const LOG_MAX = 10_000;
const AUTH_HEADERS = ["authorization", "x-api-key", "x-goog-api-key"];

export async function startModelServer(
  models: readonly string[] = ["stub-model", "stub-small"],
): Promise<ModelServer> {
  const calls: SeenRequest[] = [];
  const others: string[] = [];
  const served = new Map<string, number>();
  let serial = 0;
  const server = createServer((request, response) => {
    serial += 1;
    handle({ request, response, serial, models, served, calls, others }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500).end(String(error));
      else response.destroy();
    });
  });
  server.on("upgrade", (_request, socket) =>
    socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}`,
    calls,
    others,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly serial: number;
  readonly models: readonly string[];
  readonly served: Map<string, number>;
  readonly calls: SeenRequest[];
  readonly others: string[];
}

async function handle(x: Exchange): Promise<void> {
  const raw = await bodyOf(x.request);
  const path = new URL(x.request.url ?? "/", "http://stub").pathname;
  const protocol = x.request.method === "POST" ? protocolOf(path) : null;
  if (protocol === null) return answerOther(x, path);
  const body = JSON.parse(raw) as Record<string, unknown>;
  const model =
    typeof body["model"] === "string" ? body["model"] : (/models\/([^:]+):/.exec(path)?.[1] ?? "stub-model");
  const talk = conversation(protocol, body, raw);
  const refused = path.startsWith("/refused/") ? { ...talk, prompt: "[[stub: status 401]]" } : talk;
  const reply = replyTo(refused, x.served);
  if (x.calls.length < LOG_MAX)
    x.calls.push({
      method: x.request.method ?? "",
      path,
      protocol,
      model,
      auth: AUTH_HEADERS.filter((name) => x.request.headers[name] !== undefined),
      tools: talk.tools.map((tool) => tool.name),
      prompt: talk.prompt.slice(0, 500),
      promptBytes: Buffer.byteLength(talk.prompt),
      results: talk.results.map((text) => text.slice(0, 500)),
      call: reply.call?.name ?? null,
      status: reply.error?.status ?? 200,
    });
  if (reply.delayMs > 0) await pause(reply.delayMs);
  if (x.response.destroyed) return;
  const streams = protocol === "gemini" ? /stream/i.test(path) : body["stream"] === true;
  await answer(x, { protocol, model, reply, streams });
}

async function answer(
  x: Exchange,
  o: { protocol: Protocol; model: string; reply: Reply; streams: boolean },
): Promise<void> {
  if (o.reply.error !== null) {
    const { retryAfter, status } = o.reply.error;
    const headers = {
      "content-type": "application/json",
      ...(retryAfter === null ? {} : { "retry-after": String(retryAfter) }),
    };
    x.response.writeHead(status, headers);
    x.response.end(
      JSON.stringify(encodeError(o.protocol, { error: o.reply.error, model: o.model, serial: x.serial })),
    );
    return;
  }
  const { events, whole } = encode(o.protocol, { model: o.model, reply: o.reply, serial: x.serial });
  if (!o.streams && o.reply.cut === null) {
    x.response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
    return;
  }
  await stream(x.response, { ...o, events });
}

/** After how many events the first piece of text is out. */
const FIRST_TEXT: Readonly<Record<Protocol, number>> = { anthropic: 3, responses: 4, chat: 2, gemini: 1 };

async function stream(
  response: ServerResponse,
  o: { protocol: Protocol; reply: Reply; events: readonly (readonly [string | null, unknown])[] },
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const eol = o.protocol === "gemini" ? "\r\n" : "\n";
  for (const [index, [name, data]] of o.events.entries()) {
    if (index === FIRST_TEXT[o.protocol]) {
      if (o.reply.cut === "drop") {
        response.flushHeaders();
        // The piece before must be on the wire, else the client sees a refused connection.
        await pause(50);
        response.destroy();
        return;
      }
      if (o.reply.cut === "garbage") {
        response.end('event: oops\ndata: {"not json\n\ndata: <<<garbage>>>\n\n');
        return;
      }
      if (o.reply.stallMs > 0) await pause(o.reply.stallMs);
    }
    if (response.destroyed) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    response.write(`${name === null ? "" : `event: ${name}${eol}`}data: ${text}${eol}${eol}`);
  }
  response.end();
}

function answerOther(x: Exchange, path: string): void {
  if (x.others.length < LOG_MAX) x.others.push(`${x.request.method} ${path}`);
  const answer = plainAnswer(path, x.models);
  const status = answer !== null || x.request.method === "HEAD" ? 200 : 404;
  const body = answer ?? { error: { message: "no such route", type: "not_found_error", code: 404 } };
  x.response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Model lists and token counts. */
function plainAnswer(path: string, models: readonly string[]): unknown {
  if (/count_tokens$/.test(path)) return { input_tokens: 1_000 };
  if (/:countTokens$/.test(path)) return { totalTokens: 1_000 };
  if (/v1beta\/models$/.test(path)) {
    const limits = { inputTokenLimit: 200_000, outputTokenLimit: 8_192 };
    const supportedGenerationMethods = ["generateContent", "countTokens"];
    return {
      models: models.map((id) => ({
        name: `models/${id}`,
        displayName: id,
        ...limits,
        supportedGenerationMethods,
      })),
    };
  }
  if (!/\/models$/.test(path)) return null;
  const entry = { object: "model", type: "model", created: 1, owned_by: "stub" };
  return { object: "list", has_more: false, data: models.map((id) => ({ id, display_name: id, ...entry })) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_MAX) throw new Error("request too large");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}
