/** Reading foreign JSON: every access is total, nothing is assumed about a line somebody else wrote. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The object on this line, or null when it is none (broken JSON, a number, an array, prose). */
export function parseObject(line: string): JsonObject | null {
  if (!line.trimStart().startsWith("{")) return null;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return null;
  }
}

export const asObject = (value: unknown): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
export const asNumber = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** `a.b.0.c` below `value`; undefined when a step is missing. Own properties only. */
export function valueAt(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}

/** One line for a person: white space collapsed, cut at `max` characters without splitting a pair. */
export function brief(text: string, max = 300): string {
  const line = text
    .slice(0, max * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= max) return line;
  const cut = line.slice(0, max - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
