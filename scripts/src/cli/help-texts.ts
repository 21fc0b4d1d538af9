/** Help texts, rendered at build time into one plain file: reading it costs far less than loading a module. */
import { readFileSync } from "node:fs";

/** Set by the build: where the file is, seen from a built module. */
declare const HELP_FROM_BUNDLE: string | undefined;

const HELP_FROM_SOURCE = "./generated/help.txt";

/** Sections are `topic`, a line feed and the text, with a form feed between them. */
const SECTION = "\f";

/** Topic → text; "" is the tool's own help, `native` that of a group. */
export function helpTexts(): ReadonlyMap<string, string> {
  const file = typeof HELP_FROM_BUNDLE === "string" ? HELP_FROM_BUNDLE : HELP_FROM_SOURCE;
  const sections = readFileSync(new URL(file, import.meta.url), "utf8").split(SECTION);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1)];
    }),
  );
}

/** The content of the file, for the generator. */
export const helpFile = (texts: Readonly<Record<string, string>>): string =>
  Object.entries(texts)
    .map(([topic, text]) => `${topic}\n${text}`)
    .join(SECTION);
