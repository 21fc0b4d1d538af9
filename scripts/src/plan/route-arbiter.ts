/** Who judges the run: the same filter and ranking, asked for an independent C3 reader of all work together. */
import type { Candidate, PlanJob } from "../core/generated/graph.ts";
import type { RouteWorld } from "./candidates.ts";
import { isLive, MOCK } from "./capability.ts";
import { provenReadOnly } from "./controls.ts";
import type { NormalArbiter } from "./normal.ts";
import { routeJob } from "./route.ts";
import type { Route } from "./route-words.ts";

type ArbiterPins = Pick<NormalArbiter, "runtime" | "fallbackRuntime" | "model" | "effort">;

/**
 * The arbiter's route over the planned leaders of all jobs: everybody who may be called, in the order of preference. The
 * choice of each round starts from it, with who really did the work. Without anybody verdicts are asked from the harness.
 */
export function routeArbiter(arbiter: ArbiterPins, jobs: readonly PlanJob[], world: RouteWorld): Route {
  const leaders = jobs.flatMap((job) => job.route.chain.slice(0, 1));
  const families = [...new Set(leaders.flatMap((lead) => (lead.kind === "program" ? [] : [lead.family])))];
  const runtimes = [...new Set(leaders.map((lead) => lead.runtime))];
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
      upstream: { families, runtimes },
      arbiter: true,
    },
    world,
  );
  if (onlyMock || route.chain.length > 0) return route;
  return {
    ...route,
    blocked: {
      code: "needs-arbiter",
      detail: "verdicts are asked from the harness by `arbitrate_native`, in a session of its own",
    },
  };
}

/**
 * Why nobody at hand could accept this external work, or null. An attested substitute does not do for it, so it may not even
 * start: its effect could not be taken back when nobody accepts it.
 */
export function unjudgeable(
  job: Pick<PlanJob, "id" | "riskTier" | "route">,
  arbiter: Route,
  world: Pick<RouteWorld, "records">,
): NonNullable<Route["blocked"]> | null {
  const [lead] = job.route.chain;
  if (job.riskTier !== "R3" || lead === undefined || lead.runtime === MOCK.id) return null;
  const differs = (family: string | null): boolean =>
    lead.kind === "program" || (family !== null && lead.family !== null && family !== lead.family);
  const records = new Map(world.records.map((record) => [record.id, record]));
  const called = arbiter.chain.some((member) => {
    const record = records.get(member.runtime);
    if (record === undefined || member.kind !== "cli" || member.runtime === MOCK.id) return false;
    return differs(member.family) || provenReadOnly(record);
  });
  const harness = records.get("internal");
  if (called || (harness !== undefined && isLive(harness) && differs(harness.family))) return null;
  return { code: "needs-arbiter", detail: unjudgeableText(job.id, lead) };
}

/** A program has no family, so any judge does; of a model that nobody can name, none is known to differ. */
function unjudgeableText(id: string, lead: Pick<Candidate, "kind" | "family">): string {
  const program = lead.kind === "program";
  const needs = program
    ? "an arbiter of capability C3"
    : `an arbiter of capability C3 ${lead.family === null ? "" : `of another model family than \`${lead.family}\`, or one `}whose tools are provably withheld`;
  const harness = program
    ? "name a harness that dispatches subagents (`resume RUN --harness NAME --subagents`)"
    : lead.family === null
      ? null
      : `name a harness of another family that dispatches subagents (\`resume RUN --harness NAME --subagents\`)`;
  const cli = `set up a CLI agent of capability C3${program || lead.family === null ? "" : " of another family"} (\`doctor\` says what is missing), or give one C3 in the home policy (\`policy set\`), then \`resume RUN\``;
  return `R3 work needs ${needs}; none is at hand, so \`${id}\` does not start. To go on, ${harness === null ? "" : `${harness}, or `}${cli}`;
}
