/**
 * Who judges finished work, and when: the round of one coordinator. Nothing is accepted because somebody said so, the
 * producer least of all. What no runtime at hand may judge is handed to the harness, or stays blocked.
 */
import type { Candidate } from "../core/runtime.ts";
import { sleepUntil } from "../host/clock.ts";
import { afterArbiterFailure } from "../plan/arbiter-retry.ts";
import { cliIndependence, isProgram, type RoundOutcome } from "../prove/accept.ts";
import {
  type ArbiterCall,
  arbiterCandidates,
  candidateKey,
  chooseArbiters,
  MOCK_ARBITER_FAMILY,
  type Producer,
} from "../prove/arbiter-choice.ts";
import {
  type AttemptRef,
  type BundledUnion,
  judgeableTogether,
  pendingArbitration,
} from "../prove/bundle.ts";
import { currentAttempt, MOCK_RUNTIME } from "../prove/current-attempt.ts";
import type { Arbiter } from "../prove/verdict.ts";
import { isRequestedModel } from "../runtimes/model-match.ts";
import { type PreparedCall, prepareCall } from "./arbiter-call.ts";
import { type ArbiterAnswer, runArbiter } from "./arbiter-process.ts";
import { transitiveDependencies } from "./readiness.ts";
import { attemptRecord, jobState, type Session } from "./session.ts";
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

export interface ArbitrationScope {
  /** A resume asks again about work whose arbiter gave no usable verdict. */
  readonly askAgain: boolean;
  /** Only these jobs: what an R3 job waits for while other work goes on. Null: all. */
  readonly only: ReadonlySet<string> | null;
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

interface Round {
  /** Candidates that did not answer while this coordinator lives. */
  readonly failed: Set<string>;
  readonly tries: Map<string, number>;
  stopped: "graceful" | "hard" | null;
  readonly cancels: Set<(mode: "graceful" | "hard") => void>;
  halt: (() => void) | null;
}

interface RoundPlan {
  /** Calls that we make ourselves. */
  readonly automatic: readonly ArbiterCall[];
  readonly native: ArbiterCall | null;
  readonly uncovered: readonly AttemptRef[];
}

function planRound(s: Session, round: Round, refs: readonly AttemptRef[]): RoundPlan {
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
  const stands = (on: ReadonlySet<string>) => (ref: AttemptRef) =>
    transitiveDependencies(s.index, ref.jobId).some((id) => on.has(id));
  // Work above what only the harness can judge waits for that verdict, and the other way round.
  const automatic = choice.calls
    .filter((call) => call.via !== "native")
    .map((call) => ({ ...call, attempts: call.attempts.filter((ref) => !stands(open)(ref)) }))
    .filter((call) => call.attempts.length > 0);
  const others = new Set(
    refs
      .map((ref) => ref.jobId)
      .filter((id) => !native.some((call) => call.attempts.some((a) => a.jobId === id))),
  );
  const offered = native.flatMap((call) => call.attempts).filter((ref) => !stands(others)(ref));
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
function judgeable(s: Session, scope: ArbitrationScope): AttemptRef[] {
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

function isDue(s: Session, round: Round, scope: ArbitrationScope): boolean {
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
function newlyOffered(s: Session, plan: RoundPlan, scope: ArbitrationScope): readonly AttemptRef[] {
  const wanted = plan.native?.attempts ?? [];
  const open = s.store.state.arbiters.filter((a) => a.status === "offered");
  const kept = open.filter((a) => stillStands(s, a));
  const covered = (ref: AttemptRef): boolean => kept.some((a) => names(a, ref));
  const missing = wanted.filter((ref) => !covered(ref));
  // A resume that finds everything asked already asks nothing new.
  return scope.askAgain && missing.length > 0 ? wanted : missing;
}

const names = (a: Arbiter, ref: AttemptRef): boolean =>
  a.attempts.some((x) => x.jobId === ref.jobId && x.attempt === ref.attempt);

/** All that the call asks about is as it was, and undecided. */
const stillStands = (s: Session, a: Arbiter): boolean =>
  a.attempts.every(({ jobId, attempt }) => {
    const current = currentAttempt(s.store.state, jobId);
    return current?.attempt === attempt && current.status === "success" && current.acceptance === "pending";
  });

async function runRound(s: Session, round: Round, scope: ArbitrationScope): Promise<RoundEnd> {
  const together = await unionCheck(s);
  const changed = new Set(together.changed);
  const dead = [...together.rejectedDependents];
  const end = (): RoundEnd => ({ changed: [...changed], rejectedDependents: dead });
  const answers: Answer[] = [];
  const blocked = new Set<string>();
  let open = judgeable(s, scope);
  let plan = planRound(s, round, open);
  while (plan.automatic.length > 0) {
    const results = await callAll(s, round, { calls: plan.automatic, union: together.union });
    if (round.stopped !== null) return end();
    let waitMs = 0;
    for (const { call, answer } of results) {
      const after = await settle(s, round, { call, answer });
      if (after.answer !== null) answers.push(after.answer);
      if (after.again !== null) waitMs = Math.max(waitMs, after.again);
      if (after.blocked) for (const ref of call.arbiter.attempts) blocked.add(ref.jobId);
      if (after.closed) open = open.filter((ref) => !names(call.arbiter, ref));
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
  if (round.stopped === null) await offer(s, { plan, scope, union: together.union });
  return end();
}

interface CalledArbiter {
  readonly call: PreparedCall;
  readonly answer: ArbiterAnswer;
}

/** All calls of one pass: one after another for the same runtime, side by side for different ones. */
async function callAll(
  s: Session,
  round: Round,
  o: { readonly calls: readonly ArbiterCall[]; readonly union: BundledUnion | null },
): Promise<CalledArbiter[]> {
  const prepared: PreparedCall[] = [];
  for (const choice of o.calls)
    for (let left: readonly AttemptRef[] = choice.attempts; left.length > 0; ) {
      const arbiterId = nextId(s);
      const call = await prepareCall(s, { arbiterId, choice, union: o.union, attempts: left });
      await s.commit([{ type: "arbiter", arbiter: call.arbiter }]);
      prepared.push(call);
      left = left.filter((ref) => !names(call.arbiter, ref));
    }
  const lanes = new Map<string, PreparedCall[]>();
  for (const call of prepared) {
    const lane = call.arbiter.runtime ?? "";
    lanes.set(lane, [...(lanes.get(lane) ?? []), call]);
  }
  const results = await Promise.all(
    [...lanes.values()].map(async (lane) => {
      const done: CalledArbiter[] = [];
      for (const call of lane)
        if (round.stopped === null) done.push({ call, answer: await callOne(s, round, call) });
        else await s.commit(failedCall(s, { arbiter: call.arbiter, reason: "interrupted", block: false }));
      return done;
    }),
  );
  return results.flat();
}

const nextId = (s: Session): string => `arbiter-${s.store.state.arbiters.length + 1}`;

async function callOne(s: Session, round: Round, call: PreparedCall): Promise<ArbiterAnswer> {
  const candidate = call.choice.candidate ?? MOCK_ARBITER;
  const adapter = s.adapters.get(candidate.runtime);
  const record = s.records.get(candidate.runtime);
  if (adapter === undefined || record === undefined)
    throw new Error(`the arbiter \`${candidate.runtime}\` is not in this run's inventory`);
  let mine: ((mode: "graceful" | "hard") => void) | null = null;
  const answer = await runArbiter(s, {
    call,
    adapter,
    record,
    candidate,
    onLive: (cancel) => {
      mine = cancel;
      round.cancels.add(cancel);
      if (round.stopped !== null) cancel(round.stopped);
    },
  });
  if (mine !== null) round.cancels.delete(mine);
  if (answer.stopped)
    await s.commit(failedCall(s, { arbiter: seen(s, call, answer), reason: "interrupted", block: false }));
  return answer;
}

/** The entry with what its process told. */
function seen(s: Session, call: PreparedCall, answer: ArbiterAnswer): Arbiter {
  const mismatch = isMismatch(s, call, answer);
  return {
    ...call.arbiter,
    model: answer.model ?? call.arbiter.model,
    family: mismatch ? null : call.arbiter.family,
    handle: answer.handle,
    failureClass: answer.failureClass,
    exitCode: answer.exitCode,
    wallMs: answer.wallMs,
    usage: answer.usage,
  };
}

function isMismatch(s: Session, call: PreparedCall, answer: ArbiterAnswer): boolean {
  const requested = call.choice.candidate?.model ?? null;
  if (requested === null || answer.model === null) return false;
  const record = s.records.get(call.choice.candidate?.runtime ?? "");
  return !isRequestedModel({
    requested,
    observed: answer.model,
    provider: answer.provider ?? record?.provider ?? null,
    aliases: record?.modelAliases ?? [],
  });
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
  o: { readonly plan: RoundPlan; readonly scope: ArbitrationScope; readonly union: BundledUnion | null },
): Promise<void> {
  const { native, uncovered } = o.plan;
  const fresh = newlyOffered(s, o.plan, o.scope);
  const open = s.store.state.arbiters.filter((a) => a.status === "offered");
  const stale = open.filter((a) => !stillStands(s, a) || fresh.some((ref) => names(a, ref)));
  if (stale.length > 0)
    await s.commit(
      stale.map((a) => ({ type: "arbiter" as const, arbiter: { ...a, status: "superseded" as const } })),
    );
  for (let left = fresh; native !== null && left.length > 0; ) {
    const call = await prepareCall(s, {
      arbiterId: nextId(s),
      choice: native,
      union: o.union,
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
    left = left.filter((ref) => !names(call.arbiter, ref));
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

const MOCK_ARBITER: Candidate = {
  runtime: MOCK_RUNTIME,
  kind: "cli",
  model: MOCK_ARBITER_FAMILY,
  effort: null,
  provider: "mock",
  family: MOCK_ARBITER_FAMILY,
  capability: "C3",
  capabilitySource: "adapter-default",
  familySource: "adapter-default",
  independence: "independent",
  weaker: [],
};
