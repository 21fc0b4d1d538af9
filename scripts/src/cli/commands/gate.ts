import { planSpec } from "../../coordinator/plan-spec.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { gateReport } from "../../plan/gate.ts";
import { jobText } from "../../plan/render-plan.ts";
import { failure, type Handler } from "../context.ts";
import { scriptOf } from "../own-command.ts";
import { planFlags } from "../plan-flags.ts";

/** More jobs than these are counted; those with something missing come first. */
const SHOWN_JOBS = 40;

export const handler: Handler = async (ctx, parsed) => {
  const { planned, diagnostics } = await planSpec({
    path: parsed.args[0] as string,
    env: ctx.env,
    clock: ctx.clock,
    reuse: true,
    script: scriptOf(ctx),
    flags: planFlags(ctx.env, parsed),
  });
  if (planned === null) return failure(EXIT.usage, diagnostics);
  const { graph, inventory, loaded } = planned;
  const gate = gateReport(graph, inventory, loaded.config.declared);
  const missing = new Map(gate.jobs.map((job) => [job.id, job.missing]));
  const ordered = [...graph.jobs].sort(
    (a, b) => Number((missing.get(a.id) ?? []).length === 0) - Number((missing.get(b.id) ?? []).length === 0),
  );
  const blocked = gate.jobs.filter((job) => job.missing.length > 0);
  const rest = ordered.length - SHOWN_JOBS;
  const text = [
    ...ordered
      .slice(0, SHOWN_JOBS)
      .map(
        (job) =>
          `${jobText(job, gate)}${(missing.get(job.id) ?? []).map((m) => `  MISSING ${m}\n`).join("")}`,
      ),
    ...(rest > 0 ? [`… and ${rest} more jobs that may start\n`] : []),
    `${blocked.length === 0 ? "every job may start" : `${blocked.length} of ${gate.jobs.length} jobs may not start`}\n`,
  ].join("");
  return { exitCode: gate.ok ? EXIT.done : EXIT.settledWithFaults, data: gate, text, diagnostics, next: [] };
};
