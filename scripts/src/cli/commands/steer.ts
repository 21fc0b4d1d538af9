import type { RunView } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { quoteShell } from "../../core/shell-quote.ts";
import { missing, unknownJob } from "../answer.ts";
import { type CommandResult, failure, flagText, type Handler } from "../context.ts";
import { openRun } from "../run-access.ts";

/**
 * Says a word to work that runs. No runtime is recorded that takes one: a prompt is given whole and stdin is closed, so this
 * refuses, by name, and says what leads to the same.
 */
export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const jobId = flagText(parsed, "job");
  if (jobId === undefined) return missing("--job JOB", "the job that is to be told");
  if (flagText(parsed, "message") === undefined) return missing("--message TEXT", "what it is to be told");
  return unknownJob(run.value, jobId) ?? refuse(run.value, jobId);
};

function refuse(view: RunView, jobId: string): CommandResult {
  const last = view.state.jobs[jobId]?.attemptRecords.at(-1);
  if (last === undefined || (last.status !== "running" && last.status !== "queued"))
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "not-running",
        message: `\`${jobId}\` has no attempt that runs, so there is nobody to tell anything.`,
        fix: `status ${quoteShell(view.runDir)}`,
      },
    ]);
  const native = view.graph.jobs
    .find((job) => job.id === jobId)
    ?.route.chain.some((member) => member.runtime === last.runtime && member.kind === "internal");
  return failure(EXIT.usage, [
    {
      severity: "error",
      code: "steer-unsupported",
      message:
        native === true
          ? `\`${jobId}\` works in a subagent of the harness: tell it there.`
          : `\`${last.runtime}\` takes no word while it works: its adapter did not prove that it can.`,
      fix:
        native === true
          ? `next ${quoteShell(view.runDir)}`
          : `cancel ${quoteShell(view.runDir)} --job ${quoteShell(jobId)}`,
    },
  ]);
}
