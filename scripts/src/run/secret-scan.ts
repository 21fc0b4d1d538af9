/** One pass over bytes that finds every known value and every listed shape of secret. */
import { SECRET_PATTERNS } from "../core/secret-patterns.ts";
import { secretNeedles } from "./secret-needles.ts";

/** Bytes to mask, half open. */
export interface Mask {
  /** Where the shape begins by which they were found: at or before `start`. */
  from: number;
  start: number;
  end: number;
}

export interface Findings {
  /** What to mask; sorted, not overlapping. */
  readonly masks: readonly Mask[];
  /** Starts of shapes that may still be completed by what comes on the next line. */
  readonly open: readonly number[];
}

export interface SecretScanner {
  /** Looks at `bytes`; only findings that start at or after `from` count, what is before it is context. */
  scan(bytes: Buffer, from: number): Findings;
  /** The most bytes one secret can span. */
  readonly reach: number;
}

interface Shape {
  /** Sticky. */
  readonly pattern: RegExp;
  readonly group: number;
}

interface Literal {
  readonly bytes: Buffer;
  /** null: a known value, masked as it stands. */
  readonly shapes: readonly Shape[] | null;
}

/** A literal that may lie `back` bytes before the place where its pair was seen. */
interface Lead {
  readonly back: number;
  readonly literal: Literal;
}

const PATTERN_REACH = Math.max(...SECRET_PATTERNS.map((row) => row.maxLength));
let shipped: readonly Literal[] | undefined;

/**
 * Every literal of three or more bytes shows one of its first two pairs of neighbours at an even distance from the
 * start, so the loop looks at every second byte only, by one table of 65,536 pairs. Regexes run where an anchor
 * stands, never over the text: 3 to 5 times as fast as one alternation of the anchors.
 */
export function createScanner(values: readonly string[]): SecretScanner {
  shipped ??= shippedLiterals();
  const needles = secretNeedles(values).map((bytes): Literal => ({ bytes, shapes: null }));
  const { table, leads } = indexPairs([...shipped, ...needles]);
  const reach = Math.max(PATTERN_REACH, ...needles.map((needle) => needle.bytes.length));
  const scan = (bytes: Buffer, from: number): Findings => {
    const hits: Mask[] = [];
    const open: number[] = [];
    let text: string | null = null;
    const end = bytes.length - 1;
    for (let at = Math.max(0, from - 1); at < end; at += 2) {
      const slot = table[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] as number;
      if (slot === 0) continue;
      for (const { back, literal } of leads[slot] as readonly Lead[]) {
        const start = at - back;
        if (start < from || !standsAt(bytes, literal.bytes, start)) continue;
        if (literal.shapes === null) hits.push({ from: start, start, end: start + literal.bytes.length });
        else {
          text ??= asText(bytes);
          tryShapes({ text, start, shapes: literal.shapes, hits, open });
        }
      }
    }
    return { masks: merged(hits), open };
  };
  return { scan, reach };
}

/** How far behind an anchor at the very end a value on the next line may still belong to it. */
const NAME_ROOM = 48;
const STILL_A_NAME = /^[\w\s:=>"'\\-]*$/;

function tryShapes(o: {
  text: string;
  start: number;
  shapes: readonly Shape[];
  hits: Mask[];
  open: number[];
}): void {
  let hit = false;
  for (const { pattern, group } of o.shapes) {
    pattern.lastIndex = o.start;
    const found = pattern.exec(o.text);
    if (found === null) continue;
    hit = true;
    const secret = found[group] ?? found[0];
    // The secret is the last thing of its shape, so this is its place; asking the engine for indices costs as much as a match.
    const start = o.start + found[0].lastIndexOf(secret);
    o.hits.push({ from: o.start, start, end: start + secret.length });
  }
  // `password:` at the end of a line: the value may follow on the next one.
  if (!hit && o.text.length - o.start <= NAME_ROOM && STILL_A_NAME.test(o.text.slice(o.start)))
    o.open.push(o.start);
}

function standsAt(bytes: Buffer, literal: Buffer, start: number): boolean {
  const length = literal.length;
  if (start + length > bytes.length) return false;
  for (let index = 0; index < length; index += 1) if (bytes[start + index] !== literal[index]) return false;
  return true;
}

/** One character a byte, so that positions agree. 0xA0 would count as white space and end a value in mid-letter. */
function asText(bytes: Buffer): string {
  const text = bytes.toString("latin1");
  return bytes.indexOf(0xa0) < 0 ? text : text.replaceAll("\u00a0", "\u00a1");
}

function merged(masks: Mask[]): Mask[] {
  if (masks.length < 2) return masks;
  masks.sort((a, b) => a.start - b.start);
  const result: Mask[] = [];
  let last: Mask | null = null;
  for (const mask of masks) {
    if (last !== null && mask.start <= last.end) {
      last.from = Math.min(last.from, mask.from);
      last.end = Math.max(last.end, mask.end);
    } else {
      last = mask;
      result.push(mask);
    }
  }
  return result;
}

function shippedLiterals(): Literal[] {
  const byAnchor = new Map<string, Shape[]>();
  for (const row of SECRET_PATTERNS) {
    const shape: Shape = { pattern: new RegExp(row.pattern.source, "y"), group: row.group ?? 0 };
    for (const anchor of row.anchors) byAnchor.set(anchor, [...(byAnchor.get(anchor) ?? []), shape]);
  }
  return [...byAnchor].map(([anchor, shapes]) => ({ bytes: Buffer.from(anchor), shapes }));
}

function indexPairs(literals: readonly Literal[]): { table: Uint16Array; leads: Lead[][] } {
  const table = new Uint16Array(65_536);
  const leads: Lead[][] = [[]];
  const add = (pair: number, lead: Lead): void => {
    if (table[pair] === 0) table[pair] = leads.push([]) - 1;
    (leads[table[pair] as number] as Lead[]).push(lead);
  };
  for (const literal of literals) {
    const [first = 0, second = 0, third] = literal.bytes;
    add((first << 8) | second, { back: 0, literal });
    if (third !== undefined) add((second << 8) | third, { back: 1, literal });
    else for (let any = 0; any < 256; any += 1) add((second << 8) | any, { back: 1, literal });
  }
  return { table, leads };
}
