/** Reading the output of a runtime that its operator declared: places in JSON lines, or plain text. */
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import type { FailureClass } from "../core/runtime.ts";
import type { AttemptUsage, ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { asNumber, asObject, asText, type JsonObject, parseObject, valueAt } from "./json.ts";
import {
  endEvent,
  errorEvent,
  keepText,
  messageEvent,
  type Observation,
  observed,
  remember,
  USAGE_NONE,
  unreadable,
  usageEvent,
} from "./observed.ts";
import { exitText, lastLine, settleAgent } from "./settle.ts";

export function observeDeclared(spec: DeclaredRuntime, state: ObservedState, line: string): Observation {
  switch (spec.output ?? "text") {
    case "text":
      return observeText(state, line);
    case "json":
      // One document, perhaps over many lines: read as a whole when it is complete.
      return observeDocument(spec, state, line);
    case "jsonl":
      return observeLine(spec, state, line);
  }
}

function observeText(state: ObservedState, line: string): Observation {
  const text = state.resultText === null ? line : `${state.resultText}\n${line}`;
  const events = line.trim() === "" ? [] : [messageEvent(line)];
  return observed(state, { resultText: keepText(text) }, events);
}

function observeDocument(spec: DeclaredRuntime, state: ObservedState, line: string): Observation {
  const text = keepText(`${asText(state.memo["document"]) ?? ""}${line}\n`);
  const document = parseObject(text);
  if (document === null) return { state: remember(state, { document: text }), events: [] };
  const read = readLine(spec, remember(state, { document: "" }), document);
  return { state: { ...read.state, settled: true }, events: read.events };
}

function observeLine(spec: DeclaredRuntime, state: ObservedState, line: string): Observation {
  const object = parseObject(line);
  return object === null ? unreadable(state, line) : readLine(spec, state, object);
}

function readLine(spec: DeclaredRuntime, state: ObservedState, line: JsonObject): Observation {
  const settled =
    spec.settled_by !== undefined && valueAt(line, spec.settled_by.path) === spec.settled_by.equals;
  const said = spec.result === undefined ? null : textAt(line, spec.result.path);
  const error = spec.error === undefined ? null : textAt(line, spec.error.path);
  const failure = declaredFailure(spec, line);
  const usage = spec.usage === undefined ? null : usageAt(line, spec.usage.path);
  const fault = error ?? (failure === null ? null : `reported ${failure}`);
  const next: ObservedState = {
    ...state,
    settled: state.settled || settled,
    resultText: said === null ? state.resultText : keepText(said),
    sessionHandle: at(line, spec.session) ?? state.sessionHandle,
    model: at(line, spec.model) ?? state.model,
    provider: state.provider ?? spec.provider ?? null,
    usage: usage ?? state.usage,
    terminal:
      fault !== null
        ? { ok: false, message: fault, status: null, code: failure === null ? null : `class:${failure}` }
        : // An error anywhere makes the job fail: its operator would not have named the place otherwise.
          settled && state.terminal === null
          ? { ok: true, message: null, status: null, code: null }
          : state.terminal,
  };
  return observed(withPlacesSeen(spec, next, line), {}, [
    ...(said === null ? [] : [messageEvent(said)]),
    ...(fault === null ? [] : [errorEvent(fault, failure)]),
    ...(usage === null ? [] : [usageEvent(usage)]),
    ...(settled ? [endEvent] : []),
    // A line that says nothing in any declared place still shows that the runtime works.
    ...(said === null && fault === null && usage === null && !settled
      ? [{ kind: "progress" as const, phase: "activity", payload: { basis: "line" } }]
      : []),
  ]);
}

const at = (line: JsonObject, place: { readonly path: string } | undefined): string | null =>
  place === undefined ? null : textAt(line, place.path);

/** Text there; an object there is shown as JSON (an error is often one); false, null and "" are nothing. */
function textAt(line: JsonObject, path: string): string | null {
  const value = valueAt(line, path);
  if (typeof value === "string") return value === "" ? null : value;
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return null;
  return asText(asObject(value)?.["message"]) ?? JSON.stringify(value);
}

/** Tokens and cost under the names that are in use. */
function usageAt(line: JsonObject, path: string): AttemptUsage | null {
  const value = asObject(valueAt(line, path));
  if (value === null) return null;
  const first = (...names: string[]): number | null =>
    names.map((name) => asNumber(value[name])).find((number) => number !== null) ?? null;
  return {
    ...USAGE_NONE,
    inputTokens: first("input_tokens", "inputTokens", "prompt_tokens", "promptTokens", "input"),
    outputTokens: first("output_tokens", "outputTokens", "completion_tokens", "completionTokens", "output"),
    cachedTokens: first("cached_tokens", "cachedTokens", "cache_read_input_tokens", "cached", "cacheRead"),
    apiEquivalentCostUsd: first("cost_usd", "costUsd", "total_cost_usd", "cost"),
    source: "declared",
  };
}

type Failures = NonNullable<DeclaredRuntime["failures"]>;

type Match = Failures[number]["match"];

/** A rule that is decided when the process has ended, whatever it says of a line. */
const isAboutTheEnd = (match: Match): boolean =>
  match.exit_code !== undefined || match.stderr_contains !== undefined || match.path === undefined;

const holdsIn = (match: Match, line: JsonObject): boolean =>
  match.path !== undefined && placeMatches(match, valueAt(line, match.path));

/** The operator's own reading of this line. A rule that also names the exit or stderr waits for the end. */
function declaredFailure(spec: DeclaredRuntime, line: JsonObject): FailureClass | null {
  const rule = (spec.failures ?? []).find(({ match }) => !isAboutTheEnd(match) && holdsIn(match, line));
  return rule?.class ?? null;
}

/** Rules about the end of which a line has shown its part, by their position. */
const placesSeen = (state: ObservedState): readonly number[] =>
  (state.memo["places"] ?? []) as readonly number[];

function withPlacesSeen(spec: DeclaredRuntime, state: ObservedState, line: JsonObject): ObservedState {
  const before = placesSeen(state);
  const now = (spec.failures ?? []).flatMap(({ match }, at) =>
    isAboutTheEnd(match) && !before.includes(at) && holdsIn(match, line) ? [at] : [],
  );
  return now.length === 0 ? state : remember(state, { places: [...before, ...now] });
}

function placeMatches(match: Match, value: unknown): boolean {
  if (value === undefined) return false;
  if (match.equals !== undefined && value !== match.equals) return false;
  if (match.contains !== undefined && !String(value).includes(match.contains)) return false;
  return match.equals !== undefined || match.contains !== undefined || value !== null;
}

/** The operator's reading of the end: all that a rule names must hold. */
function exitFailure(spec: DeclaredRuntime, state: ObservedState, exit: ExitFacts): FailureClass | null {
  const rule = (spec.failures ?? []).find(({ match }, at) => {
    if (!isAboutTheEnd(match)) return false;
    if (match.exit_code !== undefined && match.exit_code !== exit.exitCode) return false;
    if (match.stderr_contains !== undefined && !exit.stderrTail.includes(match.stderr_contains)) return false;
    if (match.path !== undefined) return placesSeen(state).includes(at);
    return match.contains === undefined || (state.resultText ?? exit.stdoutTail).includes(match.contains);
  });
  return rule?.class ?? null;
}

/** A declared agent: its own failure rules first, then the shared reading of streams and exits. */
export function settleDeclared(spec: DeclaredRuntime, state: ObservedState, exit: ExitFacts): Settlement {
  const said = exit.endedBy === "self" ? exitFailure(spec, state, exit) : null;
  const marked: ObservedState =
    said === null
      ? state
      : {
          ...state,
          terminal: {
            ok: false,
            message:
              state.terminal?.message ??
              lastLine(exit.stderrTail) ??
              lastLine(exit.stdoutTail) ??
              exitText(exit),
            status: null,
            code: `class:${said}`,
          },
        };
  return settleAgent(marked, exit, {
    settledByExit: spec.settled_by === undefined && (spec.output ?? "text") !== "json",
  });
}

/** A plain program: its exit is its answer. */
export function settleProgram(state: ObservedState, exit: ExitFacts): Settlement {
  const settled = settleAgent(state, exit, { settledByExit: true });
  if (exit.endedBy !== "self" || exit.signal !== null || exit.exitCode === 0) return settled;
  const why = lastLine(exit.stderrTail) ?? lastLine(exit.stdoutTail);
  return {
    ok: false,
    failureClass: "TOOL_FAILURE",
    detail: why === null ? exitText(exit) : `${exitText(exit)}: ${why}`,
    resultText: state.resultText,
    suspect: false,
    resetAt: null,
  };
}
