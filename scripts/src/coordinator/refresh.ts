/**
 * Looking again when a run is resumed: what this host has now, and a route for the jobs that had none. Jobs that have a
 * route keep it; nothing that ran is planned again.
 */

import { isPlaceholder } from "../core/placeholders.ts";
import type { Graph, Inventory, PlanJob, State } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { judgeableOnly } from "../plan/build-plan.ts";
import { routeAgain, routeWorld } from "../plan/route-all.ts";
import { routeArbiter } from "../plan/route-arbiter.ts";
import { MOCK_RUNTIME } from "../prove/current-attempt.ts";
import { takeInventory } from "../run/inventory.ts";
import { adapterFor } from "../runtimes/registry.ts";
import { freezeGraph, shareGraph } from "./graph-file.ts";
import { writeInventory } from "./inventory-file.ts";
import { loadConfig } from "./load-config.ts";
import { frozenClassifiers } from "./plane-setup.ts";
import { ratingBy } from "./rating.ts";

export interface Refreshed {
  readonly graph: Graph;
  readonly graphSha256: string;
  readonly inventory: Inventory;
  readonly harness: State["harness"];
  /** Jobs that have another route than before, or a reason less. */
  readonly rerouted: readonly string[];
  /** Jobs whose login changed kind since they were planned: the user has to agree before they run. */
  readonly authChanged: readonly { readonly jobId: string; readonly detail: string }[];
}

/** Blocks that come from the route alone. */
const ROUTE_BLOCKS = new Set(["no-harness", "needs-onboarding", "no-live-runtime", "needs-arbiter"]);

export async function refresh(o: {
  readonly runDir: string;
  readonly supervisorRunId: string;
  readonly graph: Graph;
  /** Where that plan is. */
  readonly graphPath: string;
  readonly state: State;
  readonly before: Inventory;
  readonly harness: State["harness"] | null;
  /** Jobs that the user asked to run again. */
  readonly retrying: ReadonlySet<string>;
  readonly env: Environment;
  readonly clock: Clock;
}): Promise<Refreshed> {
  const harness = o.harness ?? o.state.harness;
  const root = o.graph.workspaceRoots[0] as string;
  const config = loadConfig({ root, home: o.env.home, now: o.clock.now() });
  const declared = config.declared.map((d) => d.entry);
  const waiting = o.graph.jobs.filter((job) =>
    o.retrying.has(job.id) ? job.route.blocked !== null : needsRoute(job, o.state),
  );
  const inventory = await takeInventory({
    ids: runtimesInUse(o.graph),
    full:
      waiting.some((job) => wanted(job) === null || isPlaceholder(wanted(job) as string)) ||
      needsArbiter(o.graph),
    declared,
    env: o.env,
    clock: o.clock,
    exec,
    harness,
    rate: ratingBy(config),
  });
  writeInventory(o.runDir, inventory);
  const planning = {
    inventory,
    policy: config.policy,
    facts: {
      traits: (id: string) => adapterFor(id, declared),
      repoOf: () => null,
      trackedFiles: () => [],
      harness,
      declared: config.declared,
    },
    flags: o.graph.flags,
  };
  const world = routeWorld(planning);
  const routes = routeAgain(waiting, o.graph, planning);
  const routed = o.graph.jobs.map((job) => ({ ...job, route: routes.get(job.id) ?? job.route }));
  // Who may judge is looked at again as a whole: a judge that was set up since counts for all that waits.
  const arbiter = routeArbiter(o.graph.arbiter, routed, world);
  const jobs = routed.map((job) => (routes.has(job.id) ? judgeableOnly(job, arbiter, world) : job));
  const rerouted = jobs
    .filter((job) => routes.has(job.id) && job.route.blocked === null)
    .map((job) => job.id);
  const frozen = frozenAgain(o, { harness, arbiter: { ...o.graph.arbiter, route: arbiter }, jobs });
  return {
    ...frozen,
    inventory,
    harness,
    rerouted,
    authChanged: authChanges(o, inventory),
  };
}

/** Written again only where something is new: ten thousand jobs are tens of megabytes. */
function frozenAgain(
  o: Parameters<typeof refresh>[0],
  now: Pick<Graph, "harness" | "arbiter" | "jobs">,
): Pick<Refreshed, "graph" | "graphSha256"> {
  const same = ({ harness, arbiter }: Pick<Graph, "harness" | "arbiter">): string =>
    JSON.stringify([harness, arbiter]);
  if (same(now) === same(o.graph) && now.jobs.every((job, at) => sameRoute(job, o.graph.jobs[at]))) {
    shareGraph(o.graphPath, o.runDir, o.supervisorRunId);
    return { graph: o.graph, graphSha256: o.state.graphSha256 };
  }
  const graph: Graph = { ...o.graph, ...now };
  return { graph, graphSha256: freezeGraph(o.runDir, o.supervisorRunId, graph) };
}

/** Looking again changes nothing else of a job. */
const sameRoute = (job: PlanJob, before: PlanJob | undefined): boolean =>
  job.route === before?.route || JSON.stringify(job.route) === JSON.stringify(before?.route);

const needsArbiter = (graph: Graph): boolean =>
  (graph.arbiter.runtime === null || isPlaceholder(graph.arbiter.runtime)) &&
  graph.jobs.some((job) => job.route.chain[0]?.runtime !== MOCK_RUNTIME);

const wanted = (job: PlanJob): string | null => job.requested?.runtime ?? null;

/** Blocked for want of a route, by something that may be there now. */
function needsRoute(job: PlanJob, state: State): boolean {
  const code = state.jobs[job.id]?.block?.code;
  return job.route.blocked !== null && code !== undefined && ROUTE_BLOCKS.has(code);
}

function runtimesInUse(graph: Graph): string[] {
  const named = graph.jobs.flatMap((job) => [
    wanted(job),
    ...(job.requested?.fallbackRuntime ?? []),
    ...job.route.chain.map((member) => member.runtime),
  ]);
  const classifiers = frozenClassifiers(graph).map((entry) => entry.id);
  const arbiter = [graph.arbiter.runtime, ...graph.arbiter.route.chain.map((member) => member.runtime)];
  return [
    ...new Set(
      [...named, ...arbiter, ...classifiers].filter((id): id is string => id !== null && !isPlaceholder(id)),
    ),
  ];
}

/** A key that appeared, or a login that went, would bill somebody else than planned. */
function authChanges(
  o: { readonly graph: Graph; readonly state: State; readonly before: Inventory },
  now: Inventory,
): Refreshed["authChanged"] {
  const source = (inventory: Inventory, id: string): string | undefined =>
    inventory.records.find((record) => record.id === id)?.authSource;
  return o.graph.jobs.flatMap((job) => {
    const state = o.state.jobs[job.id];
    const runtime = job.route.chain[state?.candidateIndex ?? 0]?.runtime;
    if (runtime === undefined || state?.status !== "queued") return [];
    const was = source(o.before, runtime);
    const is = source(now, runtime);
    if (was === undefined || is === undefined || was === is || was === "unknown" || is === "unknown")
      return [];
    return [
      {
        jobId: job.id,
        detail: `\`${runtime}\` was planned with the login source \`${was}\` and has \`${is}\` now: other billing than planned. \`resume --retry ${job.id}\` accepts it.`,
      },
    ];
  });
}
