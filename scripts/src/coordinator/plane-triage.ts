/** An attempt that failed and that nothing follows: the plane may propose what a person could do. The failure stays what it is. */
import type { FailureClass, PlanJob } from "../core/runtime.ts";
import { triageCouldHelp, triageDecision } from "../plane/triage.ts";
import { frozenClassifiers } from "./plane-setup.ts";
import { attemptRecord, type Session } from "./session.ts";

export async function triageFailure(
  s: Session,
  job: PlanJob,
  o: {
    readonly ordinal: number;
    readonly failureClass: FailureClass;
    readonly action: Parameters<typeof triageCouldHelp>[0];
  },
): Promise<void> {
  if (!triageCouldHelp(o.action)) return;
  if (frozenClassifiers(s.graph).length === 0) return;
  const attempt = attemptRecord(s, job.id, o.ordinal);
  const facts = {
    failureClass: o.failureClass,
    reason: attempt.reason,
    exitCode: attempt.exitCode,
    signal: attempt.signal,
    timedOut: attempt.timedOut,
    flags: attempt.flags,
    failedChecks: attempt.checks.filter((check) => !check.ok).map((check) => check.id),
    runtime: attempt.runtime,
    attempts: o.ordinal,
  };
  const decision = await s.plane.ask({
    task: "triage",
    jobId: job.id,
    attempt: o.ordinal,
    pieces: [
      {
        label: "facts",
        provenance: "coordinator",
        contentClass: "trace",
        text: JSON.stringify(facts),
      },
      { label: "message", provenance: "job", contentClass: "trace", text: attempt.detail ?? "" },
    ],
  });
  const made =
    decision.answers === null
      ? null
      : triageDecision(decision.answers, {
          failureClass: o.failureClass,
          external: job.riskTier === "R3",
        });
  const kind = made?.proposal ?? null;
  decision.settle({
    applied: kind !== null,
    outcomeRef: kind === null ? null : `proposal:${kind}`,
    lowConfidence: made?.lowConfidence === true,
  });
  if (kind !== null)
    await s.commit([
      {
        type: "attempt",
        jobId: job.id,
        attempt: o.ordinal,
        patch: { proposal: { from: "triage", kind, decisionRef: decision.ref } },
      },
    ]);
}
