/** report.md: what happened, for an agent and for people who read text. */
import { buildReport } from "./report-build.ts";
import type { ReportInput, TraceSummary } from "./report-input.ts";
import type { Block, Inline, ReportModel, Span } from "./report-model.ts";
import { markdownCode, markdownFence, markdownLine, markdownText } from "./report-text.ts";

export type { ReportInput, TraceSummary };

/** Text of agents, specs and runtimes is data: it can be no heading, row, link, HTML or terminal escape of the report. */
export const renderReport = (input: ReportInput): string => markdown(buildReport(input));

function markdown(model: ReportModel): string {
  const parts = [
    `# ${inlineText(model.title)}`,
    ...model.notices.map(blockText),
    tableText(
      ["", ""],
      model.facts.map(({ label, value }) => [[{ kind: "strong", text: label }], value]),
    ),
    ...model.sections.flatMap((section) => [
      `## ${markdownText(section.title)}`,
      ...section.blocks.map(blockText),
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function blockText(block: Block): string {
  switch (block.kind) {
    case "paragraph":
      return markdownLine(inlineText(block.inline));
    case "notice":
      return `> ${markdownLine(inlineText(block.inline))}`;
    case "subheading":
      return `### ${inlineText(block.inline)}`;
    case "entry":
      return `### ${inlineText(block.heading)}\n\n${listText(block.items)}`;
    case "list":
      return listText(block.items);
    case "table":
      return tableText(block.head, block.rows);
    case "commands":
      return markdownFence(block.lines, "sh");
  }
}

const listText = (items: readonly Inline[]): string =>
  items.map((item) => `- ${markdownLine(inlineText(item))}`).join("\n");

function tableText(head: readonly string[], rows: readonly (readonly Inline[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(head.map((cell) => markdownText(cell))),
    line(head.map(() => "---")),
    ...rows.map((cells) => line(cells.map((cell) => inlineText(cell) || " "))),
  ].join("\n");
}

const inlineText = (inline: Inline): string => inline.map(spanText).join("");

function spanText(span: Span): string {
  switch (span.kind) {
    case "text":
    case "badge":
      return markdownText(span.text);
    case "strong":
      return span.text === "" ? "" : `**${markdownText(span.text)}**`;
    case "code":
      return markdownCode(span.text);
  }
}
