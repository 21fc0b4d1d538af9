import type { RunView } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { PlanJob } from "../../core/runtime.ts";
import { unknownJob } from "../answer.ts";
import type { CommandContext, Handler, Parsed } from "../context.ts";
import { openRun } from "../run-access.ts";

/** More jobs than these are counted; name one to see it. */
const MAX_JOBS = 20;

export const handler: Handler = async (ctx, parsed) => {
  const { run, wanted } = target(ctx, parsed);
  if (!run.ok) return run.error;
  const jobs = run.value.graph.jobs.filter((job) => wanted === undefined || job.id === wanted);
  const unknown = unknownJob(run.value, wanted);
  if (unknown !== null) return unknown;
  const shown = jobs.slice(0, MAX_JOBS).map((job) => explanation(run.value, job));
  const rest = jobs.length - shown.length;
  return {
    exitCode: EXIT.done,
    data: { runId: run.value.state.runId, jobs: shown, ...(rest > 0 ? { omittedJobs: rest } : {}) },
    text: [...shown.map(textOf), ...(rest > 0 ? [`… and ${rest} more jobs: name one.`] : [])].join("\n\n"),
    diagnostics: [],
    next: [],
  };
};

/** `explain RUN [JOB]`, and `explain JOB` for a job of the newest run. */
function target(
  ctx: CommandContext,
  parsed: Parsed,
): { run: ReturnType<typeof openRun>; wanted: string | undefined } {
  const [first, second] = parsed.args;
  const run = openRun(ctx, first);
  if (run.ok || first === undefined || second !== undefined) return { run, wanted: second };
  const newest = openRun(ctx, undefined);
  return newest.ok && newest.value.state.jobs[first] !== undefined
    ? { run: newest, wanted: first }
    : { run, wanted: undefined };
}

interface Explanation {
  readonly id: string;
  readonly tier: string;
  readonly capability: string;
  readonly isolation: string;
  readonly route: {
    readonly chain: readonly string[];
    readonly why: readonly string[];
    readonly runnerUp: string | null;
    readonly rejected: readonly string[];
    readonly blocked: string | null;
  };
  readonly attempts: readonly string[];
  readonly standing: string;
}

function explanation(view: RunView, job: PlanJob): Explanation {
  const state = view.state.jobs[job.id];
  return {
    id: job.id,
    tier: `${job.riskTier}: ${job.tierDerivation.join(", ")}`,
    capability: `${job.capabilityFloor}: ${job.capabilityDerivation.join(", ")}`,
    isolation: `${job.isolation} (${job.isolationOrigin})`,
    route: {
      chain: job.route.chain.map(
        (c) =>
          `${c.runtime}${c.model === null ? "" : ` ${c.model}`} (${c.capability} by ${c.capabilitySource}${c.family === null ? "" : `, family ${c.family}`})`,
      ),
      why: job.route.why,
      runnerUp:
        job.route.runnerUp === null
          ? null
          : `${job.route.runnerUp}${job.route.margin === null ? "" : ` (lost by ${job.route.margin})`}`,
      rejected: job.route.rejected.map(
        (r) => `${r.runtime}: ${r.codes.join(", ")}${r.detail === null ? "" : ` (${r.detail})`}`,
      ),
      blocked: job.route.blocked === null ? null : `${job.route.blocked.code}: ${job.route.blocked.detail}`,
    },
    attempts: (state?.attemptRecords ?? []).map(
      (a) =>
        `${a.attempt} (${a.relation}${a.relationReason === undefined ? "" : `: ${a.relationReason}`}) on ${a.runtime}: ${a.status}${a.failureClass === null ? "" : ` ${a.failureClass}`}${a.reason === null ? "" : `, ${a.reason}`}${a.detail === null ? "" : ` - ${a.detail}`}${a.flags.length === 0 ? "" : ` [${a.flags.join(", ")}]`}; acceptance ${a.acceptance}${a.arbitration === null ? "" : ` by ${a.arbitration.arbiterId} (${a.arbitration.independence})`}`,
    ),
    standing: `${state?.status ?? "queued"}, ${state?.outcome ?? "pending"}${state?.block ? `; ${state.block.code}: ${state.block.detail}` : ""}${state?.outcomeBlock ? `; ${state.outcomeBlock.code}: ${state.outcomeBlock.detail}` : ""}`,
  };
}

const textOf = (e: Explanation): string =>
  [
    `${e.id}: ${e.standing}`,
    `  risk ${e.tier}`,
    `  capability ${e.capability}`,
    `  isolation ${e.isolation}`,
    ...(e.route.blocked === null ? [] : [`  route blocked: ${e.route.blocked}`]),
    `  route ${e.route.chain.join(" → ") || "none"}${e.route.runnerUp === null ? "" : `; runner-up ${e.route.runnerUp}`}`,
    ...e.route.why.map((why) => `    ${why}`),
    ...e.route.rejected.map((r) => `    rejected ${r}`),
    ...e.attempts.map((a) => `  attempt ${a}`),
  ].join("\n");
