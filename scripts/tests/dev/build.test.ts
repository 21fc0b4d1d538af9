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
    expect(paths).toContain("scripts/chunks/dispatch.mjs");
    expect(paths).toContain("assets/schemas/jobs.schema.json");
    expect(paths.filter((path) => /-[A-Z0-9]{8}\./.test(path))).toEqual([]);
    expect(files.get(`${PAYLOAD}/scripts/orchestrate.mjs`)?.length).toBeLessThan(8_000);
    const notices = files.get(`${PAYLOAD}/THIRD_PARTY_NOTICES.txt`) ?? "";
    expect(notices).toMatch(/^yaml \d+\.\d+\.\d+ \(ISC\)$/m);
    expect(notices).toContain("Permission to use, copy, modify");
  });

  it("names every chunk that it loads", () => {
    for (const [path, text] of files) {
      if (!path.endsWith(".mjs")) continue;
      for (const [, target = ""] of text.matchAll(/["'](\.\.?\/[^"'\s]+\.mjs)["']/g)) {
        const folder = path.slice(0, path.lastIndexOf("/"));
        const resolved = new URL(target, `file:///${folder}/`).pathname.slice(1);
        expect(files.has(resolved), `${path} loads ${target}`).toBe(true);
      }
    }
  });
});

describe("what outlives the tool's own folder", () => {
  it("has loaded everything that it may need: no lazy import behind the coordinator, the mock or a client that waits", () => {
    const lazy = new Set<string>();
    for (const name of ["hidden-coordinate", "hidden-mock", "run", "resume", "wait", "watch", "logs"])
      for (const path of staticClosure(files, `${PAYLOAD}/scripts/chunks/${name}.mjs`))
        for (const [, target = ""] of (files.get(path) ?? "").matchAll(/\bimport\("\.\/([^"]+)\.mjs"\)/g))
          lazy.add(target);
    // Commands are what the dispatcher loads first; without excerpts it shows findings all the same.
    const commands = COMMANDS.map(({ name }) => name.replace(" ", "-"));
    // `resume` loads its two before it starts anything or waits: a finished run needs neither.
    const first = [...commands, "send", "start"];
    expect([...lazy].sort()).toEqual([...first, "excerpt", "hidden-coordinate", "hidden-mock"].sort());
  });
});

/** A chunk and everything that is loaded together with it. */
function staticClosure(files: ReadonlyMap<string, string>, start: string): Set<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    const text = files.get(path);
    expect(text, path).toBeDefined();
    found.add(path);
    for (const [, target = ""] of (text ?? "").matchAll(/(?:from|^import) "(\.[^"]+\.mjs)"/gm))
      visit(new URL(target, `file:///${path}`).pathname.slice(1));
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
