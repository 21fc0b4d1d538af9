/** What a command handler gets and gives back. Handlers decide and act; only `output.ts` prints, only `main.ts` exits. */
import type { Diagnostic, NextAction } from "../core/diagnostic.ts";
import type { ExitCode } from "../core/exit-codes.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import type { Output } from "./output.ts";

export interface CommandContext {
  readonly env: Environment;
  readonly clock: Clock;
  /** argv prefix that starts this tool again: node, its options, the main file. */
  readonly self: readonly string[];
  readonly out: Output;
}

export interface Parsed {
  /** Positional arguments, in order, as many as the command table allows. */
  readonly args: readonly string[];
  /** By long name without dashes. Values are checked against the table but stay text. */
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

export interface CommandResult {
  readonly exitCode: ExitCode;
  /** Goes into the JSON document; ignored after a command has streamed lines. */
  readonly data: unknown;
  /** For people, on stdout; "" prints nothing. */
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  readonly next: readonly NextAction[];
}

export type Handler = (ctx: CommandContext, parsed: Parsed) => Promise<CommandResult>;

/** A command that is part of the tool's own machinery: it takes the raw arguments and owns its output. */
export type HiddenHandler = (ctx: CommandContext, argv: readonly string[]) => Promise<ExitCode>;

/** A flag's text, or undefined when it was not given. */
export function flagText(parsed: Parsed, name: string): string | undefined {
  const value = parsed.flags[name];
  return typeof value === "string" ? value : undefined;
}

export const flagOn = (parsed: Parsed, name: string): boolean => parsed.flags[name] === true;

/** All values of a repeatable flag, in the order given. */
export function flagList(parsed: Parsed, name: string): readonly string[] {
  const value = parsed.flags[name];
  return Array.isArray(value) ? value : [];
}

/** An integer flag (the table has checked its form and bounds), or undefined. */
export function flagInteger(parsed: Parsed, name: string): number | undefined {
  const value = flagText(parsed, name);
  return value === undefined ? undefined : Number(value);
}

/** A result that holds only faults. */
export const failure = (exitCode: ExitCode, diagnostics: readonly Diagnostic[]): CommandResult => ({
  exitCode,
  data: null,
  text: "",
  diagnostics,
  next: [],
});
