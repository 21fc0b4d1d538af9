/**
 * YAML text to a token tree, refusing on the way what a spec may not use.
 *
 * Depth is watched here, token by token, because the library composes documents recursively: five thousand
 * brackets have aborted a process there. Anchors and the like are refused here too, before anything expands them.
 */
import { CST, Lexer, Parser } from "yaml";
import { SPEC_LIMITS } from "../core/policy.ts";
import { type Fault, MAX_READ_FAULTS } from "./fault.ts";
import { quoted } from "./shown.ts";

export interface TokenTree {
  readonly tokens: readonly CST.Token[];
  readonly faults: readonly Fault[];
  /** Reading ended early: composing the tokens would be dangerous or pointless. */
  readonly stopped: boolean;
}

const COLLECTIONS: ReadonlySet<string> = new Set(["block-map", "block-seq", "flow-collection"]);

export function readTokens(text: string): TokenTree {
  const parser = new Parser();
  const watch = createWatch();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    const offset = parser.offset;
    watch.lexeme(lexeme, offset);
    for (const token of parser.next(lexeme)) if (watch.token(token)) tokens.push(token);
    if (parser.stack.length > SPEC_LIMITS.maxDepth) watch.depth(parser.stack, offset);
    if (watch.stopped()) return { tokens, faults: watch.faults, stopped: true };
  }
  for (const token of parser.end()) if (watch.token(token)) tokens.push(token);
  return { tokens, faults: watch.faults, stopped: false };
}

function createWatch() {
  const faults: Fault[] = [];
  let scalarNext = false;
  let documentBegun = false;
  let documentEnded = false;
  let stopped = false;

  const stop = (fault: Fault): void => {
    faults.push(fault);
    stopped = true;
  };
  const secondDocument = (offset: number): void =>
    stop({
      code: "several-documents",
      offset,
      message: "a second document starts here, but a file holds one",
      fix: "remove the `---` or move what follows to a file of its own",
    });

  return {
    faults,
    stopped: () => stopped || faults.length >= MAX_READ_FAULTS,
    lexeme(lexeme: string, offset: number): void {
      if (scalarNext) {
        scalarNext = false;
        return;
      }
      if (lexeme === CST.SCALAR) scalarNext = true;
      const start = lexeme === "---";
      if (start ? documentBegun : documentEnded && !isBlank(lexeme)) {
        secondDocument(offset);
        return;
      }
      if (start) documentBegun = true;
      if (lexeme === "...") documentEnded = documentBegun;
      const fault = start ? null : refusal(lexeme, offset);
      if (fault !== null) faults.push(fault);
      if (!documentBegun) documentBegun = !isBlank(lexeme);
    },
    /** False for what is no part of a tree: text that fits nowhere. */
    token(token: CST.Token): boolean {
      if (token.type !== "error") return true;
      faults.push({
        code: "yaml-syntax",
        offset: token.offset,
        message: `this is not YAML: nothing is open here that ${quoted(token.source)} could belong to`,
        fix: "remove it, or quote the text it belongs to",
      });
      return false;
    },
    depth(stack: readonly CST.Token[], offset: number): void {
      const depth = stack.filter((token) => COLLECTIONS.has(token.type)).length;
      if (depth > SPEC_LIMITS.maxDepth)
        stop({
          code: "too-deep",
          offset,
          message: `this is nested deeper than ${SPEC_LIMITS.maxDepth} levels`,
          fix: "no field needs that depth; close the lists and maps that were left open",
        });
    },
  };
}

/** Space, line ends, comments, directives and the marks the lexer adds by itself. */
const isBlank = (lexeme: string): boolean =>
  lexeme === CST.DOCUMENT ||
  lexeme === CST.BOM ||
  lexeme === "..." ||
  /^[\s#%]/.test(lexeme) ||
  lexeme === "";

function refusal(lexeme: string, offset: number): Fault | null {
  switch (lexeme.charCodeAt(0)) {
    case 0x26: // &
      return {
        code: "yaml-anchor",
        offset,
        message: "anchors (`&name`) are not allowed",
        fix: "write the value out where it is needed, or quote it if it is text",
      };
    case 0x2a: // *
      return {
        code: "yaml-alias",
        offset,
        message: "aliases (`*name`) are not allowed",
        fix: "write the value out, or quote it if it is text",
      };
    case 0x21: // !
      return {
        code: "yaml-tag",
        offset,
        message: "tags (`!name`) are not allowed",
        fix: "remove the tag, or quote the value if it is text",
      };
    case 0x25: // %
      return {
        code: "yaml-directive",
        offset,
        message: "directives (`%NAME`) are not allowed",
        fix: "remove the line",
      };
    case 0x09:
    case 0x20: {
      const tab = lexeme.indexOf("\t");
      return tab === -1 ? null : tabFault(offset + tab);
    }
    default:
      return null;
  }
}

export const tabFault = (offset: number): Fault => ({
  code: "tab-character",
  offset,
  message: "a tab is used as space here",
  fix: "use spaces",
});
