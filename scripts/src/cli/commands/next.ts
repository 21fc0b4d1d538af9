import { EXIT } from "../../core/exit-codes.ts";
import type { Handler } from "../context.ts";
import { openRun, summaryOf } from "../run-access.ts";

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const { state, actions, omitted } = run.value;
  return {
    exitCode: EXIT.done,
    data: { ...summaryOf(run.value), ...(omitted > 0 ? { omitted } : {}) },
    text: `${state.status}${state.reason === null ? "" : `: ${state.reason}`}`,
    diagnostics: [],
    next: actions,
  };
};
