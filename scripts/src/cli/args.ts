/** argv against the command table: what to run with which values, or every usage fault at once. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Diagnostic } from "../core/diagnostic.ts";
import { type ArgSpec, COMMANDS, type CommandSpec, type FlagSpec, GLOBAL_FLAGS } from "./commands.ts";
import type { Parsed } from "./context.ts";
import { suggest } from "./suggest.ts";

export type Request =
  | { readonly kind: "command"; readonly spec: CommandSpec; readonly parsed: Parsed; readonly json: boolean }
  | { readonly kind: "help"; readonly command: string }
  | {
      readonly kind: "usage";
      readonly command: string;
      readonly json: boolean;
      readonly diagnostics: readonly Diagnostic[];
    };

/** Total: any argument vector gives a request. */
export function parseRequest(argv: readonly string[]): Request {
  const json = argv.includes("--json");
  const lead = argv.findIndex((arg) => arg !== "--json");
  const words = lead === -1 ? [] : argv.slice(lead);
  const found = findCommand(words);
  if (found === null) return { kind: "usage", command: "", json, diagnostics: [unknownCommand(words)] };
  const { spec, rest } = found;
  const flags = [...spec.flags, ...GLOBAL_FLAGS];
  const { values, positionals, faults } = readTokens(rest, flags);
  if (values["help"] === true) return { kind: "help", command: spec.name };
  const hint = `see \`${spec.name} --help\``;
  if (!faults.some((fault) => fault.code === "unknown-flag"))
    faults.push(...checkPositionals(spec.args, positionals));
  if (faults.length > 0)
    return {
      kind: "usage",
      command: spec.name,
      json,
      diagnostics: faults.map((fault) => ({ ...fault, fix: fault.fix ?? hint })),
    };
  return { kind: "command", spec, parsed: { args: positionals, flags: values }, json };
}

function findCommand(
  words: readonly string[],
): { readonly spec: CommandSpec; readonly rest: readonly string[] } | null {
  const two = words.slice(0, 2).join(" ");
  for (const spec of COMMANDS) {
    if (spec.name === two && spec.name.includes(" ")) return { spec, rest: words.slice(2) };
    if (spec.name === words[0]) return { spec, rest: words.slice(1) };
  }
  return null;
}

function unknownCommand(words: readonly string[]): Diagnostic {
  const [first = "", second = ""] = words;
  const fault = (message: string, fix: string): Diagnostic => ({
    severity: "error",
    code: "unknown-command",
    message,
    fix,
  });
  const subcommands = COMMANDS.filter((spec) => spec.name.startsWith(`${first} `));
  if (subcommands.length > 0) {
    const names = subcommands.map((spec) => spec.name.slice(first.length + 1));
    const asked = second === "" ? `\`${first}\` needs a subcommand` : `\`${first}\` has no \`${second}\``;
    return fault(
      asked,
      suggest(second, names, (name) => `${first} ${name}`),
    );
  }
  if (first === "") return fault("no command was given", "see `--help`");
  if (first === "--resume") return fault("`--resume` is a flag of `run`", "`resume RUN`");
  if (/\.(ya?ml|json)$/.test(first)) return fault(`\`${first}\` is no command`, `\`run ${first}\``);
  if (/\s/.test(first)) return fault("free text is no command", "write a job spec (`init`), then `run` it");
  const names = COMMANDS.map((spec) => spec.name);
  return fault(`\`${first}\` is no command`, suggest(first, names));
}

interface Tokens {
  readonly values: Record<string, string | boolean | readonly string[] | undefined>;
  readonly positionals: string[];
  readonly faults: Diagnostic[];
}

function readTokens(rest: readonly string[], flags: readonly FlagSpec[]): Tokens {
  const { tokens } = parseArgs({
    args: [...rest],
    options: optionsOf(flags),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const result: Tokens = { values: {}, positionals: [], faults: [] };
  for (const token of tokens) {
    if (token.kind === "positional") result.positionals.push(token.value);
    if (token.kind !== "option") continue;
    const spec = flags.find((flag) => flag.name === token.name);
    const fault =
      spec === undefined
        ? unknownFlag(token.rawName, flags)
        : takeValue(result.values, spec, { value: token.value, inline: token.inlineValue === true, flags });
    if (fault !== null) result.faults.push(fault);
  }
  return result;
}

function optionsOf(flags: readonly FlagSpec[]): NonNullable<ParseArgsConfig["options"]> {
  return Object.fromEntries(
    flags.map((flag) => [
      flag.name,
      {
        type: flag.type.kind === "boolean" ? ("boolean" as const) : ("string" as const),
        multiple: true,
        ...(flag.name === "help" ? { short: "h" } : {}),
      },
    ]),
  );
}

function takeValue(
  values: Tokens["values"],
  spec: FlagSpec,
  given: {
    readonly value: string | undefined;
    readonly inline: boolean;
    readonly flags: readonly FlagSpec[];
  },
): Diagnostic | null {
  const shown = `\`--${spec.name}\``;
  if (spec.type.kind === "boolean") {
    if (given.value !== undefined) return usage("flag-value-unexpected", `${shown} takes no value`);
    values[spec.name] = true;
    return null;
  }
  const swallowed = !given.inline && given.flags.some((flag) => `--${flag.name}` === given.value);
  if (given.value === undefined || given.value === "" || swallowed)
    return usage("flag-value-missing", `${shown} needs a value: ${expected(spec)}`);
  const problem = valueProblem(spec, given.value);
  if (problem !== null) return problem;
  const before = values[spec.name];
  if (spec.repeat === true) values[spec.name] = [...(Array.isArray(before) ? before : []), given.value];
  else if (before !== undefined) return usage("flag-repeated", `${shown} may be given once`);
  else values[spec.name] = given.value;
  return null;
}

const DURATION = /^(?=\d)(?:\d+h)?(?:\d+m)?(?:\d+s)?$/;
const INTEGER = /^\d{1,16}$/;

function valueProblem(spec: FlagSpec, value: string): Diagnostic | null {
  const bad = (fix?: string): Diagnostic => ({
    ...usage("flag-value-invalid", `\`--${spec.name}\` must be ${expected(spec)}, not \`${value}\``),
    ...(fix === undefined ? {} : { fix }),
  });
  switch (spec.type.kind) {
    case "choice":
      return spec.type.values.includes(value)
        ? null
        : bad(suggest(value, spec.type.values, (v) => `--${spec.name} ${v}`));
    case "integer": {
      const number = Number(value);
      return INTEGER.test(value) && number >= spec.type.min && number <= spec.type.max ? null : bad();
    }
    case "duration":
      return DURATION.test(value) ? null : bad();
    default:
      return null;
  }
}

/** What a flag takes, in words: for messages. */
function expected(spec: FlagSpec): string {
  switch (spec.type.kind) {
    case "choice":
      return `one of ${spec.type.values.map((value) => `\`${value}\``).join(", ")}`;
    case "integer":
      return spec.type.max >= Number.MAX_SAFE_INTEGER
        ? `a whole number of at least ${spec.type.min}`
        : `a whole number from ${spec.type.min} to ${spec.type.max}`;
    case "duration":
      return "a time such as `90s`, `10m` or `1h30m`";
    case "text":
      return spec.type.placeholder;
    default:
      return "no value";
  }
}

function unknownFlag(raw: string, flags: readonly FlagSpec[]): Diagnostic {
  const fix = suggest(
    raw,
    flags.map((flag) => `--${flag.name}`),
  );
  return { ...usage("unknown-flag", `\`${raw}\` is no flag of this command`), fix };
}

function checkPositionals(specs: readonly ArgSpec[], given: readonly string[]): Diagnostic[] {
  const faults: Diagnostic[] = [];
  specs.forEach((spec, index) => {
    const value = given[index];
    if (value === undefined) {
      if (spec.required)
        faults.push(usage("argument-missing", `${spec.name} is missing: ${spec.description}`));
    } else if (spec.values !== undefined && !spec.values.includes(value)) {
      const list = spec.values.map((name) => `\`${name}\``).join(", ");
      faults.push({
        ...usage("argument-invalid", `${spec.name} must be one of ${list}, not \`${value}\``),
        fix: suggest(value, spec.values),
      });
    }
  });
  const surplus = specs.at(-1)?.repeat === true ? undefined : given[specs.length];
  if (surplus !== undefined) faults.push(usage("argument-unexpected", `unexpected argument \`${surplus}\``));
  return faults;
}

const usage = (code: string, message: string): Diagnostic => ({ severity: "error", code, message });
