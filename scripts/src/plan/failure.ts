/**
 * What happens after an attempt ended without success: again on the same candidate, on the next one, later, or not at
 * all. Pure: the coordinator carries it out. Nothing here can weaken a floor or a control; one bound caps all dispatches.
 */
import { POLICY, RETRY_LIMITS, SPEC_LIMITS } from "../core/policy.ts";
import {
  type Attempt,
  type Candidate,
  FAILURE_RULES,
  type FailureClass,
  type Job,
  type PlanJob,
} from "../core/runtime.ts";
import { weakerConcerns } from "./controls.ts";

export interface FailureInput {
  readonly job: PlanJob;
  readonly jobState: Job;
  /** The attempt that just ended; also in `jobState.attemptRecords`, or about to be. */
  readonly attempt: Attempt;
  /** ms since the epoch. */
  readonly now: number;
  /** How long the run may wait for a quota to open again. */
  readonly quotaWaitMs: number;
  /** What a probe says now of a member of the chain; absent: every member counts as live. */
  readonly liveCandidates?: (runtime: string, member: Candidate | undefined) => boolean;
  /** The shared checkout was compared with its state before the attempt and is the same. */
  readonly unchanged?: boolean;
  /** A new probe led to another argument vector than the one that was refused. */
  readonly argvChanged?: boolean;
}

export interface FailureDecision {
  readonly action: "retry" | "promote" | "wait" | "block" | "fail";
  /** Chain position of the next attempt; of this attempt when there is none. */
  readonly candidateIndex: number;
  /** Earliest start of the next attempt, ms since the epoch; null: at once, or none. */
  readonly notBefore: number | null;
  /** Stable code, e.g. `rate-limit`. */
  readonly reason: string;
  /** One sentence for a person. */
  readonly detail: string;
  /** Members of the chain that might have taken over and may not, each with its reason; empty when nobody was sought. */
  readonly passedOver: readonly PassedOver[];
}

export const PASSED_OVER_CODES = ["weaker", "already-failed", "not-fit-now"] as const;

export interface PassedOver {
  readonly runtime: string;
  readonly model: string | null;
  /** Weaker on a concern than who it would take over from; failed this job already; not live, or less than planned, now. */
  readonly code: (typeof PASSED_OVER_CODES)[number];
}

/** Decides the step after a failed attempt. `wait` is a retry that first waits for a quota. */
export function decideAfterFailure(input: FailureInput): FailureDecision {
  const { attempt } = input;
  if (attempt.settlement === "unsettled" || attempt.status === "unsettled")
    return end(
      input,
      "fail",
      "unsettled",
      "its end could not be proven, so nothing else may start in its place",
    );
  const failureClass = attempt.failureClass;
  if (failureClass === null)
    return end(
      input,
      "fail",
      attempt.reason ?? "failed",
      attempt.detail ?? "the work did not pass its checks",
    );
  const stop = hardStop(input, failureClass);
  if (stop !== null) return stop;
  return retry(input, failureClass) ?? promote(input, failureClass) ?? exhausted(input, failureClass);
}

/** Most attempts that retries and promotions can lead to, resumed ones aside. */
export function dispatchBound(job: Pick<PlanJob, "maxPromotions" | "retry">): number {
  return (1 + promotionBudget(job)) * Math.max(1, job.retry.maxAttempts);
}

/** Most attempts that this job's own chain allows: the bound, cut to the members that could ever be promoted to. */
export function dispatchCeiling(
  job: Pick<PlanJob, "maxPromotions" | "retry" | "session"> & {
    readonly route: { readonly chain: readonly Candidate[] };
  },
): number {
  const usable = job.route.chain.filter((member, at) => at === 0 || member.weaker.length === 0).length;
  const steps = job.session === null ? Math.min(1 + promotionBudget(job), Math.max(1, usable)) : 1;
  return steps * Math.max(1, job.retry.maxAttempts);
}

/** `RATE_LIMIT` → `rate-limit`: the code under which a job is blocked or failed. */
export const failureCode = (failureClass: FailureClass): string =>
  failureClass.toLowerCase().replaceAll("_", "-");

const promotionBudget = (job: Pick<PlanJob, "maxPromotions">): number =>
  Math.max(0, Math.min(job.maxPromotions, POLICY.MAX_PROMOTIONS_MAX.value));

/** Attempts that count: this round's, without those that a resume started. The ended one is always among them. */
function roundOf({ jobState, attempt }: FailureInput): Attempt[] {
  const earlier = jobState.attemptRecords.filter(
    (record) => record.attempt > jobState.reopenedAt && record.attempt < attempt.attempt,
  );
  return [...earlier, attempt];
}

const counted = (round: readonly Attempt[]): Attempt[] =>
  round.filter((record) => record.relation !== "resume");

/** Attempts on the candidate that just failed: everything since the last change of candidate. */
function onThisCandidate(round: readonly Attempt[]): Attempt[] {
  let from = 0;
  round.forEach((record, at) => {
    if (record.relation !== "retry" && record.relation !== "resume") from = at;
  });
  return counted(round.slice(from));
}

function hardStop(input: FailureInput, failureClass: FailureClass): FailureDecision | null {
  const { job, attempt } = input;
  const started = attempt.startedAt !== null || attempt.pid !== null;
  const mayFollow =
    FAILURE_RULES[failureClass].group === "infrastructure" ||
    (failureClass === "BAD_FLAG" && input.argvChanged === true);
  if (!started || !mayFollow) return null;
  const told = `ended with ${failureClass}${saidBy(attempt)}`;
  if (job.riskTier === "R3" || job.effect === "external-destructive")
    return end(
      input,
      "block",
      "external-effect",
      `${told}; work with external effects that started is never repeated: only \`resume --retry\` with a fresh approval runs it again`,
    );
  if (job.writer && job.isolation === "none" && input.unchanged !== true)
    return end(
      input,
      "block",
      "uncertain-writer",
      `${told}; it may have left half an edit in the shared checkout, so no other attempt starts on top of it`,
    );
  return null;
}

const saidBy = (attempt: Attempt): string => (attempt.detail === null ? "" : ` (${attempt.detail})`);

function retry(input: FailureInput, failureClass: FailureClass): FailureDecision | null {
  const { job, attempt, now } = input;
  const round = roundOf(input);
  if (counted(round).length >= dispatchBound(job)) return null;
  const here = onThisCandidate(round);
  if (failureClass === "BAD_FLAG") {
    const repeated = here.filter((record) => record.failureClass === "BAD_FLAG").length > 1;
    if (input.argvChanged !== true || repeated) return null;
    return next(input, "retry", null, "bad-flag", "the flags were probed again and read differently");
  }
  const allowed =
    FAILURE_RULES[failureClass].retry && job.retry.classes.some((name) => name === failureClass);
  if (!allowed || here.length >= Math.max(1, job.retry.maxAttempts)) return null;
  const own = job.route.chain[input.jobState.candidateIndex];
  if (input.liveCandidates?.(attempt.runtime, own) === false) return null;
  const backoff = backoffMs(job.retry.backoffMs, Math.max(0, here.length - 1));
  const tries = `attempt ${attempt.attempt} of \`${attempt.runtime}\` ended with ${failureClass}`;
  const opensAt = quotaOpensAt(input, failureClass);
  if (opensAt === null)
    return next(input, "retry", now + backoff, failureCode(failureClass), `${tries}; trying again`);
  if (opensAt - now > quotaCeiling(input)) return null;
  const until = Math.max(now + backoff, opensAt + RETRY_LIMITS.quotaMarginMs);
  return next(input, "wait", until, "quota", `${tries}; waiting until ${new Date(until).toISOString()}`);
}

/** Doubles from `base` with each retry already spent, up to the cap. */
export function backoffMs(base: number, spent: number): number {
  return Math.min(SPEC_LIMITS.retryBackoffCapMs, base * 2 ** Math.min(spent, 30));
}

const quotaCeiling = (input: FailureInput): number => Math.max(RETRY_LIMITS.quotaFloorMs, input.quotaWaitMs);

/** When the limit opens, as reported; without a report and with leave to wait, after the longest wait allowed. */
function quotaOpensAt(input: FailureInput, failureClass: FailureClass): number | null {
  if (failureClass !== "QUOTA" && failureClass !== "RATE_LIMIT") return null;
  const reported = input.attempt.resetAt === null ? Number.NaN : Date.parse(input.attempt.resetAt);
  if (Number.isFinite(reported)) return reported > input.now ? reported : null;
  const unknown = failureClass === "QUOTA" && input.quotaWaitMs > 0;
  return unknown ? input.now + Math.max(0, quotaCeiling(input) - RETRY_LIMITS.quotaMarginMs) : null;
}

function promote(input: FailureInput, failureClass: FailureClass): FailureDecision | null {
  const { job, attempt } = input;
  if (!mayPromote(job, failureClass)) return null;
  const round = roundOf(input);
  const promotions = round.filter((record) => record.relation === "promotion").length;
  if (promotions >= promotionBudget(job) || counted(round).length >= dispatchBound(job)) return null;
  const { at, passedOver } = nextMember(input, round);
  if (at === null) return null;
  const member = job.route.chain[at] as Candidate;
  return {
    passedOver,
    action: "promote",
    candidateIndex: at,
    notBefore: null,
    reason: failureCode(failureClass),
    detail: `attempt ${attempt.attempt} of \`${attempt.runtime}\` ended with ${failureClass}; going on with \`${describe(member)}\``,
  };
}

function mayPromote(job: PlanJob, failureClass: FailureClass): boolean {
  if (!FAILURE_RULES[failureClass].promote || job.session !== null) return false;
  return failureClass !== "MODEL_UNAVAILABLE" || job.modelPinned === null;
}

/** First later member that is no weaker than the planned and the failed candidate, is live, and has not failed here. */
function nextMember(
  input: FailureInput,
  round: readonly Attempt[],
): { readonly at: number | null; readonly passedOver: readonly PassedOver[] } {
  const passedOver: PassedOver[] = [];
  const { chain } = input.job.route;
  const current = chain[input.jobState.candidateIndex];
  const failed = new Set(
    round.map((record) => identity(record.runtime, record.modelRequested, record.effortLevel)),
  );
  for (let at = input.jobState.candidateIndex + 1; at < chain.length; at += 1) {
    const member = chain[at] as Candidate;
    const code = whyNot(input, { member, current, failed });
    if (code === null) return { at, passedOver };
    passedOver.push({ runtime: member.runtime, model: member.model, code });
  }
  return { at: null, passedOver };
}

function whyNot(
  input: FailureInput,
  o: {
    readonly member: Candidate;
    readonly current: Candidate | undefined;
    readonly failed: ReadonlySet<string>;
  },
): PassedOver["code"] | null {
  const { member } = o;
  if (member.weaker.length > 0 || isWeaker(member, o.current)) return "weaker";
  if (o.failed.has(identity(member.runtime, member.model, member.effort))) return "already-failed";
  return input.liveCandidates?.(member.runtime, member) === false ? "not-fit-now" : null;
}

function isWeaker(member: Candidate, current: Candidate | undefined): boolean {
  const reference = current?.strength;
  if (reference === undefined || member.strength === undefined) return false;
  return weakerConcerns(member.strength, reference).length > 0;
}

const identity = (runtime: string, model: string | null, effort: string | null): string =>
  JSON.stringify([runtime, model, effort]);

const describe = (candidate: Pick<Candidate, "runtime" | "model">): string =>
  candidate.model === null ? candidate.runtime : `${candidate.runtime} ${candidate.model}`;

function exhausted(input: FailureInput, failureClass: FailureClass): FailureDecision {
  const rule = FAILURE_RULES[failureClass];
  const round = roundOf(input);
  const chain = round.map(
    (record) => `attempt ${record.attempt} of \`${record.runtime}\`: ${record.failureClass ?? record.status}`,
  );
  const told = saidBy(input.attempt);
  if (rule.endsAs === "failed")
    return end(input, "fail", failureCode(failureClass), `ended with ${failureClass}${told}`);
  const passedOver = mayPromote(input.job, failureClass) ? soughtInVain(input, round) : [];
  const others = passedOver.map((one) => `\`${describe(one)}\` (${one.code.replaceAll("-", " ")})`);
  const over = others.length === 0 ? "" : `; passed over ${others.join(", ")}`;
  const detail =
    rule.group === "boundary"
      ? `stopped at a boundary: ${failureClass}${told}`
      : `${chain.join("; ")}; nothing else may be tried${over}${opensText(input, failureClass)}${told}`;
  return { ...end(input, "block", blockCode(input, failureClass), detail), passedOver };
}

/** When `resume` is worth it, as an instant: what the runtime said may be "in two hours". */
function opensText(input: FailureInput, failureClass: FailureClass): string {
  const { resetAt } = input.attempt;
  const limit = failureClass === "QUOTA" || failureClass === "RATE_LIMIT";
  return limit && resetAt !== null ? `; the limit opens at ${resetAt}` : "";
}

/** Members that were looked at; none when the budget was spent before anybody was. */
function soughtInVain(input: FailureInput, round: readonly Attempt[]): readonly PassedOver[] {
  const promotions = round.filter((record) => record.relation === "promotion").length;
  const spent = promotions >= promotionBudget(input.job) || counted(round).length >= dispatchBound(input.job);
  return spent ? [] : nextMember(input, round).passedOver;
}

/** A limit that opens by itself is a block that `resume` can lift. */
function blockCode(input: FailureInput, failureClass: FailureClass): string {
  const limited = failureClass === "RATE_LIMIT" && input.attempt.resetAt !== null;
  return limited ? "quota" : failureCode(failureClass);
}

function end(input: FailureInput, action: "block" | "fail", reason: string, detail: string): FailureDecision {
  return {
    action,
    candidateIndex: input.jobState.candidateIndex,
    notBefore: null,
    reason,
    detail,
    passedOver: [],
  };
}

function next(
  input: FailureInput,
  action: "retry" | "wait",
  notBefore: number | null,
  reason: string,
  detail: string,
): FailureDecision {
  return {
    action,
    candidateIndex: input.jobState.candidateIndex,
    notBefore,
    reason,
    detail,
    passedOver: [],
  };
}
