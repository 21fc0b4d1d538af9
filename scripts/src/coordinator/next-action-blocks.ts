/** Actions that lift the block of one job. */
import type { NextAction } from "../core/diagnostic.ts";
import { unreachable } from "../core/result.ts";
import type { Job, PlanJob, ReopenableBlock } from "../core/runtime.ts";
import { command, type NextInput, type Offer } from "./next-action-command.ts";

/** Blocks that one job's action lifts; verdicts and `resume` are offered once for the whole run. */
export function blockOffer(
  input: NextInput,
  { plan, job, code }: { readonly plan: PlanJob; readonly job: Job; readonly code: ReopenableBlock },
): Offer | null {
  switch (code) {
    case "needs-approval":
      return approvalOffer(input, plan, job);
    case "needs-onboarding":
      return { action: "onboard_runtime", make: () => onboard(input, plan, job) };
    case "dependency-conflict":
      return { action: "resolve_conflict", make: () => resolveConflict(input, plan, job) };
    case "needs-arbiter":
    case "arbiter-blocked":
    case "not-independent":
    case "quota":
    case "no-harness":
      return null;
    default:
      return unreachable(code);
  }
}

function approvalOffer(input: NextInput, plan: PlanJob, job: Job): Offer | null {
  const scope = job.block?.scope ?? null;
  return scope === null
    ? null
    : { action: "request_approval", make: () => requestApproval(input, { plan, job, scope }) };
}

function requestApproval(
  input: NextInput,
  { plan, job, scope }: { readonly plan: PlanJob; readonly job: Job; readonly scope: string },
): NextAction {
  const argv = (verb: "approve" | "deny"): string[] => [
    verb,
    input.runDir,
    "--job",
    plan.id,
    "--scope",
    scope,
  ];
  return {
    id: `request_approval:${plan.id}:${scope.slice(0, 12)}`,
    action: "request_approval",
    jobId: plan.id,
    reason: `Ask the user, who alone may decide, and run the choice that they made; the command only shows the request again. ${job.block?.detail ?? plan.id}`,
    // Whoever runs what an action says must not approve by it.
    ...command(input, ["explain", input.runDir, plan.id]),
    choices: [
      { label: "only after the user said yes: approve exactly this", ...command(input, argv("approve")) },
      { label: "only after the user said no: deny it", ...command(input, argv("deny")) },
    ],
  };
}

function onboard(input: NextInput, plan: PlanJob, job: Job): NextAction {
  const runtime =
    job.runtime ??
    plan.requested?.runtime ??
    plan.route.chain[0]?.runtime ??
    plan.route.rejected[0]?.runtime ??
    "<runtime>";
  const forRun = ["--run", input.runDir];
  return {
    id: `onboard_runtime:${plan.id}:${runtime}`,
    action: "onboard_runtime",
    jobId: plan.id,
    reason: `\`${plan.id}\` needs the runtime \`${runtime}\`: ${job.block?.detail ?? "it is not available here"} Show the user what would be installed; install or log in only as the user says; then go on.`,
    ...command(input, ["onboard", runtime, ...forRun]),
    choices: [
      {
        label: "install it, when the user said so",
        ...command(input, ["onboard", runtime, "--apply", ...forRun]),
      },
      { label: "it is set up: go on", ...command(input, ["resume", input.runDir]) },
    ],
  };
}

function resolveConflict(input: NextInput, plan: PlanJob, job: Job): NextAction {
  return {
    id: `resolve_conflict:${plan.id}`,
    action: "resolve_conflict",
    jobId: plan.id,
    reason: `Commit a merge that contains every dependency's work, then start \`${plan.id}\` from it: ${job.block?.detail ?? "the dependencies conflict"}`,
    ...command(input, ["resume", input.runDir, "--retry", plan.id, "--base", "<commit>"]),
  };
}
