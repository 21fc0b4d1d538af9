/** Finds the verdicts in an arbiter's final message. Whether one of them may count is `verdict.ts`'s to say. */

/** A longer answer is no verdict: 40 attempts with reasons fit many times over. */
export const VERDICT_MAX_CHARS = 1_000_000;
const MAX_DEPTH = 8;
const MAX_CANDIDATES = 64;

/**
 * Every distinct JSON object of the text that calls itself a verdict (it has `bundleSha256`), outermost first.
 * Linear in the text; objects nested deeper than a verdict can be are skipped, not parsed.
 */
export function verdictObjects(text: string): { readonly source: string; readonly value: object }[] {
  const found: { source: string; value: object }[] = [];
  const seen = new Set<string>();
  for (const source of objectSources(text)) {
    if (found.length >= MAX_CANDIDATES) break;
    if (!source.includes('"bundleSha256"')) continue;
    const value = parseObject(source);
    if (value === null || !Object.hasOwn(value, "bundleSha256")) continue;
    const key = JSON.stringify(value);
    if (seen.has(key)) continue;
    seen.add(key);
    found.push({ source, value });
  }
  return found;
}

/** Names of keys that an object states twice: `JSON.parse` would silently keep the last. The source must be JSON. */
export function duplicateKeys(source: string): string[] {
  const stack: Set<string>[] = [];
  const duplicates = new Set<string>();
  for (const [token, text, colon] of source.matchAll(TEXT_OR_BRACE)) {
    if (token === "{") stack.push(new Set());
    else if (token === "}") stack.pop();
    else if (text !== undefined && colon !== undefined) {
      const key = JSON.parse(text) as string;
      const keys = stack.at(-1);
      if (keys?.has(key)) duplicates.add(key);
      keys?.add(key);
    }
  }
  return [...duplicates];
}

/** A brace, or a text (so that nothing inside counts) with the colon that makes it a key. */
const TEXT_OR_BRACE = /[{}]|("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

/** Balanced `{…}` stretches that are not inside another one. Prose with a stray brace only costs that stretch. */
function* objectSources(text: string): Generator<string> {
  let at = text.indexOf("{");
  while (at !== -1) {
    const end = objectEnd(text, at);
    if (end === null) {
      at = nextLineObject(text, at);
      continue;
    }
    yield text.slice(at, end);
    at = text.indexOf("{", end);
  }
}

/** Where the object that begins at `start` ends, or null when it never closes or is too deep to be a verdict. */
function objectEnd(text: string, start: number): number | null {
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      const close = stringEnd(text, i);
      if (close === null) return null;
      i = close;
    } else if (c === 0x7b || c === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH) return null;
    } else if (c === 0x7d || c === 0x5d) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return null;
}

/** JSON strings hold no raw line break, so a stray quote in prose ends at its line. */
function stringEnd(text: string, start: number): number | null {
  for (let i = start + 1; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (c === 0x5c) i += 1;
    else if (c === 0x22) return i;
    else if (c === 0x0a) return null;
  }
  return null;
}

/** After a brace that led nowhere, go on at the next line that opens an object: keeps the scan from going quadratic. */
function nextLineObject(text: string, after: number): number {
  const match = /\n[ \t]*(?:`{3,}\w*[ \t]*)?\{/g;
  match.lastIndex = after + 1;
  const hit = match.exec(text);
  return hit === null ? -1 : match.lastIndex - 1;
}

function parseObject(source: string): object | null {
  try {
    const value: unknown = JSON.parse(source);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
