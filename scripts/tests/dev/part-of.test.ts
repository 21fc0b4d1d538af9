import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { partName, partOf } from "../../dev/part-of.ts";

/** What the part exports, run with these other parts. */
async function run(
  chunk: string,
  parts: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const module = { exports: {} };
  const require = (id: string): unknown => (id.startsWith("./") ? parts[id] : process.getBuiltinModule(id));
  new Script(await partOf(chunk, "// banner")).runInThisContext()(
    module,
    module.exports,
    require,
    "file:///x.cjs",
  );
  return module.exports;
}

describe("a part", () => {
  it("is named after its chunk", () => {
    expect(partName("dispatch.mjs")).toBe("dispatch.cjs");
  });

  it("is a script whose value is a function, strict, behind the banner, without anything that only bundlers need", async () => {
    expect(await partOf("// banner\nvar a = 1;\nexport {\n  a as b\n};\n", "// banner")).toBe(
      '// banner\n(function (module, exports, require, moduleUrl) {\n"use strict";\nvar a = 1;\nmodule.exports = {\n  b: a\n};\n})\n',
    );
  });

  it("is strict, as a module is", async () => {
    const chunk = "export const change = () => { Object.freeze([]).length = 1; };\n";
    expect((await run(chunk))["change"]).toThrow("Cannot assign to read only property 'length'");
  });

  it("takes what it imports from other parts and from Node", async () => {
    const chunk =
      'import { two as deux } from "./two.mjs";\nimport { basename } from "node:path";\nexport const sum = deux + 1, name = basename("/a/b");\n';
    expect(await run(chunk, { "./two.cjs": { two: 2 } })).toEqual({ sum: 3, name: "b" });
  });

  it("loads at need what it imports lazily, and knows its own URL", async () => {
    const chunk = 'export const later = () => import("./late.mjs");\nexport const own = import.meta.url;\n';
    const late = { late: true };
    const { later, own } = await run(chunk, { "./late.cjs": late });
    expect(await (later as () => Promise<unknown>)()).toBe(late);
    expect(own).toBe("file:///x.cjs");
  });

  it("gives a value that changes later as it is then, assigned in whatever way, and hands on that of another part", async () => {
    const ways = [
      "x = 2",
      "x++",
      "--x",
      "x ??= 2",
      "x += 1",
      "[x] = [2]",
      "({ x } = { x: 2 })",
      "for (x of [2]);",
    ];
    for (const way of ways) {
      const exports = await run(
        `let x = 1;\nexport const change = () => { ${way}; return x; };\nexport { x };\n`,
      );
      expect(exports["x"], way).toBe(1);
      const after = (exports["change"] as () => number)();
      expect(exports["x"], way).toBe(after);
    }
    const other = { x: 1 };
    const handedOn = await run('import { x } from "./other.mjs";\nexport { x };\n', { "./other.cjs": other });
    other.x = 2;
    expect(handedOn["x"]).toBe(2);
  });

  it("has a character beyond ASCII as an escape, in texts and in regular expressions alike", async () => {
    const chunk = 'export const text = "\u2026\u{1f600}", found = /[.\u2026\u2019]$/.test("so\u2026");\n';
    expect(/[^\0-\x7f]/.test(await partOf(chunk, ""))).toBe(false);
    expect(await run(chunk)).toEqual({ text: "\u2026\u{1f600}", found: true });
  });

  it("cannot be made of what loads something unnamed, or has a character where an escape means something else", async () => {
    await expect(partOf("export const load = (name) => import(name);\n", "")).rejects.toThrow(
      "a part loads something that is not named",
    );
    for (const text of ["/\\\u00e9/", "String.raw`\u2026`"])
      await expect(partOf(`export const r = ${text};\n`, "")).rejects.toThrow(
        "a part has a character where an escape would mean something else",
      );
  });

  it("cannot be made of a regular expression with a character that needs two escapes", async () => {
    await expect(partOf("export const r = /\u{1f600}/;\n", "")).rejects.toThrow(
      "a part has a character beyond U+FFFF: \ud83d",
    );
  });
});
