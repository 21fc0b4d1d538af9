import { EXIT } from "../../core/exit-codes.ts";
import { failure, type Handler } from "../context.ts";
import { schemaNames, schemaText } from "../payload.ts";
import { suggest } from "../suggest.ts";

export const handler: Handler = async (_ctx, parsed) => {
  const names = schemaNames();
  const name = parsed.args[0];
  if (name === undefined)
    return { exitCode: EXIT.done, data: { names }, text: names.join("\n"), diagnostics: [], next: [] };
  if (!names.includes(name))
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "argument-invalid",
        message: `there is no schema \`${name}\``,
        fix: suggest(name, names),
      },
    ]);
  const text = schemaText(name);
  return {
    exitCode: EXIT.done,
    data: { name, schema: JSON.parse(text) },
    text,
    diagnostics: [],
    next: [],
  };
};
