import { checkSpec } from "../../coordinator/check-spec.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) => {
  const path = parsed.args[0] ?? "";
  const { summary, diagnostics } = await checkSpec({ path, env: ctx.env, clock: ctx.clock });
  const count = (severity: string): number => diagnostics.filter((d) => d.severity === severity).length;
  const data = { spec: path, valid: summary !== null, errors: count("error"), warnings: count("warning") };
  if (summary === null) return { exitCode: EXIT.usage, data, text: "", diagnostics, next: [] };
  const { jobs, stages } = summary;
  return {
    exitCode: EXIT.done,
    data: { ...data, jobs, stages },
    text: `${path} is valid: ${counted(jobs, "job")} in ${counted(stages, "stage")}`,
    diagnostics,
    next: [],
  };
};

const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
