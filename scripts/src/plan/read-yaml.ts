/** The door for files from outside: hostile text in, a plain value and places out. Used for specs, policy and runtimes. */
import type { Diagnostic } from "../core/diagnostic.ts";
import { decodeText, type TextFormat } from "./decode-text.ts";
import { type Fault, type Path, type Place, placesOf } from "./fault.ts";
import { readJson } from "./json-value.ts";
import { createReport, type Report } from "./report.ts";
import { readTokens } from "./yaml-tokens.ts";
import { composeValue, nodeAt } from "./yaml-value.ts";

export interface ReadDocument {
  /** Plain data, or null when the text could not be read. */
  readonly value: unknown;
  readonly format: TextFormat;
  /** Place of the value at a path, or of its nearest ancestor; with `key`, of the last step's key. */
  readonly locate: (path: Path, at?: "value" | "key") => Place;
  /** The text of a plain YAML scalar as it stands in the file; null for anything else. */
  readonly plainSource: (path: Path) => string | null;
  readonly report: Report;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads `text` as YAML 1.2 or JSON. With `auto` the file name decides, then the first character.
 * Never throws and never hangs: every refusal is a diagnostic with a place.
 */
export function readDocument(
  text: string | Uint8Array,
  options: { readonly fileName: string; readonly format: TextFormat | "auto" },
): ReadDocument {
  const format = options.format === "auto" ? guessFormat(text, options.fileName) : options.format;
  const decoded = decodeText(text, format);
  const content = decoded.text ?? "";
  const placeOf = placesOf(decoded.text ?? decoded.before);
  const report = createReport(options.fileName);
  const read = decoded.text === null ? UNREAD : format === "json" ? fromJson(content) : fromYaml(content);

  const faults = [...decoded.faults, ...read.faults];
  for (const fault of faults) report.fault(fault, placeOf);
  // A value guessed out of broken text would only bring faults that are not there.
  const broken = faults.some((fault) => fault.code === "yaml-syntax");
  const empty = broken || read.value === undefined || read.value === null;
  if (empty && faults.length === 0) report.fault(EMPTY, placeOf);
  return {
    value: empty ? null : read.value,
    format,
    locate: (path, at = "value") => placeOf(read.offsetOf(path, at === "key")),
    plainSource: read.plainSource,
    report,
    get diagnostics() {
      return report.list();
    },
  };
}

const EMPTY: Fault = {
  code: "empty-document",
  offset: 0,
  message: "the file holds nothing",
  fix: "`init` writes a commented example",
};

interface Reading {
  readonly value: unknown;
  readonly faults: readonly Fault[];
  readonly offsetOf: (path: Path, key: boolean) => number;
  readonly plainSource: (path: Path) => string | null;
}

const UNREAD: Reading = { value: undefined, faults: [], offsetOf: () => 0, plainSource: () => null };

function fromJson(text: string): Reading {
  return { ...readJson(text), plainSource: () => null };
}

function fromYaml(text: string): Reading {
  const tree = readTokens(text);
  if (tree.stopped) return { ...UNREAD, faults: tree.faults };
  const { value, root, faults } = composeValue(tree.tokens, text.length);
  if (root === null) return { ...UNREAD, value, faults: [...tree.faults, ...faults] };
  return {
    value,
    faults: [...tree.faults, ...faults],
    offsetOf: (path, key) => nodeAt(root, path, key).offset,
    plainSource: (path) => plainSource(nodeAt(root, path, false).node),
  };
}

function plainSource(node: unknown): string | null {
  const scalar = node as { type?: unknown; source?: unknown };
  return scalar.type === "PLAIN" && typeof scalar.source === "string" ? scalar.source : null;
}

function guessFormat(text: string | Uint8Array, fileName: string): TextFormat {
  if (/\.json$/i.test(fileName)) return "json";
  if (/\.ya?ml$/i.test(fileName)) return "yaml";
  const head =
    typeof text === "string" ? text.slice(0, 200) : new TextDecoder().decode(text.subarray(0, 200));
  return /^\ufeff?\s*\{/.test(head) ? "json" : "yaml";
}
