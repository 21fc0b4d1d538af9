/**
 * Looking again when a run is resumed: what this host has now, and a route for the jobs that had none. Jobs that have a
 * route keep it; nothing that ran is planned again.
 */

import { isPlaceholder } from "../core/placeholders.ts";
import type { Graph, Inventory, PlanJob, State } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { routeAgain } from "../plan/route-all.ts";
import { takeInventory } from "../run/inventory.ts";
import { adapterFor } from "../runtimes/registry.ts";
import { freezeGraph } from "./graph-file.ts";
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
const ROUTE_BLOCKS = new Set(["no-harness", "needs-onboarding", "no-live-runtime"]);

export async function refresh(o: {
  readonly runDir: string;
  readonly supervisorRunId: string;
  readonly graph: Graph;
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
    full: waiting.some((job) => wanted(job) === null || isPlaceholder(wanted(job) as string)),
    declared,
    env: o.env,
    clock: o.clock,
    exec,
    harness,
    rate: ratingBy(config),
  });
  writeInventory(o.runDir, inventory);
  const routes = new Map(
    waiting.map((job) => [
      job.id,
      routeAgain(job, o.graph, {
        inventory,
        policy: config.policy,
        facts: {
          traits: (id) => adapterFor(id, declared),
          repoOf: () => null,
          trackedFiles: () => [],
          harness,
          declared: config.declared,
          automaticArbiter: false,
        },
        flags: o.graph.flags,
      }),
    ]),
  );
  const rerouted = waiting.filter((job) => routes.get(job.id)?.blocked === null).map((job) => job.id);
  const graph: Graph = {
    ...o.graph,
    harness,
    jobs: o.graph.jobs.map((job) => ({ ...job, route: routes.get(job.id) ?? job.route })),
  };
  return {
    graph,
    graphSha256: freezeGraph(o.runDir, o.supervisorRunId, graph),
    inventory,
    harness,
    rerouted,
    authChanged: authChanges(o, inventory),
  };
}

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
