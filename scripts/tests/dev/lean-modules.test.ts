import { build } from "esbuild";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { leanSchemas, readerOfYaml } from "../../dev/lean-modules.ts";
import { ROOT } from "../../dev/repo.ts";
import { parseSpec } from "../../src/plan/spec.ts";

let lean: typeof parseSpec;
beforeAll(async () => {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["scripts/src/plan/spec.ts"],
    bundle: true,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
    alias: { yaml: "./node_modules/yaml/browser/index.js" },
    plugins: [readerOfYaml, leanSchemas],
    // The one CommonJS package here asks for nothing but Node.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire("/");',
    },
    write: false,
  });
  const text = outputFiles[0]?.text ?? "";
  lean = (await import(`data:text/javascript,${encodeURIComponent(text)}`)).parseSpec;
});

const told = (parse: typeof parseSpec, text: string): unknown => {
  const { spec, diagnostics } = parse(text, { fileName: "jobs.yaml" });
  return { spec, diagnostics };
};

const PIECES = [
  "version: 1\n",
  "jobs:\n",
  "  - id: a\n",
  "    prompt: |\n      text: here\n",
  "    task: scout\n",
  "    timeout: 10m # soon\n",
  "    depends_on: [b, 'c', \"d\"]\n",
  "    expected_output: >-\n      folded\n      text\n",
  "    env: {A: 1, B: 0x1f, C: 1e3, D: .inf, E: ~, F: true}\n",
  "  - !tag x\n",
  "&anchor v: *anchor\n",
  "<<: {a: 1}\n",
  "? complex\n: value\n",
  "%YAML 1.1\n---\n",
  "...\n",
  "\t- tab\n",
  "- [unclosed, {x: 1\n",
  "'quote\n",
  '"\\q \\u0000"\n',
  "2001-12-14: !!binary aGk=\n",
  "{a: b, a: c}\n",
];

describe("the lean modules of the build", () => {
  it("read any text to the same value and the same findings as the whole ones", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        expect(told(lean, text)).toEqual(told(parseSpec, text));
      }),
      { numRuns: 400 },
    );
  });
});
