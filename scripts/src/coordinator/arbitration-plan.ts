/** Which finished work a round judges, and who is asked: the state read, nothing started. */

import { isProgram } from "../prove/accept.ts";
import {
  type ArbiterCall,
  arbiterCandidates,
  chooseArbiters,
  type Producer,
} from "../prove/arbiter-choice.ts";
import { type AttemptRef, attemptKey } from "../prove/bundle.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import { judgeableTogether, pendingArbitration } from "../prove/judgeable.ts";
import type { Arbiter } from "../prove/verdict.ts";
import { standingOn } from "./readiness.ts";
import { attemptRecord, jobState, type Session } from "./session.ts";

export interface ArbitrationScope {
  /** A resume asks again about work whose arbiter gave no usable verdict. */
  readonly askAgain: boolean;
  /** Only these jobs: what an R3 job waits for while other work goes on. Null: all. */
  readonly only: ReadonlySet<string> | null;
}

export interface Round {
  /** Candidates that did not answer while this coordinator lives. */
  readonly failed: Set<string>;
  readonly tries: Map<string, number>;
  stopped: "graceful" | "hard" | null;
  readonly cancels: Set<(mode: "graceful" | "hard") => void>;
  halt: (() => void) | null;
}

export interface RoundPlan {
  /** Calls that we make ourselves. */
  readonly automatic: readonly ArbiterCall[];
  readonly native: ArbiterCall | null;
  readonly uncovered: readonly AttemptRef[];
}

export function planRound(s: Session, round: Round, refs: readonly AttemptRef[]): RoundPlan {
  const internal = s.records.get("internal");
  const live = internal?.state === "available";
  const pin = s.graph.arbiter.runtime;
  const choice = chooseArbiters({
    producers: refs.map((ref) => producerOf(s, ref)),
    candidates: arbiterCandidates(s.graph.arbiter.route.chain, s.records),
    failed: round.failed,
    native: {
      live,
      family: live ? internal.family : null,
      pinned: pin === "internal",
      last: pin !== null && pin !== "internal" && !pin.startsWith("<"),
    },
  });
  const native = choice.calls.filter((call) => call.via === "native");
  const open = new Set([...native.flatMap((call) => call.attempts), ...choice.uncovered].map((a) => a.jobId));
  const without = (attempts: readonly AttemptRef[], on: ReadonlySet<string>): AttemptRef[] => {
    const above = standingOn(s.index, on);
    return attempts.filter((ref) => !above.has(ref.jobId));
  };
  // Work above what only the harness can judge waits for that verdict, and the other way round.
  const automatic = choice.calls
    .filter((call) => call.via !== "native")
    .map((call) => ({ ...call, attempts: without(call.attempts, open) }))
    .filter((call) => call.attempts.length > 0);
  const handed = native.flatMap((call) => call.attempts);
  const own = new Set(handed.map((ref) => ref.jobId));
  const others = new Set(refs.map((ref) => ref.jobId).filter((id) => !own.has(id)));
  const offered = without(handed, others);
  const [first] = native;
  return {
    automatic,
    native:
      first === undefined || offered.length === 0
        ? null
        : {
            ...first,
            rule: native.every((call) => call.rule === "a") ? "a" : "c",
            attempts: [...offered].sort((a, b) => position(s, a) - position(s, b)),
          },
    uncovered: choice.uncovered,
  };
}

const position = (s: Session, ref: AttemptRef): number => s.index.byId.get(ref.jobId)?.index ?? 0;

function producerOf(s: Session, ref: AttemptRef): Producer {
  const attempt = attemptRecord(s, ref.jobId, ref.attempt);
  return {
    ...ref,
    runtime: attempt.runtime,
    family: attempt.flags.includes("model-mismatch") ? null : attempt.family,
    agent: !isProgram(s.index.byId.get(ref.jobId), attempt.runtime),
    riskTier: attempt.riskTier,
  };
}

/** What waits for a verdict and can be judged now. */
export function judgeable(s: Session, scope: ArbitrationScope): AttemptRef[] {
  const wanted = (id: string): boolean =>
    (scope.only === null || scope.only.has(id)) && mayAsk(s, id, scope.askAgain);
  return judgeableTogether(pendingArbitration(s.graph, s.store.state, wanted), s.graph, s.store.state);
}

/** Asked and answered without a usable verdict: only a resume or a verdict opens it again. */
function mayAsk(s: Session, jobId: string, askAgain: boolean): boolean {
  const state = jobState(s, jobId);
  const code = state.outcomeBlock?.code;
  if (askAgain || code === undefined) return true;
  // External work needs more than an attested substitute: one such answer does not lead to the next call.
  const attested =
    code === "needs-arbiter" && state.riskTier === "R3" && state.attemptRecords.at(-1)?.arbitration !== null;
  return code !== "arbiter-blocked" && code !== "not-independent" && !attested;
}

export function isDue(s: Session, round: Round, scope: ArbitrationScope): boolean {
  const refs = judgeable(s, scope);
  if (refs.length === 0) return false;
  const plan = planRound(s, round, refs);
  return (
    plan.automatic.length > 0 ||
    newlyOffered(s, plan, scope).length > 0 ||
    plan.uncovered.some((ref) => jobState(s, ref.jobId).outcomeBlock === null)
  );
}

/** Attempts for the harness that no open call names. A call that still stands stays open: somebody may be at it. */
export function newlyOffered(s: Session, plan: RoundPlan, scope: ArbitrationScope): readonly AttemptRef[] {
  const wanted = plan.native?.attempts ?? [];
  const open = s.store.state.arbiters.filter((a) => a.status === "offered");
  const kept = open.filter((a) => stillStands(s, a));
  const missing = notNamed(kept, wanted);
  // A resume that finds everything asked already asks nothing new.
  return scope.askAgain && missing.length > 0 ? wanted : missing;
}

/** Those of `refs` that none of the calls is about. */
export function notNamed(arbiters: readonly Arbiter[], refs: readonly AttemptRef[]): readonly AttemptRef[] {
  const named = new Set(arbiters.flatMap((a) => a.attempts.map(attemptKey)));
  return refs.filter((ref) => !named.has(attemptKey(ref)));
}

/** Whether a call is about one of `refs`. */
export function isAbout(refs: readonly AttemptRef[]): (a: Arbiter) => boolean {
  const wanted = new Set(refs.map(attemptKey));
  return (a) => a.attempts.some((ref) => wanted.has(attemptKey(ref)));
}

/** All that the call asks about is as it was, and undecided. */
export const stillStands = (s: Session, a: Arbiter): boolean =>
  a.attempts.every(({ jobId, attempt }) => {
    const current = currentAttempt(s.store.state, jobId);
    return current?.attempt === attempt && current.status === "success" && current.acceptance === "pending";
  });
