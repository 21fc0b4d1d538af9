/** What the readers find before there is a value to speak of: a fault at an offset of the text. */
import type { SpecCode } from "./spec-codes.ts";

/** Keys and indexes from the root of a document to one of its values. */
export type Path = readonly (string | number)[];

export interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
}

export interface Fault {
  readonly code: SpecCode;
  readonly offset: number;
  readonly message: string;
  readonly fix?: string;
  readonly path?: Path;
  readonly related?: { readonly offset: number; readonly message: string };
}

/** Reading stops here: a text with more faults than this is not worth the time of finding the rest. */
export const MAX_READ_FAULTS = 100;

/** A sound file of 170,000 lines gets two questions, both about its beginning: no table is worth it for those. */
const QUESTIONS_WITHOUT_TABLE = 8;

/** Offsets to lines and columns. */
export function placesOf(text: string): (offset: number) => Place {
  let starts: number[] | null = null;
  let questions = 0;
  return (offset) => {
    questions += 1;
    if (starts === null && questions <= QUESTIONS_WITHOUT_TABLE) return countedPlace(text, offset);
    starts ??= lineStarts(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

function countedPlace(text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** `jobs[2].outputs[0].path`; a key that is no plain word is quoted. */
export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
