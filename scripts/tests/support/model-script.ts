/**
 * What the test model does: it obeys `[[stub: …]]` directives in the last thing its client's user said, in order, and
 * drives the client's own tools by the schemas that the client sent. Same input, same output.
 */
import { resolve } from "node:path";

export interface Conversation {
  /** The last user text, without what the client adds around it. */
  readonly prompt: string;
  /** Results of the tool calls made since. */
  readonly results: readonly string[];
  readonly tools: readonly OfferedTool[];
  /** The folder that the client says it works in. */
  readonly cwd: string | null;
  /** How the client speaks: `[[stub: on PROTOCOL VERB …]]` is for one of them only. */
  readonly protocol: string;
}

export interface OfferedTool {
  readonly name: string;
  readonly schema: ToolSchema;
  /** Takes free text instead of JSON arguments. */
  readonly freeform: boolean;
}

export interface ToolSchema {
  readonly properties?: Readonly<
    Record<string, { readonly type?: unknown; readonly enum?: readonly unknown[]; readonly minimum?: number }>
  >;
  readonly required?: readonly string[];
}

export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string | null;
}

/** How this request is answered. */
export interface Reply {
  text: string;
  call: ToolCall | null;
  /** An HTTP error instead of an answer. */
  error: {
    readonly status: number;
    readonly code: string | null;
    readonly message: string;
    readonly retryAfter: number | null;
  } | null;
  /** Cut the connection, or send bytes that are no event, after the first piece of text. */
  cut: "drop" | "garbage" | null;
  delayMs: number;
  stallMs: number;
}

interface Directive {
  readonly verb: string;
  readonly rest: string;
}

const DIRECTIVE = /\[\[stub:\s*([a-z-]+)\s*([\s\S]*?)\]\]/g;
const TOOL_VERBS = new Set(["write", "run", "call"]);

export const directivesIn = (prompt: string): Directive[] =>
  [...prompt.matchAll(DIRECTIVE)].map((match) => ({
    verb: match[1] as string,
    rest: (match[2] as string).trim(),
  }));

/** `on PROTOCOL VERB REST` is VERB for clients of that protocol, and nothing for others. */
function meantFor(protocol: string, directive: Directive): Directive[] {
  if (directive.verb !== "on") return [directive];
  const [name, verb = ""] = directive.rest.split(/\s+/);
  const rest = directive.rest.slice(directive.rest.indexOf(verb) + verb.length).trim();
  return name === protocol ? [{ verb, rest }] : [];
}

/** `served` counts errors that were asked for only so often, by all that the prompt asks for. */
export function replyTo(talk: Conversation, served: Map<string, number>): Reply {
  const reply: Reply = { text: "", call: null, error: null, cut: null, delayMs: 0, stallMs: 0 };
  const verdict = verdictIn(talk.prompt);
  if (verdict !== null) return { ...reply, text: verdict };
  const directives = directivesIn(talk.prompt).flatMap((one) => meantFor(talk.protocol, one));
  const key = directives.map(({ verb, rest }) => `${verb} ${rest}`).join("\n");
  const said: string[] = [];
  let answered = talk.results.length;
  for (const directive of directives) {
    const isTool = TOOL_VERBS.has(directive.verb);
    if (answered > 0) {
      // Belongs to an earlier turn of this conversation.
      if (isTool) answered -= 1;
      continue;
    }
    if (isTool) {
      if (talk.tools.length === 0) continue;
      reply.call = callFor(directive, talk);
      if (reply.call !== null) break;
      continue;
    }
    obey(directive, { reply, said, key, served });
    if (reply.error !== null) return reply;
  }
  reply.text = reply.cut !== null ? LONG : said.join("\n");
  const silent = directives.some((directive) => directive.verb === "silence");
  if (reply.text === "" && reply.call === null && !silent) reply.text = fallback(talk);
  return reply;
}

/** Asked for a verdict it passes everything, by the template it is given; directives in the evidence are nothing to it. */
function verdictIn(prompt: string): string | null {
  const at = prompt.indexOf("# Independent verdict");
  const frame = at === -1 ? null : /```json\n([\s\S]*?)\n```/.exec(prompt.slice(at))?.[1];
  if (frame == null) return null;
  const template = JSON.parse(frame) as { jobs: { reasons: string[] }[] };
  const jobs = template.jobs.map((job) => ({
    ...job,
    verdict: "pass",
    reasons: job.reasons.map((reason) => reason.replace(/^<|>$/g, "")),
  }));
  return JSON.stringify({ ...template, overall: "pass", jobs });
}

const LONG = Array.from({ length: 400 }, (_, i) => `word${i}`).join(" ");

const fallback = (talk: Conversation): string =>
  talk.results.length > 0
    ? `done: ${(talk.results.at(-1) as string).slice(0, 200)}`
    : `stub reply to: ${talk.prompt.slice(0, 100)}`;

function obey(
  directive: Directive,
  o: { reply: Reply; said: string[]; key: string; served: Map<string, number> },
): void {
  const words = directive.rest.split(/\s+/);
  switch (directive.verb) {
    case "say":
      o.said.push(directive.rest);
      return;
    case "big":
      o.said.push("x".repeat(Number(words[0]) * 1_024));
      return;
    case "sleep":
      o.reply.delayMs += Number(words[0]) * 1_000;
      return;
    case "stall":
      o.reply.stallMs += Number(words[0]) * 1_000;
      return;
    case "drop":
    case "garbage":
      o.reply.cut = directive.verb;
      return;
    case "model-not-found":
      o.reply.error = { status: 404, code: "model-not-found", message: "", retryAfter: null };
      return;
    case "error":
      o.reply.error = {
        status: Number(words[0]),
        code: null,
        message: words.slice(1).join(" "),
        retryAfter: null,
      };
      return;
    case "status": {
      const times = words[1] === undefined ? Number.POSITIVE_INFINITY : Number(words[1]);
      const key = `${o.key}\0${directive.rest}`;
      const before = o.served.get(key) ?? 0;
      if (before >= times) return;
      o.served.set(key, before + 1);
      // `-` leaves the header out; what comes after it is the message.
      const retryAfter = words[2] === undefined || words[2] === "-" ? null : Number(words[2]);
      const message = words.slice(3).join(" ");
      o.reply.error = { status: Number(words[0]), code: null, message, retryAfter };
    }
  }
}

const WRITERS = [/^write$/i, /^write_file$/i, /^create(_file)?$/i, /^apply_patch$/i];
const SHELLS = [
  /^bash$/i,
  /^exec_command$/,
  /^run_shell_command$/,
  /^(local_)?shell(_command)?$/,
  /shell|exec|command/i,
];

const pick = (tools: readonly OfferedTool[], order: readonly RegExp[]): OfferedTool | undefined =>
  order.flatMap((name) => tools.filter((tool) => name.test(tool.name)))[0];

function callFor(directive: Directive, talk: Conversation): ToolCall | null {
  const [first = "", ...others] = directive.rest.split(/\s+/);
  const rest = directive.rest.slice(first.length).trim();
  if (directive.verb === "call")
    return { name: first, args: others.length === 0 ? {} : JSON.parse(rest), text: null };
  const shell = pick(talk.tools, SHELLS);
  if (directive.verb === "run")
    return shell === undefined ? null : filled(shell, { command: directive.rest });
  const writer = pick(talk.tools, WRITERS);
  if (writer?.name === "apply_patch") return patch(writer, first, rest);
  if (writer !== undefined) return filled(writer, { path: resolve(talk.cwd ?? "/", first), content: rest });
  return shell === undefined
    ? null
    : filled(shell, { command: `printf %s ${quoted(rest)} > ${quoted(first)}` });
}

function patch(tool: OfferedTool, path: string, content: string): ToolCall {
  const body = `*** Begin Patch\n*** Add File: ${path}\n${content
    .split("\n")
    .map((line) => `+${line}`)
    .join("\n")}\n*** End Patch`;
  return { name: tool.name, args: tool.freeform ? {} : { input: body }, text: tool.freeform ? body : null };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const PATHS = /^(file_?path|path|file|absolute_path)$/i;
const CONTENTS = /^(contents?|text|file_text)$/i;
const COMMANDS = /^(cmd|command|script)$/i;
const FILLERS: Readonly<Record<string, unknown>> = { string: "stub", boolean: false, array: [], object: {} };

function filled(
  tool: OfferedTool,
  known: { readonly path?: string; readonly content?: string; readonly command?: string },
): ToolCall {
  const args: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(tool.schema.properties ?? {})) {
    const type = String([schema.type].flat()[0] ?? "string").toLowerCase();
    if (PATHS.test(name) && known.path !== undefined) args[name] = known.path;
    else if (CONTENTS.test(name) && known.content !== undefined) args[name] = known.content;
    else if (COMMANDS.test(name) && known.command !== undefined)
      args[name] = type === "array" ? ["bash", "-lc", known.command] : known.command;
    else if (tool.schema.required?.includes(name) === true)
      args[name] = schema.enum?.[0] ?? FILLERS[type] ?? schema.minimum ?? 1;
  }
  return { name: tool.name, args, text: null };
}
