/** report.html: the report for people, as one self-contained file without script or network. */

import { toHtml } from "hast-util-to-html";
import { h } from "hastscript";
import { buildReport } from "./report-build.ts";
import { type Element, figureOfGraph } from "./report-html-graph.ts";
import { REPORT_STYLE } from "./report-html-style.ts";
import type { ReportInput } from "./report-input.ts";
import type { Block, Inline, ReportModel, Section, Span, Tone } from "./report-model.ts";

/** Nothing may load, run, be framed or be sent, whatever text stands in the page. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Load this module only when a page is wanted: it brings the HTML and layout libraries. */
export async function renderReportHtml(input: ReportInput): Promise<string> {
  const model = buildReport(input);
  const figure = await figureOfGraph(input.graph, input.state);
  const page = h("html", { lang: "en" }, [
    h("head", [
      h("meta", { charSet: "utf-8" }),
      h("meta", { httpEquiv: "Content-Security-Policy", content: CONTENT_POLICY }),
      h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
      h("meta", { name: "color-scheme", content: "light dark" }),
      h("meta", { name: "robots", content: "noindex" }),
      h("title", plain(model.title)),
      h("style", REPORT_STYLE),
    ]),
    h("body", [
      h("a.skip", { href: "#main" }, "Skip to the report"),
      header(model, input),
      h("div.layout", [navigation(model, figure !== null), main(model, figure)]),
      h("footer", "Written by Orchestrate from the run's own records. Text of agents is shown as data."),
    ]),
  ]);
  return `<!doctype html>\n${toHtml(page)}\n`;
}

const plain = (inline: Inline): string => inline.map((span) => span.text).join("");

function header(model: ReportModel, { state }: ReportInput): Element {
  return h("header.top", [
    h("div.brand", [h("span.mark", { ariaHidden: "true" }, "◆"), " Orchestrate"]),
    h("h1", [
      h("span", { className: ["pill", tone(model.statusTone)] }, state.status),
      h(
        "span.name",
        plain(model.title)
          .replace(/^Run [a-z]+/, "")
          .replace(/^: /, ""),
      ),
    ]),
    h("div.notices", model.notices.map(block)),
  ]);
}

function navigation(model: ReportModel, hasGraph: boolean): Element {
  const link = (id: string, title: string): Element => h("li", h("a", { href: `#${id}` }, title));
  return h("nav", { ariaLabel: "Sections" }, [
    h("ul", [
      link("overview", "Overview"),
      ...(hasGraph ? [link("graph", "Job graph")] : []),
      ...model.sections.map(({ id, title }) => link(id, title)),
    ]),
  ]);
}

function main(model: ReportModel, figure: Element | null): Element {
  return h("main#main", [
    h("section#overview", [
      h("h2", "Overview"),
      h(
        "dl.facts",
        model.facts.map(({ label, value }) => h("div", [h("dt", label), h("dd", inline(value))])),
      ),
    ]),
    ...(figure === null ? [] : [h("section#graph", [h("h2", "Job graph"), figure])]),
    ...model.sections.map(section),
  ]);
}

const section = ({ id, title, blocks }: Section): Element =>
  h("section", { id }, [h("h2", title), ...blocks.map(block)]);

function block(value: Block): Element {
  switch (value.kind) {
    case "paragraph":
      return h("p", inline(value.inline));
    case "notice":
      return h("p", { className: ["notice", tone(value.tone)] }, inline(value.inline));
    case "subheading":
      return h("h3", inline(value.inline));
    case "entry":
      return h("details", [h("summary", inline(value.heading)), items(value.items)]);
    case "list":
      return items(value.items);
    case "table":
      return tableOf(value.head, value.rows);
    case "commands":
      return h("pre", { tabIndex: 0 }, h("code", value.lines.join("\n")));
  }
}

const items = (list: readonly Inline[]): Element =>
  h(
    "ul",
    list.map((item) => h("li", inline(item))),
  );

/** Wide tables scroll inside their own frame, which the keyboard can reach. */
function tableOf(head: readonly string[], rows: readonly (readonly Inline[])[]): Element {
  const label = head.filter((cell) => cell !== "").join(", ");
  return h("div.scroll", { tabIndex: 0, role: "region", ariaLabel: `Table: ${label}` }, [
    h("table", [
      h(
        "thead",
        h(
          "tr",
          head.map((cell) => h("th", { scope: "col" }, cell)),
        ),
      ),
      h(
        "tbody",
        rows.map((cells) =>
          h(
            "tr",
            cells.map((cell) => h("td", inline(cell))),
          ),
        ),
      ),
    ]),
  ]);
}

const inline = (spans: Inline): (Element | string)[] => spans.map(spanOf);

function spanOf(span: Span): Element | string {
  switch (span.kind) {
    case "text":
      return span.text;
    case "strong":
      return h("strong", span.text);
    case "code":
      return h("code", span.text);
    case "badge":
      return h("span", { className: ["badge", tone(span.tone)] }, span.text);
  }
}

const tone = (value: Tone): string => `tone-${value}`;
