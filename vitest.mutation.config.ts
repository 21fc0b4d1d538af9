/** The tests that mutants of policy code are run against, and the runner that tries them: see scripts/dev/mutation.ts. */
import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { FOLDER_VARIABLE, paths } from "./scripts/dev/mutation/protocol.ts";

const sources = JSON.parse(readFileSync(paths(process.env[FOLDER_VARIABLE] ?? "").sources, "utf8")) as Record<
  string,
  string
>;

export default defineConfig({
  plugins: [{ name: "mutants", enforce: "pre", load: (id) => sources[id.split("?")[0] as string] ?? null }],
  test: {
    include: ["scripts/tests/{plan,prove,plane}/**/*.test.ts"],
    // How long something takes says nothing where every expression is counted.
    testNamePattern: /^(?!.*(?:stays quick|ten megabytes|10,000|in linear time|many writers))/,
    runner: "./scripts/dev/mutation/runner.ts",
    testTimeout: 900_000,
    hookTimeout: 900_000,
    pool: "forks",
    maxWorkers: 1,
    reporters: ["default"],
  },
});
