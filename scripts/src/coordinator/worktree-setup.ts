/** `worktree_setup`: what a new worktree needs before anybody works in it (dependencies installed, code generated). */
import type { PlanJob } from "../core/runtime.ts";
import { runDeclaredCommand } from "./run-command.ts";
import type { Session } from "./session.ts";
import type { Workplace } from "./workplace.ts";

/** Null when every command exited 0; else the block, with the tail that tells why. */
export async function setUpWorktree(
  s: Session,
  job: PlanJob,
  attempt: number,
  place: Pick<Workplace, "cwd">,
): Promise<{ code: string; detail: string } | null> {
  for (const [at, command] of s.graph.worktreeSetup.entries()) {
    const argv = [command.command, ...command.args];
    const run = await runDeclaredCommand(s, {
      argv,
      cwd: place.cwd,
      timeoutMs: command.timeoutMs,
      label: `setup-${at + 1}`,
      jobId: job.id,
      attempt,
      maxOutputBytes: job.maxOutputBytes,
    });
    if (run.exitCode === 0 && !run.timedOut) continue;
    const how =
      run.spawnError !== null
        ? `could not be started (${run.spawnError})`
        : run.timedOut
          ? "ran out of time"
          : `exited ${run.exitCode ?? run.signal}`;
    return {
      code: "setup-failed",
      detail:
        `worktree_setup \`${argv.join(" ")}\` ${how}. ${lastLine(run.stderrTail || run.stdoutTail)}`.trim(),
    };
  }
  return null;
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1)?.slice(0, 300) ?? "";
