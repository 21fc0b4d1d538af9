/** Which candidates a runtime offers one job: the models and efforts that are live or that the operator names. */
import type { RuntimeRecord } from "../core/runtime.ts";
import {
  type CapabilityTier,
  capabilityAtLeast,
  EFFORTS,
  type Effort,
  type RiskTier,
  type Task,
} from "../core/tiers.ts";
import {
  type CapabilityFinding,
  capabilityOf,
  type DeclaredClaim,
  isLive,
  MOCK,
  matchesModel,
  type PolicyLayer,
} from "./capability.ts";

/** Pure facts about a runtime that its adapter knows. An adapter is one, as it stands. */
export interface RuntimeTraits {
  readonly id: string;
  readonly agent: boolean;
  readonly providerEnv: readonly string[];
  readonly bypassFlags: readonly string[];
  /** The first word that it cannot map at this tier, or null. */
  unmappedTool(words: readonly string[], tier: RiskTier, disallowed?: readonly string[]): string | null;
  /** Where a session of it can go on. Absent: it cannot. */
  readonly sessionScope?: {
    readonly continue: "anywhere" | "folder";
    readonly fork: "anywhere" | "folder";
  };
}

/** Measured outcomes of a candidate for a kind of task; null fields rank last. */
export interface Outcome {
  /** Wilson lower bound of its success rate, in [0,1]. */
  readonly quality: number | null;
  readonly cost: { readonly dimension: string; readonly usd: number } | null;
  readonly durationSeconds: number | null;
}

/** Everything outside of the job that routing looks at. */
export interface RouteWorld {
  readonly records: readonly RuntimeRecord[];
  readonly traits: (runtime: string) => RuntimeTraits | null;
  readonly policy: readonly PolicyLayer[];
  readonly claims: ReadonlyMap<string, DeclaredClaim>;
  /** `--internal`: in-session work first, for jobs without `runtime`. */
  readonly preferInternal: boolean;
  readonly outcomes?: (candidate: RouteCandidate, task: Task | null) => Outcome | null;
}

/** The part of a job that routing looks at. Equal values give equal routes. */
export interface RouteJob {
  readonly task: Task | null;
  readonly capabilityFloor: CapabilityTier;
  readonly riskTier: RiskTier;
  readonly writer: boolean;
  readonly worktree: boolean;
  readonly tools: {
    readonly allowed: readonly string[];
    readonly disallowed: readonly string[];
    /** `tier`: the default set, of which a shell for single commands may be left out. Default: as asked for. */
    readonly origin?: "spec" | "tier";
  };
  readonly runtime: string | null;
  readonly fallbackRuntime: readonly string[];
  readonly model: string | null;
  readonly effort: Effort | null;
  readonly agent: string | null;
  readonly skill: boolean;
  /** Continues the session of a job that is planned on `runtime` (null: it has no route). */
  readonly session: {
    readonly runtime: string | null;
    readonly mode: "continue" | "fork";
    /** Both jobs work in one folder: the same `cwd`, and neither in a worktree of its own. */
    readonly sameFolder: boolean;
  } | null;
  /** Somebody reads its result: it has dependents, outputs or a verdict. */
  readonly loadBearing: boolean;
  /** What the work below it is planned on; a null family is an agent whose family nobody knows. */
  readonly upstream: { readonly families: readonly (string | null)[]; readonly runtimes: readonly string[] };
  /** This is the call that judges the run, not a job. */
  readonly arbiter: boolean;
}

export interface RouteCandidate {
  readonly record: RuntimeRecord;
  readonly model: string | null;
  readonly effort: Effort | null;
  readonly finding: CapabilityFinding;
}

/** Candidates of one runtime for one job, one per model worth considering. Never empty. */
export function candidatesOf(record: RuntimeRecord, job: RouteJob, world: RouteWorld): RouteCandidate[] {
  const claim = world.claims.get(record.id) ?? null;
  return modelsOf(record, job, world).map((model) => {
    const options = effortsOf(record, job, world).map((effort) => ({
      record,
      model,
      effort,
      finding: capabilityOf({ record, model, effort }, world.policy, claim),
    }));
    const enough = options.find((option) =>
      capabilityAtLeast(option.finding.capability, job.capabilityFloor),
    );
    return enough ?? (options[0] as RouteCandidate);
  });
}

/** True for something that a spec must name to get: the script player, plain programs, classifiers. */
export const needsName = (record: RuntimeRecord): boolean => record.id === MOCK.id || record.role !== "agent";

/** Pinned: that one. Else the runtime's own choice, and what the operator's policy names among what is live. */
function modelsOf(record: RuntimeRecord, job: RouteJob, world: RouteWorld): (string | null)[] {
  if (record.role !== "agent") return [null];
  if (job.model !== null) return [job.model];
  if (record.id === MOCK.id) return [job.arbiter ? MOCK.arbiterModel : MOCK.jobModel];
  if (record.kind === "internal" || !isLive(record)) return [null];
  const patterns = policyEntries(record, world).flatMap((entry) =>
    entry.model === undefined || /^\*+$/.test(entry.model) ? [] : [entry.model],
  );
  const live = record.models === null ? null : [...record.models, ...record.modelAliases];
  const named = patterns.flatMap((pattern) =>
    live === null
      ? pattern.includes("*")
        ? []
        : [pattern]
      : live.filter((model) => matchesModel(model, pattern)),
  );
  return [null, ...[...new Set(named)].sort()];
}

/** In the order of preference; the first one with which the candidate meets the floor is taken. */
function effortsOf(record: RuntimeRecord, job: RouteJob, world: RouteWorld): (Effort | null)[] {
  if (record.role !== "agent") return [null];
  if (job.effort !== null) return [job.effort];
  if (record.id === MOCK.id) return [null];
  const offered = EFFORTS.filter((effort) => record.effortLevels.includes(effort));
  // Judgment gets the strongest effort that the runtime is proven to offer, never one that we guess.
  if (job.capabilityFloor === "C3") return offered.length > 0 ? [...offered].reverse() : [null];
  const named = new Set(policyEntries(record, world).map((entry) => entry.effort));
  return [null, ...offered.filter((effort) => named.has(effort))];
}

const policyEntries = (record: RuntimeRecord, world: RouteWorld) =>
  world.policy.flatMap((layer) => layer.entries).filter((entry) => entry.runtime === record.id);
