/** Quotes one word for a POSIX shell, for text that a person or an agent pastes; we never run a shell ourselves. */
export const quoteShell = (word: string): string =>
  /^[A-Za-z0-9_\-./:=@%+,]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
