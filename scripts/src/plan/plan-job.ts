/** One job as the frozen plan holds it: every effective value, and who gave it. */
import type { PlanJob } from "../core/generated/graph.ts";
import { isExplicitRuntime } from "../core/placeholders.ts";
import type { Derivation } from "./derive.ts";
import { worktreeProblem } from "./isolation.ts";
import type { RoutedJob } from "./route-all.ts";

export function toPlanJob(one: RoutedJob, { graph }: Derivation): PlanJob {
  const { derived, answer, isolation } = one;
  const { job, repo, at } = derived;
  const problem =
    (isolation.isolation === "worktree" ? worktreeProblem(job.cwd, repo) : null) ?? raisedProblem(one);
  const { model, effort } = answer.route.chain[0] ?? { model: null, effort: null };
  return {
    id: job.id,
    index: at,
    stage: graph.stage[at] as number,
    task: job.task,
    effect: job.effect,
    destructive: job.destructive,
    writer: derived.writer,
    dependsOn: (graph.dependencies[at] as readonly number[]).map((at) => graph.ids[at] as string),
    cwd: job.cwd,
    repo: repo?.topLevel ?? null,
    prompt: job.prompt,
    skill: job.skill,
    agent: job.agent,
    promptGenerated: job.promptGenerated,
    expectedOutput: job.expectedOutput,
    timeoutMs: job.timeoutMs,
    stallAfterMs: job.stallAfterMs,
    importance: job.importance,
    approval: job.approval,
    authority: job.authority,
    preview: job.preview as PlanJob["preview"],
    rollback: job.rollback as PlanJob["rollback"],
    isolation: isolation.isolation,
    isolationOrigin: isolation.origin,
    untrusted: job.untrusted,
    ownedPaths: job.ownedPaths as PlanJob["ownedPaths"],
    tools: derived.tools as PlanJob["tools"],
    inputs: job.inputs as PlanJob["inputs"],
    outputs: job.outputs as PlanJob["outputs"],
    checks: job.checks as PlanJob["checks"],
    verification: job.verification as PlanJob["verification"],
    invocation: job.invocation as PlanJob["invocation"],
    session: job.session,
    retry: job.retry as PlanJob["retry"],
    maxPromotions: job.session === null ? job.maxPromotions : 0,
    maxOutputBytes: job.maxOutputBytes,
    capabilityFloor: derived.capabilityFloor,
    capabilityDerivation: derived.capabilityDerivation,
    riskTier: one.riskTier,
    tierDerivation: one.tierDerivation as PlanJob["tierDerivation"],
    modelPinned: job.model,
    effortPinned: job.effort,
    ...(derived.raised === null
      ? {}
      : {
          capabilityFloorDelta: derived.raised.capabilityFloorDelta,
          riskFloorDelta: derived.raised.riskFloorDelta,
        }),
    route: problem === null ? answer.route : { ...answer.route, blocked: problem },
    origins: originsOf(one, model, effort),
    mock: job.mock as PlanJob["mock"],
    requested: { runtime: job.runtime, fallbackRuntime: job.fallbackRuntime as string[] },
  };
}

/** A tier that the spec did not declare asks for what the spec does not have: the job waits, the spec stays valid. */
function raisedProblem({ riskTier, derived }: RoutedJob): { code: string; detail: string } | null {
  const { job, declaredTier } = derived;
  if (riskTier !== "R3" || declaredTier === "R3") return null;
  if (job.preview !== null && job.rollback !== null) return null;
  const missing = job.preview === null ? "preview" : "rollback";
  return {
    code: `r3-without-${missing}`,
    detail: `the semantic router raised \`${job.id}\` from ${declaredTier} to R3, which needs a \`${missing}\`: declare one, or split the external part off`,
  };
}

/** Field name as in the spec → who gave the effective value. */
function originsOf(one: RoutedJob, model: string | null, effort: string | null): Record<string, string> {
  const { isolation, derived } = one;
  const { job } = derived;
  const runtimeGiven = isExplicitRuntime(job.runtime);
  return {
    ...job.origins,
    effect: job.origins["effect"] ?? "built-in",
    isolation: isolation.origin.startsWith("policy:") ? "policy" : isolation.origin,
    allowed_tools: derived.tools.origin === "spec" ? "spec" : "policy",
    risk_tier: "policy",
    capability_floor: "policy",
    owned_paths: job.ownedPaths.length > 0 ? "spec" : "built-in",
    runtime: runtimeGiven ? "spec" : "inventory",
    model: job.model !== null ? "spec" : model === null ? "built-in" : "inventory",
    effort: job.effort !== null ? "spec" : effort === null ? "built-in" : "inventory",
  };
}
