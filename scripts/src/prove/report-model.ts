/** The report as a value: what it says, apart from how Markdown or HTML say it. */
import { plainText } from "./report-text.ts";

export type Tone = "good" | "bad" | "waiting" | "neutral";

export type Span =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "strong"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "badge"; readonly text: string; readonly tone: Tone };
export type Inline = readonly Span[];

export type Block =
  | { readonly kind: "paragraph"; readonly inline: Inline }
  | { readonly kind: "notice"; readonly tone: Tone; readonly inline: Inline }
  | { readonly kind: "subheading"; readonly inline: Inline }
  /** One of many of a kind, with its own heading; HTML folds it. */
  | { readonly kind: "entry"; readonly heading: Inline; readonly items: readonly Inline[] }
  | { readonly kind: "list"; readonly items: readonly Inline[] }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly Inline[])[];
    }
  | { readonly kind: "commands"; readonly lines: readonly string[] };

export interface Section {
  /** Anchor in the HTML form. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface ReportModel {
  /** Starts with the run's status. */
  readonly title: Inline;
  readonly statusTone: Tone;
  readonly notices: readonly Block[];
  readonly facts: readonly { readonly label: string; readonly value: Inline }[];
  readonly sections: readonly Section[];
}

/** Text and numbers of any origin; cleaned here, escaped by the renderer. */
export const text = (value: string | number, max = 300): Span => ({
  kind: "text",
  text: plainEdges(String(value), max),
});
export const strong = (value: string | number): Span => ({ kind: "strong", text: plainText(String(value)) });
export const code = (value: string, max = 200): Span => ({ kind: "code", text: plainText(value, max) });
export const badge = (value: string, tone: Tone): Span => ({ kind: "badge", text: plainText(value), tone });

/** Text whose `back-quoted` words are shown as code: details and reasons are written that way. */
export function rich(value: string, max = 300): Inline {
  const parts = plainText(value, max).split(/`([^`]*)`/);
  return parts.flatMap((part, index): Span[] =>
    part === "" ? [] : [{ kind: index % 2 === 1 ? "code" : "text", text: part }],
  );
}

/** A recorded time, to the second. */
export const time = (iso: string): Span => text(`${iso.slice(0, 19).replace("T", " ")} UTC`);

export const paragraph = (...inline: Inline): Block => ({ kind: "paragraph", inline });
export const notice = (tone: Tone, ...inline: Inline): Block => ({ kind: "notice", tone, inline });
export const subheading = (...inline: Inline): Block => ({ kind: "subheading", inline });
export const list = (items: readonly Inline[]): Block => ({ kind: "list", items });
export const table = (head: readonly string[], rows: readonly (readonly Inline[])[]): Block => ({
  kind: "table",
  head,
  rows,
});
export const commands = (lines: readonly string[]): Block => ({ kind: "commands", lines });

/** Spans of one sentence are joined as they are, so a space at an end of one must survive the cleaning. */
function plainEdges(value: string, max: number): string {
  const inner = plainText(value, max);
  if (inner === "") return /\S/.test(value) || value === "" ? "" : " ";
  return `${/^\s/.test(value) ? " " : ""}${inner}${/\s$/.test(value) ? " " : ""}`;
}

/** Joins inlines with a separator, e.g. ids with commas. */
export function joined(parts: readonly Inline[], separator = ", "): Inline {
  return parts.flatMap((part, index) => (index === 0 ? part : [text(separator), ...part]));
}

/** The first `max` ids as code, and how many more there are. */
export function idList(ids: readonly string[], max = 12): Inline {
  const shown = joined(ids.slice(0, max).map((id) => [code(id)]));
  return ids.length > max ? [...shown, text(` and ${ids.length - max} more`)] : shown;
}
