import { planSpec } from "../../coordinator/plan-spec.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { gateReport } from "../../plan/gate.ts";
import { jobText, planDot, planMermaid, planText } from "../../plan/render-plan.ts";
import { failure, flagList, flagText, type Handler } from "../context.ts";
import { scriptOf } from "../own-command.ts";
import { planFlags } from "../plan-flags.ts";

/** Up to here each job is told in full; above, `--only JOB` asks for one: a plan is read by whoever pays per line. */
const DETAILED_JOBS = 2;

export const handler: Handler = async (ctx, parsed) => {
  const flags = planFlags(ctx.env, parsed);
  const { planned, diagnostics } = await planSpec({
    path: parsed.args[0] as string,
    env: ctx.env,
    clock: ctx.clock,
    reuse: true,
    script: scriptOf(ctx),
    flags,
  });
  if (planned === null) return failure(EXIT.usage, diagnostics);
  const { graph, inventory, loaded } = planned;
  const gate = gateReport(graph, inventory, loaded.config.declared);
  const form = flagText(parsed, "graph") ?? "text";
  const detailed = graph.jobs.length <= DETAILED_JOBS || flagList(parsed, "only").length > 0;
  const text =
    form === "mermaid"
      ? planMermaid(graph)
      : form === "dot"
        ? planDot(graph)
        : [
            planText(graph, gate),
            ...(detailed
              ? graph.jobs.map((job) => jobText(job, gate))
              : [`(each value with its origin, every reject, every control: --only JOB, or --json)\n`]),
          ].join("\n");
  const configFiles = loaded.config.files.map(({ path, source, kind, sha256, confirmed }) => ({
    path,
    source,
    kind,
    sha256,
    confirmed,
  }));
  return { exitCode: EXIT.done, data: { plan: graph, gate, configFiles }, text, diagnostics, next: [] };
};
