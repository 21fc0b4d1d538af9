/** Work whose worth is known: nothing bad is accepted, nothing good is held up. The whole corpus is `npm run corpus`. */
import { describe, expect, it } from "vitest";
import { runCorpus, sizeOf } from "../../dev/corpus/corpus-run.ts";
import { corpusTable, faultsOf } from "../../dev/corpus/judged.ts";
import { WHOLE } from "../../dev/corpus.ts";
import { builtTool } from "../support/tool.ts";

const tool = builtTool();

describe("a corpus of good and bad work", () => {
  it("has at least 40 good and 60 bad pieces as a whole", () => {
    expect(sizeOf(WHOLE).good).toBeGreaterThanOrEqual(40);
    expect(sizeOf(WHOLE).bad).toBeGreaterThanOrEqual(60);
  });

  it("has one of each kind accepted exactly when it is good, and caught by what is there to catch it", async () => {
    const judged = await runCorpus({ good: 1, bad: 1, seed: 1, main: tool().main });
    expect(faultsOf(judged), corpusTable(judged)).toEqual({
      falseAccepts: [],
      falseBlocks: [],
      wrongCatches: [],
    });
  }, 300_000);
});
