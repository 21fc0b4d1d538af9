import { type IntegrateAnswer, integrateRun } from "../../coordinator/integrate-run.ts";
import { rewriteReport } from "../../coordinator/rewrite-report.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { quoteShell } from "../../core/shell-quote.ts";
import { failure, flagList, flagOn, type Handler, type Parsed } from "../context.ts";
import { scriptOf } from "../own-command.ts";
import { openRun } from "../run-access.ts";

type Mode = "preview" | "apply" | "undo";

export const handler: Handler = async (ctx, parsed) => {
  const mode = modeOf(parsed);
  if (mode === null)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "exclusive-flags",
        message: "`--preview`, `--apply` and `--undo` exclude each other.",
        fix: "Give one of them.",
      },
    ]);
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const view = run.value;
  const jobs = flagList(parsed, "job");
  if (mode === "undo" && jobs.length > 0)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "undo-whole",
        message: "`--undo` takes back the last steps first, whatever their job: it has no `--job`.",
      },
    ]);
  const done = await integrateRun({
    ...{ view, mode, jobs },
    env: ctx.env,
    script: scriptOf(ctx),
    clock: ctx.clock,
  });
  const [unknown] = done.refused.filter((one) => one.code === "unknown-job");
  if (unknown !== undefined)
    return failure(EXIT.usage, [{ severity: "error", code: unknown.code, message: `${unknown.detail}.` }]);
  if (mode !== "preview") await rewriteReport({ view, script: scriptOf(ctx), now: ctx.clock.now() });
  const faulty = done.refused.length > 0 || done.repos.some((repo) => repo.fault !== null);
  return {
    exitCode: faulty ? EXIT.settledWithFaults : EXIT.done,
    data: { runId: view.state.runId, mode, ...done },
    text: textOf(done, { mode, command: `integrate ${quoteShell(view.runDir)}` }),
    diagnostics: [
      ...done.refused.map(({ code, detail }) => ({
        severity: "error" as const,
        code,
        message: `${detail}.`,
      })),
      ...done.repos.flatMap(({ fault }) =>
        fault === null
          ? []
          : [
              {
                severity: "error" as const,
                code: fault.code,
                message: `${fault.detail}.`,
                ...(fault.fix === undefined ? {} : { fix: fault.fix }),
              },
            ],
      ),
    ],
    next: [],
  };
};

function modeOf(parsed: Parsed): Mode | null {
  const given = (["preview", "apply", "undo"] as const).filter((mode) => flagOn(parsed, mode));
  return given.length > 1 ? null : (given[0] ?? "preview");
}

function textOf(done: IntegrateAnswer, o: { readonly mode: Mode; readonly command: string }): string {
  if (done.repos.length === 0 && done.refused.length === 0)
    return o.mode === "undo" ? "Nothing of this run was integrated." : "No accepted work waits on a branch.";
  const lines: string[] = [];
  for (const repo of done.repos) {
    lines.push(`${repo.repo}${repo.target === null ? "" : ` (${repo.target.ref})`}`);
    for (const job of repo.jobs)
      lines.push(`  ${job.jobId}: ${job.state}${job.detail === "" ? "" : `, ${job.detail}`}`);
    for (const check of repo.checks)
      lines.push(`  ${check.ok ? "ok  " : "FAIL"} ${check.check} of ${check.jobId}: ${check.detail}`);
  }
  const clean = done.refused.length === 0 && done.repos.every((repo) => repo.fault === null);
  if (clean && o.mode === "preview") lines.push(`nothing was changed; to do it: ${o.command} --apply`);
  // Also where it stopped: what went in before that stays.
  if (done.repos.some((repo) => repo.jobs.some((job) => job.state === "applied")))
    lines.push(`to take it back: ${o.command} --undo`);
  return lines.join("\n");
}
