import { coordinate } from "../../coordinator/coordinate.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { runnable } from "../../core/tool-word.ts";
import { expectForks } from "../../host/often-forked.ts";
import type { HiddenHandler } from "../context.ts";
import { scriptOf } from "../own-command.ts";

/** `__coordinate RUNDIR [--resume [--harness NAME [--subagents]]]`: started by `run`, `resume` and the answers, never by hand. stderr is the run's coordinator.log. */
export const handler: HiddenHandler = async (ctx, argv) => {
  const runDir = argv[0];
  if (runDir === undefined) return EXIT.usage;
  expectForks();
  return coordinate({
    runDir,
    env: ctx.env,
    clock: ctx.clock,
    self: ctx.self,
    resume: argv.includes("--resume"),
    harness: harnessArg(argv),
    log: (line) => ctx.out.progress(runnable(line, scriptOf(ctx))),
  });
};

function harnessArg(argv: readonly string[]): { name: string; subagents: boolean } | null {
  const at = argv.indexOf("--harness");
  const name = at === -1 ? undefined : argv[at + 1];
  return name === undefined ? null : { name, subagents: argv.includes("--subagents") };
}
