/** One command line that is not answered from prepared text: parse, load the handler, run it, print its result. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { EXIT, type ExitCode } from "../core/exit-codes.ts";
import { runnable, TOOL } from "../core/tool-word.ts";
import { systemClock } from "../host/clock.ts";
import type { CompiledParts } from "../host/compiled-parts.ts";
import { type Environment, systemEnvironment } from "../host/env.ts";
import { keepCompiled } from "../host/keep-compiled.ts";
import type { StateFault } from "../state/fault.ts";
import { parseRequest } from "./args.ts";
import { HIDDEN_COMMANDS } from "./commands.ts";
import { type CommandContext, type CommandResult, failure } from "./context.ts";
import type { Excerpts } from "./excerpt.ts";
import { createPrinter, type Printer } from "./output.ts";
import { scriptOf } from "./own-command.ts";

/** `compiled`: of the built tool, kept at the end of a run; a command that only looks leaves nothing behind. */
export async function dispatch(
  argv: readonly string[],
  self: readonly string[],
  compiled: CompiledParts | null = null,
): Promise<ExitCode> {
  const env = systemEnvironment();
  const hidden = HIDDEN_COMMANDS.find((command) => command.name === argv[0]);
  if (hidden !== undefined) {
    const { handler } = await hidden.load();
    return handler(contextOf(env, self, createPrinter({ json: false, stderrIsTty: false })), argv.slice(1));
  }
  const request = parseRequest(argv);
  const json = request.kind === "help" ? false : request.json;
  const printer = createPrinter({
    json,
    // Asked when there is progress to show: the first look at a stream loads all that streams are made of.
    get stderrIsTty() {
      return env.stderrIsTty;
    },
  });
  if (request.kind === "usage") {
    printer.result(request.command, failure(EXIT.usage, request.diagnostics));
    return EXIT.usage;
  }
  if (request.kind === "help") {
    const { helpResult } = await import("./commands/help.ts");
    const result = helpResult(request.command);
    printer.result("help", result);
    return result.exitCode;
  }
  try {
    const { handler } = await request.spec.load();
    const result = withRunnableFixes(await handler(contextOf(env, self, printer), request.parsed), self);
    printer.result(request.spec.name, result, json ? undefined : await excerptsOf(result, env.cwd));
    if (compiled !== null && KEEPERS.has(request.spec.name) && HAS_WORKED.has(result.exitCode))
      keepCompiled(compiled);
    return result.exitCode;
  } catch (fault) {
    const known = stateFault(fault);
    if (!json && known === null) throw fault;
    const message = fault instanceof Error ? fault.message : String(fault);
    const found: Diagnostic = known ?? { severity: "error", code: "internal-error", message };
    printer.result(request.spec.name, withRunnableFixes(failure(EXIT.environment, [found]), self));
    return EXIT.environment;
  }
}

/** They write anyway, take their time and load most of what others load. */
const KEEPERS: ReadonlySet<string> = new Set(["run", "resume"]);
/** With any other code the command may have refused before it wrote anything. */
const HAS_WORKED: ReadonlySet<ExitCode> = new Set([EXIT.done, EXIT.settledWithFaults, EXIT.actionDue]);

/** A run directory that cannot be written is the host's fault, not a bug. Told by its name, so that nothing is loaded for it. */
function stateFault(error: unknown): Diagnostic | null {
  if (!(error instanceof Error) || error.name !== "StateFaultError" || !("fault" in error)) return null;
  const { code, message, hint } = error.fault as StateFault;
  return { severity: "error", code, message, fix: hint };
}

const withRunnableFixes = (result: CommandResult, self: readonly string[]): CommandResult =>
  result.diagnostics.some(({ fix }) => fix?.includes(TOOL))
    ? {
        ...result,
        diagnostics: result.diagnostics.map((d) =>
          d.fix === undefined ? d : { ...d, fix: runnable(d.fix, scriptOf({ self })) },
        ),
      }
    : result;

const contextOf = (env: Environment, self: readonly string[], out: Printer): CommandContext => ({
  env,
  clock: systemClock,
  self,
  out,
});

/** Loaded only when a finding has a line to show; a run may have outlived the tool's folder, and shows its findings without. */
async function excerptsOf({ diagnostics }: CommandResult, cwd: string): Promise<Excerpts | undefined> {
  if (!diagnostics.some((d) => d.severity !== "info" && d.file !== undefined && d.line !== undefined))
    return undefined;
  const loaded = await import("./excerpt.ts").catch(() => null);
  return loaded?.excerpts(diagnostics, (file) => readBounded(resolve(cwd, file)));
}

const EXCERPT_FILE_MAX = 16 * 1024 * 1024;

function readBounded(path: string): string | null {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= EXCERPT_FILE_MAX ? readFileSync(path, "utf8") : null;
  } catch {
    return null;
  }
}
