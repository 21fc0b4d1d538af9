/**
 * Marks that nobody sees and that change what is read: zero-width ones, those that turn the direction of text, tags. For a
 * character class with the flag `u`. Joiners (U+200C, U+200D) are not among them: scripts and emoji need them.
 */
export const UNSEEN_MARKS =
  "\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\u{e0000}-\\u{e007f}";
