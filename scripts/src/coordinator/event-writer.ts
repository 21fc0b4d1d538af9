/** Gives an adapter's events their identity and writes them to the supervisor's log. Observation only. */
import type { PlanJob } from "../core/runtime.ts";
import { spanIdOf } from "../evidence/trace.ts";
import type { AdapterEvent, ObservedState } from "../runtimes/adapter.ts";
import type { Session } from "./session.ts";

export interface EventWriter {
  lifecycle(from: string, to: string): void;
  adapter(event: AdapterEvent, observed: ObservedState): void;
}

export function eventWriter(s: Session, o: { job: PlanJob; attempt: number; runtime: string }): EventWriter {
  const spanId = spanIdOf(s.runId, o.job.id, String(o.attempt));
  const parentSpanId = spanIdOf(s.runId);
  const base = { jobId: o.job.id, attempt: o.attempt, spanId, parentSpanId, runtime: o.runtime };
  return {
    lifecycle(from, to) {
      s.events.append({
        ...base,
        kind: "lifecycle",
        phase: to,
        trust: "trusted",
        provenance: "coordinator",
        payload: { from, to, evidence: "supervised process" },
      });
    },
    adapter(event, observed) {
      s.events.append({
        ...base,
        kind: event.kind,
        phase: event.phase ?? null,
        model: observed.model,
        provider: observed.provider,
        trust: "untrusted",
        provenance: `adapter:${o.runtime}`,
        truncated: event.truncated === true,
        payload: event.payload,
      });
    },
  };
}
