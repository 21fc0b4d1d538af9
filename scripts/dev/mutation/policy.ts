/** Which modules decide something, so that a change of them must not pass unnoticed; and why the others are not among them. */

const READING = "reads a text; whole by its own tests and fuzzing, and decides nothing about work";
const WORDS = "words and layout of what was decided elsewhere";
const SHAPE = "types, tables or assembly without a decision of its own";

/** Modules of plan/, prove/ and plane/ that are left out, by reason. */
export const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  [READING]: [
    "plan/config-files",
    "plan/decode-text",
    "plan/duration",
    "plan/fault",
    "plan/json-scan",
    "plan/json-value",
    "plan/read-yaml",
    "plan/scalar-check",
    "plan/schema-check",
    "plan/spec",
    "plan/spec-shape",
    "plan/yaml-tokens",
    "plan/yaml-value",
    "prove/verdict-text",
  ],
  [WORDS]: [
    "plan/did-you-mean",
    "plan/edit-policy",
    "plan/plan-notes",
    "plan/render-plan",
    "plan/report",
    "plan/route-words",
    "plan/shown",
    "prove/bundle-fit",
    "prove/bundle-prompt",
    "prove/completion",
    "prove/flag-words",
    "prove/nine-questions",
    "prove/report",
    "prove/report-build",
    "prove/report-facts",
    "prove/report-html",
    "prove/report-html-graph",
    "prove/report-html-style",
    "prove/report-input",
    "prove/report-model",
    "prove/report-plane",
    "prove/report-sections",
    "prove/report-sections-evidence",
    "prove/report-sections-jobs",
    "prove/report-sections-next",
    "prove/report-text",
  ],
  [SHAPE]: [
    "plan/build-plan",
    "plan/normal",
    "plan/plan-input",
    "plan/plan-job",
    "plan/rule",
    "plan/spec-codes",
    "plane/tasks",
  ],
  "starts a process; tested with real ones": ["plane/call"],
};

/**
 * The tests that have to notice a change of a module, below scripts/tests/. A module that is not named here has a test file
 * of its own name. What other tests notice by chance counts for nothing.
 */
export const TESTS: Readonly<Record<string, readonly string[]>> = {
  "plan/chain": ["plan/route"],
  "plan/filter": ["plan/filter", "plan/route"],
  "plan/gate": ["plan/gate", "plan/build-plan"],
  "plan/route-all": ["plan/route-all", "plan/build-plan"],
  "plan/sift": ["plan/filter", "plan/route"],
  "plane/egress": ["plane/policy"],
  "plane/envelope": ["plane/policy"],
  "plane/preconditions": ["plane/policy"],
  "plane/record": ["plane/policy"],
  "plane/relation": ["plane/policy"],
  "plane/router": ["plane/policy"],
  "plane/sample": ["plane/policy"],
  "plane/triage": ["plane/policy"],
  "plane/watchdog": ["plane/policy"],
  "prove/boundary": ["prove/verify"],
  "prove/check-files": ["prove/check-files", "prove/gather"],
  "prove/check-record": ["prove/verify"],
  "prove/current-attempt": ["prove/accept", "prove/verdict"],
  "prove/ownership": ["prove/verify", "prove/gather"],
};

/** The folders whose modules are policy unless they are left out. */
export const POLICY_FOLDERS = ["plan", "plane", "prove"] as const;

/** Least share of mutants that the tests of a module must notice, in percent. */
export const LEAST_SCORE = 90;
