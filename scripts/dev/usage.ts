/** What a development command says to words that it does not know: one line on standard error, and exit code 2. */

export function refuse(line: string): void {
  console.error(line);
  process.exitCode = 2;
}

/** The words quoted, as a list. */
export const listed = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(", ");
