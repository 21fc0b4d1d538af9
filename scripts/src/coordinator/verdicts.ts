/** A verdict becomes outcomes: checked against what was asked, read at its least favourable, recorded in one commit. */
import type { Arbiter } from "../core/generated/state.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isoTime } from "../host/clock.ts";
import {
  boundReasons,
  nativeIndependence,
  outcomesAfterVerdict,
  type RoundOutcome,
} from "../prove/accept.ts";
import type { AttemptRef } from "../prove/bundle.ts";
import { checkVerdict, type EffectiveVerdict, effectiveVerdicts, parseVerdict } from "../prove/verdict.ts";
import type { JournalRecord } from "../state/records.ts";
import { jobState, type Session } from "./session.ts";
import { traceVerdict } from "./trace-points.ts";

export interface VerdictRefusal {
  readonly code: string;
  readonly detail: string;
}

/** For an arbiter that we started: whatever it answered settles the call; a bad answer blocks the work, never passes it. */
export async function applyVerdictText(
  s: Session,
  o: {
    arbiterId: string;
    text: string;
    handle: string | null;
    independence: NonNullable<Arbiter["independence"]>;
  },
): Promise<RoundOutcome | null> {
  const arbiter = findArbiter(s, o.arbiterId);
  const parsed = parseVerdict(o.text);
  const refused = parsed.ok ? null : (parsed.error[0]?.message ?? "no verdict in the answer");
  const checked = parsed.ok ? checkVerdict({ verdict: parsed.value, arbiter, state: s.store.state }) : null;
  if (checked === null || !checked.ok) {
    const reason = checked === null ? refused : checked.ok ? null : checked.error.detail;
    await failArbiter(s, arbiter, reason ?? "the arbiter failed");
    return null;
  }
  const effective = effectiveVerdicts({ verdict: checked.value, graph: s.graph, state: s.store.state });
  return recordRound(s, {
    arbiter,
    effective,
    independence: o.independence,
    handle: o.handle,
    overall: checked.value.overall,
  });
}

/** For a verdict that a harness brings: refused with a reason while the call stays open, or applied. */
export async function applyNativeVerdict(
  s: Session,
  o: { text: string; handle: string | null },
): Promise<Result<RoundOutcome, VerdictRefusal>> {
  const parsed = parseVerdict(o.text);
  if (!parsed.ok)
    return err({
      code: parsed.error[0]?.code ?? "malformed-verdict",
      detail: parsed.error.map((d) => d.message).join(" "),
    });
  const arbiter = s.store.state.arbiters.find((a) => a.bundleSha256 === parsed.value.bundleSha256);
  if (arbiter === undefined || arbiter.status === "superseded")
    return err({
      code: "stale-verdict",
      detail:
        "The verdict names a bundle that is not, or no longer, being asked about. Read `next` for the current one.",
    });
  if (arbiter.status === "answered")
    return err({ code: "already-answered", detail: `\`${arbiter.arbiterId}\` has its verdict already.` });
  const checked = checkVerdict({ verdict: parsed.value, arbiter, state: s.store.state });
  if (!checked.ok) return err(checked.error);
  const independence = nativeIndependence({
    handle: o.handle,
    arbiter,
    state: s.store.state,
    graph: s.graph,
  });
  const effective = effectiveVerdicts({ verdict: checked.value, graph: s.graph, state: s.store.state });
  return ok(
    await recordRound(s, {
      arbiter,
      effective,
      independence,
      handle: o.handle,
      overall: checked.value.overall,
    }),
  );
}

async function recordRound(
  s: Session,
  o: {
    arbiter: Arbiter;
    effective: readonly EffectiveVerdict[];
    independence: NonNullable<Arbiter["independence"]>;
    handle: string | null;
    overall: NonNullable<Arbiter["overall"]>;
  },
): Promise<RoundOutcome> {
  const round = outcomesAfterVerdict({
    graph: s.graph,
    state: s.store.state,
    arbiter: o.arbiter,
    effective: o.effective,
    independence: o.independence,
  });
  const own = new Map(o.effective.map((e) => [`${e.jobId}#${e.attempt}`, e]));
  const records: JournalRecord[] = [
    {
      type: "arbiter",
      arbiter: {
        ...o.arbiter,
        status: "answered",
        answeredAt: isoTime(s.clock.now()),
        overall: o.overall,
        handle: o.handle,
        independence: o.independence,
        attempts: o.arbiter.attempts.map((a) => {
          const verdict = own.get(`${a.jobId}#${a.attempt}`);
          return {
            ...a,
            verdict: verdict?.own ?? null,
            reasons: boundReasons((verdict?.reasons ?? []).map((r) => s.redact(r))),
          };
        }),
      },
    },
  ];
  for (const outcome of round.outcomes) {
    records.push({
      type: "attempt",
      jobId: outcome.jobId,
      attempt: outcome.attempt,
      patch: {
        acceptance: outcome.acceptance,
        c3Verdict: outcome.c3Verdict,
        arbitration: outcome.arbitration,
        ...(outcome.reason === null ? {} : { reason: outcome.reason }),
      },
    });
    records.push({ type: "job", jobId: outcome.jobId, patch: { outcomeBlock: outcome.outcomeBlock } });
  }
  for (const dead of round.rejectedDependents) {
    const job = jobState(s, dead.jobId);
    if (job.status === "queued")
      records.push({
        type: "job",
        jobId: dead.jobId,
        patch: {
          block: {
            code: "dependency-rejected",
            detail: `\`${dead.dependency}\` was rejected, and this job depends on it.`,
          },
        },
      });
  }
  await s.commit(records);
  for (const outcome of round.outcomes) traceVerdict(s, o.arbiter, outcome);
  return round;
}

async function failArbiter(s: Session, arbiter: Arbiter, reason: string): Promise<void> {
  const refs = arbiter.attempts.map(({ jobId, attempt }) => ({ jobId, attempt }));
  await s.commit([
    {
      type: "arbiter",
      arbiter: { ...arbiter, status: "failed", answeredAt: isoTime(s.clock.now()), reason: s.redact(reason) },
    },
    ...blockOutcomes(s, refs, {
      code: "arbiter-blocked",
      detail: `The arbiter gave no usable verdict: ${s.redact(reason)}`,
    }),
  ]);
}

export function blockOutcomes(
  s: Session,
  refs: readonly AttemptRef[],
  block: { code: string; detail: string },
): JournalRecord[] {
  return refs
    .filter((ref) => jobState(s, ref.jobId).outcomeBlock?.code !== block.code)
    .map((ref) => ({ type: "job", jobId: ref.jobId, patch: { outcomeBlock: block } }));
}

function findArbiter(s: Session, id: string): Arbiter {
  const arbiter = s.store.state.arbiters.find((a) => a.arbiterId === id);
  if (arbiter === undefined) throw new Error(`state.json has no arbiter ${id}`);
  return arbiter;
}
