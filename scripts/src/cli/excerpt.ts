/** The line that a finding is about, with a mark under its place: for people, never with a secret in it. */
import type { Diagnostic } from "../core/diagnostic.ts";
import { hideSecrets } from "../plan/secrets.ts";

/** Reads a file that a diagnostic names; null when it cannot be shown. */
export type ReadSource = (file: string) => string | null;

export type Excerpts = ReadonlyMap<Diagnostic, string>;

const SHOWN = 10;
const WIDTH = 100;

/** Lines to print below each of the first findings; the others get none. */
export function excerpts(list: readonly Diagnostic[], read: ReadSource): Excerpts {
  const texts = new Map<string, Source | null>();
  const withheld = new Set(list.filter((d) => d.code.startsWith("secret")).map((d) => `${d.file}:${d.line}`));
  const shown = new Map<Diagnostic, string>();
  for (const d of list) {
    if (d.severity === "info") continue;
    if (d.file === undefined || d.line === undefined || withheld.has(`${d.file}:${d.line}`)) continue;
    if (shown.size === SHOWN) break;
    if (!texts.has(d.file)) texts.set(d.file, hiddenLines(read(d.file)));
    const source = texts.get(d.file) ?? null;
    const line = source?.hidden[d.line - 1];
    if (line !== undefined && line.trim() !== "")
      shown.set(d, excerpt(line, d.line, line === source?.raw[d.line - 1] ? (d.column ?? 1) : null));
  }
  return shown;
}

interface Source {
  readonly raw: readonly string[];
  /** Hidden as a whole first: a line in the middle of a key block shows nothing of it by itself. Line breaks stay. */
  readonly hidden: readonly string[];
}

const hiddenLines = (text: string | null): Source | null =>
  text === null ? null : { raw: text.split(/\r?\n/), hidden: hideSecrets(text).split(/\r?\n/) };

/** `column` is null where something was hidden: the place would be wrong. */
function excerpt(line: string, number: number, column: number | null): string {
  const from = Math.max(0, Math.min((column ?? 1) - 1, line.length) - WIDTH / 2);
  const window = line.slice(from, from + WIDTH).replaceAll("\t", " ");
  const gutter = `${number} | `.padStart(8);
  const mark = column === null ? "" : `\n${" ".repeat(gutter.length + column - 1 - from)}^`;
  return `${gutter}${window}${mark}`;
}
