/** Markdown read once: headings with their anchors, links, code blocks with the comment above them. */
import GithubSlugger from "github-slugger";
import MarkdownIt from "markdown-it";

export interface Link {
  readonly target: string;
  readonly line: number;
}

export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** `valid spec` of an `<!-- example: valid spec -->` right above the block, or null. */
  readonly example: string | null;
}

export interface Document {
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly Link[];
  readonly blocks: readonly CodeBlock[];
  /** Sentences and table rows outside code, with their lines. */
  readonly statements: readonly { readonly text: string; readonly line: number }[];
}

const parser = new MarkdownIt({ html: true });
const EXAMPLE = /<!-- example: ([^>]+?) -->/;
const HTML_ANCHOR = /\b(?:id|name)="([^"]+)"/g;

export function readMarkdown(source: string): Document {
  // Frontmatter is no Markdown; its lines are kept so that places stay right.
  const text = source.replace(/^---\n[\s\S]*?\n---\n/, (all) => all.replace(/[^\n]/g, ""));
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  const links: Link[] = [];
  const blocks: CodeBlock[] = [];
  const statements: { text: string; line: number }[] = [];
  let example: string | null = null;
  let previous = "";
  let line = 1;
  for (const token of parser.parse(text, {})) {
    if (token.map !== null) line = token.map[0] + 1;
    if (token.type === "html_block") {
      example = EXAMPLE.exec(token.content)?.[1] ?? null;
      for (const match of token.content.matchAll(HTML_ANCHOR)) anchors.add(match[1] ?? "");
      continue;
    }
    if (token.type === "fence") {
      blocks.push({ language: token.info.trim().split(/\s+/)[0] ?? "", text: token.content, line, example });
    } else if (token.type === "inline") {
      if (previous === "heading_open") anchors.add(slugger.slug(plainText(token.children ?? [])));
      for (const child of token.children ?? []) {
        const target =
          child.type === "link_open"
            ? child.attrGet("href")
            : child.type === "image"
              ? child.attrGet("src")
              : null;
        if (target !== null) links.push({ target: decodeURI(String(target)), line });
      }
      statements.push({ text: token.content, line });
    }
    if (token.type !== "inline" || previous !== "heading_open") example = null;
    previous = token.type;
  }
  return { anchors, links, blocks, statements };
}

interface Child {
  readonly type: string;
  readonly content: string;
}

/** A heading as GitHub sees it for the anchor: text and code, no markup. */
const plainText = (children: readonly Child[]): string =>
  children
    .filter((child) => child.type === "text" || child.type === "code_inline")
    .map((child) => child.content)
    .join("");
