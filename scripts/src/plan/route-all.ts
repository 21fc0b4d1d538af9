/** Routes of all jobs together: isolation that candidates ask for, sessions, and who reviews whose work. */

import type { Graph, PlanJob } from "../core/generated/graph.ts";
import { maxRisk, type RiskTier } from "../core/tiers.ts";
import type { RouteJob, RouteWorld } from "./candidates.ts";
import type { DeclaredClaim } from "./capability.ts";
import type { Raise } from "./controls.ts";
import type { Derivation, DerivedJob } from "./derive.ts";
import { type EffectiveIsolation, effectiveIsolation, type IsolationWish } from "./isolation.ts";
import type { NormalJob } from "./normal.ts";
import type { PlanInput } from "./plan-input.ts";
import { type RouteAnswer, routeJob } from "./route.ts";
import type { Route } from "./route-words.ts";
import { isJudgment } from "./tier.ts";

export interface RoutedJob extends Omit<DerivedJob, "riskTier" | "tierDerivation"> {
  readonly riskTier: RiskTier;
  readonly tierDerivation: string[];
  readonly isolation: EffectiveIsolation;
  readonly answer: RouteAnswer;
}

/**
 * Routes every job. A job whose only candidates need more isolation gets it, which can isolate others, so the pass is
 * repeated until nobody asks for more. Raises only add up: it ends.
 */
export function routeAll(derivation: Derivation, world: RouteWorld): RoutedJob[] {
  const raises = new Map<number, Raise>();
  for (;;) {
    const known = raises.size;
    const routed = routePass(derivation, world, raises);
    for (const one of routed)
      if (one.answer.raise !== null && !raises.has(one.at)) raises.set(one.at, one.answer.raise);
    if (raises.size === known) return routed;
  }
}

/** Routes one job of a frozen plan again, against a newer inventory: after onboarding, or from another harness. */
export function routeAgain(
  job: PlanJob,
  graph: Pick<Graph, "jobs">,
  input: Pick<PlanInput, "inventory" | "policy" | "facts" | "flags">,
): Route {
  const byId = new Map(graph.jobs.map((one) => [one.id, one]));
  const upstream = new Upstream();
  for (const id of transitive(job, byId)) upstream.add(byId.get(id)?.route ?? null);
  const world = routeWorld(input);
  const wanted = job.requested ?? {
    runtime: job.route.runtimeFrom ?? (job.route.pinned ? (job.route.rejected[0]?.runtime ?? null) : null),
    fallbackRuntime: [],
  };
  const answer = routeJob(
    {
      task: job.task,
      capabilityFloor: job.capabilityFloor,
      riskTier: job.riskTier,
      writer: job.writer,
      worktree: job.isolation === "worktree",
      tools: job.tools,
      runtime: wanted.runtime,
      fallbackRuntime: wanted.fallbackRuntime,
      model: job.modelPinned,
      effort: job.effortPinned,
      agent: job.agent,
      skill: job.skill !== null,
      session: sessionOf(job.session, (id) => byId.get(id)?.route ?? null),
      loadBearing: true,
      upstream: upstream.value(),
      arbiter: false,
    },
    world,
  );
  // More isolation would change jobs that already ran: only a new plan may decide that.
  return answer.raise === null
    ? answer.route
    : {
        ...answer.route,
        chain: [],
        blocked: {
          code: "needs-worktree",
          detail:
            "the only candidate left needs more isolation than this run was planned with: start a new run",
        },
      };
}

export function routeWorld(input: Pick<PlanInput, "inventory" | "policy" | "facts" | "flags">): RouteWorld {
  const claims = new Map(
    input.facts.declared.map(({ entry, source, confirmed }): [string, DeclaredClaim] => [
      entry.id,
      { id: entry.id, source, confirmed, capability: entry.capability ?? null, family: entry.family ?? null },
    ]),
  );
  return {
    records: input.inventory.records,
    traits: input.facts.traits,
    policy: input.policy,
    claims,
    preferInternal: input.flags.internal,
    ...(input.facts.outcomes === undefined ? {} : { outcomes: input.facts.outcomes }),
  };
}

function routePass(
  { graph, jobs }: Derivation,
  world: RouteWorld,
  raises: ReadonlyMap<number, Raise>,
): RoutedJob[] {
  const tiers = jobs.map((one) => raisedTier(one, raises.get(one.at) ?? null));
  const isolation = effectiveIsolation(
    graph,
    jobs.map((one, at) => wishOf(one, tiers[at]?.riskTier ?? one.riskTier, raises.get(at) ?? null)),
  );
  const answers = new Map<string, RouteAnswer>();
  const upstream: Upstream[] = [];
  const routed: RoutedJob[] = [];
  for (const one of jobs) {
    const above = new Upstream();
    for (const at of graph.dependencies[one.at] as readonly number[]) {
      above.addAll(upstream[at] as Upstream);
      above.add((routed[at] as RoutedJob).answer.route);
    }
    upstream.push(above);
    const tier = tiers[one.at] as { riskTier: RiskTier; tierDerivation: string[] };
    const isolated = isolation[one.at] as EffectiveIsolation;
    const asked = toRouteJob(one, {
      riskTier: tier.riskTier,
      worktree: isolated.isolation === "worktree",
      dependents: (graph.dependents[one.at] as readonly number[]).length,
      upstream: above.value(),
      routeOf: (id) => routed[graph.position.get(id) as number]?.answer.route ?? null,
    });
    const key = JSON.stringify(asked);
    const answer = answers.get(key) ?? routeJob(asked, world);
    answers.set(key, answer);
    routed.push({ ...one, ...tier, isolation: isolated, answer });
  }
  return routed;
}

function raisedTier(one: DerivedJob, raise: Raise | null): { riskTier: RiskTier; tierDerivation: string[] } {
  return raise === "unverified"
    ? {
        riskTier: maxRisk(one.riskTier, "R2"),
        tierDerivation: [...one.tierDerivation, "unverified-write-boundary→R2"],
      }
    : { riskTier: one.riskTier, tierDerivation: one.tierDerivation };
}

const wishOf = (one: DerivedJob, riskTier: RiskTier, raise: Raise | null): IsolationWish => ({
  riskTier,
  writer: one.writer,
  parallel: one.parallel,
  isolation: one.job.isolation,
  origin: one.job.origins["isolation"] ?? "built-in",
  raise,
  possible: one.repo?.baseCommit != null,
});

/** Families and runtimes of all work above a job. Programs have no family; an agent's may be unknown. */
class Upstream {
  readonly #families = new Set<string | null>();
  readonly #runtimes = new Set<string>();

  add(route: Route | null): void {
    const lead = route?.chain[0];
    if (lead === undefined) return;
    this.#runtimes.add(lead.runtime);
    if (lead.kind !== "program") this.#families.add(lead.family);
  }

  addAll(other: Upstream): void {
    for (const family of other.#families) this.#families.add(family);
    for (const runtime of other.#runtimes) this.#runtimes.add(runtime);
  }

  value(): RouteJob["upstream"] {
    return {
      families: [...this.#families].sort((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1)),
      runtimes: [...this.#runtimes].sort(),
    };
  }
}

function toRouteJob(
  one: DerivedJob,
  place: {
    riskTier: RiskTier;
    worktree: boolean;
    dependents: number;
    upstream: RouteJob["upstream"];
    routeOf: (id: string) => Route | null;
  },
): RouteJob {
  const { job } = one;
  // Only work that judges others looks at who did the work below it.
  const upstream = isJudgment(job.task) ? place.upstream : NOBODY;
  return {
    task: job.task,
    capabilityFloor: one.capabilityFloor,
    riskTier: place.riskTier,
    writer: one.writer,
    worktree: place.worktree,
    tools: { allowed: one.tools.allowed, disallowed: one.tools.disallowed },
    runtime: job.runtime,
    fallbackRuntime: job.fallbackRuntime,
    model: job.model,
    effort: job.effort,
    agent: job.agent,
    skill: job.skill !== null,
    session: sessionOf(job.session, place.routeOf),
    loadBearing: place.dependents > 0 || job.outputs.length > 0 || isJudgment(job.task),
    upstream,
    arbiter: false,
  };
}

const NOBODY: RouteJob["upstream"] = { families: [], runtimes: [] };

const sessionOf = (
  session: NormalJob["session"],
  routeOf: (id: string) => Route | null,
): RouteJob["session"] =>
  session === null
    ? null
    : { runtime: routeOf(session.fromJob)?.chain[0]?.runtime ?? null, mode: session.mode };

function transitive(job: PlanJob, byId: ReadonlyMap<string, PlanJob>): Set<string> {
  const seen = new Set<string>();
  const open = [...job.dependsOn];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(byId.get(id)?.dependsOn ?? []));
  }
  return seen;
}
