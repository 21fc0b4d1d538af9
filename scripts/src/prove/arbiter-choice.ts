/** Who may judge which work: the choice order for arbiters, as a pure function of the planned candidates and the run. */
import type { Candidate, RuntimeRecord } from "../core/runtime.ts";
import { MOCK_RUNTIME } from "./current-attempt.ts";
import type { Arbiter } from "./verdict.ts";

/** One attempt that waits for a verdict, and who did it. */
export interface Producer {
  readonly jobId: string;
  readonly attempt: number;
  readonly runtime: string;
  /** Null: unknown, so that no arbiter can be shown to differ from it. */
  readonly family: string | null;
  /** False: a plain program; its work has no family. */
  readonly agent: boolean;
  readonly riskTier: string;
}

export interface ArbiterCall {
  readonly via: "cli" | "native" | "mock";
  /** Null: a harness, or the mock arbiter. */
  readonly candidate: Candidate | null;
  readonly family: string | null;
  readonly attempts: readonly AttemptRef[];
  readonly independence: NonNullable<Arbiter["independence"]>;
  readonly rule: ArbiterRule;
}

/** a: another family than all; b: one per producer family; c: a fresh-context substitute. */
export type ArbiterRule = "a" | "b" | "c" | "mock";

interface AttemptRef {
  readonly jobId: string;
  readonly attempt: number;
}

export interface ArbiterChoice {
  readonly calls: readonly ArbiterCall[];
  /** Work that nobody at hand may judge: it stays `blocked: needs-arbiter`, action `resume`. */
  readonly uncovered: readonly (AttemptRef & { readonly code: "needs-arbiter" })[];
}

/** A planned arbiter: live, C3 and fit for R0, in the order of the route; `arbiter` pins decided which are in it. */
export interface ArbiterCandidate {
  readonly candidate: Candidate;
  /** That write and shell are withheld from it is proven, not only declared. */
  readonly verified: boolean;
}

export interface ArbiterChoiceInput {
  readonly producers: readonly Producer[];
  readonly candidates: readonly ArbiterCandidate[];
  /** Keys of candidates that already failed to answer in this round. */
  readonly failed: ReadonlySet<string>;
  readonly native: NativeArbiter;
}

export interface NativeArbiter {
  /** The harness attests that it dispatches subagents, which its operator chose for judgment. */
  readonly live: boolean;
  /** Family of the models behind them; null when unknown. */
  readonly family: string | null;
  /** The spec names `internal` as its arbiter: no other is asked. */
  readonly pinned: boolean;
  /** The spec names another arbiter: in-session ones come last. */
  readonly last: boolean;
}

export const MOCK_ARBITER_FAMILY = "mock-b";

/** What tells two planned arbiters apart. */
export const candidateKey = (candidate: Pick<Candidate, "runtime" | "model" | "effort">): string =>
  [candidate.runtime, candidate.model ?? "", candidate.effort ?? ""].join(" ");

/** Members of a planned route that can be called as arbiters now. */
export function arbiterCandidates(
  chain: readonly Candidate[],
  records: ReadonlyMap<string, RuntimeRecord>,
): ArbiterCandidate[] {
  return chain.flatMap((candidate) => {
    const record = records.get(candidate.runtime);
    if (record === undefined || candidate.kind !== "cli" || candidate.runtime === MOCK_RUNTIME) return [];
    const { value, evidence } = record.toolGating;
    return [{ candidate, verified: evidence === "verified" && (value === "granular" || value === "coarse") }];
  });
}

/**
 * Mock work goes to the mock arbiter. Of the rest: (a) one arbiter whose known family differs from every producer's;
 * (b) else one per producer family; (c) else a substitute in a fresh context: another runtime, the same one in a new
 * session, and last `arbitrate_native`; (d) at R3 an attested substitute does not do.
 */
export function chooseArbiters(input: ArbiterChoiceInput): ArbiterChoice {
  const mockWork = input.producers.filter((producer) => producer.runtime === MOCK_RUNTIME);
  const realWork = input.producers.filter((producer) => producer.runtime !== MOCK_RUNTIME);
  const eligible = input.native.pinned
    ? []
    : input.candidates.filter(({ candidate }) => !input.failed.has(candidateKey(candidate)));
  const real =
    realWork.length === 0 ? { calls: [], uncovered: [] } : chooseForReal(realWork, eligible, input);
  return { calls: [...mockCalls(mockWork), ...real.calls], uncovered: real.uncovered };
}

function mockCalls(work: readonly Producer[]): ArbiterCall[] {
  if (work.length === 0) return [];
  return [
    {
      via: "mock",
      candidate: null,
      family: MOCK_ARBITER_FAMILY,
      attempts: refs(work),
      independence: differs(MOCK_ARBITER_FAMILY, familiesOf(work))
        ? "independent"
        : "not-independent-substituted",
      rule: "mock",
    },
  ];
}

const refs = (producers: readonly Producer[]): AttemptRef[] =>
  producers.map(({ jobId, attempt }) => ({ jobId, attempt }));

function chooseForReal(
  work: readonly Producer[],
  eligible: readonly ArbiterCandidate[],
  input: ArbiterChoiceInput,
): ArbiterChoice {
  const families = familiesOf(work);
  const one = eligible.find(({ candidate }) => differs(candidate.family, families));
  if (one !== undefined) return { calls: [cliCall(one, work, "a")], uncovered: [] };
  const { native } = input;
  if (!native.last && isIndependent(native, families))
    return { calls: [nativeCall(work, "a", native)], uncovered: [] };
  const calls: ArbiterCall[] = [];
  const uncovered: (AttemptRef & { code: "needs-arbiter" })[] = [];
  for (const group of byFamily(work)) {
    const other = eligible.find(({ candidate }) => differs(candidate.family, familiesOf(group)));
    const choice =
      other !== undefined
        ? { calls: [cliCall(other, group, "b")], uncovered: [] }
        : substitute(group, eligible, native);
    calls.push(...choice.calls);
    uncovered.push(...choice.uncovered);
  }
  return { calls: joinCalls(calls), uncovered };
}

const familiesOf = (work: readonly Producer[]): ReadonlySet<string | null> =>
  new Set(work.filter((producer) => producer.agent).map((producer) => producer.family));

/** Whether an arbiter of this family is independent of work by these families; none: only programs did it. */
export const differs = (family: string | null, families: ReadonlySet<string | null>): boolean =>
  families.size === 0 || (family !== null && !families.has(null) && !families.has(family));

const isIndependent = (native: NativeArbiter, families: ReadonlySet<string | null>): boolean =>
  native.live && differs(native.family, families);

/** Program work has no family: it joins the first group, since anybody is independent of it. */
function byFamily(work: readonly Producer[]): Producer[][] {
  const groups = new Map<string | null, Producer[]>();
  for (const producer of work.filter((one) => one.agent)) {
    const group = groups.get(producer.family) ?? [];
    group.push(producer);
    groups.set(producer.family, group);
  }
  const programs = work.filter((producer) => !producer.agent);
  const [first, ...rest] = [...groups.values()];
  return first === undefined ? [programs] : [[...first, ...programs], ...rest];
}

function substitute(
  group: readonly Producer[],
  eligible: readonly ArbiterCandidate[],
  native: NativeArbiter,
): ArbiterChoice {
  const producers = new Set(group.map((producer) => producer.runtime));
  const verified = eligible.filter((one) => one.verified);
  const fresh = verified.find(({ candidate }) => !producers.has(candidate.runtime)) ?? verified[0];
  if (fresh !== undefined) return { calls: [cliCall(fresh, group, "c")], uncovered: [] };
  if (isIndependent(native, familiesOf(group)))
    return { calls: [nativeCall(group, "a", native)], uncovered: [] };
  const barred = group.filter((producer) => producer.riskTier === "R3");
  const covered = group.filter((producer) => !barred.includes(producer));
  return {
    calls: covered.length === 0 ? [] : [nativeCall(covered, "c", native)],
    uncovered: refs(barred).map((ref) => ({ ...ref, code: "needs-arbiter" as const })),
  };
}

function nativeCall(work: readonly Producer[], rule: "a" | "c", native: NativeArbiter): ArbiterCall {
  const independence = rule === "a" ? "independent" : "not-independent-substituted";
  return {
    via: "native",
    candidate: null,
    family: native.family,
    attempts: refs(work),
    independence,
    rule,
  };
}

function cliCall(
  { candidate }: ArbiterCandidate,
  work: readonly Producer[],
  rule: "a" | "b" | "c",
): ArbiterCall {
  return {
    via: "cli",
    candidate,
    family: candidate.family,
    attempts: refs(work),
    independence: rule === "c" ? "not-independent-substituted" : "independent",
    rule,
  };
}

/** Groups that ended with the same arbiter on the same terms are one call. */
function joinCalls(calls: readonly ArbiterCall[]): ArbiterCall[] {
  const joined = new Map<string, ArbiterCall>();
  for (const call of calls) {
    const who = call.candidate === null ? "" : candidateKey(call.candidate);
    const key = `${call.via} ${who} ${call.independence}`;
    const known = joined.get(key);
    joined.set(
      key,
      known === undefined ? call : { ...known, attempts: [...known.attempts, ...call.attempts] },
    );
  }
  return [...joined.values()];
}
