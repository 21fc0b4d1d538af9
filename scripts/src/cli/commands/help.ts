import { EXIT } from "../../core/exit-codes.ts";
import { type CommandResult, failure, type Handler } from "../context.ts";
import { helpTexts } from "../help-texts.ts";
import { suggest } from "../suggest.ts";

export const handler: Handler = async (_ctx, parsed) => helpResult(parsed.args.join(" "));

/** Prepared help of a command or of a group of commands; "" is the tool's own. */
export function helpResult(topic: string): CommandResult {
  const texts = helpTexts();
  const text = texts.get(topic);
  if (text === undefined)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "unknown-command",
        message: `\`${topic}\` is no command`,
        fix: suggest(topic, [...texts.keys()]),
      },
    ]);
  return { exitCode: EXIT.done, data: { topic, text }, text, diagnostics: [], next: [] };
}
