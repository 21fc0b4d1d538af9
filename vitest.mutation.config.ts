/** The tests that mutants of policy code are run against: pure ones, since every mutant pays for them. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["scripts/tests/{plan,prove,plane}/**/*.test.ts"],
    exclude: ["scripts/tests/plane/call.test.ts"],
    testTimeout: 60_000,
  },
});
