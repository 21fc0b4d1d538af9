import { flagList, flagOn, flagText, type Handler } from "../context.ts";
import { resumeRun } from "../resume-run.ts";

export const handler: Handler = async (ctx, parsed) =>
  resumeRun(ctx, parsed, {
    which: parsed.args[0],
    retry: flagList(parsed, "retry"),
    base: flagText(parsed, "base") ?? null,
    detach: flagOn(parsed, "detach"),
  });
