/** Who may judge which work: the choice order for arbiters, as a pure function of inventory and run. */
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { capabilityAtLeast } from "../core/tiers.ts";
import type { Independence } from "./accept.ts";
import { MOCK_RUNTIME } from "./current-attempt.ts";

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

interface ArbiterCall {
  readonly via: "cli" | "native" | "mock";
  /** Null: the harness dispatches it. */
  readonly runtime: string | null;
  readonly family: string | null;
  readonly attempts: readonly { readonly jobId: string; readonly attempt: number }[];
  readonly independence: Independence;
  /** a: another family than all; b: one per producer family; c: a fresh-context substitute. */
  readonly rule: "a" | "b" | "c" | "mock";
}

interface ArbiterChoice {
  readonly calls: readonly ArbiterCall[];
  /** Work that nobody at hand may judge: it stays `blocked: needs-arbiter`, action `resume`. */
  readonly uncovered: readonly {
    readonly jobId: string;
    readonly attempt: number;
    readonly code: "needs-arbiter";
  }[];
  readonly rejected: readonly { readonly runtime: string; readonly codes: readonly string[] }[];
}

export interface ArbiterChoiceInput {
  readonly producers: readonly Producer[];
  readonly inventory: Inventory;
  /** The spec's `arbiter.runtime` and fallbacks, in order; empty: any. */
  readonly pins: readonly string[];
  /** Runtimes that already failed to answer in this round. */
  readonly failed: ReadonlySet<string>;
  /** Family of the models behind the harness's subagents; null when unknown or without a harness. */
  readonly nativeFamily: string | null;
}

const MOCK_ARBITER_FAMILY = "mock-b";

/**
 * Mock work goes to the mock arbiter. Of the rest: (a) one arbiter whose known family differs from every producer's;
 * (b) else one per producer family; (c) else a substitute in a fresh context: another runtime, the same one in a new
 * session, and last `arbitrate_native`, which does not do at R3.
 */
export function chooseArbiters(input: ArbiterChoiceInput): ArbiterChoice {
  const mockWork = input.producers.filter((producer) => producer.runtime === MOCK_RUNTIME);
  const realWork = input.producers.filter((producer) => producer.runtime !== MOCK_RUNTIME);
  const { eligible, rejected } = eligibleArbiters(input);
  const mockCalls: ArbiterCall[] =
    mockWork.length === 0
      ? []
      : [
          {
            via: "mock",
            runtime: MOCK_RUNTIME,
            family: MOCK_ARBITER_FAMILY,
            attempts: refs(mockWork),
            independence: mockWork.some((producer) => producer.family === MOCK_ARBITER_FAMILY)
              ? "not-independent-substituted"
              : "independent",
            rule: "mock",
          },
        ];
  const real =
    realWork.length === 0 ? { calls: [], uncovered: [] } : chooseForReal(realWork, eligible, input);
  return { calls: [...mockCalls, ...real.calls], uncovered: real.uncovered, rejected };
}

const refs = (producers: readonly Producer[]): { jobId: string; attempt: number }[] =>
  producers.map(({ jobId, attempt }) => ({ jobId, attempt }));

/** Live C3 agents fit for R0 work, pinned ones first and in their order, then verified tool gating, then by id. */
function eligibleArbiters(input: ArbiterChoiceInput): {
  readonly eligible: readonly RuntimeRecord[];
  readonly rejected: ArbiterChoice["rejected"];
} {
  const judged = input.inventory.records
    .filter((record) => record.kind !== "internal")
    .map((record) => ({ record, codes: rejectCodes(record, input) }));
  const eligible = judged.filter(({ codes }) => codes.length === 0).map(({ record }) => record);
  const pinRank = (record: RuntimeRecord): number => {
    const at = input.pins.indexOf(record.id);
    return at === -1 ? input.pins.length : at;
  };
  const gating = (record: RuntimeRecord): number => (record.toolGating.evidence === "verified" ? 0 : 1);
  return {
    eligible: eligible.sort(
      (a, b) => pinRank(a) - pinRank(b) || gating(a) - gating(b) || (a.id < b.id ? -1 : 1),
    ),
    rejected: judged
      .filter(({ codes }) => codes.length > 0)
      .map(({ record, codes }) => ({ runtime: record.id, codes })),
  };
}

function rejectCodes(record: RuntimeRecord, input: ArbiterChoiceInput): string[] {
  const codes: string[] = [];
  if (record.state !== "available" && record.state !== "constrained") codes.push("not-live");
  if (record.authenticated === false) codes.push("not-authenticated");
  if (record.role !== "agent") codes.push("not-an-agent");
  if (!capabilityAtLeast(record.capability, "C3")) codes.push("below-capability");
  if (weak(record.toolGating, ["granular", "coarse"])) codes.push("below-controls");
  else if (weak(record.capture, ["structured", "text"])) codes.push("capture-below-text");
  if (record.id === MOCK_RUNTIME) codes.push("mock-arbiter");
  if (input.pins.length > 0 && !input.pins.includes(record.id)) codes.push("pin-mismatch");
  if (input.failed.has(record.id)) codes.push("already-failed");
  return codes;
}

/** The arbiter's tools for write and shell must really be withheld: an unverified control does not do that. */
const weak = (
  concern: { readonly value: string; readonly evidence: string },
  enough: readonly string[],
): boolean => concern.evidence === "unverified" || !enough.includes(concern.value);

type RealChoice = Pick<ArbiterChoice, "calls" | "uncovered">;

function chooseForReal(
  work: readonly Producer[],
  eligible: readonly RuntimeRecord[],
  input: ArbiterChoiceInput,
): RealChoice {
  const families = familiesOf(work);
  const one = eligible.find((record) => differs(record.family, families));
  if (one !== undefined) return { calls: [cliCall(one, work, "a")], uncovered: [] };
  if (input.pins.length === 0 && differs(input.nativeFamily, families) && input.nativeFamily !== null)
    return { calls: [nativeCall(work, "a", input.nativeFamily)], uncovered: [] };
  const calls: ArbiterCall[] = [];
  const uncovered: { jobId: string; attempt: number; code: "needs-arbiter" }[] = [];
  for (const group of byFamily(work)) {
    const other = eligible.find((record) => differs(record.family, familiesOf(group)));
    if (other !== undefined) calls.push(cliCall(other, group, "b"));
    else {
      const choice = substitute(group, eligible, input);
      calls.push(...choice.calls);
      uncovered.push(...choice.uncovered);
    }
  }
  return { calls: joinCalls(calls), uncovered };
}

const familiesOf = (work: readonly Producer[]): ReadonlySet<string | null> =>
  new Set(work.filter((producer) => producer.agent).map((producer) => producer.family));

const differs = (family: string | null, families: ReadonlySet<string | null>): boolean =>
  families.size === 0 || (family !== null && !families.has(null) && !families.has(family));

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
  eligible: readonly RuntimeRecord[],
  input: ArbiterChoiceInput,
): RealChoice {
  const producers = new Set(group.map((producer) => producer.runtime));
  const verified = eligible.filter((record) => record.toolGating.evidence === "verified");
  const fresh = verified.find((record) => !producers.has(record.id)) ?? verified[0];
  if (fresh !== undefined) return { calls: [cliCall(fresh, group, "c")], uncovered: [] };
  const barred = group.filter((producer) => producer.riskTier === "R3");
  const covered = group.filter((producer) => !barred.includes(producer));
  return {
    calls: covered.length === 0 ? [] : [nativeCall(covered, "c", input.nativeFamily)],
    uncovered: refs(barred).map((ref) => ({ ...ref, code: "needs-arbiter" as const })),
  };
}

function nativeCall(work: readonly Producer[], rule: "a" | "c", family: string | null): ArbiterCall {
  const independence = rule === "a" ? "independent" : "not-independent-substituted";
  return { via: "native", runtime: null, family, attempts: refs(work), independence, rule };
}

function cliCall(record: RuntimeRecord, work: readonly Producer[], rule: "a" | "b" | "c"): ArbiterCall {
  return {
    via: "cli",
    runtime: record.id,
    family: record.family,
    attempts: refs(work),
    independence: rule === "c" ? "not-independent-substituted" : "independent",
    rule,
  };
}

/** Groups that ended with the same arbiter on the same terms are one call. */
function joinCalls(calls: readonly ArbiterCall[]): ArbiterCall[] {
  const joined = new Map<string, ArbiterCall>();
  for (const call of calls) {
    const key = `${call.via} ${call.runtime} ${call.independence}`;
    const known = joined.get(key);
    joined.set(
      key,
      known === undefined ? call : { ...known, attempts: [...known.attempts, ...call.attempts] },
    );
  }
  return [...joined.values()];
}
