/**
 * Who judges finished work, and when: the round of one coordinator. Nothing is accepted because somebody said so, the
 * producer least of all. What no runtime at hand may judge is handed to the harness, or stays blocked.
 */
import { nextTurn, sleepUntil } from "../host/clock.ts";
import { afterArbiterFailure } from "../plan/arbiter-retry.ts";
import { cliIndependence, type RoundOutcome } from "../prove/accept.ts";
import { arbiterCandidates, candidateKey } from "../prove/arbiter-choice.ts";
import type { AttemptRef, BundledUnion } from "../prove/bundle.ts";
import type { Arbiter } from "../prove/verdict.ts";
import { type PreparedCall, prepareCall } from "./arbiter-call.ts";
import { type CalledArbiter, callAll, isMismatch, nextId, seen } from "./arbitration-calls.ts";
import {
  type ArbitrationScope,
  isAbout,
  isDue,
  judgeable,
  newlyOffered,
  notNamed,
  planRound,
  type Round,
  type RoundPlan,
  stillStands,
} from "./arbitration-plan.ts";
import type { Session } from "./session.ts";
import { unionCheck } from "./union.ts";
import { type Answer, blockOutcomes, failedCall, readAnswer, recordRound } from "./verdicts.ts";
import type { Wake } from "./wake.ts";

export interface Arbitrator {
  readonly busy: boolean;
  /** Starts a round when somebody has to be asked. True: it did; the loop hears of its end by the wake. */
  begin(o: ArbitrationScope): boolean;
  stop(mode: "graceful" | "hard"): void;
  drained(): Promise<void>;
}

/** What a round changed, for whoever keeps the schedule. */
export interface RoundEnd {
  readonly changed: readonly string[];
  readonly rejectedDependents: RoundOutcome["rejectedDependents"];
}

export function createArbitrator(
  s: Session,
  o: { readonly wake: Wake; readonly ended: (end: RoundEnd) => Promise<void> },
): Arbitrator {
  const round: Round = { failed: new Set(), tries: new Map(), stopped: null, cancels: new Set(), halt: null };
  let running: Promise<void> | null = null;
  return {
    get busy() {
      return running !== null;
    },
    begin(scope) {
      if (running !== null || round.stopped !== null) return false;
      if (scope.askAgain) round.failed.clear();
      if (!isDue(s, round, scope)) return false;
      running = runRound(s, round, scope)
        .then(o.ended)
        .catch((error: unknown) => s.fail(error instanceof Error ? error : new Error(String(error))))
        .finally(() => {
          running = null;
          o.wake.ring();
        });
      return true;
    },
    stop(mode) {
      round.stopped = mode;
      for (const cancel of round.cancels) cancel(mode);
      round.halt?.();
    },
    async drained() {
      await running;
    },
  };
}

async function runRound(s: Session, round: Round, scope: ArbitrationScope): Promise<RoundEnd> {
  // Whether it is due was looked at in this turn already.
  await nextTurn();
  if (round.stopped !== null) return { changed: [], rejectedDependents: [] };
  const together = await unionCheck(s);
  const changed = new Set(together.changed);
  const dead = [...together.rejectedDependents];
  const end = (): RoundEnd => ({ changed: [...changed], rejectedDependents: dead });
  const answers: Answer[] = [];
  const blocked = new Set<string>();
  let open: readonly AttemptRef[] = judgeable(s, scope);
  let plan = planRound(s, round, open);
  while (plan.automatic.length > 0) {
    const results = await callAll(s, round, { calls: plan.automatic, unions: together.unions });
    if (round.stopped !== null) return end();
    let waitMs = 0;
    for (const { call, answer } of results) {
      const after = await settle(s, round, { call, answer });
      if (after.answer !== null) answers.push(after.answer);
      if (after.again !== null) waitMs = Math.max(waitMs, after.again);
      if (after.blocked) for (const ref of call.arbiter.attempts) blocked.add(ref.jobId);
      if (after.closed) open = notNamed([call.arbiter], open);
    }
    await pause(s, round, waitMs);
    if (round.stopped !== null) break;
    plan = planRound(s, round, open);
  }
  if (answers.length > 0) {
    const waiting = new Set(open.map((ref) => ref.jobId));
    const outcome = await recordRound(s, { answers, waiting });
    for (const one of outcome.outcomes) changed.add(one.jobId);
    dead.push(...outcome.rejectedDependents);
  }
  for (const id of blocked) changed.add(id);
  if (round.stopped === null) await offer(s, round, { plan, scope, unions: together.unions });
  return end();
}

interface Settled {
  readonly answer: Answer | null;
  /** ms until the same candidate may be called again; null: no. */
  readonly again: number | null;
  readonly blocked: boolean;
  /** The attempts of this call leave the round. */
  readonly closed: boolean;
}

async function settle(s: Session, round: Round, o: CalledArbiter): Promise<Settled> {
  const { call, answer } = o;
  const arbiter = seen(s, call, answer);
  if (answer.text === null) return await afterFailure(s, round, { ...o, arbiter });
  const read = readAnswer(s, { arbiter, text: answer.text });
  if (!read.ok) {
    await s.commit(failedCall(s, { arbiter, reason: read.error.detail, block: true }));
    return { answer: null, again: null, blocked: true, closed: true };
  }
  const independence =
    call.choice.via === "mock"
      ? call.choice.independence
      : cliIndependence({
          arbiter,
          verified: isVerified(s, call),
          handle: answer.handle,
          modelMismatch: isMismatch(s, call, answer),
          state: s.store.state,
          graph: s.graph,
        });
  return {
    answer: { arbiter, verdict: read.value, independence, handle: answer.handle },
    again: null,
    blocked: false,
    closed: true,
  };
}

const isVerified = (s: Session, call: PreparedCall): boolean =>
  call.choice.candidate !== null &&
  arbiterCandidates([call.choice.candidate], s.records).some((one) => one.verified);

async function afterFailure(
  s: Session,
  round: Round,
  o: CalledArbiter & { readonly arbiter: Arbiter },
): Promise<Settled> {
  const { call, answer, arbiter } = o;
  const failureClass = answer.failureClass ?? "UNKNOWN";
  const key = call.choice.candidate === null ? "" : candidateKey(call.choice.candidate);
  const tries = (round.tries.get(key) ?? 0) + 1;
  round.tries.set(key, tries);
  const next =
    call.choice.via === "mock"
      ? ({ action: "blocked" } as const)
      : afterArbiterFailure({
          failureClass,
          tries,
          resetInMs: answer.resetAt === null ? null : Math.max(0, answer.resetAt - s.clock.now()),
          quotaWaitMs: s.graph.quotaWaitMs,
          modelPinned: s.graph.arbiter.model !== null,
        });
  const blocked = next.action === "blocked";
  const reason = `${failureClass}: ${answer.detail ?? "no answer"}`;
  await s.commit(failedCall(s, { arbiter, reason, block: blocked }));
  if (next.action === "next") round.failed.add(key);
  return { answer: null, again: next.action === "retry" ? next.afterMs : null, blocked, closed: blocked };
}

/** A wait that a stop ends. */
async function pause(s: Session, round: Round, ms: number): Promise<void> {
  if (ms <= 0 || round.stopped !== null) return;
  await sleepUntil({ ms, halt: (wakeUp) => (round.halt = wakeUp) });
  round.halt = null;
  if (s.store.failed !== null) round.stopped = "hard";
}

/** Hands the rest to the harness; external work that nobody at hand may judge stays blocked. */
async function offer(
  s: Session,
  round: Round,
  o: { readonly plan: RoundPlan; readonly scope: ArbitrationScope; readonly unions: readonly BundledUnion[] },
): Promise<void> {
  const { native, uncovered } = o.plan;
  const fresh = newlyOffered(s, o.plan, o.scope);
  const asked = isAbout(fresh);
  const open = s.store.state.arbiters.filter((a) => a.status === "offered");
  const stale = open.filter((a) => !stillStands(s, a) || asked(a));
  if (stale.length > 0)
    await s.commit(
      stale.map((a) => ({ type: "arbiter" as const, arbiter: { ...a, status: "superseded" as const } })),
    );
  for (let left = fresh; native !== null && left.length > 0 && round.stopped === null; ) {
    const call = await prepareCall(s, {
      arbiterId: nextId(s),
      choice: native,
      unions: o.unions,
      attempts: left,
    });
    await s.commit([
      { type: "arbiter", arbiter: call.arbiter },
      ...blockOutcomes(s, call.arbiter.attempts, {
        code: "needs-arbiter",
        detail:
          "The work passed its checks; an independent reviewer has to judge it before it counts as accepted.",
      }),
    ]);
    left = notNamed([call.arbiter], left);
  }
  if (uncovered.length > 0)
    await s.commit(
      blockOutcomes(s, uncovered, {
        code: "needs-arbiter",
        detail:
          "R3 work needs an arbiter of another model family, or a substitute whose tools are verified; none is at hand. Set one up, then `resume`.",
      }),
    );
}
