/**
 * Tiers: the risk tier and the capability floor of a job, derived from what it declares and nothing else.
 * Pure and monotone: declaring one more risky attribute never lowers a tier.
 */
import {
  CAPABILITY_TIERS,
  type CapabilityTier,
  EFFECT_RISK,
  type Effect,
  maxCapability,
  maxRisk,
  RISK_TIERS,
  type RiskTier,
  riskAtLeast,
  type Task,
} from "../core/tiers.ts";
import { plainPath } from "./check-paths.ts";

/** What a tier is derived from. */
export interface TierAttributes {
  readonly task: Task | null;
  readonly effect: Effect;
  /** `none`: neither task nor effect was declared. */
  readonly effectSource: "declared" | "destructive" | "task" | "none";
  readonly destructive: boolean;
  readonly importance: "normal" | "high";
  readonly untrusted: boolean;
  readonly ownedPaths: readonly string[];
  readonly hasVerification: boolean;
  readonly hasInvocation: boolean;
  /** The job asks for `shell` or `shell(PREFIX)` by name. */
  readonly hasShellTool: boolean;
  /** Names in `env_allow` that look like secrets and are no provider variable of the job's own runtime. */
  readonly credentials: readonly string[];
}

/** Facts about the job's place in the run, asked only when they can still change the answer. */
export interface TierPlace {
  /** Another writer of the same repository has no dependency path to or from this one. */
  readonly parallelWriter: boolean;
  /** True when `owned_paths` match more than 100 tracked files. */
  readonly broad: () => boolean;
}

export interface DerivedTier {
  readonly riskTier: RiskTier;
  readonly tierDerivation: string[];
  readonly capabilityFloor: CapabilityTier;
  readonly capabilityDerivation: string[];
}

/** What a kind of work asks for, whatever else the job says. The default effects are part of the spec's defaults. */
export const TASK_FLOORS: Readonly<
  Record<Task, { readonly capability: CapabilityTier; readonly risk: RiskTier }>
> = {
  scout: { capability: "C1", risk: "R0" },
  docs: { capability: "C1", risk: "R0" },
  mechanical: { capability: "C1", risk: "R1" },
  implement: { capability: "C2", risk: "R1" },
  test: { capability: "C2", risk: "R0" },
  architecture: { capability: "C3", risk: "R0" },
  review: { capability: "C3", risk: "R0" },
  audit: { capability: "C3", risk: "R0" },
  security: { capability: "C3", risk: "R0" },
};

/** Work whose result is a verdict on other work. */
export const isJudgment = (task: Task | null): boolean =>
  task === "review" || task === "audit" || task === "security";

/** A job that may change files: its effect says so, its task has a floor of R1, or nobody said what it does. */
export function isWriter(job: TierAttributes): boolean {
  return changesFiles(job) || riskAtLeast(taskRisk(job), "R1");
}

/** Risk tier and capability floor with every reason that was weighed, e.g. `parallel-writer→R2`. */
export function deriveTier(job: TierAttributes, place: TierPlace): DerivedTier {
  const reasons = riskReasons(job, place);
  const before = maximum(reasons);
  // Counting tracked files is the only costly question, and it can raise to R2 at most.
  if (!riskAtLeast(before, "R2") && changesFiles(job) && place.broad())
    reasons.push({ why: "broad-ownership", tier: "R2" });
  const capability = capabilityReasons(job);
  return {
    riskTier: maximum(reasons),
    tierDerivation: reasons.map(({ why, tier }) => `${why}→${tier}`),
    capabilityFloor: capability.map((reason) => reason.tier).reduce(maxCapability),
    capabilityDerivation: capability.map(({ why, tier }) => `${why}→${tier}`),
  };
}

/** True for a glob that nothing literal narrows down: it starts with a wildcard, or names the folder itself. */
export function ownsWholeTree(glob: string): boolean {
  return literalPrefix(plainPath(glob)) === "";
}

/** The characters before the first wildcard; the glob itself when it has none. */
export function literalPrefix(glob: string): string {
  const wild = glob.search(/[*?[\]{}()\\]|[@+!]\(/);
  return wild < 0 ? glob : glob.slice(0, wild);
}

export const hasWildcard = (glob: string): boolean => literalPrefix(glob) !== glob;

/** A tier read back from a record. Missing or unreadable counts as R2, and never below what the job declares. */
export function recordedTier(value: unknown, declared: RiskTier): RiskTier {
  const known = RISK_TIERS.find((tier) => tier === value);
  return known ?? maxRisk("R2", declared);
}

export interface RaisedFloors {
  readonly riskTier: RiskTier;
  readonly riskFloorDelta: number;
  readonly capabilityFloor: CapabilityTier;
  readonly capabilityFloorDelta: number;
  /** Proposals below the derived floor: counted, never applied. */
  readonly discarded: number;
}

/** Applies proposed target tiers: they raise or do nothing. */
export function raiseFloors(
  derived: { readonly riskTier: RiskTier; readonly capabilityFloor: CapabilityTier },
  target: { readonly risk: RiskTier | null; readonly capability: CapabilityTier | null },
): RaisedFloors {
  const risk = delta(RISK_TIERS, derived.riskTier, target.risk);
  const capability = delta(CAPABILITY_TIERS, derived.capabilityFloor, target.capability);
  return {
    riskTier: RISK_TIERS[RISK_TIERS.indexOf(derived.riskTier) + Math.max(0, risk)] as RiskTier,
    riskFloorDelta: Math.max(0, risk),
    capabilityFloor: CAPABILITY_TIERS[
      CAPABILITY_TIERS.indexOf(derived.capabilityFloor) + Math.max(0, capability)
    ] as CapabilityTier,
    capabilityFloorDelta: Math.max(0, capability),
    discarded: [risk, capability].filter((value) => value < 0).length,
  };
}

interface RiskReason {
  readonly why: string;
  readonly tier: RiskTier;
}

const maximum = (reasons: readonly RiskReason[]): RiskTier =>
  reasons.map((reason) => reason.tier).reduce(maxRisk, "R0");

function riskReasons(job: TierAttributes, place: TierPlace): RiskReason[] {
  const reasons: RiskReason[] = [];
  const add = (when: boolean, why: string, tier: RiskTier): void => {
    if (when) reasons.push({ why, tier });
  };
  if (job.task !== null) add(true, `task:${job.task}`, taskRisk(job));
  // An effect by default is told by its task, unless it is more than the task alone would be.
  const more = job.effectSource === "task" && !riskAtLeast(taskRisk(job), EFFECT_RISK[job.effect]);
  add(job.effectSource === "declared" || more, `effect:${job.effect}`, EFFECT_RISK[job.effect]);
  add(job.task === null && job.effectSource !== "declared", "no-task-or-effect", "R2");
  add(job.destructive, "destructive", "R3");
  for (const name of job.credentials) add(true, `credential:${name}`, "R3");
  add(job.importance === "high" && job.task === "implement", "high-importance", "R2");
  add(place.parallelWriter && isWriter(job), "parallel-writer", "R2");
  add(job.untrusted, "untrusted", "R2");
  add(changesFiles(job) && job.ownedPaths.length === 0, "no-owned-paths", "R2");
  add(changesFiles(job) && job.ownedPaths.some(ownsWholeTree), "owns-whole-tree", "R2");
  return reasons;
}

/** Floor of the task itself, before anything about this one job is weighed. */
function taskRisk(job: TierAttributes): RiskTier {
  if (job.task === null) return "R0";
  const owns = job.ownedPaths.length > 0;
  if (job.task === "docs") return owns || changesFiles(job) ? "R1" : "R0";
  if (job.task === "test")
    return owns || job.hasVerification || job.hasInvocation || job.hasShellTool ? "R1" : "R0";
  return TASK_FLOORS[job.task].risk;
}

const changesFiles = (job: TierAttributes): boolean =>
  job.effect !== "observe" || job.effectSource === "none";

function capabilityReasons(job: TierAttributes): { why: string; tier: CapabilityTier }[] {
  if (job.task === null) return [{ why: "no-task", tier: "C2" }];
  const reasons: { why: string; tier: CapabilityTier }[] = [
    { why: `task:${job.task}`, tier: TASK_FLOORS[job.task].capability },
  ];
  if (job.task === "implement" && job.importance === "high")
    reasons.push({ why: "high-importance", tier: "C3" });
  return reasons;
}

function delta<T extends string>(order: readonly T[], derived: T, target: T | null): number {
  return target === null ? 0 : order.indexOf(target) - order.indexOf(derived);
}
