/** The only printer: one JSON document or text for people on stdout, everything else on stderr. */
import type { Diagnostic, NextAction } from "../core/diagnostic.ts";
import { UNSEEN_MARKS } from "../core/unseen.ts";
import type { CommandResult } from "./context.ts";
import type { Excerpts } from "./excerpt.ts";
import { endLine, processSink, type Sink } from "./sink.ts";

/** A harness cuts long answers: more than these are counted, not printed. */
export const OUTPUT_LIMITS = { next: 10, diagnosticsJson: 200, diagnosticsText: 40 } as const;

export interface Output {
  readonly json: boolean;
  /** One line on stderr; on a terminal it replaces the progress line before it. */
  progress(line: string): void;
  /** One line on stdout, now: for commands that follow something (`logs --follow`, `watch`). */
  line(text: string): void;
  /** One JSON value as one line on stdout, now. A command that streams prints no closing document. */
  jsonLine(value: unknown): void;
  /** The reader of stdout is gone (`| head`): nothing more needs to be written. */
  readonly closed: boolean;
}

export interface Printer extends Output {
  /** Prints a command's result: the end of every command but the hidden ones. `excerpts`: lines shown below findings. */
  result(command: string, result: CommandResult, excerpts?: Excerpts): void;
}

export interface PrinterOptions {
  readonly json: boolean;
  readonly stderrIsTty: boolean;
  readonly sink?: Sink;
}

export function createPrinter(options: PrinterOptions): Printer {
  const sink = options.sink ?? processSink;
  let closed = false;
  let streamed = false;
  let transient = false;
  const out = (text: string): void => {
    if (!closed && text !== "") closed = !sink.write("stdout", text);
  };
  const error = (text: string): void => {
    if (transient) sink.write("stderr", CLEAR_LINE);
    transient = false;
    if (text !== "") sink.write("stderr", text);
  };
  return {
    json: options.json,
    get closed() {
      return closed;
    },
    progress(line) {
      if (!options.stderrIsTty) return error(endLine(visible(line)));
      error("");
      transient = sink.write("stderr", visible(line));
    },
    line(text) {
      streamed = true;
      error("");
      out(endLine(visibleText(text)));
    },
    jsonLine(value) {
      streamed = true;
      error("");
      out(`${JSON.stringify(value)}\n`);
    },
    result(command, result, excerpts) {
      error("");
      if (options.json && !streamed) return out(`${JSON.stringify(toDocument(command, result))}\n`);
      if (!streamed) out(endLine(visibleText(result.text)));
      if (!options.json) out(renderNext(result.next));
      error(renderDiagnostics(result.diagnostics, excerpts));
    },
  };
}

export interface OutputDocument {
  readonly schemaVersion: 1;
  readonly command: string;
  readonly ok: boolean;
  readonly exitCode: number;
  readonly data: unknown;
  readonly diagnostics: readonly Diagnostic[];
  readonly next: readonly NextAction[];
  readonly nextOmitted?: number;
}

/** The one document of `--json` (schemas/output.schema.json). */
export function toDocument(command: string, result: CommandResult): OutputDocument {
  const omitted = result.next.length - OUTPUT_LIMITS.next;
  return {
    schemaVersion: 1,
    command,
    ok: result.exitCode === 0,
    exitCode: result.exitCode,
    data: result.data ?? null,
    diagnostics: boundDiagnostics(result.diagnostics, OUTPUT_LIMITS.diagnosticsJson),
    next: result.next.slice(0, OUTPUT_LIMITS.next),
    ...(omitted > 0 ? { nextOmitted: omitted } : {}),
  };
}

const SEVERITY_ORDER = { error: 0, warning: 1, info: 2 } as const;

/** Worst first within the limit, so that what is cut is what matters least; order inside a severity is kept. */
function boundDiagnostics(list: readonly Diagnostic[], limit: number): readonly Diagnostic[] {
  if (list.length <= limit) return list;
  const kept = [...list]
    .sort((a, b) => SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity])
    .slice(0, limit);
  const more = list.length - limit;
  return [
    ...kept,
    { severity: "info", code: "diagnostics-omitted", message: `${more} more findings are not shown` },
  ];
}

/** `file:line:column: severity[code]: message`, the line it is about, and the fix. */
export function renderDiagnostics(list: readonly Diagnostic[], excerpts?: Excerpts): string {
  return boundDiagnostics(
    list.filter((d) => !isOrdinary(d)),
    OUTPUT_LIMITS.diagnosticsText,
  )
    .map((d) => renderDiagnostic(d, excerpts?.get(d)))
    .join("");
}

/** Says of a spec what is so for every spec that says nothing else; the JSON document has it. */
const isOrdinary = (d: Diagnostic): boolean =>
  d.severity === "info" && d.code === "calibration-off" && (d.path === undefined || d.path === "");

function renderDiagnostic(d: Diagnostic, excerpt: string | undefined): string {
  const place = [d.file, d.line, d.column].filter((part) => part !== undefined).join(":");
  const where = d.path === undefined || d.path === "" ? "" : ` (${d.path})`;
  const lines = [`${place === "" ? "" : `${place}: `}${d.severity}[${d.code}]: ${d.message}${where}`];
  if (excerpt !== undefined) lines.push(...excerpt.split("\n"));
  for (const other of d.related ?? [])
    lines.push(`    see ${other.line === undefined ? "" : `line ${other.line}: `}${other.message}`);
  if (d.fix !== undefined) lines.push(`    fix: ${d.fix}`);
  return lines.map((line) => endLine(visible(line))).join("");
}

/** The actions that are due, each with the command that answers it. */
export function renderNext(next: readonly NextAction[]): string {
  if (next.length === 0) return "";
  const lines = [`next (${next.length}):`];
  for (const action of next.slice(0, OUTPUT_LIMITS.next)) {
    const job = action.jobId === undefined ? "" : ` ${action.jobId}`;
    lines.push(`  ${action.action}${job}: ${visible(action.reason)}`);
    const given = [
      ["promptFile", action.promptFile],
      ["resultFile", action.resultFile],
      ["cwd", action.cwd],
      ["tools", action.tools?.join(", ")],
      ["deadline", action.deadline],
    ].filter(([, value]) => value !== undefined);
    for (const [name, value] of given) lines.push(`    ${name}: ${visible(String(value))}`);
    if (action.shell !== "") lines.push(`    ${visible(action.shell)}`);
    for (const choice of action.choices ?? [])
      lines.push(`    ${visible(choice.label)}: ${visible(choice.shell)}`);
  }
  if (next.length > OUTPUT_LIMITS.next) lines.push(`  and ${next.length - OUTPUT_LIMITS.next} more`);
  return `${lines.join("\n")}\n`;
}

const CLEAR_LINE = "\r\u001b[2K";

/** Text of other parties must not drive the terminal or hide in it: control characters and what nobody sees are shown, not sent. */
export function visible(text: string): string {
  return visibleText(text).replaceAll("\n", "\\u000a");
}

/** The same for text of many lines. A CR before a line end is dropped: it says nothing and hides what stands before it. */
function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(NOT_SHOWN, (c) => {
    const hex = (c.codePointAt(0) as number).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}

const NOT_SHOWN = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f${UNSEEN_MARKS}]`, "gu");
