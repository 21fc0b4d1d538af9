/** Routes of all jobs together: isolation that candidates ask for, sessions, and who reviews whose work. */

import type { Graph, PlanJob } from "../core/generated/graph.ts";
import { maxRisk, type RiskTier } from "../core/tiers.ts";
import type { RouteJob, RouteWorld } from "./candidates.ts";
import { claimOf, type DeclaredClaim } from "./capability.ts";
import type { Raise } from "./controls.ts";
import type { Derivation, DerivedJob } from "./derive.ts";
import { type EffectiveIsolation, effectiveIsolation, type IsolationWish } from "./isolation.ts";
import type { NormalJob } from "./normal.ts";
import type { PlanInput } from "./plan-input.ts";
import { type RouteAnswer, routeJob } from "./route.ts";
import type { Route } from "./route-words.ts";
import { isJudgment } from "./tier.ts";

export interface RoutedJob {
  readonly derived: DerivedJob;
  /** With what the route asked for added. */
  readonly riskTier: RiskTier;
  readonly tierDerivation: readonly string[];
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
    routed.forEach(({ answer }, at) => {
      if (answer.raise !== null && !raises.has(at)) raises.set(at, answer.raise);
    });
    if (raises.size === known) return routed;
  }
}

/** Routes jobs of a frozen plan again, against a newer inventory: after onboarding, or from another harness. By id. */
export function routeAgain(
  waiting: readonly PlanJob[],
  graph: Pick<Graph, "jobs">,
  input: Pick<PlanInput, "inventory" | "policy" | "facts" | "flags">,
): Map<string, Route> {
  const byId = new Map(graph.jobs.map((one) => [one.id, one]));
  const below = upstreamOf(byId);
  const world = routeWorld(input);
  return new Map(
    waiting.map((job) => {
      const { raise, route } = routeJob(frozenRouteJob(job, byId, below), world);
      // More isolation would change jobs that already ran: only a new plan may decide that.
      return [job.id, raise === null ? route : { ...route, chain: [], blocked: NEEDS_NEW_RUN }];
    }),
  );
}

const NEEDS_NEW_RUN: Route["blocked"] = {
  code: "needs-worktree",
  detail: "the only candidate left needs more isolation than this run was planned with: start a new run",
};

function frozenRouteJob(
  job: PlanJob,
  byId: ReadonlyMap<string, PlanJob>,
  below: (job: PlanJob) => Upstream,
): RouteJob {
  const wanted = job.requested ?? {
    runtime: job.route.runtimeFrom ?? (job.route.pinned ? (job.route.rejected[0]?.runtime ?? null) : null),
    fallbackRuntime: [],
  };
  return {
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
    session: sessionOf(job.session, placeOf(job), (id) => {
      const from = byId.get(id);
      return from === undefined ? null : { ...placeOf(from), route: from.route };
    }),
    loadBearing: true,
    upstream: isJudgment(job.task) ? below(job) : NOBODY,
    arbiter: false,
  };
}

/** Who did all the work below a job; each job is looked at once, however many ask. */
function upstreamOf(byId: ReadonlyMap<string, PlanJob>): (job: PlanJob) => Upstream {
  const upstreams = new Upstreams();
  /** With the job's own route. */
  const done = new Map<string, Upstream>();
  const dependencies = (job: PlanJob): PlanJob[] => job.dependsOn.flatMap((id) => byId.get(id) ?? []);
  const merged = (job: PlanJob): Upstream =>
    upstreams.merge(dependencies(job).map((one) => done.get(one.id) ?? NOBODY));
  return (asked) => {
    const open = dependencies(asked);
    for (let job = open.at(-1); job !== undefined; job = open.at(-1)) {
      if (done.has(job.id)) {
        open.pop();
        continue;
      }
      const missing = dependencies(job).filter((one) => !done.has(one.id));
      if (missing.length > 0) open.push(...missing);
      else done.set(job.id, upstreams.with(merged(job), job.route));
    }
    return merged(asked);
  };
}

const placeOf = (job: Pick<PlanJob, "cwd" | "isolation">): Omit<Place, "route"> => ({
  cwd: job.cwd,
  worktree: job.isolation === "worktree",
});

export function routeWorld(input: Pick<PlanInput, "inventory" | "policy" | "facts" | "flags">): RouteWorld {
  const claims = new Map(
    input.facts.declared.map((one): [string, DeclaredClaim] => [one.entry.id, claimOf(one)]),
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
  const tierOf = (one: DerivedJob): RiskTier =>
    raises.get(one.at) === "unverified" ? maxRisk(one.riskTier, "R2") : one.riskTier;
  const isolation = effectiveIsolation(
    graph,
    jobs.map((one) => wishOf(one, tierOf(one), raises.get(one.at) ?? null)),
  );
  const answers = new Map<string, RouteAnswer>();
  const routed: RoutedJob[] = [];
  // Only work that judges others looks at who did the work below it.
  const upstream = jobs.some(({ job }) => isJudgment(job.task)) ? new Upstreams() : null;
  const above: Upstream[] = [];
  for (const one of jobs) {
    const below = upstream?.merge(
      (graph.dependencies[one.at] as readonly number[]).map((at) => above[at] as Upstream),
    );
    const isolated = isolation[one.at] as EffectiveIsolation;
    const asked = toRouteJob(one, {
      riskTier: tierOf(one),
      worktree: isolated.isolation === "worktree",
      dependents: (graph.dependents[one.at] as readonly number[]).length,
      upstream: below !== undefined && isJudgment(one.job.task) ? below : NOBODY,
      placeOf: (id) => {
        const from = routed[graph.position.get(id) as number];
        return from === undefined
          ? null
          : {
              cwd: from.derived.job.cwd,
              worktree: from.isolation.isolation === "worktree",
              route: from.answer.route,
            };
      },
    });
    const key = JSON.stringify(asked);
    const answer = answers.get(key) ?? routeJob(asked, world);
    answers.set(key, answer);
    if (upstream !== null && below !== undefined) above.push(upstream.with(below, answer.route));
    routed.push({
      derived: one,
      riskTier: tierOf(one),
      tierDerivation:
        raises.get(one.at) === "unverified"
          ? [...one.tierDerivation, "unverified-write-boundary→R2"]
          : one.tierDerivation,
      isolation: isolated,
      answer,
    });
  }
  return routed;
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

/** Families and runtimes of all work above a job, sorted. Programs have no family; an agent's may be unknown. */
type Upstream = RouteJob["upstream"];

const NOBODY: Upstream = { families: [], runtimes: [] };

/** Equal sets are one object, so that thousands of jobs below the same few runtimes cost comparisons only. */
class Upstreams {
  readonly #known = new Map<string, Upstream>();

  merge(all: readonly Upstream[]): Upstream {
    const distinct = new Set(all);
    if (distinct.size <= 1) return all[0] ?? NOBODY;
    return this.#intern(
      [...distinct].flatMap((one) => one.families),
      [...distinct].flatMap((one) => one.runtimes),
    );
  }

  with(below: Upstream, route: Route): Upstream {
    const lead = route.chain[0];
    if (lead === undefined) return below;
    return this.#intern(lead.kind === "program" ? below.families : [...below.families, lead.family], [
      ...below.runtimes,
      lead.runtime,
    ]);
  }

  #intern(families: readonly (string | null)[], runtimes: readonly string[]): Upstream {
    const value = {
      families: [...new Set(families)].sort(),
      runtimes: [...new Set(runtimes)].sort(),
    };
    const key = JSON.stringify(value);
    const known = this.#known.get(key) ?? value;
    this.#known.set(key, known);
    return known;
  }
}

function toRouteJob(
  one: DerivedJob,
  place: {
    riskTier: RiskTier;
    worktree: boolean;
    dependents: number;
    upstream: RouteJob["upstream"];
    placeOf: (id: string) => Place | null;
  },
): RouteJob {
  const { job } = one;
  return {
    task: job.task,
    capabilityFloor: one.capabilityFloor,
    riskTier: place.riskTier,
    writer: one.writer,
    worktree: place.worktree,
    tools: one.tools,
    runtime: job.runtime,
    fallbackRuntime: job.fallbackRuntime,
    model: job.model,
    effort: job.effort,
    agent: job.agent,
    skill: job.skill !== null,
    session: sessionOf(job.session, { cwd: job.cwd, worktree: place.worktree }, place.placeOf),
    loadBearing: place.dependents > 0 || job.outputs.length > 0 || isJudgment(job.task),
    upstream: place.upstream,
    arbiter: false,
  };
}

/** Where a job works, as far as that decides whether a session can go on there. */
interface Place {
  readonly cwd: string;
  readonly worktree: boolean;
  readonly route: Route;
}

function sessionOf(
  session: NormalJob["session"],
  own: Omit<Place, "route">,
  placeOf: (id: string) => Place | null,
): RouteJob["session"] {
  if (session === null) return null;
  const from = placeOf(session.fromJob);
  return {
    runtime: from?.route.chain[0]?.runtime ?? null,
    mode: session.mode,
    sameFolder: from !== null && !from.worktree && !own.worktree && from.cwd === own.cwd,
  };
}
