/**
 * Quick passes over JSON text for what `JSON.parse` does not tell. They never fail on text that is no JSON.
 *
 * `outlineJson` allocates next to nothing: a file of 10,000 jobs is read by it in a few milliseconds.
 * `findKeyFaults` is for the rare file where the outline's count of keys shows that one was lost.
 */
import { SPEC_LIMITS } from "../core/policy.ts";
import { type Fault, MAX_READ_FAULTS } from "./fault.ts";
import { keyFault } from "./yaml-value.ts";

export interface JsonOutline {
  /** Where the text gets too deep for a recursive reader, or -1. */
  readonly tooDeepAt: number;
  /** Colons outside of strings: one for each key in the text. */
  readonly keys: number;
  /** Offset of each element of the list under the root's `jobs`, and of the bracket after the last. */
  readonly jobs: readonly number[];
}

const QUOTE = 0x22;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

export function outlineJson(text: string): JsonOutline {
  const jobs: number[] = [];
  /** Bit n: the collection at depth n is a map. */
  let maps = 0;
  let depth = 0;
  let keys = 0;
  let jobsDepth = -1;
  let expectsJob = false;
  let lastString = 0;

  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isSpace(unit)) continue;
    if (expectsJob && depth === jobsDepth && unit !== CLOSE_LIST) {
      jobs.push(at);
      expectsJob = false;
    }
    if (unit === QUOTE) {
      lastString = at;
      at = endOfString(text, at) - 1;
    } else if (unit === OPEN_LIST || unit === OPEN_MAP) {
      if (depth === SPEC_LIMITS.maxDepth) return { tooDeepAt: at, keys, jobs };
      depth += 1;
      maps = unit === OPEN_MAP ? maps | (1 << depth) : maps & ~(1 << depth);
      if (depth === 2 && unit === OPEN_LIST && jobsDepth === -1 && text.startsWith('"jobs"', lastString)) {
        jobsDepth = 2;
        expectsJob = true;
      }
    } else if (unit === CLOSE_LIST || unit === CLOSE_MAP) {
      // A closer that does not fit is left out, so that the count never falls below a reader's own depth.
      if (depth === 0 || (unit === CLOSE_MAP) !== ((maps & (1 << depth)) !== 0)) continue;
      if (depth === jobsDepth) {
        jobs.push(at);
        jobsDepth = -2;
      }
      depth -= 1;
    } else if (unit === COMMA) {
      if (depth === jobsDepth) expectsJob = true;
    } else if (unit === COLON) keys += 1;
  }
  return { tooDeepAt: -1, keys, jobs };
}

/** Index after the closing quote; an open string ends with its line, as it does for the reader of errors. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === 0x5c) at += 1;
    else if (unit === 0x0a || unit === 0x0d) return at;
  }
  return text.length;
}

interface Frame {
  readonly map: boolean;
  /** Keys so far, with their offsets. */
  readonly keys: Map<string, number>;
  key: string | null;
  index: number;
}

/** Keys that repeat in one map or reach for a prototype. The text must be JSON. */
export function findKeyFaults(text: string): Fault[] {
  const faults: Fault[] = [];
  const stack: Frame[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const top = stack.at(-1);
    if (unit === QUOTE) {
      const end = endOfString(text, at);
      if (top?.map === true && top.key === null) {
        const key = JSON.parse(text.slice(at, end)) as string;
        const fault = keyFault(key, at, top.keys.get(key));
        if (fault !== null) faults.push({ ...fault, path: pathOf(stack, key) });
        if (faults.length >= MAX_READ_FAULTS) break;
        if (!top.keys.has(key)) top.keys.set(key, at);
        top.key = key;
      }
      at = end - 1;
    } else if (unit === OPEN_LIST || unit === OPEN_MAP)
      stack.push({ map: unit === OPEN_MAP, keys: new Map(), key: null, index: 0 });
    else if (unit === CLOSE_LIST || unit === CLOSE_MAP) stack.pop();
    else if (unit === COMMA && top !== undefined) {
      top.key = null;
      top.index += 1;
    }
  }
  return faults;
}

const pathOf = (stack: readonly Frame[], key: string): (string | number)[] => [
  ...stack.slice(0, -1).map((frame) => (frame.map ? (frame.key ?? "") : frame.index)),
  key,
];
