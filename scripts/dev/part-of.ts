/**
 * A chunk, an ES module, as a part that the tool's own loader can take with compiled code from a cache: a script whose
 * value is a function of `module`, `exports`, `require` and the file's URL. Node keeps compiled code of scripts only.
 */
import { transform } from "esbuild";

const URL_NAME = "moduleUrl";

/** `name.mjs` → `name.cjs`. */
export const partName = (file: string): string => file.replace(/\.mjs$/, ".cjs");

/** Throws when the text has something that only a module can do, or a character that cannot be escaped. */
export async function partOf(chunk: string, banner: string): Promise<string> {
  const { code, warnings } = await transform(chunk.replace(`${banner}\n`, ""), {
    format: "cjs",
    target: "node20.19",
    platform: "neutral",
    charset: "ascii",
    legalComments: "none",
    supported: { "dynamic-import": false },
    define: { "import.meta.url": URL_NAME },
  });
  if (warnings.length > 0) throw new Error(`esbuild warns: ${warnings.map(({ text }) => text).join("; ")}`);
  const body = ascii(lean(code));
  return `${banner}\n(function (module, exports, require, ${URL_NAME}) {\n"use strict";\n${body}})\n`;
}

/**
 * What makes CommonJS of any kind look like modules has nothing to do between our own parts. Exports are plain
 * properties, given once all is evaluated (no two parts need each other), and getters only where a value can change later.
 */
function lean(code: string): string {
  const found = EXPORTS.exec(code);
  const body = (found === null ? code : code.replace(found[0], ""))
    .replace(/__toESM\(require\("\.\/([^"]+)\.mjs"\)\)/g, 'require("./$1.cjs")')
    .replace(/\brequire\("\.\/([^"]+)\.mjs"\)/g, 'require("./$1.cjs")');
  const used = withoutHelpers(body);
  if (/\brequire\((?!")/.test(used)) throw new Error("a part loads something that is not named");
  if (/\b__toCommonJS\(/.test(used)) throw new Error("the exports of a part were not found");
  return found === null ? used : `${used}module.exports = {\n${exportsOf(found[1] ?? "", used)}\n};\n`;
}

/** What esbuild puts in front for its own use, when nothing behind it uses it any more. */
function withoutHelpers(body: string): string {
  const end = body.indexOf(HELPERS_END);
  if (end < 0) return body;
  const [helpers, rest] = [body.slice(0, end), body.slice(end + HELPERS_END.length)];
  const names = [...helpers.matchAll(/^var (__\w+) = /gm)].map(([, name = ""]) => name);
  return names.some((name) => new RegExp(`(?<![.\\w$])${name}\\b`).test(rest)) ? body : rest;
}

const HELPERS_END = "var stdin_exports = {};\n";
const EXPORTS =
  /^__export\(stdin_exports, \{\n([^}]*)\n\}\);\nmodule\.exports = __toCommonJS\(stdin_exports\);\n/m;
const EXPORT = /^ {2}([\w$]+): \(\) => ([\w$]+(?:\.[\w$]+)?),?$/;

function exportsOf(lines: string, body: string): string {
  const changing = changingNames(body);
  return lines
    .split("\n")
    .map((line) => {
      const [, name, local] = EXPORT.exec(line) ?? [];
      if (name === undefined || local === undefined)
        throw new Error(`an export that is not understood: ${line}`);
      return local.includes(".") || changing.has(local)
        ? `  get ${name}() { return ${local}; }`
        : `  ${name}: ${local}`;
    })
    .join(",\n");
}

/** Names that are given a value anywhere but where they are declared; one of an inner scope counts too, which only costs. */
function changingNames(body: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const pattern of CHANGES)
    for (const [, target = ""] of body.matchAll(pattern))
      for (const [name] of target.matchAll(/[\w$]+/g)) names.add(name);
  return names;
}

const CHANGES = [
  // x = 1, x += 1, x ??= 1
  /(?<!\b(?:var|let|const) )(?<![\w$.])([\w$]+) (?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?= /g,
  // x++, --x
  /(?<![\w$.])([\w$]+)(?:\+\+|--)/g,
  /(?:\+\+|--)([\w$]+)/g,
  // [x] = …, ({ x } = …)
  /(?<!\b(?:var|let|const) )(?<![\w$\])])\[([^[\]=]*)\] = /g,
  /\(\{([^{}]*)\} = /g,
  // for (x of …)
  /\bfor \(([\w$]+) (?:of|in) /g,
];

/** A part is read as Latin-1, since decoding UTF-8 costs more than reading; esbuild leaves regular expressions as they are. */
const ascii = (code: string): string => {
  if (/\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/.test(code))
    throw new Error("a part has a character where an escape would mean something else");
  return code.replace(/[^\0-\x7f]/g, (character) => {
    if (/[\ud800-\udfff]/.test(character))
      throw new Error(`a part has a character beyond U+FFFF: ${character}`);
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
};
