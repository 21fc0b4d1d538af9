import { defineConfig } from "vitest/config";

const ci = process.env["CI"] !== undefined;

export default defineConfig({
  test: {
    include: ["scripts/tests/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // The last line of .ci/run comes from this file.
    reporters: ci ? ["default", ["json", { outputFile: "reports/tests.json" }]] : ["default"],
  },
});
