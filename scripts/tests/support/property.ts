/** Settings of property tests: a fixed seed, which fast-check prints with a failure; more runs in a soak. */
export const PROPERTY = {
  seed: 20_261_129,
  numRuns: process.env["ORCHESTRATE_SOAK"] === "1" ? 5_000 : 300,
};
