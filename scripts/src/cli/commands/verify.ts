import { type Finding, verifyJob } from "../../coordinator/verify-run.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { unknownJob } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";
import { openRun } from "../run-access.ts";

/** Layer 1 again. The checks of the spec are not run: this command writes nothing; `resume` runs what no longer holds. */
export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const wanted = flagText(parsed, "job");
  const unknown = unknownJob(run.value, wanted);
  if (unknown !== null) return unknown;
  const findings: Finding[] = [];
  for (const job of run.value.graph.jobs)
    if (wanted === undefined || job.id === wanted)
      findings.push(...(await verifyJob(run.value, job.id, ctx.env.get("PATH") ?? "")));
  const bad = findings.filter((finding) => !finding.ok);
  return {
    exitCode: bad.length === 0 ? EXIT.done : EXIT.settledWithFaults,
    data: {
      runId: run.value.state.runId,
      checked: findings.length,
      failed: bad.length,
      findings: bad.length > 0 ? bad : findings.slice(0, 100),
    },
    text: [
      ...(bad.length > 0 ? bad : findings)
        .slice(0, 100)
        .map((f) => `${f.ok ? "ok  " : "FAIL"} ${f.job} ${f.check}: ${f.detail}`),
      `${findings.length} checked, ${bad.length} no longer hold`,
    ].join("\n"),
    diagnostics: [],
    next: [],
  };
};
