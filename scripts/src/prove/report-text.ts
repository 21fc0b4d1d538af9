/** Makes text of other parties fit to stand in a report: it is shown, and can be nothing but text. */

/** CSI, OSC, DCS and the two-character escapes, in their 7- and 8-bit forms. */
const TERMINAL_ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is what this is for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;

/** Everything that is no visible character: controls, bidirectional and zero-width marks, tags, lone surrogates. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code points are meant
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** One line of visible text, at most `max` characters; the rest is counted. */
export function plainText(text: string, max = 300): string {
  // Longer text is cut before the patterns run: their cost must not follow the size of an agent's output.
  const bounded = text.slice(0, max * 8 + 1_024);
  const line = bounded.replace(TERMINAL_ESCAPES, "").replace(INVISIBLE, "").replace(/\s+/gu, " ").trim();
  if (line.length <= max && bounded.length === text.length) return line;
  const cut = line.slice(0, max).replace(/[\ud800-\udbff]$/, "");
  return `${cut}…`;
}

/**
 * Escapes one line for Markdown so that it reads back as exactly that text, in a paragraph, a list item or a table cell:
 * no emphasis, code, link, image, HTML, entity, heading, list, table cell, autolink or mention.
 */
export function markdownText(text: string): string {
  return text
    .replace(/[\\`*_[\]{}|~!#]/g, "\\$&")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/:(?=\/\/)/g, "\\:")
    .replace(/@/g, "\\@")
    .replace(/\b(www)\./gi, "$1\\.");
}

/** For the start of a block: escaped text that would still open a list, a rule or a heading underline there. */
export const markdownLine = (escaped: string): string =>
  escaped.replace(/^([-+=:])/, "\\$1").replace(/^(\d+)([.)])/, "$1\\$2");

/** A code span where the text can stand in one, else escaped text. */
export function markdownCode(text: string): string {
  return text === "" || /[`|]/.test(text) ? markdownText(text) : `\`${text}\``;
}

/** A fenced block that its content cannot close. */
export function markdownFence(lines: readonly string[], language: string): string {
  const clean = lines.map((line) =>
    line
      .replace(TERMINAL_ESCAPES, "")
      .replace(INVISIBLE, "")
      .replace(/[\t\r\n\u2028\u2029]/g, " "),
  );
  const longest = Math.max(
    2,
    ...clean.map((line) => Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length))),
  );
  const fence = "`".repeat(longest + 1);
  return [`${fence}${language}`, ...clean, fence].join("\n");
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
