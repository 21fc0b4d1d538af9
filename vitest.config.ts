import { defineConfig } from "vitest/config";

const ci = process.env["CI"] !== undefined;

export default defineConfig({
  test: {
    include: ["scripts/tests/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Most tests wait for processes of their own: one worker more than two cores keeps both busy.
    maxWorkers: 3,
    // Real agents and real kills on a shared machine: one second chance in CI, where the first failure is printed too.
    retry: ci ? 1 : 0,
    // The last line of .ci/run comes from this file.
    reporters: ci ? ["default", ["json", { outputFile: "reports/tests.json" }]] : ["default"],
  },
});
