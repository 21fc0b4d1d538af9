/** Work whose worth is known: nothing bad is accepted, nothing good is held up. The whole corpus is `npm run corpus`. */
import { describe, expect, it } from "vitest";
import { corpus } from "../../dev/corpus/cases.ts";
import { corpusTable, runCorpus } from "../../dev/corpus/corpus-run.ts";
import { builtTool } from "../support/tool.ts";

const tool = builtTool();

describe("a corpus of good and bad work", () => {
  it("has at least 40 good and 60 bad pieces as a whole", () => {
    const all = corpus({ seed: 1, good: 5, bad: 3 });
    expect(all.filter((one) => one.good).length).toBeGreaterThanOrEqual(40);
    expect(all.filter((one) => !one.good).length).toBeGreaterThanOrEqual(60);
  });

  it("has one of each kind accepted exactly when it is good", async () => {
    const result = await runCorpus(corpus({ seed: 1, good: 1, bad: 1 }), tool().main);
    expect(result.falseAccepts, corpusTable(result)).toEqual([]);
    expect(result.falseBlocks, corpusTable(result)).toEqual([]);
  }, 300_000);
});
