/** "did you mean": the nearest known name when it is near enough, else all of them. */
import { didYouMean } from "../plan/did-you-mean.ts";

const LISTED = 12;

export function suggest(
  given: string,
  known: readonly string[],
  shown: (name: string) => string = (name) => name,
): string {
  const near = didYouMean(given, known) ?? unfinished(given, known) ?? swapped(given, known);
  if (near !== null) return `did you mean \`${shown(near)}\`?`;
  const names = known.slice(0, LISTED).map((name) => `\`${shown(name)}\``);
  return `known: ${names.join(", ")}${known.length > LISTED ? ", …" : ""}`;
}

/** `compl` for `completion`: the only name that begins so. */
function unfinished(given: string, known: readonly string[]): string | null {
  const begun = given.length < 3 ? [] : known.filter((name) => name.startsWith(given));
  return begun.length === 1 ? (begun[0] ?? null) : null;
}

/** `wiat` for `wait`: the same letters in another order. */
function swapped(given: string, known: readonly string[]): string | null {
  const letters = (word: string): string => [...word.toLowerCase()].sort().join("");
  return known.find((name) => letters(name) === letters(given)) ?? null;
}
