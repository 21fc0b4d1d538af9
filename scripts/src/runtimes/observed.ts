/** The value a stream is folded into, and the few ways in which adapters change it. */
import type { AdapterEvent, AttemptUsage, ObservedState } from "./adapter.ts";
import { brief } from "./json.ts";

export interface Observation {
  readonly state: ObservedState;
  readonly events: readonly AdapterEvent[];
}

/** Longest final text that is kept, in UTF-16 units; the capture file has the rest. */
export const RESULT_TEXT_MAX = 4 * 1024 * 1024;

export const initialState: ObservedState = {
  sessionHandle: null,
  model: null,
  provider: null,
  resultText: null,
  settled: false,
  terminal: null,
  usage: null,
  denied: [],
  events: 0,
  unknownLines: 0,
  memo: {},
};

/** `changes` applied, `events` counted, and kept in mind whether a refused request was the last thing that happened. */
export function observed(
  state: ObservedState,
  changes: Partial<ObservedState>,
  events: readonly AdapterEvent[] = [],
): Observation {
  const next = { ...state, ...changes, events: state.events + events.length };
  const waiting = waitingAfter(next, events);
  return { state: waiting === isWaiting(next) ? next : remember(next, { waiting }), events };
}

/** The last word was a request that nobody granted: nothing was done or said after it. */
export const isWaiting = (state: ObservedState): boolean => state.memo["waiting"] === true;

function waitingAfter(state: ObservedState, events: readonly AdapterEvent[]): boolean {
  let waiting = isWaiting(state);
  for (const event of events) {
    if (event.kind === "permission") waiting = true;
    else if (event.kind === "tool" || event.kind === "progress" || event.kind === "artifact") waiting = false;
  }
  return waiting;
}

/** A line that the adapter cannot read: counted, shown bounded, never an error. Blank lines are nothing. */
export function unreadable(state: ObservedState, line: string): Observation {
  if (line.trim() === "") return { state, events: [] };
  return observed(state, { unknownLines: state.unknownLines + 1 }, [
    { kind: "unknown", payload: { bytes: Buffer.byteLength(line), start: brief(line, 120) } },
  ]);
}

/** A line of a known stream whose type this version of the adapter does not know. */
export function unfamiliar(state: ObservedState, type: string): Observation {
  return observed(state, { unknownLines: state.unknownLines + 1 }, [
    { kind: "unknown", payload: { type: brief(type, 80) } },
  ]);
}

export const remember = (state: ObservedState, memo: Readonly<Record<string, unknown>>): ObservedState => ({
  ...state,
  memo: { ...state.memo, ...memo },
});

export const keepText = (text: string): string =>
  text.length > RESULT_TEXT_MAX ? text.slice(0, RESULT_TEXT_MAX) : text;

export const USAGE_NONE: AttemptUsage = {
  inputTokens: null,
  outputTokens: null,
  cachedTokens: null,
  actualMarginalCostUsd: null,
  apiEquivalentCostUsd: null,
  quotaBurn: null,
  source: null,
};

const plus = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

/** For streams that report per message or per step. */
export function addUsage(total: AttemptUsage | null, more: AttemptUsage): AttemptUsage {
  if (total === null) return more;
  return {
    inputTokens: plus(total.inputTokens, more.inputTokens),
    outputTokens: plus(total.outputTokens, more.outputTokens),
    cachedTokens: plus(total.cachedTokens, more.cachedTokens),
    actualMarginalCostUsd: plus(total.actualMarginalCostUsd, more.actualMarginalCostUsd),
    apiEquivalentCostUsd: plus(total.apiEquivalentCostUsd, more.apiEquivalentCostUsd),
    quotaBurn: plus(total.quotaBurn, more.quotaBurn),
    source: more.source ?? total.source,
  };
}

export const usageEvent = (usage: AttemptUsage): AdapterEvent => ({ kind: "usage", payload: { ...usage } });

export const toolEvent = (
  phase: "start" | "end",
  payload: { tool: string; ok?: boolean | "unknown"; summary: string; id?: string | null },
): AdapterEvent => ({
  kind: "tool",
  phase,
  payload: { ...payload, summary: brief(payload.summary) },
});

/** A request that the runtime refused. Nothing here ever says that it was granted. */
export const permissionEvent = (boundary: string, requested: string): AdapterEvent => ({
  kind: "permission",
  payload: { boundary, requestedScope: brief(requested), granted: false },
});

/** What the agent says of itself: a claim, never progress that somebody measured. */
export const messageEvent = (text: string): AdapterEvent => ({
  kind: "progress",
  phase: "message",
  payload: { claim: brief(text), basis: "message" },
});

/** A wait or a new try inside the runtime: neither progress nor failure. */
export const retryEvent = (payload: Readonly<Record<string, unknown>>): AdapterEvent => ({
  kind: "lifecycle",
  phase: "retrying",
  payload,
});

/** A path that a tool reported. The coordinator hashes what is really there. */
export const artifactEvent = (path: string): AdapterEvent => ({
  kind: "artifact",
  payload: { path, sha256: null, bytes: null },
});

export const errorEvent = (message: string, cls: string | null): AdapterEvent => ({
  kind: "error",
  payload: { message: brief(message), class: cls, retryable: "unknown" },
});

export const endEvent: AdapterEvent = { kind: "lifecycle", phase: "end", payload: {} };
