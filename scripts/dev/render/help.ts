/** Help texts from the command table. Rendered at build time, so that `--help` loads neither table nor renderer. */
import {
  COMMANDS,
  type CommandGroup,
  type CommandSpec,
  type FlagSpec,
  GLOBAL_FLAGS,
  GROUP_TITLES,
} from "../../src/cli/commands.ts";
import { EXIT_MEANING } from "../../src/core/exit-codes.ts";

export const TOOL = "node <skill-dir>/scripts/orchestrate.mjs";

/** Topic → text; "" is the tool's own help, `native` a group's. */
export function helpTexts(version: string): Readonly<Record<string, string>> {
  const texts: Record<string, string> = { "": toolHelp(version) };
  for (const spec of COMMANDS) {
    texts[spec.name] = commandHelp(spec);
    const [group, second] = spec.name.split(" ");
    if (group !== undefined && second !== undefined) texts[group] ??= groupHelp(group);
  }
  return texts;
}

function toolHelp(version: string): string {
  const lines = [
    `orchestrate ${version}: staged and parallel jobs over coding agents, verified before they count as done.`,
    "",
    `Usage: ${TOOL} COMMAND [--json]`,
    "",
  ];
  for (const group of Object.keys(GROUP_TITLES) as CommandGroup[]) {
    lines.push(`${GROUP_TITLES[group]}:`);
    const rows = COMMANDS.filter((spec) => spec.group === group);
    lines.push(...columns(rows.map((spec) => [spec.name, spec.summary])), "");
  }
  lines.push("RUN is a run directory, a run id, or absent: the newest run.", "");
  lines.push("Exit codes:", ...exitRows(Object.keys(EXIT_MEANING).map(Number)), "");
  lines.push("`COMMAND --help` shows flags and an example. --version prints the version.");
  return ending(lines);
}

function groupHelp(group: string): string {
  const rows = COMMANDS.filter((spec) => spec.name.startsWith(`${group} `));
  return ending([
    `Usage: ${TOOL} ${group} SUBCOMMAND`,
    "",
    ...columns(rows.map((spec) => [spec.name, spec.summary])),
    "",
    `\`${group} SUBCOMMAND --help\` shows flags and an example.`,
  ]);
}

function writesNothing({ readOnly, writesWith }: CommandSpec): string {
  if (!readOnly) return "";
  return writesWith === undefined ? " (writes nothing)" : ` (writes nothing without ${writesWith})`;
}

function commandHelp(spec: CommandSpec): string {
  const lines = [`${spec.name}: ${spec.summary}${writesNothing(spec)}`, "", usageLine(spec), ""];
  if (spec.args.length > 0)
    lines.push("Arguments:", ...columns(spec.args.map((arg) => [arg.name, describe(arg)])), "");
  lines.push(
    "Flags:",
    ...columns([...spec.flags, ...GLOBAL_FLAGS].map((flag) => [flagUsage(flag), describe(flag)])),
    "",
  );
  lines.push(
    "Example:",
    `  ${TOOL} ${spec.example.argv.map(shown).join(" ")}`,
    `  ${spec.example.shows}`,
    "",
  );
  lines.push("Exit codes:", ...exitRows(spec.exitCodes));
  return ending(lines);
}

function usageLine(spec: CommandSpec): string {
  const args = spec.args.map((arg) => {
    const name = arg.repeat === true ? `${arg.name}…` : arg.name;
    return arg.required ? name : `[${name}]`;
  });
  return ["Usage:", TOOL, spec.name, ...args, "[flags]"].join(" ");
}

export function flagUsage(flag: FlagSpec): string {
  const { type } = flag;
  if (type.kind === "boolean") return `--${flag.name}`;
  const value = type.kind === "choice" ? type.values.join("|") : type.placeholder;
  return `--${flag.name} ${value}`;
}

/** Description of a flag or an argument with its values and default. */
export function describe(item: {
  readonly description: string;
  readonly default?: string;
  readonly values?: readonly string[];
}): string {
  const values = item.values === undefined ? "" : `: ${item.values.join(", ")}`;
  const fallback = item.default === undefined ? "" : ` (default ${item.default})`;
  return `${item.description}${values}${fallback}`;
}

const exitRows = (codes: readonly number[]): string[] =>
  columns(codes.map((code) => [String(code), EXIT_MEANING[code as keyof typeof EXIT_MEANING]]));

/** Quoted only where a shell would split or expand it. */
const shown = (arg: string): string => (/^[\w./:=@%+<>-]+$/.test(arg) ? arg : `"${arg}"`);

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const wide = Math.min(34, Math.max(...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) =>
    left.length > wide ? `  ${left}\n  ${" ".repeat(wide)}  ${right}` : `  ${left.padEnd(wide)}  ${right}`,
  );
}

const ending = (lines: readonly string[]): string => `${lines.join("\n").trimEnd()}\n`;
