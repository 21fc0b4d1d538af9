/** Verdicts become outcomes: checked against what was asked, read at their least favourable, recorded in one commit. */
import type { Verdict } from "../core/generated/verdict.ts";
import { err, ok, type Result } from "../core/result.ts";
import { isoTime } from "../host/clock.ts";
import {
  boundReasons,
  type Independence,
  nativeIndependence,
  outcomesOfRound,
  type RoundOutcome,
} from "../prove/accept.ts";
import { type AttemptRef, attemptKey } from "../prove/bundle.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import { openFindings } from "../prove/review-findings.ts";
import {
  type Arbiter,
  checkVerdict,
  type EffectiveVerdict,
  effectiveOfRound,
  parseVerdict,
} from "../prove/verdict.ts";
import type { JournalRecord } from "../state/records.ts";
import { standingOn } from "./readiness.ts";
import { jobState, type Session } from "./session.ts";
import { traceVerdict } from "./trace-points.ts";

export interface VerdictRefusal {
  readonly code: string;
  readonly detail: string;
}

/** A verdict that answers what its arbiter was asked, and how far it may be believed. */
export interface Answer {
  readonly arbiter: Arbiter;
  readonly verdict: Verdict;
  readonly independence: Independence;
  readonly handle: string | null;
}

/** Parses an arbiter's final text and checks what it is bound to. The error says why it is no verdict on this call. */
export function readAnswer(
  s: Session,
  o: { readonly arbiter: Arbiter; readonly text: string },
): Result<Verdict, VerdictRefusal> {
  const parsed = parseVerdict(o.text);
  if (!parsed.ok)
    return err({
      code: parsed.error[0]?.code ?? "malformed-verdict",
      detail: parsed.error.map((d) => d.message).join(" ") || "no verdict in the answer",
    });
  return checkVerdict({ verdict: parsed.value, arbiter: o.arbiter, state: s.store.state });
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
  if (arbiter.via !== "native")
    return err({
      code: "not-asked",
      detail: `\`${arbiter.arbiterId}\` is a call of the coordinator's own: only its own process answers it.`,
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
  const answers = [{ arbiter, verdict: checked.value, independence, handle: o.handle }];
  return ok(await recordRound(s, { answers, waiting: new Set() }));
}

/**
 * Records what a round of arbiters said, all together. `waiting`: jobs of the round that nobody answered for; work above
 * them stays as it is until somebody does.
 */
export async function recordRound(
  s: Session,
  o: { readonly answers: readonly Answer[]; readonly waiting: ReadonlySet<string> },
): Promise<RoundOutcome> {
  const unanswered = standingOn(s.index, o.waiting);
  const effective = effectiveOfRound({
    verdicts: o.answers.map((answer) => answer.verdict),
    graph: s.graph,
    state: s.store.state,
    findings: openFindings(s.graph, s.store.state),
  }).filter((one) => !unanswered.has(one.jobId));
  const verdictOf = new Map(effective.map((one) => [attemptKey(one), one]));
  const round = outcomesOfRound({
    graph: s.graph,
    state: s.store.state,
    answers: o.answers.map((answer) => ({
      arbiter: answer.arbiter,
      independence: answer.independence,
      effective: answer.arbiter.attempts.flatMap((ref) => verdictOf.get(attemptKey(ref)) ?? []),
    })),
  });
  const now = isoTime(s.clock.now());
  const records: JournalRecord[] = o.answers.map((answer) => ({
    type: "arbiter",
    arbiter: answeredEntry(s, answer, { verdictOf, now }),
  }));
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
  for (const dead of round.rejectedDependents) records.push(...blockRejected(s, dead));
  await s.commit(records);
  const arbiters = new Map(o.answers.map(({ arbiter }) => [arbiter.arbiterId, arbiter]));
  for (const outcome of round.outcomes) {
    const by = arbiters.get(outcome.arbitration?.arbiterId ?? "");
    traceVerdict(s, by ?? (o.answers[0] as Answer).arbiter, outcome);
  }
  return round;
}

function answeredEntry(
  s: Session,
  { arbiter, verdict, independence, handle }: Answer,
  o: { readonly verdictOf: ReadonlyMap<string, EffectiveVerdict>; readonly now: string },
): Arbiter {
  return {
    ...arbiter,
    status: "answered",
    answeredAt: o.now,
    overall: verdict.overall,
    handle,
    independence,
    attempts: arbiter.attempts.map((a) => {
      const one = o.verdictOf.get(attemptKey(a));
      return {
        ...a,
        verdict: one?.own ?? null,
        reasons: boundReasons((one?.reasons ?? []).map((r) => s.redact(r))),
      };
    }),
  };
}

/** A job above rejected work that has not finished: it never starts, or is ended by the caller and then blocked. */
export function blockRejected(
  s: Session,
  dead: RoundOutcome["rejectedDependents"][number],
  o: { readonly ended?: boolean } = {},
): JournalRecord[] {
  const job = jobState(s, dead.jobId);
  if (job.status !== "queued" && o.ended !== true) return [];
  if (job.block?.code === "dependency-rejected") return [];
  return [
    {
      type: "job",
      jobId: dead.jobId,
      patch: {
        block: {
          code: "dependency-rejected",
          detail: `\`${dead.dependency}\` was rejected, and this job depends on it.`,
        },
        pendingAttempt: null,
      },
    },
  ];
}

/** The call gave no usable verdict. Work that changed meanwhile is not blamed for that: it is asked about again. */
export function failedCall(
  s: Session,
  o: { readonly arbiter: Arbiter; readonly reason: string; readonly block: boolean },
): JournalRecord[] {
  const refs = o.arbiter.attempts.filter(
    (a) => currentAttempt(s.store.state, a.jobId)?.attempt === a.attempt,
  );
  return [
    {
      type: "arbiter",
      arbiter: {
        ...o.arbiter,
        status: "failed",
        answeredAt: isoTime(s.clock.now()),
        reason: s.redact(o.reason),
      },
    },
    ...(o.block
      ? blockOutcomes(s, refs, {
          code: "arbiter-blocked",
          detail: `The arbiter gave no usable verdict: ${s.redact(o.reason)}`,
        })
      : []),
  ];
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
