/** Checks of single values: type, closed list, bounds, length and form, each with a message for people. */
import { didYouMean } from "./did-you-mean.ts";
import type { Path } from "./fault.ts";
import type { ReadDocument } from "./read-yaml.ts";
import { described, fieldLabel, oneOf, quoted } from "./shown.ts";
import type { SpecCode } from "./spec-codes.ts";

export interface CheckContext {
  readonly document: ReadDocument;
  /** "the spec": what the file as a whole is. */
  readonly whole: string;
  /** Called for each value that is wrong in itself, not for its parents. */
  readonly onBad: (path: Path) => void;
}

/** Says how text of a definition that does not match its pattern is reported. */
export interface FormatWords {
  readonly code: SpecCode;
  readonly expected: string;
}

export type NodeCheck = (value: unknown, path: (string | number)[], context: CheckContext) => boolean;
export type Keywords = Record<string, unknown>;

export type TypeName = "string" | "integer" | "number" | "boolean" | "array" | "object";

export const TYPE_WORDS: Readonly<Record<TypeName, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "`true` or `false`",
  array: "a list",
  object: "a map",
};

export function matchesType(value: unknown, type: TypeName): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

export function compileScalar(schema: Keywords, format: FormatWords | undefined): NodeCheck {
  const types = [schema["type"]].flat() as TypeName[];
  const allowed = "const" in schema ? [schema["const"]] : (schema["enum"] as readonly unknown[] | undefined);
  const expected =
    format?.expected ??
    (allowed === undefined ? types.map((type) => TYPE_WORDS[type]).join(" or ") : oneOf(allowed));
  const pattern = typeof schema["pattern"] === "string" ? new RegExp(schema["pattern"], "u") : null;
  const limits = schema as {
    minimum?: number;
    maximum?: number;
    exclusiveMinimum?: number;
    minLength?: number;
    maxLength?: number;
  };

  return (value, path, context) => {
    if (!types.some((type) => matchesType(value, type))) return wrongType(expected, value, path, context);
    if (allowed !== undefined && !allowed.includes(value)) return notAllowed(allowed, value, path, context);
    if (typeof value === "number") return inRange(limits, value, path, context);
    if (typeof value !== "string") return true;
    if (!hasLength(limits, value, path, context)) return false;
    if (pattern !== null && !pattern.test(value)) return badFormat(format, value, path, context);
    warnOfWord(value, path, context);
    return true;
  };
}

export function wrongType(expected: string, value: unknown, path: Path, context: CheckContext): false {
  const source = context.document.plainSource(path);
  return bad(context, path, {
    code: "wrong-type",
    message: `${fieldLabel(path, context.whole)} must be ${expected}, but is ${described(value, source)}`,
    fix: typeFix(expected, value, source),
  });
}

function typeFix(expected: string, value: unknown, source: string | null): string | undefined {
  if (value === null || value === undefined) return "give it a value, or remove the key";
  if (expected.includes("duration") && typeof value === "number")
    return `add a unit: \`${source ?? value}s\` or \`${source ?? value}m\``;
  if (expected === TYPE_WORDS.boolean && typeof value === "string")
    return /^(?:no|n|off|false)$/i.test(value)
      ? "write `false`"
      : /^(?:yes|y|on|true)$/i.test(value)
        ? "write `true`"
        : undefined;
  if (expected === TYPE_WORDS.array && typeof value === "string")
    return `write a list: ${quoted(`[${JSON.stringify(value)}]`)}`;
  if (expected === TYPE_WORDS.array && typeof value === "object") return "start each entry with `- `";
  if (/number/.test(expected) && typeof value === "string" && /^-?[0-9]+(?:\.[0-9]+)?$/.test(value))
    return "remove the quotes";
  if (typeof value === "number" || typeof value === "boolean")
    return `quote it: \`"${source ?? String(value)}"\``;
  return undefined;
}

/** "did you mean ...?", or else. */
export const suggestion = <T extends string | undefined>(meant: string | null, otherwise: T): string | T =>
  meant === null ? otherwise : `did you mean \`${meant}\`?`;

function notAllowed(allowed: readonly unknown[], value: unknown, path: Path, context: CheckContext): false {
  const meant = () => (typeof value === "string" ? didYouMean(value, allowed.map(String)) : null);
  const only = allowed.length === 1 ? `write \`${String(allowed[0])}\`` : undefined;
  return bad(context, path, {
    code: "not-allowed-value",
    message: `${fieldLabel(path, context.whole)} must be ${oneOf(allowed)}, but is ${described(value, null)}`,
    fix: () => suggestion(meant(), only),
  });
}

function inRange(
  limits: { minimum?: number; maximum?: number; exclusiveMinimum?: number },
  value: number,
  path: Path,
  context: CheckContext,
): boolean {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = limits;
  if (value >= minimum && value <= maximum && value > exclusiveMinimum) return true;
  const expected =
    exclusiveMinimum !== -Infinity
      ? `greater than ${exclusiveMinimum}`
      : maximum === Infinity
        ? `at least ${minimum}`
        : `between ${minimum} and ${maximum}`;
  return bad(context, path, {
    code: "out-of-range",
    message: `${fieldLabel(path, context.whole)} must be ${expected}, but is ${value}`,
    fix:
      value > maximum
        ? `write ${maximum} or less`
        : minimum === -Infinity
          ? undefined
          : `write ${minimum} or more`,
  });
}

function hasLength(
  limits: { minLength?: number; maxLength?: number },
  value: string,
  path: Path,
  context: CheckContext,
): boolean {
  const { minLength = 0, maxLength = Infinity } = limits;
  if (value.length >= 2 * minLength && value.length <= maxLength) return true;
  const length = [...value].length;
  if (length >= minLength && length <= maxLength) return true;
  const label = fieldLabel(path, context.whole);
  if (length > maxLength)
    return bad(context, path, {
      code: "too-long",
      message: `${label} must have at most ${maxLength} characters, but has ${length}`,
    });
  return bad(context, path, {
    code: "too-short",
    message:
      length === 0
        ? `${label} is empty`
        : `${label} must have at least ${minLength} characters, but has ${length}`,
    fix: length === 0 ? "give it some text, or remove the key" : "say more, or give a `command`",
  });
}

function badFormat(format: FormatWords | undefined, value: string, path: Path, context: CheckContext): false {
  return bad(context, path, {
    code: format?.code ?? "bad-format",
    message: `${fieldLabel(path, context.whole)} must be ${format?.expected ?? "in another form"}, but is ${quoted(value)}`,
  });
}

/** These are text here, and true or false for tools that read YAML 1.1. */
const WORDS_OF_1_1 = /^(?:yes|no|on|off)$/i;

function warnOfWord(value: string, path: Path, context: CheckContext): void {
  if (value.length > 3 || !WORDS_OF_1_1.test(value) || context.document.plainSource(path) === null) return;
  context.document.report.add({
    code: "ambiguous-word",
    path: [...path],
    place: () => context.document.locate(path),
    message: `${fieldLabel(path, context.whole)} is the text ${quoted(value)}, which older YAML reads as true or false`,
    fix: `quote it: \`"${value}"\``,
  });
}

interface BadValue {
  readonly code: SpecCode;
  readonly message: string;
  readonly fix?: string | (() => string | undefined) | undefined;
  readonly related?: readonly {
    readonly message: string;
    readonly place: () => { line: number; column: number };
  }[];
}

/** Reports a value that is wrong in itself. Always false, so that a check can end with it. */
export function bad(context: CheckContext, path: Path, finding: BadValue): false {
  const place = [...path];
  context.onBad(place);
  context.document.report.add({ ...finding, path: place, place: () => context.document.locate(place) });
  return false;
}
