/** `npm run corpus [SEED]`: pieces of work whose worth is known, through the whole pipeline, as one table. */
import { join } from "node:path";
import { corpus } from "./corpus/cases.ts";
import { corpusTable, runCorpus } from "./corpus/corpus-run.ts";
import { isMain } from "./is-main.ts";
import { PAYLOAD, ROOT } from "./repo.ts";

if (isMain(import.meta.url)) {
  const seed = Number(process.argv[2] ?? 1);
  const result = await runCorpus(
    corpus({ seed, good: 5, bad: 3 }),
    join(ROOT, PAYLOAD, "scripts/orchestrate.mjs"),
  );
  console.log(corpusTable(result));
  for (const id of [...result.falseAccepts, ...result.falseBlocks])
    console.log(`wrong: ${id} (seed ${seed})`);
  process.exitCode = result.falseAccepts.length + result.falseBlocks.length === 0 ? 0 : 1;
}
