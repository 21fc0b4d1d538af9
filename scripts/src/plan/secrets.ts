/** Finds credentials in text by shape. Values are never returned, only what they are and where. */
import { SECRET_PATTERNS, type SecretPattern } from "../core/secret-patterns.ts";
import { startOfAny } from "./start-of-any.ts";

export interface FoundSecret {
  /** Id of the pattern. */
  readonly kind: string;
  /** What it is, with its article: "a GitHub token". */
  readonly title: string;
  readonly index: number;
  readonly length: number;
}

/** One pass for the literal anchors; the patterns are tried only there. Places do not overlap. */
export function findSecrets(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  anchors ??= new RegExp(startOfAny(everyAnchor()), "g");
  anchors.lastIndex = 0;
  for (let match = anchors.exec(text); match !== null; match = anchors.exec(text)) {
    const secret = secretAt(text, match.index);
    // Anchors may overlap (`sk-` in `sk-ant-`): go on one character further, not after the anchor.
    anchors.lastIndex = secret === null ? match.index + 1 : secret.index + secret.length;
    if (secret !== null) found.push(secret);
  }
  return found;
}

/** Whether a secret could be in the text at all: for short texts, where it is cheaper than the first `findSecrets`. */
export const holdsAnchor = (text: string): boolean => everyAnchor().some((anchor) => text.includes(anchor));

const everyAnchor = (): string[] => SECRET_PATTERNS.flatMap((entry) => entry.anchors);

/** The text with every secret replaced by what it is; line ends inside one are kept, so that lines keep their numbers. */
export function hideSecrets(text: string): string {
  if (text.length < SHORT && !holdsAnchor(text)) return text;
  let shown = "";
  let from = 0;
  for (const secret of findSecrets(text)) {
    const end = secret.index + secret.length;
    const lineEnds = text.slice(secret.index, end).replace(/[^\n]/g, "");
    shown += `${text.slice(from, secret.index)}[${secret.title}]${lineEnds}`;
    from = end;
  }
  return shown + text.slice(from);
}

/** A message: looking for each anchor by itself costs less than making the one expression for all of them. */
const SHORT = 2_000;

/** Built at the first question: making sixty expressions costs more than checking a small spec with them. */
let anchors: RegExp | undefined;
let entriesByFirst: ReadonlyMap<string, readonly Entry[]> | undefined;

interface Entry {
  readonly pattern: SecretPattern;
  sticky: RegExp | null;
}

/** The patterns that have an anchor with this first character. */
function entriesFor(first: string): readonly Entry[] {
  entriesByFirst ??= groupByFirst();
  return entriesByFirst.get(first) ?? [];
}

function groupByFirst(): ReadonlyMap<string, readonly Entry[]> {
  const byFirst = new Map<string, Entry[]>();
  for (const pattern of SECRET_PATTERNS)
    for (const first of new Set(pattern.anchors.map((anchor) => anchor.charAt(0))))
      byFirst.set(first, [...(byFirst.get(first) ?? []), { pattern, sticky: null }]);
  return byFirst;
}

function stickyOf(entry: Entry): RegExp {
  const { source, flags } = entry.pattern.pattern;
  entry.sticky ??= new RegExp(source, `${flags}y`);
  return entry.sticky;
}

/** The longest secret that starts at this anchor; of equally long ones the first of the table. */
function secretAt(text: string, index: number): FoundSecret | null {
  let best: FoundSecret | null = null;
  for (const entry of entriesFor(text.charAt(index))) {
    const sticky = stickyOf(entry);
    sticky.lastIndex = index;
    const match = sticky.exec(text);
    if (match === null || match[0].length <= (best?.length ?? 0)) continue;
    best = { kind: entry.pattern.id, title: entry.pattern.title, index, length: match[0].length };
  }
  return best;
}
