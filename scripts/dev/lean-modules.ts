/**
 * Parts of modules that the tool never reaches, left out of the build: reading and compiling source is most of what a
 * short command costs. Behaviour is the same, and the build's tests compare.
 */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { Plugin } from "esbuild";
import { ROOT } from "./repo.ts";

/**
 * `yaml` writes documents, builds them from values and knows YAML 1.1. What reads a spec needs only its reader, on tokens
 * that hold no tags, and the core schema of 1.2. Methods refer to the rest, so no bundler can see it unused. Whatever
 * else imports `yaml` gets the whole of it, in a second copy that only those commands load.
 */
const READERS = /[/\\]plan[/\\]yaml-(?:tokens|value)\.ts$/;
const YAML = "node_modules/yaml/browser";
const UNUSED =
  /\/(?:stringify\/\w+|visit|log|doc\/(?:createNode|applyReviver|anchors)|nodes\/(?:toJS|addPairToJSMap)|schema\/(?:json|yaml-1\.1)\/\w+|parse\/cst-(?:scalar|stringify|visit))\.js$/;

/** Modules of `yaml` that only its other half needs become functions that say so. */
export const readerOfYaml: Plugin = {
  name: "reader-of-yaml",
  setup(builder) {
    const namespace = "yaml-reader";
    builder.onResolve({ filter: /^yaml$/ }, ({ importer }) =>
      READERS.test(importer) ? { path: `${YAML}/index.js`, namespace, sideEffects: false } : null,
    );
    builder.onResolve({ filter: /^\./, namespace }, ({ path, importer }) => ({
      path: posix.join(posix.dirname(importer), path),
      namespace,
      sideEffects: false,
    }));
    builder.onLoad({ filter: /.*/, namespace }, ({ path }) => {
      const source = readFileSync(join(ROOT, path), "utf8");
      return { contents: UNUSED.test(path) ? stubs(exportedNames(source)) : source, loader: "js" };
    });
  },
};

const stubs = (names: readonly string[]): string =>
  names
    .map(
      (name) => `export const ${name} = () => { throw new Error("\`${name}\` of yaml is not built in"); };`,
    )
    .join("\n");

const exportedNames = (source: string): string[] =>
  [...source.matchAll(/^export \{ (.*) \};$/gm)].flatMap(([, list = ""]) =>
    list.split(", ").map((part) => part.split(" as ").at(-1) ?? part),
  );

/** CommonJS packages are run when they are imported; a glob is compiled by few commands that could. */
export const lazyGlobs: Plugin = {
  name: "lazy-globs",
  setup(builder) {
    builder.onResolve({ filter: /^picomatch$/ }, ({ kind }) =>
      kind === "import-statement" ? { path: "picomatch", namespace: "lazy" } : null,
    );
    builder.onLoad({ filter: /.*/, namespace: "lazy" }, ({ path }) => ({
      contents: `let loaded;\nexport default (...args) => (loaded ??= require("${path}"))(...args);`,
      resolveDir: ROOT,
      loader: "js",
    }));
  },
};

/** Its modules do nothing but define, yet it does not say so, and tables for its formatter were made at every start. */
export const pureJsonc: Plugin = {
  name: "pure-jsonc",
  setup(builder) {
    builder.onResolve(
      { filter: /^\.\/.*(?:string-intern|format|edit)$/ },
      async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === "again" || !/[/\\]jsonc-parser[/\\]/.test(importer)) return null;
        const found = await builder.resolve(path, { importer, kind, resolveDir, pluginData: "again" });
        return { ...found, sideEffects: false };
      },
    );
  },
};

/** A schema that checks files at run time, without the words that are only for editors; a text, which V8 reads faster. */
export const leanSchemas: Plugin = {
  name: "lean-schemas",
  setup(builder) {
    builder.onLoad({ filter: /\.schema\.json$/ }, ({ path }) => ({
      contents: `export default JSON.parse(${JSON.stringify(JSON.stringify(leanSchema(JSON.parse(readFileSync(path, "utf8")))))});`,
      loader: "js",
    }));
  },
};

const FOR_EDITORS: ReadonlySet<string> = new Set(["$schema", "$id", "title", "default"]);

/** The first sentence about a required field is part of the message that it is missing; other descriptions go. */
function leanSchema(schema: unknown, described = false): unknown {
  if (Array.isArray(schema)) return schema.map((entry) => leanSchema(entry));
  if (typeof schema !== "object" || schema === null) return schema;
  const { required } = schema as { readonly required?: readonly string[] };
  const lean = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (FOR_EDITORS.has(key)) return [];
    if (key === "description") return described ? [[key, String(value).replace(/\..*$/s, "")]] : [];
    if (key !== "properties" && key !== "definitions") return [[key, leanSchema(value)]];
    return [
      [
        key,
        Object.fromEntries(
          Object.entries(value as object).map(([name, field]) => [
            name,
            leanSchema(field, required?.includes(name) === true),
          ]),
        ),
      ],
    ];
  });
  return Object.fromEntries(lean);
}
