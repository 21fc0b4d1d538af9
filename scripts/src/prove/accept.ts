/** What a verdict does to the run: outcomes as plain values, which the coordinator turns into records. */
import type { Attempt, Graph, ReopenableBlock, State } from "../core/runtime.ts";
import { differs } from "./arbiter-choice.ts";
import { currentAttempt } from "./current-attempt.ts";
import type { Arbiter, EffectiveVerdict } from "./verdict.ts";

export type Independence = NonNullable<Arbiter["independence"]>;

export interface AttemptOutcome {
  readonly jobId: string;
  readonly attempt: number;
  readonly acceptance: Attempt["acceptance"];
  readonly c3Verdict: Attempt["c3Verdict"];
  /** Null for work that no arbiter saw and that only shares the outcome of a dependency. */
  readonly arbitration: Attempt["arbitration"];
  /** `arbiter-rejected`, `dependency-rejected` or null. */
  readonly reason: "arbiter-rejected" | "dependency-rejected" | null;
  readonly outcomeBlock: { readonly code: ReopenableBlock; readonly detail: string } | null;
  /** Bounded; text of the arbiter, hence data. */
  readonly reasons: readonly string[];
}

export interface RoundOutcome {
  /** In topological order; only attempts whose acceptance was still pending. */
  readonly outcomes: readonly AttemptOutcome[];
  /** Jobs above a rejected one that have no finished work: cancel what runs, start nothing. */
  readonly rejectedDependents: readonly { readonly jobId: string; readonly dependency: string }[];
}

interface Run {
  readonly graph: Graph;
  readonly state: State;
}

/** What one arbiter of the round said. */
export interface RoundAnswer {
  readonly arbiter: Arbiter;
  readonly effective: readonly EffectiveVerdict[];
  readonly independence: Independence;
}

/**
 * Turns one answered round into outcomes. A verdict decides only where its independence suffices: `not-independent`
 * decides nothing, and at R3 a native substitute does not either, since nobody verified that it could not write.
 */
export function outcomesAfterVerdict(input: Run & RoundAnswer): RoundOutcome {
  return outcomesOfRound({ graph: input.graph, state: input.state, answers: [input] });
}

/** All arbiters of a round together, since the work that one judged may stand on what another one judged. */
export function outcomesOfRound(input: Run & { readonly answers: readonly RoundAnswer[] }): RoundOutcome {
  const outcomes = new Map<string, AttemptOutcome>();
  for (const answer of input.answers)
    for (const effective of answer.effective) {
      const attempt = currentAttempt(input.state, effective.jobId);
      if (attempt?.attempt !== effective.attempt || attempt.acceptance !== "pending") continue;
      outcomes.set(effective.jobId, outcomeOf(answer, attempt, effective));
    }
  return withDependents(input, outcomes);
}

function outcomeOf(input: RoundAnswer, attempt: Attempt, effective: EffectiveVerdict): AttemptOutcome {
  const reasons = boundReasons(effective.reasons);
  const base = {
    jobId: effective.jobId,
    attempt: effective.attempt,
    c3Verdict: effective.own,
    arbitration: {
      arbiterId: input.arbiter.arbiterId,
      verdict: effective.own,
      independence: input.independence,
      bundleSha256: input.arbiter.bundleSha256,
      treeSha256: attempt.treeSha256,
    },
    reasons,
  };
  const block = independenceBlock(input, attempt);
  if (block !== null) return { ...base, acceptance: "pending", reason: null, outcomeBlock: block };
  switch (effective.verdict) {
    case "pass":
      return { ...base, acceptance: "accepted", reason: null, outcomeBlock: null };
    case "fail":
      return {
        ...base,
        acceptance: "rejected",
        reason: effective.sharedWith === null ? "arbiter-rejected" : "dependency-rejected",
        outcomeBlock: null,
      };
    case "blocked":
      return {
        ...base,
        acceptance: "pending",
        reason: null,
        outcomeBlock: {
          code: "arbiter-blocked",
          detail: blockDetail(input.arbiter, { ...effective, reasons }),
        },
      };
  }
}

function independenceBlock(input: RoundAnswer, attempt: Attempt): AttemptOutcome["outcomeBlock"] {
  const { arbiter, independence } = input;
  if (independence === "not-independent")
    return {
      code: "not-independent",
      detail: `\`${arbiter.arbiterId}\` answered without a handle of its own, or with one that did work in this run: an independent context must judge it.`,
    };
  const attested = arbiter.via === "native" && independence !== "independent";
  if (attempt.riskTier === "R3" && attested)
    return {
      code: "needs-arbiter",
      detail:
        "R3 work needs an arbiter of another model family, or a substitute whose tools were verified; an in-session one is only attested.",
    };
  return null;
}

function blockDetail(
  arbiter: Arbiter,
  { sharedWith, reasons }: Pick<EffectiveVerdict, "sharedWith" | "reasons">,
): string {
  if (sharedWith !== null) return standsOn(sharedWith);
  return reasons.length === 0
    ? `\`${arbiter.arbiterId}\` could not decide and gave no reason.`
    : `\`${arbiter.arbiterId}\` could not decide: ${reasons[0]}`;
}

const standsOn = (jobId: string): string => `It stands on \`${jobId}\`, which is not accepted.`;

/** State holds the gist; the arbiter's whole answer stays in its folder. */
export function boundReasons(reasons: readonly string[]): string[] {
  const kept = reasons
    .slice(0, 20)
    .map((reason) =>
      reason.length > 500 ? `${reason.slice(0, 499).replace(/[\ud800-\udbff]$/, "")}…` : reason,
    );
  return reasons.length > 20 ? [...kept, `and ${reasons.length - 20} more reasons`] : kept;
}

/**
 * Outcomes carry upwards whether or not this arbiter saw the work above: a rejection rejects it, finished or not, and
 * nothing is accepted above work on which this verdict could not decide.
 */
function withDependents(input: Run, own: ReadonlyMap<string, AttemptOutcome>): RoundOutcome {
  const rejected = new Set<string>();
  const undecided = new Map<string, AttemptOutcome>();
  const rejectedDependents: { jobId: string; dependency: string }[] = [];
  const outcomes: AttemptOutcome[] = [];
  for (const job of input.graph.jobs) {
    const rejectedBy = job.dependsOn.find((id) => rejected.has(id));
    if (rejectedBy !== undefined) {
      rejected.add(job.id);
      const attempt = currentAttempt(input.state, job.id);
      if (attempt === null || attempt.status !== "success")
        rejectedDependents.push({ jobId: job.id, dependency: rejectedBy });
      else if (attempt.acceptance !== "rejected")
        outcomes.push(
          rejectedAbove({ jobId: job.id, attempt, dependency: rejectedBy, mine: own.get(job.id) }),
        );
      continue;
    }
    const mine = own.get(job.id);
    if (mine === undefined) continue;
    const below = job.dependsOn.map((id) => undecided.get(id)).find((outcome) => outcome !== undefined);
    const outcome =
      below === undefined || mine.acceptance !== "accepted" ? mine : undecidedAbove(mine, below);
    if (outcome.acceptance === "rejected") rejected.add(job.id);
    if (outcome.acceptance === "pending") undecided.set(job.id, outcome);
    outcomes.push(outcome);
  }
  return { outcomes, rejectedDependents };
}

function undecidedAbove(mine: AttemptOutcome, below: AttemptOutcome): AttemptOutcome {
  return {
    ...mine,
    acceptance: "pending",
    outcomeBlock: {
      code: below.outcomeBlock?.code ?? "arbiter-blocked",
      detail: standsOn(below.jobId),
    },
  };
}

function rejectedAbove(input: {
  readonly jobId: string;
  readonly attempt: Attempt;
  readonly dependency: string;
  readonly mine: AttemptOutcome | undefined;
}): AttemptOutcome {
  const { jobId, attempt, dependency, mine } = input;
  if (mine?.acceptance === "rejected") return mine;
  return {
    jobId,
    attempt: attempt.attempt,
    acceptance: "rejected",
    c3Verdict: mine?.c3Verdict ?? attempt.c3Verdict,
    arbitration: mine?.arbitration ?? attempt.arbitration,
    reason: "dependency-rejected",
    outcomeBlock: null,
    reasons: boundReasons([
      `it stands on \`${dependency}\`, whose work was rejected`,
      ...(mine?.reasons ?? []),
    ]),
  };
}

/**
 * How far a native answer may be believed. Without a handle of its own, or with a producer's or another arbiter's, it is
 * not independent. A context whose known family differs from every model's that did the work is independent (work of
 * plain programs has no family); any other fresh context is a substitute.
 */
export function nativeIndependence(input: {
  readonly handle: string | null;
  readonly arbiter: Arbiter;
  readonly state: State;
  readonly graph: Graph;
}): Independence {
  const handle = comparable(input.handle);
  if (handle === null || usedHandles(input.state, input.arbiter.arbiterId).has(handle))
    return "not-independent";
  const families = producerFamilies(input.arbiter, input.state, input.graph);
  // Nobody vouches for the judgment of a context that no harness attests: it stays a substitute.
  const attested = input.arbiter.runtime !== null || input.arbiter.family !== null;
  return attested && differs(input.arbiter.family, families) ? "independent" : "not-independent-substituted";
}

/**
 * The same for a CLI that we called. It was planned with a family, and tools withheld for sure or by word; what its own
 * stream says about model and session counts before the plan does.
 */
export function cliIndependence(input: {
  readonly arbiter: Arbiter;
  readonly verified: boolean;
  /** Its session, or null when the runtime names none: a process of its own is a session of its own. */
  readonly handle: string | null;
  /** It answered with another model than was asked for, so nobody knows whose it is. */
  readonly modelMismatch: boolean;
  readonly state: State;
  readonly graph: Graph;
}): Independence {
  const handle = comparable(input.handle);
  if (handle !== null && usedHandles(input.state, input.arbiter.arbiterId).has(handle))
    return "not-independent";
  const families = producerFamilies(input.arbiter, input.state, input.graph);
  const family = input.modelMismatch ? null : input.arbiter.family;
  if (differs(family, families)) return "independent";
  return input.verified ? "not-independent-substituted" : "not-independent";
}

/** Handles differ only by what names them, not by case or padding; a placeholder left in place names nobody. */
function comparable(handle: string | null): string | null {
  const text = handle?.normalize("NFKC").trim().toLowerCase() ?? "";
  return text === "" || /^<.*>$/.test(text) ? null : text;
}

function usedHandles(state: State, arbiterId: string): Set<string> {
  const used = new Set<string>();
  const add = (handle: string | null): void => {
    const text = comparable(handle);
    if (text !== null) used.add(text);
  };
  for (const job of Object.values(state.jobs))
    for (const attempt of job.attemptRecords) {
      add(attempt.nativeHandle);
      add(attempt.sessionHandle);
    }
  for (const arbiter of state.arbiters) if (arbiter.arbiterId !== arbiterId) add(arbiter.handle);
  return used;
}

/** Families of the models that did the arbiter's work; null among them: one is unknown. Programs have none. */
function producerFamilies(
  arbiter: Pick<Arbiter, "attempts">,
  state: State,
  graph: Graph,
): Set<string | null> {
  const plans = new Map(graph.jobs.map((job) => [job.id, job]));
  const families = new Set<string | null>();
  for (const { jobId, attempt: ordinal } of arbiter.attempts) {
    const attempt = state.jobs[jobId]?.attemptRecords.find((record) => record.attempt === ordinal);
    if (attempt === undefined) families.add(null);
    // A model that answered in place of the requested one supports no claim of independence.
    else if (!isProgram(plans.get(jobId), attempt.runtime))
      families.add(attempt.flags.includes("model-mismatch") ? null : attempt.family);
  }
  return families;
}

export const isProgram = (job: Graph["jobs"][number] | undefined, runtime: string): boolean =>
  job?.route.chain.some((member) => member.runtime === runtime && member.kind === "program") ?? false;
