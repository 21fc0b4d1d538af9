/** Finding the run a command means, and saying how it stands: shared by all commands that take RUN. */

import { type AttachEnd, type AttachInput, attach } from "../coordinator/attach.ts";
import { lastLine } from "../coordinator/coordinator-log.ts";
import { nextActions } from "../coordinator/next-actions.ts";
import { createProgress } from "../coordinator/progress.ts";
import { findRunDir } from "../coordinator/run-dir.ts";
import type { CoordinatorProcess } from "../coordinator/start.ts";
import { type RunView, type ViewFault, viewRun } from "../coordinator/view.ts";
import { workspaceRoot } from "../coordinator/workspace-root.ts";
import type { Diagnostic, NextAction } from "../core/diagnostic.ts";
import { EXIT, type ExitCode } from "../core/exit-codes.ts";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { completionBlock } from "../prove/completion.ts";
import { type CommandContext, type CommandResult, failure } from "./context.ts";
import { ownCommand, scriptOf } from "./own-command.ts";

export function openRun(ctx: CommandContext, which: string | undefined): Result<RunView, CommandResult> {
  const found = findRunDir({ which, root: workspaceRoot(ctx.env.cwd), cwd: ctx.env.cwd });
  if (!found.ok)
    return err(
      failure(EXIT.usage, [
        { severity: "error", code: found.error.code, message: found.error.message, fix: found.error.fix },
      ]),
    );
  const view = viewRun({ runDir: found.value.path, script: scriptOf(ctx) });
  return view.ok ? ok(view.value) : err(unreadable(view.error));
}

/** The run's files are damaged, foreign, newer or gone. */
function unreadable(fault: ViewFault): CommandResult {
  const hint = "hint" in fault ? fault.hint : fault.fix;
  const { code, message } = fault;
  return failure(EXIT.environment, [
    { severity: "error", code, message, ...(hint === null ? {} : { fix: hint }) },
  ]);
}

/** Watches until `until`, then says how the run stands. The exit code is the contract's for `run`, `resume` and `wait`. */
export async function attachAndReport(
  ctx: CommandContext,
  o: {
    view: RunView;
    until: AttachInput["until"];
    timeoutMs: number | null;
    coordinator: CoordinatorProcess | null;
  },
): Promise<CommandResult> {
  const progress = createProgress(o.view.graph, (line) => ctx.out.progress(line));
  const end = await attach({
    runDir: o.view.runDir,
    graph: o.view.graph,
    script: scriptOf(ctx),
    clock: ctx.clock,
    until: o.until,
    timeoutMs: o.timeoutMs,
    coordinator: o.coordinator,
    onState: progress,
  });
  const own = o.coordinator === null ? null : await exitIfGone(o.coordinator, end);
  const after = viewRun({ runDir: o.view.runDir, script: scriptOf(ctx) });
  if (!after.ok) return unreadable(after.error);
  return standing(ctx, after.value, { end, coordinatorExit: own, coordinator: o.coordinator });
}

async function exitIfGone(coordinator: CoordinatorProcess, end: AttachEnd): Promise<number | null> {
  if (end === "detached" || end === "timeout" || end === "changed") return null;
  return Promise.race([
    coordinator.exited.then((exit) => exit.exitCode),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), 50)),
  ]);
}

export function standing(
  ctx: CommandContext,
  view: RunView,
  o: { end: AttachEnd; coordinatorExit: number | null; coordinator: CoordinatorProcess | null },
): CommandResult {
  const lastWords = (): string | null =>
    o.coordinator === null ? lastLine(view.runDir) : o.coordinator.lastWords();
  const diagnostics: Diagnostic[] = [];
  let exitCode: ExitCode = view.exitCode;
  if (o.end === "detached") exitCode = EXIT.detached;
  else if (o.end === "interrupted")
    exitCode = o.coordinatorExit === EXIT.detached ? EXIT.detached : EXIT.interrupted;
  else if (o.end === "timeout") exitCode = EXIT.actionDue;
  else if ((o.end === "settled" || o.end === "due") && o.coordinatorExit === EXIT.environment) {
    // The state is safe, but something after it was not written: a report, most likely. A full disk never ends well.
    exitCode = EXIT.environment;
    diagnostics.push(stoppedDiagnostic(ctx, view.runDir, lastWords()));
  } else if (o.end === "coordinator-gone") {
    exitCode =
      o.coordinatorExit === EXIT.environment
        ? EXIT.environment
        : o.coordinatorExit === EXIT.owned
          ? EXIT.owned
          : EXIT.detached;
    diagnostics.push(goneDiagnostic(ctx, view.runDir, { exitCode, words: lastWords() }));
  }
  return {
    exitCode,
    data: summaryOf(view),
    text: completionBlock({ graph: view.graph, state: view.state, runDir: view.runDir }),
    diagnostics,
    next: view.actions,
  };
}

function goneDiagnostic(
  ctx: CommandContext,
  runDir: string,
  o: { exitCode: ExitCode; words: string | null },
): Diagnostic {
  const { exitCode, words } = o;
  const why =
    exitCode === EXIT.owned
      ? "Another coordinator owns the run."
      : "The coordinator ended before the run did; nothing recorded is lost.";
  return {
    severity: "error",
    code: exitCode === EXIT.owned ? "owned-elsewhere" : "coordinator-gone",
    message: `${why}${words === null ? "" : ` ${words}`}`,
    fix: ownCommand(ctx, exitCode === EXIT.owned ? "wait" : "resume", runDir),
  };
}

/** What is due while a coordinator that was just started takes the run over: nothing but to wait. */
export const onceCoordinated = (ctx: CommandContext, view: RunView): readonly NextAction[] =>
  nextActions({
    graph: view.graph,
    state: { ...view.state, status: "running" },
    runDir: view.runDir,
    script: scriptOf(ctx),
    coordinatorAlive: true,
  }).actions;

/** Small, and the same for every command that ends with how the run stands. */
export function summaryOf(view: RunView): Record<string, unknown> {
  const count = (pick: (job: RunView["state"]["jobs"][string]) => boolean): number =>
    Object.values(view.state.jobs).filter(pick).length;
  return {
    runId: view.state.runId,
    runDir: view.runDir,
    status: view.state.status,
    reason: view.state.reason,
    jobs: {
      total: Object.keys(view.state.jobs).length,
      queued: count((j) => j.status === "queued"),
      running: count((j) => j.status === "running"),
      success: count((j) => j.status === "success"),
      failed: count((j) => j.status === "failed"),
      blocked: count((j) => j.status === "blocked"),
      accepted: count((j) => j.outcome === "accepted"),
      rejected: count((j) => j.outcome === "rejected"),
    },
    mock: view.state.mock,
    report: `${view.runDir}/${RUN_FILES.report}`,
  };
}

const stoppedDiagnostic = (ctx: CommandContext, runDir: string, words: string | null): Diagnostic => ({
  severity: "error",
  code: "coordinator-stopped",
  message:
    `Everything up to this state is recorded, but the coordinator could not finish. ${words ?? ""}`.trim(),
  fix: ownCommand(ctx, "resume", runDir),
});
