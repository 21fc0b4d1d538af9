import { coordinate } from "../../coordinator/coordinate.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { HiddenHandler } from "../context.ts";

/** `__coordinate RUNDIR [--resume]`: started by `run`, `resume` and the answers, never by hand. stderr is the run's coordinator.log. */
export const handler: HiddenHandler = async (ctx, argv) => {
  const runDir = argv[0];
  if (runDir === undefined) return EXIT.usage;
  return coordinate({
    runDir,
    env: ctx.env,
    clock: ctx.clock,
    self: ctx.self,
    resume: argv.includes("--resume"),
    log: (line) => ctx.out.progress(line),
  });
};
