/** events.jsonl: the normalized observations of a run, bounded. Observation only; nothing decides on it. */
import type { OrchestrateEvent } from "../core/generated/event.ts";
import { POLICY, SUPERVISION } from "../core/policy.ts";
import { type LineLogLimits, openLineLog } from "./line-log.ts";

export type { OrchestrateEvent };

/** What the caller knows of an event; the log adds sequence, time, run and the defaults of absent fields. */
type EventInput = Pick<OrchestrateEvent, "kind" | "payload" | "spanId" | "trust" | "provenance"> &
  Partial<Omit<OrchestrateEvent, "seq" | "ts" | "runId">>;

interface EventsLogStatus {
  readonly written: number;
  readonly dropped: number;
  /** Events of kind `unknown`: lines that no adapter could read. */
  readonly unknown: number;
  readonly truncated: number;
  readonly fault: "bounds" | "write-failed" | null;
}

export interface EventsLog {
  /** Returns the event's sequence number, also when the line itself had to be dropped. Never throws. */
  append(event: EventInput): number;
  status(): EventsLogStatus;
  flush(): void;
  close(): void;
}

/** The trace's bounds hold for its sibling as well; one file per supervisor, so nothing rotates. */
const EVENTS_LIMITS: LineLogLimits = {
  maxRecords: POLICY.TRACE_MAX_RECORDS.value,
  maxBytes: POLICY.TRACE_MAX_BYTES.value,
  rotateAtBytes: null,
};

/** Leaves room for the envelope within one line of `SUPERVISION.lineMaxBytes`. */
const PAYLOAD_MAX_BYTES = SUPERVISION.lineMaxBytes - 4_096;
const TEXT_MAX_CHARS = 2_000;

/** Payload text must be redacted already; it passes `redact` once more because a log outlives the run. */
export function openEventsLog(input: {
  readonly file: string;
  readonly runId: string;
  readonly now: () => number;
  readonly redact: (text: string) => string;
  readonly limits?: LineLogLimits;
}): EventsLog {
  const { log, lastLine } = openLineLog(input.file, input.limits ?? EVENTS_LIMITS);
  let seq = lastLine === null ? 0 : lastSeq(lastLine);
  let unknown = 0;
  let truncated = 0;
  return {
    append(event) {
      seq += 1;
      const bounded = boundPayload(event.payload, input.redact);
      const cut = bounded.truncated || event.truncated === true;
      if (cut) truncated += 1;
      if (event.kind === "unknown") unknown += 1;
      const line: OrchestrateEvent = {
        seq,
        ts: new Date(input.now()).toISOString(),
        runId: input.runId,
        jobId: event.jobId ?? null,
        attempt: event.attempt ?? null,
        spanId: event.spanId,
        parentSpanId: event.parentSpanId ?? null,
        runtime: event.runtime ?? null,
        provider: event.provider ?? null,
        model: event.model ?? null,
        family: event.family ?? null,
        kind: event.kind,
        phase: event.phase ?? null,
        parent: event.parent ?? null,
        trust: event.trust,
        provenance: event.provenance,
        truncated: cut,
        payload: bounded.payload,
      };
      log.append(JSON.stringify(line));
      return seq;
    },
    status: () => {
      const { records, dropped, fault } = log.status();
      return { written: records, dropped, unknown, truncated, fault };
    },
    flush: () => log.flush(),
    close: () => log.close(),
  };
}

/** Cuts long text inside the payload, then drops the payload whole if it is still too large for one line. */
function boundPayload(
  payload: object,
  redact: (text: string) => string,
): { readonly payload: object; readonly truncated: boolean } {
  let truncated = false;
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const text = redact(value);
      if (text.length <= TEXT_MAX_CHARS) return text;
      truncated = true;
      return `${text.slice(0, TEXT_MAX_CHARS).replace(/[\ud800-\udbff]$/, "")}…`;
    }
    if (typeof value !== "object" || value === null) return value;
    if (depth >= 6) {
      truncated = true;
      return null;
    }
    if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [redact(key).slice(0, 200), walk(item, depth + 1)]),
    );
  };
  const walked = walk(payload, 0) as object;
  const size = Buffer.byteLength(JSON.stringify(walked));
  if (size <= PAYLOAD_MAX_BYTES) return { payload: walked, truncated };
  return { payload: { omittedBytes: size }, truncated: true };
}

/** An unreadable last line restarts the count; order within one supervisor is what readers rely on. */
function lastSeq(line: string): number {
  try {
    const value: unknown = JSON.parse(line);
    const seq = typeof value === "object" && value !== null && "seq" in value ? value.seq : null;
    return typeof seq === "number" && Number.isSafeInteger(seq) ? seq : 0;
  } catch {
    return 0;
  }
}
