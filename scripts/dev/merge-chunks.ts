/**
 * Puts small shared chunks into the chunk that every command loads anyway. Splitting makes one file for each set of
 * commands that share a module, dozens of them with a few lines each; opening a file costs more than reading one.
 */
import { build, type Plugin } from "esbuild";

/** File name → text, all in one folder; `main` absorbs what may go. */
export interface ChunkSet {
  readonly chunks: ReadonlyMap<string, string>;
  readonly main: string;
  /** Chunks that are loaded by name and must stay files of their own; `main` may be one. */
  readonly entries: ReadonlySet<string>;
  readonly banner: string;
}

/** Larger ones may do more when they are loaded than opening a file costs. */
const SMALL_BYTES = 6_000;
/** Builtins that are loaded anyway, or cost nothing. */
export const COSTLY_BUILTIN = /\bfrom "node:(?!path"|os"|util"|url"|buffer")/;

const IMPORT = /import \{\n([^}]*?)\n\} from "\.\/([^"]+)";\n/g;
const BARE_IMPORT = /^import "\.\/([^"]+)";\n/gm;
const EXPORT = /export \{\n([^}]*?)\n\};\n?$/;

/** The chunks after the merge: fewer files, the same modules. Deterministic. */
export async function mergeChunks(set: ChunkSet): Promise<ReadonlyMap<string, string>> {
  return moveInto(set, absorbable(set));
}

/** Moves chunks into `main`, whatever their size, and leads all imports of them there. */
export async function moveInto(
  set: ChunkSet,
  absorbed: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const names = exportNames(set, absorbed);
  const merged = new Map<string, string>();
  for (const [file, text] of set.chunks)
    if (file === set.main) merged.set(file, await mergedText(set, absorbed, names));
    else if (!absorbed.has(file)) merged.set(file, redirected(text, absorbed, names, set.main));
  return merged;
}

/** Small chunks that need nothing outside of the merged file, so that no circle of files comes about. */
function absorbable({ chunks, main, entries }: ChunkSet): ReadonlySet<string> {
  const small = (text: string): boolean => text.length <= SMALL_BYTES && !COSTLY_BUILTIN.test(text);
  const chosen = new Set(
    [...chunks].filter(([file, text]) => !entries.has(file) && small(text)).map(([file]) => file),
  );
  for (const needed of importedBy(chunks.get(main) ?? "")) if (!entries.has(needed)) chosen.add(needed);
  for (let before = -1; before !== chosen.size; ) {
    before = chosen.size;
    for (const file of chosen)
      if (importedBy(chunks.get(file) ?? "").some((needed) => needed !== main && !chosen.has(needed)))
        chosen.delete(file);
  }
  return chosen;
}

export const importedBy = (text: string): string[] => [
  ...[...text.matchAll(IMPORT)].map((match) => match[2] ?? ""),
  ...[...text.matchAll(BARE_IMPORT)].map((match) => match[1] ?? ""),
];

/** `file` + exported name → name in the merged file; a name that two chunks export gets a number. */
function exportNames({ chunks, main }: ChunkSet, absorbed: ReadonlySet<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const file of [main, ...[...absorbed].sort()])
    for (const name of exportedBy(chunks.get(file) ?? "")) {
      let unique = name;
      for (let n = 2; taken.has(unique); n += 1) unique = `${name}$${n}`;
      taken.add(unique);
      names.set(`${file} ${name}`, unique);
    }
  return names;
}

const exportedBy = (text: string): string[] =>
  (EXPORT.exec(text)?.[1] ?? "")
    .split(",\n")
    .map((part) => part.trim().split(" as ").at(-1) ?? "")
    .filter((name) => name !== "");

/** The bundler's comment above each module; as a legal comment it survives a second pass. */
const ORIGIN = /^\/\/ (\S+)$/gm;

async function mergedText(
  { chunks, main, banner }: ChunkSet,
  absorbed: ReadonlySet<string>,
  names: ReadonlyMap<string, string>,
): Promise<string> {
  const entry = [...names]
    .map(([key, unique]) => {
      const [file = "", name = ""] = key.split(" ");
      return `export { ${name} as ${unique} } from "./${file}";`;
    })
    .join("\n");
  const inMemory: Plugin = {
    name: "in-memory",
    setup(builder) {
      builder.onResolve({ filter: /^\.\// }, ({ path, kind }) => {
        const file = path.slice(2);
        const inside = kind !== "dynamic-import" && (file === main || absorbed.has(file));
        return inside ? { path: file, namespace: "chunk" } : { path, external: true };
      });
      builder.onLoad({ filter: /.*/, namespace: "chunk" }, ({ path }) => ({
        contents: (chunks.get(path) ?? "").replace(`${banner}\n`, "").replace(ORIGIN, "//! $1"),
        loader: "js",
      }));
    },
  };
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: ".", loader: "js" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    charset: "ascii",
    legalComments: "inline",
    banner: { js: banner },
    plugins: [inMemory],
    write: false,
  });
  // The names of the chunks say nothing here: the comments inside still tell which module a part comes from.
  return (outputFiles[0]?.text ?? "").replace(/^\/\/ chunk:.*\n/gm, "").replace(/^\/\/! /gm, "// ");
}

/** Imports of absorbed chunks now come from the merged file. */
function redirected(
  text: string,
  absorbed: ReadonlySet<string>,
  names: ReadonlyMap<string, string>,
  main: string,
): string {
  const loaded = new Set(
    [...text.matchAll(IMPORT)].map(([, , file = ""]) => (absorbed.has(file) ? main : file)),
  );
  return text
    .replace(IMPORT, (all, list: string, file: string) => {
      if (!absorbed.has(file) && file !== main) return all;
      const parts = list.split(",\n").map((part) => {
        const [name = "", local = name] = part.trim().split(" as ");
        const unique = names.get(`${file} ${name}`) ?? name;
        return unique === local ? `  ${local}` : `  ${unique} as ${local}`;
      });
      return `import {\n${parts.join(",\n")}\n} from "./${main}";\n`;
    })
    .replace(BARE_IMPORT, (all, file: string) => {
      const target = absorbed.has(file) ? main : file;
      // Once is enough; an import with names loads it as well.
      if (loaded.has(target)) return "";
      loaded.add(target);
      return target === file ? all : `import "./${target}";\n`;
    });
}
