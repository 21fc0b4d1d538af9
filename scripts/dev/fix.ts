/** `npm run fix`: everything that a program can put right: generated parts, formatting, the built tool. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildPayload, writePayload } from "./build.ts";
import { expectedContent, writeExpected } from "./generate.ts";
import { ROOT } from "./repo.ts";
import { refuse } from "./usage.ts";

if (process.argv.length > 2) refuse("npm run fix: takes no words");
else await main();

async function main(): Promise<void> {
  const written = writeExpected(await expectedContent());
  console.log(`${written.length} generated files written`);
  const formatted = tool("biome", "check", "--write");
  const linted = tool("markdownlint-cli2", "--fix");
  // Last: the built tool holds what the steps above may have changed.
  const files = await buildPayload();
  writePayload(files);
  console.log(`${files.size} built files written`);
  process.exitCode = formatted === 0 && linted === 0 ? 0 : 1;
}

function tool(name: string, ...args: string[]): number {
  return spawnSync(join(ROOT, "node_modules/.bin", name), args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}
