/**
 * Checks a value against one of our JSON Schemas, with messages for people.
 *
 * The schema stays the only description of the shape; this file turns the subset of keywords that we use into
 * functions, once per process. A keyword it does not know is a bug of ours, and throws when the schema is compiled.
 */
import { didYouMean } from "./did-you-mean.ts";
import type { Path } from "./fault.ts";
import {
  bad,
  type CheckContext,
  compileScalar,
  type FormatWords,
  type Keywords,
  matchesType,
  type NodeCheck,
  suggestion,
  TYPE_WORDS,
  type TypeName,
  wrongType,
} from "./scalar-check.ts";
import { fieldLabel, jobLabel, quoted } from "./shown.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A rule of a definition that only a keyword for machines states (`if`, `not`). True when it holds. */
export type DefinitionRule = (value: Record<string, unknown>, path: Path, context: CheckContext) => boolean;

export interface SchemaWords {
  readonly formats: Readonly<Record<string, FormatWords>>;
  readonly rules: Readonly<Record<string, DefinitionRule>>;
}

/** True when the value and everything in it is valid; otherwise all faults have been reported. */
export type Check = (value: unknown, context: CheckContext) => boolean;

export function compileSchema(schema: JsonSchema, words: SchemaWords): Check {
  const compiler = createCompiler(schema, words);
  const check = compiler(schema, null);
  return (value, context) => check(value, [], context);
}

/** Annotations, and keywords whose rule is one of `SchemaWords.rules`. */
const IGNORED = new Set([
  "$schema",
  "$id",
  "title",
  "description",
  "default",
  "definitions",
  "if",
  "then",
  "else",
  "not",
]);

function createCompiler(root: JsonSchema, words: SchemaWords) {
  const definitions = (root["definitions"] ?? {}) as Record<string, JsonSchema>;
  const compiled = new Map<string, NodeCheck>();

  const compile = (schema: JsonSchema, name: string | null): NodeCheck => {
    const { $ref, allOf, oneOf: variants, ...rest } = schema as Keywords;
    if (typeof $ref === "string") return reference($ref);
    if (Array.isArray(allOf)) return compile(allOf[0] as JsonSchema, name);
    if (Array.isArray(variants)) return compileVariants(variants as JsonSchema[]);
    for (const keyword of Object.keys(rest))
      if (!IGNORED.has(keyword) && !KEYWORDS.has(keyword))
        throw new Error(`unknown schema keyword: ${keyword}`);
    if (rest["type"] === "object") return compileObject(rest, name, compile, words);
    if (rest["type"] === "array") return compileList(rest, compile);
    return compileScalar(rest, name === null ? undefined : words.formats[name]);
  };

  const reference = ($ref: string): NodeCheck => {
    const name = $ref.replace("#/definitions/", "");
    return (value, path, context) => {
      let check = compiled.get(name);
      if (check === undefined) {
        check = compile(definitions[name]!, name);
        compiled.set(name, check);
      }
      return check(value, path, context);
    };
  };

  const compileVariants = (variants: readonly JsonSchema[]): NodeCheck => {
    const options = variants.map((variant) => ({
      type: typeOf(variant, definitions),
      check: compile(variant, null),
    }));
    return (value, path, context) => {
      const option = options.find(({ type }) => matchesType(value, type));
      if (option !== undefined) return option.check(value, path, context);
      return wrongType(options.map(({ type }) => TYPE_WORDS[type]).join(" or "), value, path, context);
    };
  };
  return compile;
}

function typeOf(schema: JsonSchema, definitions: Record<string, JsonSchema>): TypeName {
  const { $ref, type } = schema as Keywords;
  const target =
    typeof $ref === "string" ? (definitions[$ref.replace("#/definitions/", "")] as Keywords) : { type };
  return target["type"] as TypeName;
}

const KEYWORDS = new Set([
  "type",
  "enum",
  "const",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "items",
  "minItems",
  "maxItems",
  "uniqueItems",
  "properties",
  "additionalProperties",
  "required",
  "dependencies",
  "minProperties",
]);

// ---- lists

function compileList(
  schema: Keywords,
  compile: (schema: JsonSchema, name: string | null) => NodeCheck,
): NodeCheck {
  const item = compile(schema["items"] as JsonSchema, null);
  const { minItems = 0, maxItems = Infinity } = schema as { minItems?: number; maxItems?: number };
  const unique = schema["uniqueItems"] === true;
  return (value, path, context) => {
    if (!Array.isArray(value)) return wrongType(TYPE_WORDS.array, value, path, context);
    if (value.length < minItems)
      return bad(context, path, {
        code: "empty-list",
        message: `${fieldLabel(path, context.whole)} must have at least one entry`,
      });
    if (value.length > maxItems)
      return bad(context, path, {
        code: "too-many-entries",
        message: `${fieldLabel(path, context.whole)} must have at most ${maxItems} entries, but has ${value.length}`,
        fix: "split the work over several files",
      });
    let valid = true;
    for (let index = 0; index < value.length; index += 1) {
      path.push(index);
      if (!item(value[index], path, context)) valid = false;
      path.pop();
    }
    return (!unique || isUnique(value, path, context)) && valid;
  };
}

function isUnique(list: readonly unknown[], path: Path, context: CheckContext): boolean {
  if (new Set(list).size === list.length) return true;
  const seen = new Map<unknown, number>();
  for (const [index, value] of list.entries()) {
    const first = seen.get(value);
    const place = [...path, index];
    // The list is well-formed all the same: its entries still go through the rules about meaning.
    if (first === undefined) seen.set(value, index);
    else
      context.document.report.add({
        code: "duplicate-entry",
        path: place,
        place: () => context.document.locate(place),
        message: `${quoted(String(value))} is in the list already`,
        fix: "remove one of them",
        related: [
          { message: "the first one is here", place: () => context.document.locate([...path, first]) },
        ],
      });
  }
  return false;
}

// ---- maps

function compileObject(
  schema: Keywords,
  name: string | null,
  compile: (schema: JsonSchema, name: string | null) => NodeCheck,
  words: SchemaWords,
): NodeCheck {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonSchema>;
  const fields = new Map(Object.entries(properties).map(([key, field]) => [key, compile(field, null)]));
  const open =
    typeof schema["additionalProperties"] === "object"
      ? compile(schema["additionalProperties"] as JsonSchema, null)
      : null;
  const required = (schema["required"] ?? []) as readonly string[];
  const dependencies = Object.entries((schema["dependencies"] ?? {}) as Record<string, readonly string[]>);
  const minimum = (schema["minProperties"] ?? 0) as number;
  const rule = name === null ? undefined : words.rules[name];

  return (value, path, context) => {
    if (!matchesType(value, "object")) return wrongType(TYPE_WORDS.object, value, path, context);
    const map = value as Record<string, unknown>;
    let valid = true;
    for (const key of Object.keys(map)) {
      const check = fields.get(key) ?? open;
      path.push(key);
      if (check === null || check === undefined) valid = unknownKey(fields.keys(), path, map, context);
      else if (!check(map[key], path, context)) valid = false;
      path.pop();
    }
    for (const key of required)
      if (!Object.hasOwn(map, key)) valid = missing(key, properties[key], path, map, context);
    for (const [key, others] of dependencies)
      if (Object.hasOwn(map, key) && !Object.hasOwn(map, others[0]!))
        valid = incomplete(key, others[0]!, path, context);
    if (Object.keys(map).length < minimum)
      valid = bad(context, path, {
        code: "empty-list",
        message: `${fieldLabel(path, context.whole)} must have at least one entry`,
      });
    return (rule === undefined || rule(map, path, context)) && valid;
  };
}

/** A map as people call it: the job by its id. */
function mapLabel(path: Path, map: Record<string, unknown>, whole: string): string {
  const [first, index] = path;
  return path.length === 2 && first === "jobs" && typeof index === "number"
    ? jobLabel(map["id"], index)
    : fieldLabel(path, whole);
}

function unknownKey(
  known: Iterable<string>,
  path: Path,
  map: Record<string, unknown>,
  context: CheckContext,
): false {
  const key = String(path.at(-1));
  context.document.report.add({
    code: "unknown-key",
    path: [...path],
    place: () => context.document.locate(path, "key"),
    message: `${quoted(key)} is not a field of ${mapLabel(path.slice(0, -1), map, context.whole)}`,
    fix: () => suggestion(didYouMean(key, known), "remove it; `schema` prints every field"),
  });
  return false;
}

function missing(
  key: string,
  schema: JsonSchema | undefined,
  path: Path,
  map: Record<string, unknown>,
  context: CheckContext,
): false {
  const description = String(schema?.["description"] ?? "").replace(/\..*$/s, "");
  return bad(context, path, {
    code: "missing-field",
    message: `${mapLabel(path, map, context.whole)} has no \`${key}\``,
    fix:
      description === ""
        ? `add \`${key}\``
        : `add \`${key}\`: ${description.charAt(0).toLowerCase()}${description.slice(1)}`,
  });
}

function incomplete(key: string, other: string, path: Path, context: CheckContext): false {
  return bad(context, [...path, key], {
    code: "incomplete-pair",
    message: `\`${key}\` says nothing without \`${other}\``,
    fix: `add \`${other}\``,
  });
}
