import { beforeAll, describe, expect, it } from "vitest";
import { buildPayload, stableNames } from "../../dev/build.ts";
import { noticesFor } from "../../dev/notices.ts";
import { PAYLOAD } from "../../dev/repo.ts";
import { COMMANDS } from "../../src/cli/commands.ts";

let files: ReadonlyMap<string, string>;
beforeAll(async () => {
  files = await buildPayload();
});

describe("the built payload", () => {
  it("is the same, byte for byte, when it is built again", async () => {
    expect([...(await buildPayload())]).toEqual([...files]);
  });

  it("has one small entry, chunks without content hashes, every schema and the licences", () => {
    const paths = [...files.keys()].map((path) => path.slice(PAYLOAD.length + 1));
    expect(paths).toContain("scripts/orchestrate.mjs");
    expect(paths).toContain("scripts/chunks/dispatch.cjs");
    expect(paths).toContain("assets/schemas/jobs.schema.json");
    expect(paths.filter((path) => /-[A-Z0-9]{8}\./.test(path))).toEqual([]);
    expect(files.get(`${PAYLOAD}/scripts/orchestrate.mjs`)?.length).toBeLessThan(13_000);
    const notices = files.get(`${PAYLOAD}/THIRD_PARTY_NOTICES.txt`) ?? "";
    expect(notices).toMatch(/^yaml \d+\.\d+\.\d+ \(ISC\)$/m);
    expect(notices).toContain("Permission to use, copy, modify");
  });

  it("is read as it is written: every script in ASCII", () => {
    const scripts = [...files].filter(([path]) => path.endsWith("js"));
    expect(scripts.length).toBeGreaterThan(20);
    for (const [path, text] of scripts) expect(/[^\0-\x7f]/.exec(text)?.[0] ?? "", path).toBe("");
  });

  it("has every part that one loads, and no two that need each other", () => {
    for (const path of [...files.keys()].filter((one) => one.endsWith(".cjs")))
      for (const needed of [...needs(path), ...lazily(path)]) {
        expect(files.has(needed), `${path} loads ${needed}`).toBe(true);
        expect(staticClosure(needed), `${path} and ${needed}`).not.toContain(
          needs(path).includes(needed) ? path : "",
        );
      }
  });
});

describe("what outlives the tool's own folder", () => {
  it("has loaded everything that it may need: no lazy import behind the coordinator, the mock or a client that waits", () => {
    const lazy = new Set<string>();
    for (const name of ["hidden-coordinate", "hidden-mock", "run", "resume", "wait", "watch", "logs"])
      for (const path of staticClosure(`${CHUNKS}${name}.cjs`))
        for (const target of lazily(path)) lazy.add(target.slice(CHUNKS.length, -".cjs".length));
    // Commands are what the dispatcher loads first; without excerpts it shows findings all the same.
    const commands = COMMANDS.map(({ name }) => name.replace(" ", "-"));
    // `resume` loads its two before it starts anything or waits: a finished run needs neither.
    const first = [...commands, "send", "start"];
    expect([...lazy].sort()).toEqual([...first, "excerpt", "hidden-coordinate", "hidden-mock"].sort());
  });
});

const CHUNKS = `${PAYLOAD}/scripts/chunks/`;
const LAZY = /\.then\(\(\) => require\("\.\/([^"]+)"\)\)/g;

/** What a part loads at need. */
const lazily = (path: string): string[] =>
  [...(files.get(path) ?? "").matchAll(LAZY)].map(([, target = ""]) => CHUNKS + target);

/** What a part loads before it is run itself. */
const needs = (path: string): string[] =>
  [...(files.get(path) ?? "").replaceAll(LAZY, "").matchAll(/\brequire\("\.\/([^"]+)"\)/g)].map(
    ([, target = ""]) => CHUNKS + target,
  );

/** A part and everything that is loaded together with it. */
function staticClosure(start: string): Set<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    expect(files.get(path), path).toBeDefined();
    found.add(path);
    for (const target of needs(path)) visit(target);
  };
  visit(start);
  return found;
}

describe("names of chunks", () => {
  const output = (entryPoint: string | undefined, inputs: Record<string, number>) => ({
    bytes: 1,
    imports: [],
    exports: [],
    ...(entryPoint === undefined ? {} : { entryPoint }),
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }]),
    ),
  });

  it("come from the module that is loaded, or from the largest one, and never from the content", () => {
    const names = stableNames({
      inputs: {},
      outputs: {
        "out/run-AAAAAAAA.mjs": output("src/commands/run.ts", { "src/commands/run.ts": 5 }),
        "out/chunk-BBBBBBBB.mjs": output(undefined, { "src/a.ts": 1, "src/big.ts": 9 }),
        "out/chunk-CCCCCCCC.mjs": output(undefined, { "src/other/big.ts": 9 }),
        "out/dispatch.mjs": output("src/dispatch.ts", {}),
      },
    });
    expect(Object.fromEntries(names)).toEqual({
      "out/run-AAAAAAAA.mjs": "out/run.mjs",
      "out/chunk-BBBBBBBB.mjs": "out/big.mjs",
      "out/chunk-CCCCCCCC.mjs": "out/big-2.mjs",
    });
  });
});

describe("third-party notices", () => {
  it("refuse a package that has no licence text", () => {
    const metafile = {
      inputs: {},
      outputs: {
        "x.mjs": {
          bytes: 1,
          imports: [],
          exports: [],
          inputs: { "node_modules/.bin/../no-such-package/index.js": { bytesInOutput: 1 } },
        },
      },
    };
    expect(() => noticesFor([metafile])).toThrow();
  });
});
