/** "did you mean": the nearest known name when it is near enough, else all of them. */
import leven from "leven";

const LISTED = 12;

export function suggest(
  given: string,
  known: readonly string[],
  shown: (name: string) => string = (name) => name,
): string {
  const near = nearest(given, known);
  if (near !== null) return `did you mean \`${shown(near)}\`?`;
  const names = known.slice(0, LISTED).map((name) => `\`${shown(name)}\``);
  return `known: ${names.join(", ")}${known.length > LISTED ? ", …" : ""}`;
}

/** Near: two letters or a third of them may differ, or one is the start of the other. */
export function nearest(given: string, known: readonly string[]): string | null {
  const word = given.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | null = null;
  for (const name of known) {
    const distance = word.length > 2 && name.startsWith(word) ? 0 : leven(word, name.toLowerCase());
    if (best === null || distance < best.distance) best = { name, distance };
  }
  if (best === null || word === "") return null;
  return best.distance <= Math.max(2, Math.floor(best.name.length / 3)) && best.distance < word.length
    ? best.name
    : null;
}
