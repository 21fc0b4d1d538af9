/** The plan of a run as one value: what `plan` prints is what `run` freezes. Pure; same input, same plan, byte for byte. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Graph, PlanJob } from "../core/generated/graph.ts";
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import type { RouteWorld } from "./candidates.ts";
import { type Derivation, deriveJobs } from "./derive.ts";
import { dispatchCeiling } from "./failure.ts";
import { criticalPath, stagesById } from "./job-graph.ts";
import type { PlanInput } from "./plan-input.ts";
import { toPlanJob } from "./plan-job.ts";
import { claimDiagnostics, distinctRepos, routeDiagnostics, runDiagnostics } from "./plan-notes.ts";
import { routeAll, routeWorld } from "./route-all.ts";
import { routeArbiter, unjudgeable } from "./route-arbiter.ts";
import type { Route } from "./route-words.ts";

export type PlanGraph = Omit<Graph, "runId" | "createdAt">;

export interface Plan {
  /** Null only when the jobs make no graph. */
  readonly graph: PlanGraph | null;
  readonly diagnostics: Diagnostic[];
}

/** Plans a normalized spec against an inventory. */
export function buildPlan(input: PlanInput): Plan {
  const derived = deriveJobs(input.normal.jobs, input.facts);
  if (derived.value === null) return { graph: null, diagnostics: derived.diagnostics };
  const world = routeWorld(input);
  const routed = routeAll(derived.value, world);
  const planned = routed.map((one) => toPlanJob(one, derived.value as Derivation));
  const arbiter = routeArbiter(input.normal.top.arbiter, planned, world);
  const jobs = planned.map((job) => judgeableOnly(job, arbiter, world));
  const diagnostics = [
    ...derived.diagnostics,
    ...routed.flatMap((one) => routeDiagnostics(one, input)),
    ...claimDiagnostics(routed),
    ...runDiagnostics(jobs, arbiter, input, derived.value),
  ];
  return { graph: assemble(input, derived.value, jobs, arbiter, diagnostics), diagnostics };
}

/** External work that nobody could accept does not start. */
export function judgeableOnly(job: PlanJob, arbiter: Route, world: RouteWorld): PlanJob {
  const blocked = unjudgeable(job, arbiter, world);
  return blocked === null ? job : { ...job, route: { ...job.route, chain: [], blocked } };
}

function assemble(
  input: PlanInput,
  derivation: Derivation,
  jobs: PlanJob[],
  arbiter: Route,
  diagnostics: readonly Diagnostic[],
): PlanGraph {
  const { top } = input.normal;
  const { graph } = derivation;
  const repos = distinctRepos(derivation.jobs);
  const used = usedRuntimes(jobs, arbiter);
  for (const name of [top.arbiter.runtime, ...top.arbiter.fallbackRuntime]) if (name !== null) used.add(name);
  return {
    schemaVersion: 1,
    name: top.name,
    specPath: input.spec.path,
    specSha256: input.spec.sha256,
    outcome: top.outcome,
    constraints: [...top.constraints],
    acceptance: [...top.acceptance],
    concurrency: top.concurrency,
    pools: { ...top.pools },
    workspaceRoots: [...top.workspaceRoots],
    repo: input.facts.repoOf(top.workspaceRoots[0] as string) ?? repos[0] ?? null,
    repos,
    harness: { ...input.facts.harness },
    flags: { ...input.flags },
    quotaWaitMs: top.quotaWaitMs,
    worktreeSetup: top.worktreeSetup as PlanGraph["worktreeSetup"],
    egress: [...top.egress],
    budget: top.budget,
    calibrationMinimumSamples: top.calibrationMinimumSamples,
    arbiter: {
      ...top.arbiter,
      fallbackRuntime: [...top.arbiter.fallbackRuntime],
      route: arbiter,
    },
    declaredRuntimes: input.facts.declared
      .map(({ entry }) => entry)
      .filter((entry) => used.has(entry.id) || isProbedClassifier(entry, input)),
    runtimeBinaries: binaries(input, used),
    jobs,
    stages: stagesById(graph),
    criticalPath: criticalPath(graph, (at) => (jobs[at] as PlanJob).timeoutMs).ids,
    dispatchCeiling: jobs.reduce((sum, job) => sum + dispatchCeiling(job), 0),
    warnings: diagnostics.filter((one) => one.severity !== "error"),
  };
}

/** A classifier runs no job: it is part of the plan when it was looked at for the decision plane. */
const isProbedClassifier = (entry: DeclaredRuntime, input: PlanInput): boolean =>
  entry.role === "classifier" && input.inventory.records.some((record) => record.id === entry.id);

/** Everything that a chain holds or that the spec names. */
function usedRuntimes(jobs: readonly PlanJob[], arbiter: Route): Set<string> {
  const used = new Set(arbiter.chain.map((member) => member.runtime));
  for (const job of jobs) {
    for (const member of job.route.chain) used.add(member.runtime);
    for (const name of [job.requested?.runtime ?? null, ...(job.requested?.fallbackRuntime ?? [])])
      if (name !== null) used.add(name);
  }
  return used;
}

function binaries(input: PlanInput, used: ReadonlySet<string>): Record<string, string> {
  const found = input.inventory.records.flatMap(({ id, binary, binaryReal }): [string, string][] => {
    const path = binaryReal ?? binary;
    return used.has(id) && path !== null ? [[id, path]] : [];
  });
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}
