/** Terminal escape sequences: colours, cursor moves and titles, cut off as well as whole. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are made of
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;

/** The text as a reader sees it. Linear in its length. */
export const withoutEscapes = (text: string): string =>
  text.includes("\u001b") || text.includes("\u009b") ? text.replace(ESCAPES, "") : text;
