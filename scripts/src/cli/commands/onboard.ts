import { knownRuntimes } from "../../coordinator/known-runtimes.ts";
import { loadConfig } from "../../coordinator/load-config.ts";
import { type Onboarded, onboard } from "../../coordinator/onboard.ts";
import { waitingFor } from "../../coordinator/onboarding-record.ts";
import type { RunView } from "../../coordinator/view.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import type { Diagnostic, NextAction } from "../../core/diagnostic.ts";
import { EXIT, type ExitCode } from "../../core/exit-codes.ts";
import { type Result, unreachable } from "../../core/result.ts";
import { quoteShell } from "../../core/shell-quote.ts";
import { isoTime } from "../../host/clock.ts";
import { nodeVersion } from "../../host/node-version.ts";
import { didYouMean } from "../../plan/did-you-mean.ts";
import { answer } from "../answer.ts";
import {
  type CommandContext,
  type CommandResult,
  failure,
  flagOn,
  flagText,
  type Handler,
  type Parsed,
} from "../context.ts";
import { ownCommand } from "../own-command.ts";
import { openRun } from "../run-access.ts";

export const handler: Handler = async (ctx, parsed) => {
  const runtime = parsed.args[0] as string;
  const config = loadConfig({ root: workspaceRoot(ctx.env.cwd), home: ctx.env.home, now: ctx.clock.now() });
  const known = knownRuntimes(config.declared);
  if (!known.includes(runtime)) {
    const meant = didYouMean(runtime, known);
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "unknown-runtime",
        message: `No runtime has the id \`${runtime}\`${meant === null ? "." : `; did you mean \`${meant}\`?`}`,
        fix: `the ids are ${known.join(", ")}`,
      },
    ]);
  }
  const run = runToTell(ctx, parsed, runtime);
  if (run !== null && !run.ok) return run.error;
  const done = await onboard({
    runtime,
    apply: flagOn(parsed, "apply"),
    node: nodeVersion(),
    env: ctx.env,
    clock: ctx.clock,
    progress: (line) => ctx.out.progress(line),
  });
  const shown = (argv: readonly string[] | undefined): string | null =>
    argv === undefined ? null : commandLine(argv);
  const { exitCode, text } = outcomeOf(ctx, runtime, done);
  const told = run === null ? null : await tell(ctx, run.value, { runtime, done });
  const at = told === null || run === null ? null : run.value.runDir;
  return {
    exitCode,
    data: {
      runtime,
      result: done.result,
      applied: done.after !== null,
      install: shown(done.steps?.install),
      undo: shown(done.steps?.undo),
      login: done.steps?.login ?? null,
      loginInside: done.steps?.inside ?? null,
      before: brief(done.before),
      after: brief(done.after),
      output: done.output,
      recordedIn: told?.data === undefined ? null : at,
    },
    text: told?.diagnostics.length === 0 ? `${text}\non record: ${at}` : text,
    diagnostics: told?.diagnostics ?? [],
    next: told?.next ?? [],
  };
};

/** The run that hears of an installation: the named one, else the newest when it waits for this runtime. Null: none. */
function runToTell(
  ctx: CommandContext,
  parsed: Parsed,
  runtime: string,
): Result<RunView, CommandResult> | null {
  const named = flagText(parsed, "run");
  if (named !== undefined) return openRun(ctx, named);
  if (!flagOn(parsed, "apply")) return null;
  const newest = openRun(ctx, undefined);
  return newest.ok && waitingFor(newest.value.graph, newest.value.state, runtime).length > 0 ? newest : null;
}

/** Puts what was done into the run's state, where `status`, report and `explain` find it. Null: nothing was done. */
async function tell(
  ctx: CommandContext,
  view: RunView,
  { runtime, done }: { readonly runtime: string; readonly done: Onboarded },
): Promise<{ data: unknown; diagnostics: readonly Diagnostic[]; next: readonly NextAction[] } | null> {
  const { result, steps, after } = done;
  if (steps === null || after === null || result === "present" || result === "missing" || result === "no-way")
    return null;
  const { data, diagnostics, next } = await answer(ctx, view.runDir, () => ({
    kind: "onboarded",
    runtime,
    result,
    at: isoTime(ctx.clock.now()),
    actor: view.state.harness.name,
    attested: !ctx.env.stdoutIsTty,
    install: commandLine(steps.install),
    undo: commandLine(steps.undo),
    binary: after.binary,
    version: after.version,
  }));
  return { data, diagnostics, next };
}

const commandLine = (argv: readonly string[]): string => argv.map((part) => quoteShell(part)).join(" ");

const brief = (record: Onboarded["before"]) =>
  record === null
    ? null
    : {
        state: record.state,
        reason: record.reason,
        binary: record.binary,
        version: record.version,
        authenticated: record.authenticated,
      };

function outcomeOf(
  ctx: CommandContext,
  runtime: string,
  { result, steps, before, after, output }: Onboarded,
): { exitCode: ExitCode; text: string } {
  const here = after ?? before;
  const undo = after === null || steps === null ? [] : [`undo:     ${steps.undo.join(" ")}`];
  const login =
    steps === null
      ? []
      : [
          `log in:   ${steps.login}   (${steps.inside === null ? "" : `then \`${steps.inside}\` in it; `}the user, on a terminal; never done here)`,
        ];
  const goOn = "then:     `resume RUN` for a run that waits for it";
  switch (result) {
    case "present":
      return {
        exitCode: EXIT.done,
        text: `${runtime} is here: ${here?.state} ${here?.version ?? ""} ${here?.binary ?? ""}`.trimEnd(),
      };
    case "needs-login":
      return {
        exitCode: EXIT.settledWithFaults,
        text: [`${runtime} is here and not logged in.`, ...login, ...undo, goOn].join("\n"),
      };
    case "missing":
      return {
        exitCode: EXIT.done,
        text: [
          `${runtime} is not here (${before?.reason ?? "not-found"}). Nothing was changed.`,
          `install:  ${steps?.install.join(" ")}`,
          ...login,
          `undo:     ${steps?.undo.join(" ")}`,
          `to do it: ${ownCommand(ctx, "onboard", runtime, "--apply")}   (only when the user said so)`,
          goOn,
        ].join("\n"),
      };
    case "no-way":
      return {
        exitCode: EXIT.settledWithFaults,
        text: `${runtime} is not usable here (${before?.reason ?? "not-found"}), and no installation of it is recorded: its own user or operator sets it up.`,
      };
    case "installed":
      return {
        exitCode: EXIT.done,
        text: [`${runtime} is here now: ${here?.state} ${here?.version ?? ""}`, ...login, ...undo, goOn].join(
          "\n",
        ),
      };
    case "not-found-after":
      return {
        exitCode: EXIT.settledWithFaults,
        text: [
          `The installation went well, but ${runtime} is not usable (${after?.reason ?? "not-found"}).`,
          "look at:  npm prefix --global   (its `bin` has to be on PATH)",
          ...undo,
        ].join("\n"),
      };
    case "install-failed":
      return {
        exitCode: EXIT.environment,
        text: [`The installation of ${runtime} failed: ${output ?? ""}`, ...undo].join("\n"),
      };
    default:
      return unreachable(result);
  }
}
