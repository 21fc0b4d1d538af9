/** Commands that answer what a run asks for: sent to its coordinator, applied once, followed by what is due next. */

import { attach } from "../coordinator/attach.ts";
import { decidedScope } from "../coordinator/decided-scope.ts";
import type { CommandAnswer } from "../coordinator/inbox-apply.ts";
import { sendCommand } from "../coordinator/send.ts";
import type { RunView } from "../coordinator/view.ts";
import { viewRun } from "../coordinator/view.ts";
import { EXIT, type ExitCode } from "../core/exit-codes.ts";
import type { State } from "../core/runtime.ts";
import type { InboxCommand } from "../state/inbox.ts";
import {
  type CommandContext,
  type CommandResult,
  failure,
  flagInteger,
  flagText,
  type Parsed,
} from "./context.ts";
import { ownCommand, scriptOf } from "./own-command.ts";
import { refusedInsideJob } from "./own-word.ts";
import { openRun, summaryOf } from "./run-access.ts";

/** A decision about one job: what it set in motion is that job's next step, whatever else the run does meanwhile. */
function followed(command: InboxCommand, before: RunView): ((state: State) => boolean) | undefined {
  if (command.kind !== "approve" && command.kind !== "deny") return undefined;
  const attempts = before.state.jobs[command.jobId]?.attemptRecords.length ?? 0;
  return (state) => {
    const job = state.jobs[command.jobId];
    return job === undefined || job.block !== null || job.attemptRecords.length > attempts;
  };
}

/** How long an answer waits for what it set in motion, so that its `next[]` is the current one. */
const FOLLOW_UP_MS = 20_000;

export async function answer(
  ctx: CommandContext,
  which: string | undefined,
  build: (view: RunView) => InboxCommand | CommandResult,
): Promise<CommandResult> {
  const opened = openRun(ctx, which);
  if (!opened.ok) return opened.error;
  const command = build(opened.value);
  if ("exitCode" in command) return command;
  const { runDir } = opened.value;
  const sent = await sendCommand({ runDir, self: ctx.self, env: ctx.env, clock: ctx.clock, command });
  if (sent.answer === null)
    return failure(await refusedCode(sent.started?.exited), [notApplied(ctx, runDir)]);
  const enough = followed(command, opened.value);
  if (sent.answer.ok)
    await attach({
      runDir,
      graph: opened.value.graph,
      script: scriptOf(ctx),
      clock: ctx.clock,
      until: "due",
      timeoutMs: FOLLOW_UP_MS,
      coordinator: sent.started,
      ...(enough === undefined ? {} : { enough }),
    });
  const after = viewRun({ runDir, script: scriptOf(ctx) });
  return answered(after.ok ? after.value : opened.value, sent.answer);
}

function answered(view: RunView, { ok, code, message }: CommandAnswer): CommandResult {
  return {
    exitCode: ok ? EXIT.done : EXIT.usage,
    data: { applied: ok, code, message, ...summaryOf(view) },
    text: ok ? message : "",
    diagnostics: ok ? [] : [{ severity: "error", code, message }],
    next: view.actions,
  };
}

async function refusedCode(exited: Promise<{ exitCode: number | null }> | undefined): Promise<ExitCode> {
  return (await exited)?.exitCode === EXIT.owned ? EXIT.owned : EXIT.environment;
}

const notApplied = (ctx: CommandContext, runDir: string) =>
  ({
    severity: "error",
    code: "not-applied",
    message:
      "No coordinator applied the command; it stays in the run's inbox and is applied by the next one.",
    fix: ownCommand(ctx, "resume", runDir),
  }) as const;

/** A usage fault when the run has no such job, so that a wrong id never starts a coordinator; null when it has. */
export function unknownJob(view: RunView, jobId: string | undefined): CommandResult | null {
  if (jobId === undefined || view.state.jobs[jobId] !== undefined) return null;
  const known = Object.keys(view.state.jobs)
    .slice(0, 20)
    .map((id) => `\`${id}\``)
    .join(", ");
  return failure(EXIT.usage, [
    {
      severity: "error",
      code: "unknown-job",
      message: `\`${view.state.runId}\` has no job \`${jobId}\`; it has ${known}.`,
    },
  ]);
}

/**
 * The user's word about one scope of one job, for `approve` and `deny`. What was decided before, or was never asked, is
 * answered from the run's files: nothing is stored then, and no coordinator is started.
 */
export function answerScope(
  ctx: CommandContext,
  parsed: Parsed,
  kind: "approve" | "deny",
): Promise<CommandResult> | CommandResult {
  const jobId = flagText(parsed, "job");
  const scope = flagText(parsed, "scope");
  if (jobId === undefined) return missing("--job JOB", "as in the action of `next`");
  if (scope === undefined) return missing("--scope SHA256", "as in the action of `next`");
  return answer(ctx, parsed.args[0], (view) => {
    const wrong = refusedInsideJob(ctx, { command: kind, runDir: view.runDir }) ?? unknownJob(view, jobId);
    if (wrong !== null) return wrong;
    const decided = decidedScope({
      jobId,
      block: view.state.jobs[jobId]?.block ?? null,
      approvals: view.state.approvals,
      scope,
      decision: kind === "approve" ? "approved" : "denied",
    });
    if (decided !== null) return answered(view, decided);
    return {
      kind,
      jobId,
      scope,
      actor: view.state.harness.name,
      attested: !ctx.env.stdoutIsTty,
      note: flagText(parsed, "note") ?? null,
    };
  });
}

/** `--job` and `--attempt` of a native command, or the usage fault. */
export function nativeTarget(parsed: Parsed): { jobId: string; attempt: number } | CommandResult {
  const jobId = flagText(parsed, "job");
  const attempt = flagInteger(parsed, "attempt");
  if (jobId === undefined || attempt === undefined)
    return missing(jobId === undefined ? "--job JOB" : "--attempt N", "as in the action of `next`");
  return { jobId, attempt };
}

export const missing = (flag: string, where: string): CommandResult =>
  failure(EXIT.usage, [
    { severity: "error", code: "missing-flag", message: `\`${flag}\` is required, ${where}.` },
  ]);
