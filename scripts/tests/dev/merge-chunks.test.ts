import { describe, expect, it } from "vitest";
import { mergeChunks } from "../../dev/merge-chunks.ts";

const BANNER = "// generated";
const LARGE = "x".repeat(7_000);

const chunk = (...parts: string[]): string => `${BANNER}\n${parts.join("\n")}\n`;
const from = (file: string, ...names: string[]): string =>
  names.length === 0
    ? `import "./${file}";`
    : `import {\n${names.map((n) => `  ${n}`).join(",\n")}\n} from "./${file}";`;
const exporting = (...names: string[]): string => `export {\n${names.map((n) => `  ${n}`).join(",\n")}\n};`;

const merge = async (chunks: Record<string, string>, entries: string[]): Promise<Record<string, string>> =>
  Object.fromEntries(
    await mergeChunks({
      chunks: new Map(Object.entries(chunks)),
      main: "main.mjs",
      entries: new Set(["main.mjs", ...entries]),
      banner: BANNER,
    }),
  );

describe("merging chunks", () => {
  it("moves small shared chunks into the main one and leads imports there, whatever names collide", async () => {
    const merged = await merge(
      {
        "main.mjs": chunk(from("a.mjs", "value"), "var main = value;", exporting("main")),
        "a.mjs": chunk("var value = 1;", exporting("value")),
        "b.mjs": chunk("var value = 2;", exporting("value")),
        "run.mjs": chunk(
          from("a.mjs", "value as one"),
          from("b.mjs", "value"),
          from("b.mjs"),
          "var sum = one + value;",
          exporting("sum as handler"),
        ),
      },
      ["run.mjs"],
    );
    expect(Object.keys(merged)).toEqual(["main.mjs", "run.mjs"]);
    expect(merged["run.mjs"]).toBe(
      chunk(
        from("main.mjs", "value as one"),
        from("main.mjs", "value$2 as value"),
        "var sum = one + value;",
        exporting("sum as handler"),
      ),
    );
    const url = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
    const main = await import(url(merged["main.mjs"] ?? ""));
    expect(main).toMatchObject({ main: 1, value: 1, value$2: 2 });
  });

  it("leaves chunks that are large, costly to load, loaded by name, or that need such a one", async () => {
    const chunks = {
      "main.mjs": chunk("var main = 1;", exporting("main")),
      "large.mjs": chunk(`var large = "${LARGE}";`, exporting("large")),
      "needs-large.mjs": chunk(from("large.mjs", "large"), "var needs = large;", exporting("needs")),
      "costly.mjs": chunk(
        'import { spawn } from "node:child_process";',
        "var costly = spawn;",
        exporting("costly"),
      ),
      "run.mjs": chunk(from("needs-large.mjs", "needs"), from("costly.mjs", "costly"), "needs(costly);"),
    };
    const merged = await merge(chunks, ["run.mjs"]);
    expect(Object.keys(merged)).toEqual(Object.keys(chunks));
    expect(merged["run.mjs"]).toBe(chunks["run.mjs"]);
  });
});
