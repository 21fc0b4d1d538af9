/** JSON text to a plain value; errors, and places on demand, come from a fault-tolerant reader. */
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { SPEC_LIMITS } from "../core/policy.ts";
import { type Fault, MAX_READ_FAULTS, type Path } from "./fault.ts";
import { endOfString, findKeyFaults, outlineJson } from "./json-scan.ts";
import { textFault } from "./yaml-value.ts";

export interface JsonValue {
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Offset of the value at a path, or of its nearest ancestor; with `key`, of the last step's key. */
  readonly offsetOf: (path: Path, key: boolean) => number;
}

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: true } as const;

export function readJson(text: string): JsonValue {
  const outline = outlineJson(text);
  if (outline.tooDeepAt !== -1)
    return { value: undefined, faults: [tooDeep(outline.tooDeepAt)], offsetOf: () => 0 };
  const offsetOf = createLookup(text, outline.jobs);
  if (text.trim() === "") return { value: undefined, faults: [], offsetOf };
  try {
    const value: unknown = JSON.parse(text);
    // A key fewer in the value than in the text was overwritten by one of the same name.
    const lost = countKeys(value) !== outline.keys;
    return { value, faults: [...(lost ? findKeyFaults(text) : []), ...escapedFaults(text)], offsetOf };
  } catch {
    return { value: undefined, faults: syntaxFaults(text), offsetOf };
  }
}

const tooDeep = (offset: number): Fault => ({
  code: "too-deep",
  offset,
  message: `this is nested deeper than ${SPEC_LIMITS.maxDepth} levels`,
  fix: "no field needs that depth; close the lists and objects that were left open",
});

/** Own keys of the value and of everything in it; a forbidden one is left out, so that the counts differ. */
function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const key in value) {
    if (key !== "__proto__") count += 1;
    count += countKeys((value as Record<string, unknown>)[key]);
  }
  return count;
}

/** Only an escape can put NUL or half a pair into a text that is UTF-8 and free of control characters. */
function escapedFaults(text: string): Fault[] {
  const faults: Fault[] = [];
  if (!ESCAPE.test(text)) return faults;
  for (let open = text.indexOf('"'); open !== -1 && faults.length < MAX_READ_FAULTS; ) {
    const end = endOfString(text, open);
    const literal = text.slice(open, end);
    const fault = ESCAPE.test(literal) ? textFault(JSON.parse(literal) as string, open) : null;
    if (fault !== null) faults.push(fault);
    open = text.indexOf('"', end);
  }
  return faults;
}

const ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

function syntaxFaults(text: string): Fault[] {
  const errors: ParseError[] = [];
  parseTree(text, errors, STRICT);
  if (errors.length === 0)
    return [
      { code: "json-syntax", offset: 0, message: "this is not JSON", fix: "check it with a JSON editor" },
    ];
  return firstOfEachLine(text, errors)
    .slice(0, MAX_READ_FAULTS)
    .map((error) => syntaxFault(text, error));
}

/** What follows on the same line is nearly always a consequence of the first. */
function firstOfEachLine(text: string, errors: readonly ParseError[]): ParseError[] {
  let lineEnd = -1;
  return errors.filter((error) => {
    if (error.offset <= lineEnd) return false;
    const end = text.indexOf("\n", error.offset);
    lineEnd = end === -1 ? text.length : end;
    return true;
  });
}

function syntaxFault(text: string, error: ParseError): Fault {
  const offset = Math.min(error.offset, text.length);
  const name = printParseErrorCode(error.error);
  if (name === "InvalidCommentToken")
    return {
      code: "json-comment",
      offset,
      message: "JSON has no comments",
      fix: "remove the comment, or rename the file to `.yaml` and use `#`",
    };
  const before = text.slice(0, offset).trimEnd();
  if (before.endsWith(",") && /[}\]]/.test(text.charAt(offset)))
    return {
      code: "json-trailing-comma",
      offset: before.length - 1,
      message: "JSON allows no comma after the last entry",
      fix: "remove the comma",
    };
  return {
    code: "json-syntax",
    offset,
    message: `this is not JSON: ${SYNTAX[name] ?? "unexpected text"}`,
    fix: "look at this place and just before it",
  };
}

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol:
    "a value must be text in double quotes, a number, `true`, `false`, `null`, a list or an object",
  InvalidNumberFormat: "the number is malformed",
  PropertyNameExpected: "a key in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: "a `:` is expected",
  CommaExpected: "a `,` is expected",
  CloseBraceExpected: "a `}` is expected",
  CloseBracketExpected: "a `]` is expected",
  EndOfFileExpected: "nothing may follow the value",
  UnexpectedEndOfComment: "the comment is not closed",
  UnexpectedEndOfString: "the text is not closed by a double quote",
  UnexpectedEndOfNumber: "the number ends too early",
  InvalidUnicode: "a `\\u` escape needs four hex digits",
  InvalidEscapeCharacter: "the escape is not one of JSON's",
  InvalidCharacter: "a control character must be written as an escape",
};

/** A tree of 10,000 jobs takes more memory than all else, so one job at a time is read again when it is asked for. */
function createLookup(text: string, jobs: readonly number[]): (path: Path, key: boolean) => number {
  let outline: Node | undefined | null = null;
  let open: { index: number; root: Node | undefined } | null = null;
  return (path, key) => {
    if (path.length === 0) return Math.max(0, text.search(/\S/));
    const [first, index, ...rest] = path;
    const start = typeof index === "number" ? jobs[index] : undefined;
    const end = typeof index === "number" ? jobs[index + 1] : undefined;
    if (first === "jobs" && typeof index === "number" && start !== undefined && end !== undefined) {
      if (open?.index !== index) open = { index, root: parseTree(text.slice(start, end)) };
      return start + offsetIn(open.root, rest, key);
    }
    if (outline === null) {
      const from = jobs[0] ?? 0;
      const to = jobs.at(-1) ?? 0;
      outline = parseTree(text.slice(0, from) + " ".repeat(to - from) + text.slice(to));
    }
    return offsetIn(outline, path, key);
  };
}

function offsetIn(root: Node | undefined, path: Path, key: boolean): number {
  if (root === undefined) return 0;
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node === undefined) continue;
    const wantsKey = key && length === path.length && node.parent?.type === "property";
    return wantsKey ? (node.parent?.offset ?? node.offset) : node.offset;
  }
  return root.offset;
}
