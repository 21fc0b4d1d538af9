/** The tool's own name in a text for people: where it is installed is known only where the text is printed. */
import { quoteShell } from "./shell-quote.ts";

/** Stands where a command begins; whoever prints the text puts in how this very tool is started. */
export const TOOL = "{orchestrate}";

/** `text` with every command runnable as printed. `script` is the path of orchestrate.mjs. */
export const runnable = (text: string, script: string): string =>
  text.replaceAll(TOOL, () => `node ${quoteShell(script)}`);
