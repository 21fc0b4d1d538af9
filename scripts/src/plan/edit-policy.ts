/**
 * One change of a policy file as text: comments, order and everything else in it stay. The result is read again by the
 * same rules as any policy before anybody writes it.
 */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Diagnostic } from "../core/diagnostic.ts";
import type { PolicyEntry } from "../core/generated/policy.ts";
import { err, ok, type Result } from "../core/result.ts";
import { matchesModel } from "./capability.ts";
import { parsePolicy } from "./config-files.ts";

/** Whom an entry speaks about. */
export type PolicySelector = Pick<PolicyEntry, "runtime" | "provider" | "model" | "effort">;
/** What `policy set` can say of them. */
export type PolicyStatement = Pick<PolicyEntry, "capability" | "family" | "cost_dimension">;
export type PolicyField = keyof PolicyStatement;

export const POLICY_FIELDS: readonly PolicyField[] = ["capability", "family", "cost_dimension"];
const SELECTOR_FIELDS = ["runtime", "provider", "model", "effort"] as const;

export type PolicyChange =
  | {
      readonly kind: "set";
      readonly selector: PolicySelector;
      readonly set: PolicyStatement;
      readonly unset: readonly PolicyField[];
    }
  | { readonly kind: "remove"; readonly selector: PolicySelector };

export interface PolicyEdit {
  readonly text: string;
  readonly before: PolicyEntry | null;
  readonly after: PolicyEntry | null;
}

const NEW_FILE = `# Operator policy of Orchestrate: which judgment a runtime is trusted with, whose models it runs, how its cost counts.
version: 1
candidates: []
`;

/** `text` null: there is no file yet. Fails when the file is not a valid policy before or after the change. */
export function editPolicy(
  text: string | null,
  change: PolicyChange,
  fileName: string,
): Result<PolicyEdit, readonly Diagnostic[]> {
  const source = text ?? NEW_FILE;
  const read = parsePolicy(source, fileName);
  if (read.policy === null) return err(read.diagnostics);
  const document = parseDocument(source, { keepSourceTokens: false, version: "1.2" });
  const entries = candidatesOf(document);
  const known = read.policy.candidates ?? [];
  const at = known.findIndex((entry) => sameSelector(entry, change.selector));
  const before = known[at] ?? null;
  const after = entryAfter(before, change);
  const replaced = at < 0 ? null : withValues(source, entries.get(at) as YAMLMap, change);
  if (replaced !== null && saysAt(replaced, fileName, at, after))
    return ok({ text: replaced, before, after });
  if (after === null) {
    if (at >= 0) entries.delete(at);
  } else if (at >= 0) applyTo(entries.get(at) as YAMLMap, change, document);
  else insert(entries, after, known, document);
  const edited = isJson(source) ? toJson(document, source) : toText(document, source);
  const again = parsePolicy(edited, fileName);
  return again.policy === null ? err(again.diagnostics) : ok({ text: edited, before, after });
}

/** Other values in the place of those that are there: every other byte stays. Null: something has to come or go. */
function withValues(source: string, entry: YAMLMap, change: PolicyChange): string | null {
  if (change.kind !== "set" || !isMap(entry) || change.unset.some((field) => entry.has(field))) return null;
  let text = source;
  const places = Object.entries(change.set).map(([field, value]) => ({
    node: entry.get(field, true),
    value,
  }));
  for (const { node, value } of places.sort((a, b) => startOf(b.node) - startOf(a.node))) {
    if (!isScalar(node) || node.range == null) return null;
    const quotes = node.type === "QUOTE_SINGLE" || node.type === "QUOTE_DOUBLE" ? node.type : "PLAIN";
    const word = stringify(value, { defaultStringType: quotes, lineWidth: 0 }).trimEnd();
    text = `${text.slice(0, node.range[0])}${word}${text.slice(node.range[1])}`;
  }
  return text;
}

const startOf = (node: unknown): number => (isScalar(node) ? (node.range?.[0] ?? -1) : -1);

/** Whether the text reads as it shall: a value may need more than its own place, within `{ }` for example. */
function saysAt(text: string, fileName: string, at: number, entry: PolicyEntry | null): boolean {
  const found = parsePolicy(text, fileName).policy?.candidates?.[at];
  const fields = [...SELECTOR_FIELDS, ...POLICY_FIELDS, "egress"] as const;
  return found !== undefined && fields.every((field) => found[field] === entry?.[field]);
}

function entryAfter(before: PolicyEntry | null, change: PolicyChange): PolicyEntry | null {
  if (change.kind === "remove") return null;
  const entry: PolicyEntry = { ...(before ?? change.selector), ...change.set };
  for (const field of change.unset) delete entry[field];
  // An entry that says nothing any more would only be in the way.
  const says = [...POLICY_FIELDS, "egress" as const].some((field) => entry[field] !== undefined);
  return says ? entry : null;
}

function candidatesOf(document: Document): YAMLSeq {
  const found = document.get("candidates", true);
  if (isSeq(found)) return found;
  const made = document.createNode([]) as YAMLSeq;
  document.set("candidates", made);
  return made;
}

function applyTo(
  entry: YAMLMap,
  change: Extract<PolicyChange, { kind: "set" }> | PolicyChange,
  document: Document,
): void {
  if (change.kind !== "set") return;
  for (const [field, value] of Object.entries(change.set))
    if (isMap(entry)) {
      const node = entry.get(field, true);
      // The old scalar is kept where there is one, and with it its comment.
      if (node !== undefined && typeof node === "object" && "value" in node) node.value = value;
      else entry.set(field, document.createNode(value));
    }
  for (const field of change.unset) entry.delete(field);
}

/** Before the first entry that would speak about all of this, too: there the first word counts. */
function insert(
  entries: YAMLSeq,
  entry: PolicyEntry,
  known: readonly PolicyEntry[],
  document: Document,
): void {
  const node = document.createNode(entry) as YAMLMap;
  const at = known.findIndex((other) => covers(other, entry));
  if (entries.flow && entries.items.length === 0) entries.flow = false;
  if (at < 0) entries.add(node);
  else entries.items.splice(at, 0, node);
}

const covers = (wide: PolicySelector, narrow: PolicySelector): boolean =>
  wide.runtime === narrow.runtime &&
  (wide.provider === undefined || wide.provider === narrow.provider) &&
  (wide.effort === undefined || wide.effort === narrow.effort) &&
  (wide.model === undefined ||
    wide.model === narrow.model ||
    (narrow.model !== undefined && matchesModel(narrow.model, wide.model)));

const sameSelector = (entry: PolicySelector, selector: PolicySelector): boolean =>
  SELECTOR_FIELDS.every((field) => entry[field] === selector[field]);

/** In the manner of the file: its line ends, its padding of `{ }`, its indent of lists. */
function toText(document: Document, source: string): string {
  const text = document.toString({
    lineWidth: 0,
    flowCollectionPadding: !/\{\S/.test(source),
    indentSeq: !/^[\w-]+:[ \t]*\r?\n-/m.test(source),
  });
  return source.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
}

function isJson(source: string): boolean {
  try {
    return typeof JSON.parse(source) === "object";
  } catch {
    return false;
  }
}

/** JSON has no comments to lose. */
const toJson = (document: Document, source: string): string =>
  `${JSON.stringify(document.toJS(), null, source.trim().includes("\n") ? 2 : 0)}\n`;
