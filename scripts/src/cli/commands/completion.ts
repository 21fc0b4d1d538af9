import { EXIT } from "../../core/exit-codes.ts";
import { completionScript, type Shell } from "../completion.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) => {
  const shell = parsed.args[0] as Shell;
  const script = completionScript(shell, ctx.self);
  return { exitCode: EXIT.done, data: { shell, script }, text: script, diagnostics: [], next: [] };
};
