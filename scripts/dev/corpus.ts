/** `npm run corpus [-- SEED]`: pieces of work whose worth is known, through the whole pipeline, as one table. */
import { join } from "node:path";
import { runCorpus } from "./corpus/corpus-run.ts";
import { corpusTable, faultsOf } from "./corpus/judged.ts";
import { isMain } from "./is-main.ts";
import { PAYLOAD, ROOT } from "./repo.ts";
import { listed, refuse } from "./usage.ts";

/** At least 40 good and 60 bad pieces. */
export const WHOLE = { good: 5, bad: 3 };

if (isMain(import.meta.url)) {
  const [word = "1", ...more] = process.argv.slice(2);
  if (!/^\d{1,15}$/.test(word) || more.length > 0)
    refuse(`npm run corpus [-- SEED]: one whole number, not ${listed([word, ...more])}`);
  else await main(Number(word));
}

async function main(seed: number): Promise<void> {
  const judged = await runCorpus({ ...WHOLE, seed, main: join(ROOT, PAYLOAD, "scripts/orchestrate.mjs") });
  console.log(corpusTable(judged));
  const faults = Object.values(faultsOf(judged)).flat();
  for (const fault of faults) console.log(`wrong: ${fault} (seed ${seed})`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
