#!/usr/bin/env node
/**
 * A classifier without a model: it answers every question of the decision plane by fixed rules. It shows the protocol
 * (one envelope on stdin, one answer on stdout) and serves the tests. Rules are no judgment: do not calibrate it.
 *
 *   runtimes:
 *     - id: rules
 *       command: node
 *       argv: [examples/classifier/rules.mjs]
 *       agent: false
 *       role: classifier
 *
 * `--answers FILE` replaces answers: `{"micro_arbiter": {"materially_unresolved": 0.4}}`.
 */
import { readFileSync } from "node:fs";

const envelope = JSON.parse(readFileSync(0, "utf8"));
const at = process.argv.indexOf("--answers");
const given = at === -1 ? {} : JSON.parse(readFileSync(process.argv[at + 1], "utf8"));
const own = given[envelope.task] ?? {};

const text = envelope.state.map((piece) => piece.text.toLowerCase()).join("\n");
const holds = (pattern) => pattern.test(text);

/** The first value of a choice is its calmest; rules pick another where the text says so. */
const CHOICES = {
  recommended_action: () => (holds(/waiting for approval|permission/) ? "escalate" : "continue"),
  failure_class: ({ values }) =>
    values.includes("none") ? "none" : holds(/timeout|connection/) ? "NETWORK" : "UNKNOWN",
  recovery_class: () => (holds(/timeout|connection/) ? "retry_same" : "escalate_to_user"),
  target_capability: () => "C1",
  target_risk: () => (holds(/credential|deploy|production/) ? "R2" : "R0"),
  relation: () => "independent",
};

const PROBABILITIES = {
  artifact_matches_expected_output: () => (holds(/todo|not done|placeholder/) ? 0.2 : 0.97),
  claims_supported_by_evidence: () => (holds(/todo|not done|placeholder/) ? 0.3 : 0.96),
  materially_unresolved: () => (holds(/\?\s*$|unresolved|unsure/) ? 0.8 : 0.03),
};

function answer(question) {
  if (question.kind === "flag") return question.name === "well_formed";
  if (question.kind === "probability") return PROBABILITIES[question.name]?.() ?? 0.5;
  const choice = CHOICES[question.name]?.(question) ?? question.values[0];
  return { choice, probabilities: { [choice]: 0.95 } };
}

const answers = Object.fromEntries(
  envelope.questions.map((question) => [question.name, own[question.name] ?? answer(question)]),
);
process.stdout.write(`${JSON.stringify({ schemaVersion: 1, task: envelope.task, answers })}\n`);
