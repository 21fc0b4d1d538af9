/** A token tree to a plain value, in one walk that keeps the nodes for questions about places. */
import {
  Composer,
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type ParsedNode,
  type YAMLMap,
  type YAMLParseError,
} from "yaml";
import { characterFault } from "./decode-text.ts";
import { type Fault, MAX_READ_FAULTS, type Path } from "./fault.ts";
import { tabFault } from "./yaml-tokens.ts";

export interface YamlValue {
  /** Undefined when there is no document. */
  readonly value: unknown;
  readonly root: ParsedNode | null;
  readonly faults: readonly Fault[];
}

class TooManyFaults extends Error {}

/** Plain data of the 1.2 core schema: no tags, no merge keys, keys are text. */
const OPTIONS = {
  version: "1.2",
  schema: "core",
  // Compares every key with every other: 100,000 keys take minutes. Our own walk does it with a set.
  uniqueKeys: false,
  stringKeys: true,
  resolveKnownTags: false,
  prettyErrors: false,
  keepSourceTokens: false,
} as const;

export function composeValue(tokens: readonly CST.Token[], length: number): YamlValue {
  const faults: Fault[] = [];
  const root = compose(tokens, length, faults);
  if (root === null) return { value: undefined, root, faults };
  return { value: toValue(root, [], faults), root, faults };
}

function compose(tokens: readonly CST.Token[], length: number, faults: Fault[]): ParsedNode | null {
  const composer = new Composer(OPTIONS);
  // Each error of the library takes a stack trace, and a file of commas has a million of them.
  const onError = (source: unknown, code: YAMLParseError["code"], message: string): void => {
    if (REFUSED_BEFORE.has(code)) return;
    if (faults.length >= MAX_READ_FAULTS) throw new TooManyFaults();
    faults.push(syntaxFault(code, startOf(source), message));
  };
  Reflect.set(composer, "onError", onError);
  try {
    for (const document of composer.compose(tokens, true, length)) return document.contents;
  } catch (error) {
    if (!(error instanceof TooManyFaults)) throw error;
  }
  return null;
}

function startOf(source: unknown): number {
  if (typeof source === "number") return source;
  if (Array.isArray(source)) return source[0] as number;
  return (source as { offset: number }).offset;
}

function syntaxFault(code: YAMLParseError["code"], offset: number, message: string): Fault {
  switch (code) {
    case "TAB_AS_INDENT":
      return tabFault(offset);
    case "NON_STRING_KEY":
      return {
        code: "non-scalar-key",
        offset,
        message: "a list or map is used as a key here",
        fix: "quote the key if it is text; a placeholder or glob that starts with `{` or `[` needs quotes",
      };
    default: {
      const fix = SYNTAX_FIXES[code];
      const text = `this is not YAML: ${lowerFirst(message)}`;
      return { code: "yaml-syntax", offset, message: text, ...(fix === undefined ? {} : { fix }) };
    }
  }
}

/** The tokens were refused already; what the library says about them would only repeat it. */
const REFUSED_BEFORE: ReadonlySet<YAMLParseError["code"]> = new Set([
  "ALIAS_PROPS",
  "BAD_ALIAS",
  "BAD_DIRECTIVE",
  "MULTIPLE_ANCHORS",
  "MULTIPLE_TAGS",
  "TAG_RESOLVE_FAILED",
]);

const SYNTAX_FIXES: Readonly<Partial<Record<YAMLParseError["code"], string>>> = {
  BAD_DQ_ESCAPE: "double the backslash, or use single quotes",
  BAD_INDENT: "align it with its siblings",
  BAD_SCALAR_START: "quote the value",
  BLOCK_AS_IMPLICIT_KEY: "quote text that holds a colon and a space",
  MISSING_CHAR: "close or complete it; quote text that holds special characters",
  MULTILINE_IMPLICIT_KEY: "put a colon after the key, or quote the text",
  UNEXPECTED_TOKEN: "remove it, or quote the text it belongs to",
};

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

function toValue(node: unknown, path: (string | number)[], faults: Fault[]): unknown {
  if (isScalar(node)) return scalarValue(node, path, faults);
  if (isMap(node)) return mapValue(node as YAMLMap<ParsedNode, ParsedNode | null>, path, faults);
  // Refused before; most are globs without quotes, so that the text is what was meant.
  if (isAlias(node)) return `*${node.source}`;
  if (!isSeq(node)) return null;
  const list: unknown[] = [];
  for (const item of node.items) {
    path.push(list.length);
    list.push(toValue(item, path, faults));
    path.pop();
  }
  return list;
}

function mapValue(map: YAMLMap<ParsedNode, ParsedNode | null>, path: (string | number)[], faults: Fault[]) {
  const value: Record<string, unknown> = {};
  const seen = new Map<string, number>();
  for (const pair of map.items) {
    // Any other key was refused when it was composed.
    if (!isScalar(pair.key) || typeof pair.key.value !== "string") continue;
    const key = pair.key.value;
    const offset = pair.key.range[0];
    const fault =
      keyFault(key, offset, seen.get(key)) ??
      (key === "<<" && pair.key.type === "PLAIN" ? mergeFault(offset) : null);
    if (fault !== null) {
      if (faults.length < MAX_READ_FAULTS) faults.push({ ...fault, path: [...path, key] });
      continue;
    }
    seen.set(key, offset);
    path.push(key);
    value[key] = toValue(pair.value, path, faults);
    path.pop();
  }
  return value;
}

const mergeFault = (offset: number): Fault => ({
  code: "merge-key",
  offset,
  message: "merge keys (`<<`) are not allowed",
  fix: "write the fields out, or use `defaults`",
});

/** Shared with JSON: a key that repeats another, or that reaches for a prototype. */
export function keyFault(key: string, offset: number, firstOffset: number | undefined): Fault | null {
  if (key === "__proto__")
    return {
      code: "forbidden-key",
      offset,
      message: "`__proto__` is not allowed as a key",
      fix: "remove it",
    };
  if (firstOffset === undefined) return null;
  return {
    code: "duplicate-key",
    offset,
    message: "this key is already in the same map, and one of the two values would be lost",
    fix: "keep one of them",
    related: { offset: firstOffset, message: "the first one is here" },
  };
}

interface ScalarNode {
  readonly value: unknown;
  readonly source?: string;
  readonly range?: readonly number[] | null;
}

function scalarValue(node: ScalarNode, path: (string | number)[], faults: Fault[]): unknown {
  const { value } = node;
  const offset = node.range?.[0] ?? 0;
  const fault =
    typeof value === "string"
      ? textFault(value, offset)
      : typeof value === "number"
        ? numberFault(value, node.source ?? "", offset)
        : null;
  if (fault !== null && faults.length < MAX_READ_FAULTS) faults.push({ ...fault, path: [...path] });
  return value;
}

const SUSPECT = /[\0\ud800-\udfff]/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** What an escape can put into text and no file or argument can hold. Shared with JSON. */
export function textFault(value: string, offset: number): Fault | null {
  if (!SUSPECT.test(value)) return null;
  if (value.includes("\0")) return characterFault(0, offset);
  if (!LONE_SURROGATE.test(value)) return null;
  return {
    code: "not-unicode",
    offset,
    message: "this text holds half of a surrogate pair, which cannot be written to a file",
    fix: "write the character itself",
  };
}

function numberFault(value: number, source: string, offset: number): Fault | null {
  const plain = /^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(source);
  if (plain && Number.isFinite(value)) return null;
  return {
    code: "number-form",
    offset,
    message: `\`${source.slice(0, 40)}\` is a number in a form that reads differently elsewhere`,
    fix: Number.isFinite(value) ? `write \`${value}\`, or quote it if it is text` : "quote it if it is text",
  };
}

/** The node at a path, or its nearest ancestor; with `key`, the last step's key. */
export function nodeAt(root: ParsedNode, path: Path, key: boolean): { offset: number; node: unknown } {
  let node: unknown = root;
  let offset = root.range[0];
  for (const [index, step] of path.entries()) {
    let next: unknown = null;
    if (isSeq(node) && typeof step === "number") next = node.items[step];
    else if (isMap(node)) {
      const pair = (node as YAMLMap<ParsedNode, ParsedNode | null>).items.find(
        (item) => isScalar(item.key) && item.key.value === step,
      );
      if (pair === undefined) break;
      if (key && index === path.length - 1) return { offset: pair.key.range[0], node: pair.key };
      // A key without a value stands for its place.
      next = pair.value ?? pair.key;
      if (isScalar(next) && next.source === "") next = pair.key;
    }
    const range = (next as ParsedNode | null | undefined)?.range;
    if (range == null) break;
    node = next;
    offset = range[0];
  }
  return { offset, node };
}
