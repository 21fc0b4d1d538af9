import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { planSpec } from "../../coordinator/plan-spec.ts";
import { prepareRun } from "../../coordinator/prepare.ts";
import { startCoordinator } from "../../coordinator/start.ts";
import { untilCoordinated } from "../../coordinator/until-coordinated.ts";
import { viewRun } from "../../coordinator/view.ts";
import { hasErrors } from "../../core/diagnostic.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { unsupportedFields } from "../../plan/unsupported.ts";
import {
  type CommandContext,
  type CommandResult,
  failure,
  flagOn,
  flagText,
  type Handler,
  type Parsed,
} from "../context.ts";
import { hostRefusal } from "../host-refusal.ts";
import { ownCommand, scriptOf } from "../own-command.ts";
import { planFlags } from "../plan-flags.ts";
import { resumeRun } from "../resume-run.ts";
import { attachAndReport, onceCoordinated, summaryOf } from "../run-access.ts";

export const handler: Handler = async (ctx, parsed) => {
  const refused = hostRefusal(ctx.env);
  if (refused !== null) return refused;
  const resume = flagText(parsed, "resume");
  if (resume !== undefined)
    return resumeRun(ctx, parsed, { which: resume, retry: [], base: null, detach: flagOn(parsed, "detach") });
  const spec = parsed.args[0];
  if (spec === undefined) return noSpec("`run` takes a job spec, or --resume RUN.");
  if (!existsSync(resolve(ctx.env.cwd, spec)))
    return noSpec(`There is no file \`${spec}\`. \`run\` takes a job spec, not a task in words.`);
  return runSpec(ctx, parsed, spec);
};

const noSpec = (message: string): CommandResult =>
  failure(EXIT.usage, [
    {
      severity: "error",
      code: "spec-not-found",
      message,
      fix: "Write the task down as a spec first: `init --out jobs.yaml`, fill it in, `validate jobs.yaml`, then `run jobs.yaml`.",
    },
  ]);

async function runSpec(ctx: CommandContext, parsed: Parsed, spec: string): Promise<CommandResult> {
  const { planned, diagnostics } = await planSpec({
    path: spec,
    env: ctx.env,
    clock: ctx.clock,
    script: scriptOf(ctx),
    run: true,
    flags: planFlags(ctx.env, parsed),
  });
  if (planned === null) return failure(EXIT.usage, diagnostics);
  const unsupported = unsupportedFields(planned.loaded.spec, {
    fileName: spec,
    locate: planned.loaded.locate,
  });
  if (hasErrors(unsupported)) return failure(EXIT.usage, [...diagnostics, ...unsupported]);
  const prepared = prepareRun({
    planned,
    requestedDir: flagText(parsed, "run-dir") ?? null,
    cwd: ctx.env.cwd,
    clock: ctx.clock,
  });
  if (!prepared.ok)
    return failure(prepared.error.code === "run-dir-exists" ? EXIT.usage : EXIT.environment, [
      {
        severity: "error",
        code: prepared.error.code,
        message: prepared.error.message,
        fix: prepared.error.fix,
      },
    ]);
  const { runDir } = prepared.value;
  const coordinator = startCoordinator({ runDir, self: ctx.self, env: ctx.env });
  const view = viewRun({ runDir, script: scriptOf(ctx) });
  if (!view.ok)
    return failure(EXIT.environment, [
      { severity: "error", code: view.error.code, message: view.error.message },
    ]);
  const notes = diagnostics.filter((d) => d.severity !== "info");
  const leaves =
    flagOn(parsed, "detach") &&
    (await untilCoordinated({ runDir, coordinator, clock: ctx.clock })) === "owned";
  if (leaves)
    return {
      exitCode: EXIT.done,
      data: summaryOf(view.value),
      text: `${runDir}\nruns in the background: ${ownCommand(ctx, "wait", runDir)}`,
      diagnostics: notes,
      next: onceCoordinated(ctx, view.value),
    };
  ctx.out.progress(`run directory: ${runDir}`);
  const result = await attachAndReport(ctx, { view: view.value, until: "due", timeoutMs: null, coordinator });
  return { ...result, diagnostics: [...notes, ...result.diagnostics] };
}
