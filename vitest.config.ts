import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ci = process.env["CI"] !== undefined;

/** The longest files, longest first: begun last, one of them would keep one core busy alone at the end. */
const LONGEST = [
  "crash/sweep",
  "e2e/five-agents",
  "crash/random-kill",
  "real/opencode",
  "real/claude",
  "e2e/declared",
  "crash/endurance",
  "e2e/arbiter",
  "e2e/real-agents",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    include: ["scripts/tests/**/*.test.ts"],
    globalSetup: "scripts/tests/support/no-leftovers.ts",
    // A soak is long by intent; a test that hangs in it shows by its name.
    testTimeout: process.env["ORCHESTRATE_SOAK"] === "1" ? 3_600_000 : 60_000,
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
