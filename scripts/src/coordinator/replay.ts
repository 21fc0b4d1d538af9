/** What the production parser and decision code derive from an output: the value that the injection fixture compares. */
import { decideAfterFailure } from "../plan/failure.ts";
import type { ReplayDecision } from "../prove/fixture.ts";
import type { Judged } from "./judge.ts";
import { attemptRecord, jobState, type Session } from "./session.ts";

export function replayDecision(s: Session, o: Judged, lines: readonly string[]): ReplayDecision {
  let observed = o.adapter.initial();
  for (const line of lines) observed = o.adapter.observe(observed, line).state;
  const settlement = o.adapter.settle(observed, o.exit);
  const actions = settlement.ok ? ["verify"] : [failureAction(s, o, settlement.failureClass ?? "UNKNOWN")];
  return {
    actions,
    approvals: s.store.state.approvals
      .filter((a) => a.jobId === o.job.id)
      .map((a) => `${a.scope}:${a.decision}`),
    controls: {
      approval: o.job.approval,
      isolation: o.job.isolation,
      tools: o.job.tools.allowed.join(" "),
      withheld: o.job.tools.disallowed.join(" "),
      denied: observed.denied.map((d) => d.boundary).join(" "),
      session: observed.sessionHandle ?? "",
      model: observed.model ?? "",
    },
    tier: o.job.riskTier,
  };
}

function failureAction(
  s: Session,
  o: Judged,
  failureClass: NonNullable<Judged["settlement"]["failureClass"]>,
): string {
  const attempt = { ...attemptRecord(s, o.job.id, o.ordinal), failureClass };
  const decision = decideAfterFailure({
    job: o.job,
    jobState: jobState(s, o.job.id),
    attempt,
    now: o.exit.now,
    quotaWaitMs: s.graph.quotaWaitMs,
  });
  return `${failureClass}:${decision.action}:${decision.candidateIndex}`;
}
