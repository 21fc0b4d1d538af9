/** The text with an end, so that another sentence can follow: an arbiter or a git message may leave it out. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
