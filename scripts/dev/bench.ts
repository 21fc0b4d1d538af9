/**
 * `npm run bench [-- NAME... [--OPTION VALUE]]`: the benchmarks in scripts/dev/bench, one after the other so that none
 * disturbs another. Options are handed on to each.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./repo.ts";
import { listed, refuse } from "./usage.ts";

const DIR = join(ROOT, "scripts/dev/bench");
/** What they share. */
const PARTS = new Set(["measure.ts", "metered.ts", "graphs.ts", "lines.ts"]);

const names = readdirSync(DIR)
  .filter((file) => file.endsWith(".ts") && !PARTS.has(file))
  .map((file) => file.replace(/\.ts$/, ""))
  .sort();
const firstOption = process.argv.findIndex((arg) => arg.startsWith("--"));
const options = firstOption === -1 ? [] : process.argv.slice(firstOption);
const wanted = process.argv.slice(2, firstOption === -1 ? undefined : firstOption);
const unknown = [
  ...wanted.filter((name) => !names.includes(name)),
  ...options.filter((one) => one === "--help"),
];
if (unknown.length > 0) refuse(`no benchmark ${listed(unknown)}; there are: ${names.join(", ")}`);
else {
  for (const name of wanted.length === 0 ? names : wanted) {
    console.log(`\n== ${name}`);
    const { status } = spawnSync(join(ROOT, "node_modules/.bin/tsx"), [join(DIR, `${name}.ts`), ...options], {
      stdio: "inherit",
    });
    if (status !== 0) process.exitCode = 1;
  }
}
