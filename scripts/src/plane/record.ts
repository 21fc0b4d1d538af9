/** A line of decisions.jsonl: enums, numbers and references. Text of a prompt, a job or a classifier has no place in it. */
import type { DecisionRecord } from "../core/generated/decision.ts";
import validate from "../core/generated/decision.validate.js";

export type DecisionInput = Omit<DecisionRecord, "riskTier">;

/** Null when a field would hold anything else than the schema allows; the decision is then counted, not stored. */
export function decisionRecord(input: DecisionInput): DecisionRecord | null {
  const record: DecisionRecord = {
    runId: input.runId,
    jobId: input.jobId,
    attempt: input.attempt,
    spanId: input.spanId,
    decision: input.decision,
    candidate: input.candidate,
    reason: input.reason,
    inputRef: input.inputRef,
    egressAuthority: input.egressAuthority,
    riskTier: "R0",
    scores: input.scores,
    applied: input.applied,
    outcomeRef: input.outcomeRef,
  };
  return validate(record) ? record : null;
}
