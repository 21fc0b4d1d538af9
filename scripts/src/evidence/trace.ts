/** trace.jsonl: why the run did what it did, as enums, numbers and references that correlate across attempts. */
import type * as Payloads from "../core/generated/trace.ts";
import validateLine from "../core/generated/trace.validate.js";
import { POLICY } from "../core/policy.ts";
import { sha256 } from "../host/files.ts";
import { type LineLogLimits, openLineLog, readLineLog } from "./line-log.ts";

export type TraceLine = Payloads.TraceLine;
export type TraceRelation = TraceLine["relation"];

/** The closed payload of each kind. */
export interface TracePayloads {
  "run.start": Payloads.RunStartPayload;
  "run.end": Payloads.RunEndPayload;
  probe: Payloads.ProbePayload;
  fetch: Payloads.FetchPayload;
  route: Payloads.RoutePayload;
  decide: Payloads.DecidePayload;
  gate: Payloads.GatePayload;
  dispatch: Payloads.DispatchPayload;
  promote: Payloads.PromotePayload;
  observe: Payloads.ObservePayload;
  check: Payloads.CheckPayload;
  verdict: Payloads.VerdictPayload;
  fail_safe: Payloads.FailSafePayload;
  report: Payloads.ReportPayload;
}
export type TraceKind = keyof TracePayloads;

interface TraceRecordInput<K extends TraceKind> {
  readonly kind: K;
  readonly payload: TracePayloads[K];
  readonly jobId?: string | null;
  readonly attempt?: number | null;
  /** 16 hex digits; default: a span of its own below the run's. */
  readonly spanId?: string;
  readonly parentSpanId?: string | null;
  readonly relation?: TraceRelation;
}

interface TraceStatus {
  readonly status: "complete" | "partial" | "absent";
  readonly records: number;
  /** Records that are missing; null when that cannot be known. */
  readonly lost: number | null;
  /** Null when complete. `recorded`: the writer stated a loss, and why is no longer known. */
  readonly reason: "bounds" | "write-failed" | "malformed" | "interrupted" | "recorded" | null;
}

export interface Trace {
  /** Never throws; what cannot be recorded is counted in `status().lost`. */
  record<K extends TraceKind>(input: TraceRecordInput<K>): void;
  status(): TraceStatus;
  flush(): void;
  close(): void;
}

const TRACE_LIMITS: LineLogLimits = {
  maxRecords: POLICY.TRACE_MAX_RECORDS.value,
  maxBytes: POLICY.TRACE_MAX_BYTES.value,
  rotateAtBytes: POLICY.TRACE_ROTATE_AT_BYTES.value,
};

/**
 * Opens or continues the trace at `file`. The last record of an orderly pause or end is a `report`; a trace that stops
 * with anything else lost an unknown number of records with the coordinator that died.
 */
export function openTrace(input: {
  readonly file: string;
  readonly runId: string;
  readonly now: () => number;
  readonly limits?: LineLogLimits;
}): Trace {
  const { log, lastLine, tornTail } = openLineLog(input.file, input.limits ?? TRACE_LIMITS);
  const last = lastLine === null ? null : parseTraceLine(lastLine);
  const interrupted = tornTail || (lastLine !== null && last?.kind !== "report");
  let seq = last?.seq ?? log.status().records;
  let malformed = 0;
  const traceId = traceIdOf(input.runId);
  return {
    record(record) {
      seq += 1;
      const line = {
        ts: new Date(input.now()).toISOString(),
        seq,
        traceId,
        correlationId: `${input.runId}/${record.jobId ?? "-"}/${record.attempt ?? "-"}`,
        spanId: record.spanId ?? spanIdOf(input.runId, String(seq)),
        parentSpanId: record.parentSpanId === undefined ? spanIdOf(input.runId) : record.parentSpanId,
        relation: record.relation ?? "child",
        kind: record.kind,
        payload: record.payload,
      };
      if (validateLine(line)) log.append(JSON.stringify(line));
      else malformed += 1;
    },
    status: () => statusOf({ ...log.status(), malformed, interrupted }),
    flush: () => log.flush(),
    close: () => log.close(),
  };
}

function statusOf(facts: {
  readonly records: number;
  readonly dropped: number;
  readonly fault: "bounds" | "write-failed" | null;
  readonly malformed: number;
  readonly interrupted: boolean;
}): TraceStatus {
  const { records, fault, malformed, interrupted } = facts;
  const reason = fault ?? (malformed > 0 ? "malformed" : interrupted ? "interrupted" : null);
  const status = records === 0 ? "absent" : reason === null ? "complete" : "partial";
  return { status, records, lost: interrupted ? null : facts.dropped + malformed, reason };
}

/**
 * The status of a stored trace, without writing to it. The last `report` record states what its writer knew; a trace
 * that ends otherwise lost an unknown number, unless its coordinator is still at work (`open`).
 */
export function traceStatusOf(file: string, options: { readonly open?: boolean } = {}): TraceStatus {
  let stored: ReturnType<typeof readLineLog>;
  try {
    stored = readLineLog(file);
  } catch {
    return { status: "absent", records: 0, lost: null, reason: "write-failed" };
  }
  const { records, lastLine, tornTail } = stored;
  if (records === 0) return { status: "absent", records, lost: 0, reason: null };
  const last = lastLine === null ? null : parseTraceLine(lastLine);
  if (last?.kind === "report" && !tornTail) {
    const { traceStatus: status, lost } = last.payload as Payloads.ReportPayload;
    return { status, records, lost, reason: status === "complete" ? null : "recorded" };
  }
  if (records >= TRACE_LIMITS.maxRecords) return { status: "partial", records, lost: null, reason: "bounds" };
  if (options.open === true && !tornTail) return { status: "complete", records, lost: 0, reason: null };
  return { status: "partial", records, lost: null, reason: "interrupted" };
}

/** 32 hex digits, the same for every record of a run. */
export const traceIdOf = (runId: string): string => sha256(`trace:${runId}`).slice(0, 32);

/** 16 hex digits from names, so that a resumed coordinator reaches the same span: `spanIdOf(runId, jobId, "1")`. */
export const spanIdOf = (...names: readonly string[]): string =>
  sha256(`span:${names.join("\u0000")}`).slice(0, 16);

/** Makes a name fit for a payload: references carry no spaces and no free text. Null stays null. */
export function traceRef(text: string): string;
export function traceRef(text: string | null): string | null;
export function traceRef(text: string | null): string | null {
  if (text === null) return null;
  const cleaned = text.replace(/[^A-Za-z0-9._:/@+#=,~%[\]-]/g, "_").slice(0, 199);
  return /^[A-Za-z0-9]/.test(cleaned) ? cleaned : `x${cleaned}`;
}

/** At most 64, as a payload holds. */
export const traceRefs = (texts: readonly string[]): string[] =>
  texts.slice(0, 64).map((text) => traceRef(text));

/** One stored line, or null when it is no valid record: the file may have been edited or torn. */
export function parseTraceLine(line: string): TraceLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return validateLine(value) ? (value as TraceLine) : null;
  } catch {
    return null;
  }
}
