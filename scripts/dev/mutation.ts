/**
 * `npm run mutation [-- FILE...]`: changes policy code in every small way that there is and counts what the tests notice. Without
 * files, all of it; `--changed`, what is not as it was measured. Writes the record and fails below the least score.
 */
import { relative } from "node:path";
import { isMain } from "./is-main.ts";
import { measure } from "./mutation/measure.ts";
import { LEAST_SCORE } from "./mutation/policy.ts";
import {
  changedFiles,
  type Entry,
  entryOf,
  policyFiles,
  readRecord,
  testsOf,
  writeRecord,
} from "./mutation/record.ts";
import { ROOT } from "./repo.ts";
import { listed, refuse } from "./usage.ts";

/** At once: enough to load the tests' modules once for many, few enough to keep what is done when it is stopped. */
const BATCH = 4;

if (isMain(import.meta.url)) {
  const words = process.argv.slice(2);
  const files = words.map((file) => relative(ROOT, file));
  const unknown = files.filter((file) => !policyFiles().includes(file));
  if (words.length === 1 && words[0] === "--changed") await main(changedFiles(readRecord()));
  else if (unknown.length === 0) await main(words.length > 0 ? files : policyFiles());
  else
    refuse(
      `npm run mutation [-- FILE... | --changed]: no policy code (see mutation/policy.ts): ${listed(unknown)}`,
    );
}

async function main(files: readonly string[]): Promise<void> {
  for (let at = 0; at < files.length; at += BATCH) {
    const batch = files.slice(at, at + BATCH);
    const measured = await measure(batch, [...new Set(batch.flatMap(testsOf))]);
    const entries = [...measured].map(([file, found]) => [file, entryOf(found)] as const);
    writeRecord({ ...readRecord(), ...Object.fromEntries(entries) });
    for (const [file, entry] of entries) console.log(line(file, entry));
  }
  const record = readRecord();
  const counted = files.map((file) => record[file]).filter((entry) => entry !== undefined);
  const sum = (of: (entry: Entry) => number): number =>
    counted.reduce((total, entry) => total + of(entry), 0);
  const mutants = sum((entry) => entry.mutants);
  const killed = sum((entry) => entry.killed);
  console.log(`${killed} of ${mutants} noticed: ${((100 * killed) / Math.max(1, mutants)).toFixed(1)} %`);
  process.exitCode = counted.every((entry) => entry.score >= LEAST_SCORE) ? 0 : 1;
}

function line(file: string, { score, killed, mutants, onLoad, survivors }: Entry): string {
  const untried = onLoad === 0 ? "" : `  (${onLoad} on load, not tried)`;
  const head = `${score.toFixed(1).padStart(5)} %  ${killed}/${mutants}  ${file}${untried}`;
  return [head, ...survivors.map((one) => `         ${one}`)].join("\n");
}
