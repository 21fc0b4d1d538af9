/** Commands that carry the user's word are refused from inside a job: what an agent runs is never the user's answer. */
import { realpathSync } from "node:fs";
import { jobsAround } from "../coordinator/jobs-around.ts";
import { EXIT } from "../core/exit-codes.ts";
import { type CommandContext, type CommandResult, failure } from "./context.ts";

/**
 * Null: nothing speaks against it. `runDir`: a job may ask the user about a run of its own, and only about that; null: the
 * word is kept in the user's home, where no job's word counts.
 */
export function refusedInsideJob(
  ctx: CommandContext,
  o: { readonly command: string; readonly runDir: string | null },
): CommandResult | null {
  const { runDir } = o;
  const around = jobsAround(ctx.env.all());
  const inside = around.find((job) => runDir === null || realPath(job.runDir) === realPath(runDir));
  if (inside === undefined) return null;
  return failure(EXIT.usage, [
    {
      severity: "error",
      code: "inside-job",
      message: `\`${o.command}\` is not taken from inside a job, here \`${inside.jobId}\`: what a job runs is nobody else's word.`,
      fix: "leave it to the harness outside of the run, which asks the user",
    },
  ]);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
