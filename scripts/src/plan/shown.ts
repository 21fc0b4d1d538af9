/** How values and places are written in messages: short, on one line, and never with a credential in them. */
import { formatPath, type Path } from "./fault.ts";
import { hideSecrets } from "./secrets.ts";

const LONGEST = 60;

/** Text from a file, safe to print: control characters escaped, credentials hidden, cut. */
function shown(text: string): string {
  const hidden = hideSecrets(text.slice(0, 4_000));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escaping them is the purpose
  const plain = hidden.replace(/[\0-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff`]/g, escaped);
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}...` : plain;
}

const escaped = (char: string): string =>
  char === "\n" ? "\\n" : char === "`" ? "'" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const quoted = (text: string): string => `\`${shown(text)}\``;

/** "`a`, `b` or `c`" */
export function oneOf(words: readonly unknown[]): string {
  const list = words.map((word) => `\`${String(word)}\``);
  return list.length < 2 ? (list[0] ?? "nothing") : `${list.slice(0, -1).join(", ")} or ${list.at(-1)}`;
}

/** What a value is, for "but is ...". */
export function described(value: unknown, source: string | null): string {
  if (value === null || value === undefined) return "empty";
  if (typeof value === "number") return `the number ${source ?? String(value)}`;
  if (typeof value === "boolean") return `\`${source ?? String(value)}\``;
  if (typeof value === "string") return quoted(value);
  return Array.isArray(value) ? "a list" : "a map";
}

/** A field as people call it: from its last name on, or what the file as a whole is. */
export function fieldLabel(path: Path, whole: string): string {
  let from = path.length - 1;
  while (from > 0 && typeof path[from] === "number") from -= 1;
  return path.length === 0 ? whole : quoted(formatPath(path.slice(from)));
}

/** "job `a`" when it has a usable id, else its place in the list. */
export function jobLabel(id: unknown, index: number): string {
  return typeof id === "string" && /^[a-z0-9][a-z0-9._-]{0,63}$/.test(id)
    ? `job \`${id}\``
    : `\`jobs[${index}]\``;
}
