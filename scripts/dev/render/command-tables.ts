/** Tables from the command table and the exit codes. */
import { COMMANDS, type CommandGroup, GROUP_TITLES } from "../../src/cli/commands.ts";
import { EXIT_MEANING } from "../../src/core/exit-codes.ts";
import { describe, flagUsage } from "./help.ts";
import { code, sentence, table } from "./markdown.ts";

export const COMMAND_TABLES: Readonly<Record<string, () => string>> = {
  "exit-codes": () => table(["code", "meaning"], Object.entries(EXIT_MEANING)),
  "command-list": commandList,
  "command-reference": commandReference,
  "read-only-commands": () =>
    COMMANDS.filter((spec) => spec.readOnly)
      .map(
        (spec) => code(spec.name) + (spec.writesWith === undefined ? "" : ` without \`${spec.writesWith}\``),
      )
      .join(", "),
};

function commandList(): string {
  const rows = (Object.keys(GROUP_TITLES) as CommandGroup[]).flatMap((group) =>
    COMMANDS.filter((spec) => spec.group === group).map((spec) => [
      code([spec.name, ...spec.args.map((arg) => (arg.required ? arg.name : `[${arg.name}]`))].join(" ")),
      spec.summary,
    ]),
  );
  return table(["command", "does"], rows);
}

function commandReference(): string {
  return COMMANDS.map((spec) => {
    const rows = [
      ...spec.args.map((arg) => [code(arg.name), describe(arg)]),
      ...spec.flags.map((flag) => [code(flagUsage(flag)), describe(flag)]),
    ];
    const without = spec.writesWith === undefined ? "" : ` without \`${spec.writesWith}\``;
    const note = spec.readOnly ? ` Writes nothing${without}.` : "";
    const parts = [
      `### ${spec.name}`,
      `${sentence(spec.summary)}${note} Exit codes: ${spec.exitCodes.join(", ")}.`,
    ];
    if (rows.length > 0) parts.push(table(["argument or flag", "meaning"], rows));
    return parts.join("\n\n");
  }).join("\n\n");
}
