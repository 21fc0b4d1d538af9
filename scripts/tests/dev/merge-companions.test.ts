import { describe, expect, it } from "vitest";
import { mergeCompanions } from "../../dev/merge-companions.ts";

const BANNER = "// generated";

const chunk = (imports: Record<string, string>, ...exported: string[]): string =>
  [
    BANNER,
    ...Object.entries(imports).map(([file, name]) => `import {\n  ${name}\n} from "./${file}";`),
    ...exported.map((name) => `var ${name} = "${name}";`),
    `export {\n${exported.map((name) => `  ${name}`).join(",\n")}\n};`,
    "",
  ].join("\n");

const filler = (text: string, length: number): string => `${text}// ${"x".repeat(length)}\n`;

const merge = async (chunks: Record<string, string>, entries: string[]): Promise<Record<string, string>> =>
  Object.fromEntries(
    await mergeCompanions({
      chunks: new Map(Object.entries(chunks)),
      main: "main.mjs",
      entries: new Set(["main.mjs", ...entries]),
      banner: BANNER,
    }),
  );

describe("merging companions", () => {
  const MAIN = { "main.mjs": chunk({}, "main") };

  it("makes one file of two large chunks that the same commands load", async () => {
    const merged = await merge(
      {
        ...MAIN,
        "a.mjs": filler(chunk({ "main.mjs": "main" }, "a"), 90_000),
        "b.mjs": filler(chunk({ "a.mjs": "a" }, "b"), 90_000),
        "run.mjs": chunk({ "a.mjs": "a", "b.mjs": "b" }, "handler"),
        "plan.mjs": chunk({ "b.mjs": "b" }, "handler"),
      },
      ["run.mjs", "plan.mjs"],
    );
    expect(Object.keys(merged)).toEqual(["main.mjs", "b.mjs", "run.mjs", "plan.mjs"]);
    expect(merged["run.mjs"]).toContain('import {\n  a\n} from "./b.mjs";');
  });

  it("never makes a command read more for it than opening a file costs", async () => {
    const chunks = {
      ...MAIN,
      "a.mjs": filler(chunk({}, "a"), 50_000),
      "b.mjs": filler(chunk({}, "b"), 50_000),
      "run.mjs": chunk({ "a.mjs": "a", "b.mjs": "b" }, "handler"),
      "plan.mjs": chunk({ "a.mjs": "a", "b.mjs": "b" }, "handler"),
      "status.mjs": chunk({ "a.mjs": "a" }, "handler"),
    };
    const merged = await merge(chunks, ["run.mjs", "plan.mjs", "status.mjs"]);
    expect(Object.keys(merged)).toEqual(Object.keys(chunks));
  });

  it("never makes a circle of files", async () => {
    const chunks = {
      ...MAIN,
      "a.mjs": chunk({}, "a"),
      "between.mjs": filler(chunk({ "a.mjs": "a" }, "between"), 90_000),
      "b.mjs": chunk({ "between.mjs": "between" }, "b"),
      "run.mjs": chunk({ "a.mjs": "a", "b.mjs": "b" }, "handler"),
      "other.mjs": chunk({ "a.mjs": "a" }, "handler"),
    };
    const merged = await merge(chunks, ["run.mjs", "other.mjs"]);
    const imports = (file: string): string[] =>
      [...(merged[file] ?? "").matchAll(/from "\.\/(.+)"/g)].map(([, target = ""]) => target);
    const leadsTo = (file: string, target: string): boolean =>
      imports(file).some((next) => next === target || leadsTo(next, target));
    for (const file of Object.keys(merged)) expect(leadsTo(file, file), file).toBe(false);
  });
});
