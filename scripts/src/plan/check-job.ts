/** Rules for one job by itself. */
import { isExplicitRuntime } from "../core/placeholders.ts";
import { SPEC_LIMITS } from "../core/policy.ts";
import { checkCommand, checkVariables } from "./check-commands.ts";
import { checkGlob, checkRelativePath } from "./check-paths.ts";
import { checkCwdPlaceholder, checkModelPlaceholder, checkRuntimePlaceholder } from "./check-placeholders.ts";
import { checkTools } from "./check-tools.ts";
import { BACKOFF, checkDuration } from "./check-top.ts";
import type { Say } from "./rule.ts";
import type { LooseJob } from "./spec-shape.ts";

const ATTEMPT = { minMs: 1, maxMs: SPEC_LIMITS.timeoutMaxMs } as const;

/** `raw` is the job as it stands in the file: a misshapen field counts as given, and has been reported already. */
export function checkJob(entry: LooseJob, raw: object, timeoutByDefault: boolean, say: Say): void {
  checkTimes(entry, raw, timeoutByDefault, say);
  checkIntent(entry, raw, say);
  checkRoute(entry, say);
  checkCommands(entry, say);
  checkFiles(entry, say);
  checkTools(entry.job.allowed_tools, entry.job.runtime, [...entry.path, "allowed_tools"], say);
  checkTools(entry.job.disallowed_tools, entry.job.runtime, [...entry.path, "disallowed_tools"], say);
}

function checkTimes(entry: LooseJob, raw: object, timeoutByDefault: boolean, say: Say): void {
  const { job, path } = entry;
  checkDuration(job.timeout, [...path, "timeout"], ATTEMPT, say);
  checkDuration(job.stall_after, [...path, "stall_after"], ATTEMPT, say);
  checkDuration(job.retry?.backoff, [...path, "retry", "backoff"], BACKOFF, say);
  if (!Object.hasOwn(raw, "timeout") && !timeoutByDefault)
    say("timeout-missing", path, `${entry.label} has no \`timeout\`, and \`defaults\` has none either`, {
      fix: "add one, for example `timeout: 10m`",
    });
  for (const [index, step] of (job.mock ?? []).entries()) {
    checkDuration(
      step.sleep,
      [...path, "mock", index, "sleep"],
      { minMs: 0, maxMs: SPEC_LIMITS.timeoutMaxMs },
      say,
    );
    checkDuration(step["spawn-child"], [...path, "mock", index, "spawn-child"], ATTEMPT, say);
  }
}

function checkIntent(entry: LooseJob, raw: object, say: Say): void {
  const { job, path } = entry;
  if (Object.hasOwn(raw, "prompt") || Object.hasOwn(raw, "skill")) return;
  // A program does what its vector says; there is no brief to generate.
  if (Object.hasOwn(raw, "invocation") && job.invocation?.stdin !== "prompt") return;
  say(
    "generated-intent",
    path,
    `${entry.label} has neither \`prompt\` nor \`skill\`: its brief is generated from \`task\`, \`expected_output\` and its dependencies`,
    {
      fix: "add a `prompt` if that says too little",
    },
  );
}

function checkRoute(entry: LooseJob, say: Say): void {
  const { job, path } = entry;
  checkRuntimePlaceholder(job.runtime, [...path, "runtime"], say);
  for (const [index, runtime] of (job.fallback_runtime ?? []).entries())
    checkRuntimePlaceholder(runtime, [...path, "fallback_runtime", index], say);
  checkModelPlaceholder(job.model, [...path, "model"], say);
  checkCwdPlaceholder(job.cwd, [...path, "cwd"], say);
  if (job.agent !== undefined && !mayRunInSession(job.runtime))
    say(
      "agent-not-in-session",
      [...path, "agent"],
      `${entry.label} names an \`agent\`, which only a job in the harness session can have, but its runtime is \`${job.runtime}\``,
      {
        fix: "set `runtime: internal`, or remove `agent`",
      },
    );
  if (job.invocation !== undefined && (!isExplicitRuntime(job.runtime) || job.runtime === "internal"))
    say(
      "invocation-without-runtime",
      [...path, "invocation"],
      `${entry.label} has an \`invocation\`, but ${job.runtime === undefined ? "names no runtime" : `its runtime is \`${job.runtime}\``}`,
      {
        fix: "set `runtime` to the id of a declared program",
      },
    );
  if (job.mock !== undefined && job.runtime !== "mock")
    say(
      "mock-without-mock-runtime",
      [...path, "mock"],
      `${entry.label} has a \`mock\` script, which only the runtime \`mock\` plays`,
      {
        fix: "set `runtime: mock`, or remove `mock`",
      },
    );
}

/** Read-only and plain CLI placeholders never resolve to the harness; a judgment placeholder may. */
function mayRunInSession(runtime: string | undefined): boolean {
  return (
    runtime === undefined ||
    runtime === "internal" ||
    runtime === "<verified-judgment-runtime>" ||
    runtime === "<verified-fallback-runtime>"
  );
}

function checkCommands(entry: LooseJob, say: Say): void {
  const { job, path } = entry;
  if (job.invocation !== undefined) {
    checkCommand(job.invocation, [...path, "invocation"], say);
    checkVariables(job.invocation.env_allow ?? [], [...path, "invocation", "env_allow"], say);
  }
  for (const [index, check] of (job.verification ?? []).entries()) {
    const place = [...path, "verification", index];
    checkCommand(check, place, say);
    checkDuration(check.timeout, [...place, "timeout"], ATTEMPT, say);
  }
  for (const field of ["preview", "rollback"] as const) {
    const plan = job[field];
    if (typeof plan !== "object") continue;
    checkCommand(plan, [...path, field], say);
    checkDuration(plan.timeout, [...path, field, "timeout"], ATTEMPT, say);
  }
}

function checkFiles(entry: LooseJob, say: Say): void {
  const { job, path } = entry;
  for (const [index, glob] of (job.owned_paths ?? []).entries())
    checkGlob(glob, [...path, "owned_paths", index], say);
  for (const [index, output] of (job.outputs ?? []).entries())
    checkRelativePath(output.path, [...path, "outputs", index, "path"], say);
  for (const [index, input] of (job.inputs ?? []).entries())
    checkRelativePath(input.path, [...path, "inputs", index, "path"], say);
  for (const [index, check] of (job.verification ?? []).entries())
    if (check.cwd !== undefined && check.cwd !== ".")
      checkRelativePath(check.cwd, [...path, "verification", index, "cwd"], say);
  for (const [index, step] of (job.mock ?? []).entries()) {
    const place = [...path, "mock", index];
    for (const action of ["write", "append", "link"] as const)
      if (step[action] !== undefined) checkRelativePath(step[action].path, [...place, action, "path"], say);
    if (step.delete !== undefined) checkRelativePath(step.delete, [...place, "delete"], say);
  }
}
