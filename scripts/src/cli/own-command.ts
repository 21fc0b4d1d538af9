/** A command of this tool as one line to paste: what every fix that names a command shows. */
import { quoteShell } from "../core/shell-quote.ts";
import type { CommandContext } from "./context.ts";

/** Path of orchestrate.mjs as it was started. */
export const scriptOf = (ctx: Pick<CommandContext, "self">): string => ctx.self.at(-1) ?? "orchestrate.mjs";

/** `ownCommand(ctx, "resume", runDir)` → `node /path/orchestrate.mjs resume /path/run`, quoted where a shell needs it. */
export const ownCommand = (ctx: Pick<CommandContext, "self">, ...argv: readonly string[]): string =>
  ["node", scriptOf(ctx), ...argv].map((part) => quoteShell(part)).join(" ");
