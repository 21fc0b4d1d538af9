/** Who judges the run: the same filter and ranking, asked for an independent C3 reader of all work together. */
import type { PlanJob } from "../core/generated/graph.ts";
import type { RouteWorld } from "./candidates.ts";
import { MOCK } from "./capability.ts";
import type { NormalArbiter } from "./normal.ts";
import { routeJob } from "./route.ts";
import type { Route } from "./route-words.ts";

/**
 * The arbiter's route over the planned leaders of all jobs. While `automatic` is false, only work of `mock` is judged
 * by a route; other verdicts are asked from the harness, and the route says so as `needs-arbiter`.
 */
export function routeArbiter(
  arbiter: NormalArbiter,
  jobs: readonly PlanJob[],
  world: RouteWorld,
  automatic: boolean,
): Route {
  const leaders = jobs.flatMap((job) => job.route.chain.slice(0, 1));
  const families = new Set(leaders.flatMap((lead) => (lead.kind === "program" ? [] : [lead.family])));
  const runtimes = [...new Set(leaders.map((lead) => lead.runtime))].sort();
  const onlyMock = runtimes.length > 0 && runtimes.every((runtime) => runtime === MOCK.id);
  const { route } = routeJob(
    {
      task: null,
      capabilityFloor: "C3",
      riskTier: "R0",
      writer: false,
      worktree: false,
      tools: { allowed: ["read", "search"], disallowed: ["edit", "write", "shell"] },
      runtime: arbiter.runtime,
      fallbackRuntime: arbiter.fallbackRuntime,
      model: arbiter.model,
      effort: arbiter.effort,
      agent: null,
      skill: false,
      session: null,
      loadBearing: true,
      upstream: { families: [...families].sort((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1)), runtimes },
      arbiter: true,
    },
    world,
  );
  if (onlyMock) return route;
  const asked = "verdicts are asked from the harness by `arbitrate_native`, in a session of its own";
  if (automatic)
    return route.chain.length > 0 ? route : { ...route, blocked: { code: "needs-arbiter", detail: asked } };
  return {
    ...route,
    chain: [],
    runnerUp: null,
    margin: null,
    why: [],
    blocked: { code: "needs-arbiter", detail: asked },
  };
}
