/** Generated blocks in Markdown: `<!-- generated:ID -->` … `<!-- /generated -->`, filled from tables in the code. */
import { TABLES } from "./tables.ts";

export const RENDERERS: Readonly<Record<string, () => string>> = TABLES;

const BLOCK = /^<!-- generated:([a-z0-9-]+(?::[a-z0-9-]+)?) -->\n([\s\S]*?)^<!-- \/generated -->$/gm;
const OPENING = /^<!-- generated:/gm;

export interface Filled {
  readonly text: string;
  readonly blocks: number;
}

/** `text` with every block as its renderer says. Throws on an unknown id or a block that is not closed. */
export function fillBlocks(path: string, text: string): Filled {
  let blocks = 0;
  const filled = text.replace(BLOCK, (_all, id: string) => {
    blocks += 1;
    return `<!-- generated:${id} -->\n\n${renderBlock(path, id).trim()}\n\n<!-- /generated -->`;
  });
  const opened = text.match(OPENING)?.length ?? 0;
  if (opened !== blocks) throw new Error(`${path}: ${opened - blocks} generated block(s) are not closed`);
  return { text: filled, blocks };
}

function renderBlock(path: string, id: string): string {
  const render = RENDERERS[id];
  if (render === undefined) throw new Error(`${path}: unknown generated block \`${id}\``);
  return render();
}
