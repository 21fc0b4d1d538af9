/** `resume RUN` and `run --resume RUN`: reconcile, ask again, go on. */

import { isResumeNeeded } from "../coordinator/resume-needed.ts";
import { untilCoordinated } from "../coordinator/until-coordinated.ts";
import { EXIT } from "../core/exit-codes.ts";
import { lockOwner } from "../state/lock.ts";
import { type CommandContext, type CommandResult, failure, type Parsed } from "./context.ts";
import { harnessOf } from "./harness.ts";
import { hostRefusal } from "./host-refusal.ts";
import { ownCommand } from "./own-command.ts";
import { attachAndReport, onceCoordinated, openRun, standing, summaryOf } from "./run-access.ts";

export async function resumeRun(
  ctx: CommandContext,
  parsed: Parsed,
  o: { which: string | undefined; retry: readonly string[]; base: string | null; detach: boolean },
): Promise<CommandResult> {
  const refused = hostRefusal(ctx.env);
  if (refused !== null) return refused;
  const run = openRun(ctx, o.which);
  if (!run.ok) return run.error;
  const view = run.value;
  if (o.base !== null && o.retry.length !== 1)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "base-without-retry",
        message: "`--base COMMIT` goes with exactly one `--retry JOB`: the job that starts from that commit.",
      },
    ]);
  const harness = harnessOf(ctx.env, parsed);
  if (o.retry.length === 0 && !isResumeNeeded(view, harness))
    return standing(ctx, view, { end: "settled", coordinatorExit: null, coordinator: null });
  const args = [
    "--resume",
    ...(harness === null ? [] : ["--harness", harness.name, ...(harness.subagents ? ["--subagents"] : [])]),
  ];
  const { sendCommand } = await import("../coordinator/send.ts");
  const { startCoordinator } = await import("../coordinator/start.ts");
  let coordinator = null;
  for (const jobId of o.retry) {
    const sent = await sendCommand({
      runDir: view.runDir,
      self: ctx.self,
      env: ctx.env,
      clock: ctx.clock,
      command: { kind: "retry", jobId, base: o.base },
      args,
    });
    coordinator = sent.started ?? coordinator;
    if (sent.answer?.ok !== true)
      return failure(sent.answer === null ? EXIT.environment : EXIT.usage, [
        {
          severity: "error",
          code: sent.answer?.code ?? "not-applied",
          message: sent.answer?.message ?? "No coordinator applied the command.",
        },
      ]);
  }
  if (view.coordinatorAlive && o.retry.length === 0)
    return failure(EXIT.owned, [
      {
        severity: "error",
        code: "owned-elsewhere",
        message: `A coordinator advances \`${view.state.runId}\` already: ${ownerOf(view.runDir)}.`,
        fix: ownCommand(ctx, "wait", view.runDir),
      },
    ]);
  coordinator ??= startCoordinator({ runDir: view.runDir, self: ctx.self, env: ctx.env, args });
  const { runDir } = view;
  const leaves = o.detach && (await untilCoordinated({ runDir, coordinator, clock: ctx.clock })) === "owned";
  if (leaves)
    return {
      exitCode: EXIT.done,
      data: summaryOf(view),
      text: `The run goes on in the background: ${ownCommand(ctx, "wait", view.runDir)}`,
      diagnostics: [],
      next: onceCoordinated(ctx, view),
    };
  return attachAndReport(ctx, { view, until: "due", timeoutMs: null, coordinator });
}

function ownerOf(runDir: string): string {
  const owner = lockOwner(runDir);
  return owner === null ? "its lock names no owner" : `process ${owner.pid} on \`${owner.host}\``;
}
