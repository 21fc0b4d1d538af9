/**
 * Ranking of what passed the filter: rules as data, applied in order. Each rule turns a candidate into a key, so the
 * order is total and the same evidence always gives the same one. Ranking never lets anything in or out.
 */
import { CAPABILITY_TIERS, riskAtLeast } from "../core/tiers.ts";
import type { Outcome, RouteCandidate, RouteJob, RouteWorld } from "./candidates.ts";
import { CONCERNS, controlStrength, effectiveControls } from "./controls.ts";
import { controlledJob } from "./filter.ts";
import { isJudgment } from "./tier.ts";

export interface Ranked {
  readonly candidate: RouteCandidate;
  /** One per rule; null: the rule knows nothing about it, which ranks last. */
  readonly keys: readonly (number | string | null)[];
}

export interface Ranking {
  readonly order: readonly Ranked[];
  /** Id of the rule that decides between two of them, with both values, e.g. `lowest-capability: C2 before C3`. */
  readonly decidedBy: (first: Ranked, second: Ranked) => string;
}

interface RankRule {
  readonly id: string;
  readonly applies: (job: RouteJob, world: RouteWorld, all: readonly Measured[]) => boolean;
  /** Smaller is better. */
  readonly key: (measured: Measured, job: RouteJob) => number | string | null;
  /** How a key reads. */
  readonly show?: (key: number | string) => string;
}

interface Measured {
  readonly candidate: RouteCandidate;
  readonly outcome: Outcome | null;
}

const QUALITY_STEP = 0.05;

export const RANK_RULES: readonly RankRule[] = [
  {
    id: "internal-preference",
    applies: (job, world) => world.preferInternal && job.runtime === null,
    key: ({ candidate }) => (candidate.record.kind === "internal" ? 0 : 1),
    show: (key) => (key === 0 ? "in-session" : "CLI"),
  },
  {
    id: "lowest-capability",
    applies: (job) => job.capabilityFloor !== "C3",
    key: ({ candidate }) => CAPABILITY_TIERS.indexOf(candidate.finding.capability),
    show: (key) => CAPABILITY_TIERS[key as number] ?? String(key),
  },
  {
    id: "independent-family",
    applies: judges,
    key: ({ candidate }, job) => (independenceOf(candidate, job) === "independent" ? 0 : 1),
    show: (key) => (key === 0 ? "independent" : "fresh session"),
  },
  {
    id: "other-runtime",
    applies: judges,
    key: ({ candidate }, job) =>
      independenceOf(candidate, job) !== "independent" && job.upstream.runtimes.includes(candidate.record.id)
        ? 1
        : 0,
    show: (key) => (key === 0 ? "another runtime" : "the same runtime"),
  },
  {
    id: "verified-controls",
    applies: (job) => riskAtLeast(job.riskTier, "R2"),
    key: ({ candidate }, job) => {
      const controls = effectiveControls(candidate.record, controlledJob(job));
      return -CONCERNS.filter((concern) => controls[concern].evidence === "verified").length;
    },
    show: (key) => `${-key} verified`,
  },
  {
    id: "quality",
    applies: () => true,
    key: ({ outcome }) =>
      outcome?.quality == null ? null : -Math.floor(outcome.quality / QUALITY_STEP + 1e-9),
    show: (key) => (-(key as number) * QUALITY_STEP).toFixed(2),
  },
  {
    id: "cost",
    // Figures of different dimensions cannot be compared, and comparing some of them would make no total order.
    applies: (_job, _world, all) =>
      new Set(all.flatMap(({ outcome }) => (outcome?.cost == null ? [] : [outcome.cost.dimension]))).size ===
      1,
    key: ({ outcome }) => outcome?.cost?.usd ?? null,
    show: (key) => `$${key}`,
  },
  {
    id: "duration",
    applies: () => true,
    key: ({ outcome }) => outcome?.durationSeconds ?? null,
    show: (key) => `${key} s`,
  },
  {
    id: "control-strength",
    applies: () => true,
    key: ({ candidate }, job) =>
      -controlStrength(candidate.record, controlledJob(job)).reduce((sum, level) => sum + level, 0),
    show: (key) => String(-key),
  },
  {
    id: "id",
    applies: () => true,
    key: ({ candidate }) => [candidate.record.id, candidate.model ?? "", candidate.effort ?? ""].join(" "),
    show: (key) => String(key).trimEnd(),
  },
];

/** Best first. */
export function rank(candidates: readonly RouteCandidate[], job: RouteJob, world: RouteWorld): Ranking {
  const measured = candidates.map((candidate) => ({
    candidate,
    outcome: world.outcomes?.(candidate, job.task) ?? null,
  }));
  const rules = RANK_RULES.filter((rule) => rule.applies(job, world, measured));
  const order = measured
    .map((one): Ranked => ({ candidate: one.candidate, keys: rules.map((rule) => rule.key(one, job)) }))
    .sort((a, b) => {
      const at = decidingRule(a, b);
      return at < 0 ? 0 : compareKeys(a.keys[at] ?? null, b.keys[at] ?? null);
    });
  return {
    order,
    decidedBy: (first, second) => {
      const at = decidingRule(first, second);
      const rule = rules[at];
      if (rule === undefined) return "equal";
      const shown = (one: Ranked): string => {
        const key = one.keys[at] ?? null;
        return key === null ? "unknown" : (rule.show?.(key) ?? String(key));
      };
      return `${rule.id}: ${shown(first)} before ${shown(second)}`;
    },
  };
}

/** Of work that judges other work: a family of its own, or a fresh session as a substitute. */
export function independenceOf(
  candidate: RouteCandidate,
  job: RouteJob,
): "independent" | "not-independent-substituted" {
  const { families } = job.upstream;
  if (families.length === 0) return "independent";
  const { family } = candidate.finding;
  const differs = family !== null && families.every((other) => other !== null && other !== family);
  return differs ? "independent" : "not-independent-substituted";
}

/** Work that judges other work. */
export function judges(job: Pick<RouteJob, "task" | "arbiter">): boolean {
  return job.arbiter || isJudgment(job.task);
}

const decidingRule = (a: Ranked, b: Ranked): number =>
  a.keys.findIndex((key, at) => compareKeys(key, b.keys[at] ?? null) !== 0);

function compareKeys(a: number | string | null, b: number | string | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}
