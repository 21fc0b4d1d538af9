/** One renderer per generated block. Each derives from the table in the code that owns the fact. */
import { COMMANDS, type CommandGroup, GROUP_TITLES } from "../../src/cli/commands.ts";
import { EXIT_MEANING } from "../../src/core/exit-codes.ts";
import { POLICY, type PolicyConstant } from "../../src/core/policy.ts";
import { FAILURE_RULES, type FailureRule, REOPENABLE_BLOCKS } from "../../src/core/runtime.ts";
import { describe, flagUsage } from "./help.ts";

/** Block id → Markdown. */
export const TABLES: Readonly<Record<string, () => string>> = {
  "exit-codes": () => table(["code", "meaning"], Object.entries(EXIT_MEANING)),
  "command-list": commandList,
  "command-reference": commandReference,
  "failure-classes": failureClasses,
  "reopenable-blocks": () =>
    table(
      ["blocked because", "action that lifts it"],
      Object.entries(REOPENABLE_BLOCKS).map(([block, action]) => [code(block), code(action)]),
    ),
  ...constantTables(),
};

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export const code = (text: string): string => `\`${text}\``;

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
    const note = spec.readOnly ? " Writes nothing." : "";
    const parts = [
      `### ${spec.name}`,
      `${sentence(spec.summary)}${note} Exit codes: ${spec.exitCodes.join(", ")}.`,
    ];
    if (rows.length > 0) parts.push(table(["argument or flag", "meaning"], rows));
    return parts.join("\n\n");
  }).join("\n\n");
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function failureClasses(): string {
  const yes = (value: boolean): string => (value ? "yes" : "no");
  return table(
    ["class", "group", "retry", "promote", "attempt reads", "job ends as"],
    Object.entries(FAILURE_RULES as Readonly<Record<string, FailureRule>>).map(([name, rule]) => [
      code(name),
      rule.group,
      yes(rule.retry),
      yes(rule.promote),
      rule.attemptEndsAs,
      rule.endsAs,
    ]),
  );
}

/** `constants:OWNER` for each document that owns policy numbers. */
function constantTables(): Record<string, () => string> {
  const all = Object.entries(POLICY as Readonly<Record<string, PolicyConstant>>);
  const owners = [...new Set(all.map(([, constant]) => constant.owner))];
  return Object.fromEntries(
    owners.map((owner) => [
      `constants:${owner}`,
      () =>
        table(
          ["constant", "value", "unit", "why"],
          all
            .filter(([, constant]) => constant.owner === owner)
            .map(([name, constant]) => [code(name), String(constant.value), constant.unit, constant.reason]),
        ),
    ]),
  );
}
