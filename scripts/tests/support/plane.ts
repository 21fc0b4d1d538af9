/** A workspace with a classifier that answers what the test says, and the calls it got. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { PlaneTask } from "../../src/plane/tasks.ts";
import { temporaryFolder, throwawayRepo } from "./throwaway-repo.ts";

export const RULES = resolve(import.meta.dirname, "../../../examples/classifier/rules.mjs");

export interface PlaneWorkspace {
  readonly path: string;
  /** A folder that the classifier may write to. */
  readonly outside: string;
  /** Replaces answers from the next call on; what is not named stays calm. */
  answers(value: Partial<Record<PlaneTask, object>>): void;
  /** The envelopes that the classifier got, in order. */
  calls(): { task: string; state: { label: string; text: string }[] }[];
  spec(spec: object): void;
}

export const EGRESS = {
  provider: "tester",
  credential_source: "absent",
  content_classes: ["prompt", "result", "trace"],
  scope: "run",
};

/** What it answers when the test says nothing else: calm, and sure of it. */
export const CALM = {
  watchdog: {
    is_stalled: 0.1,
    is_making_useful_progress: 0.8,
    needs_intervention: 0.1,
    likely_permission_issue: 0.1,
    failure_class: sure("none"),
    recommended_action: sure("continue"),
  },
  triage: { retryability: 0.2, failure_class: sure("UNKNOWN"), recovery_class: sure("block") },
  router: {
    target_capability: sure("C1"),
    target_risk: sure("R0"),
    requires_deep_reasoning: 0.1,
    requires_large_context: 0.1,
    requires_strong_shell: 0.1,
    requires_session_continuity: 0.1,
    requires_visual_input: 0.1,
    requires_subagents: 0.1,
    requires_strong_sandbox: 0.1,
    likely_mechanical: 0.9,
    review_independence_required: 0.1,
  },
  micro_arbiter: {
    artifact_matches_expected_output: 0.97,
    claims_supported_by_evidence: 0.96,
    materially_unresolved: 0.03,
    well_formed: true,
    low_confidence: false,
  },
  profiler: {
    supports_headless: 0.9,
    supports_resume: 0.5,
    supports_stream_events: 0.5,
    supports_model_selection: 0.5,
    supports_tool_gating: 0.5,
    supports_sandbox: 0.5,
    supports_fork: 0.5,
    supports_native_timeout: 0.5,
  },
  graph_relation: { relation: sure("independent") },
} satisfies Record<PlaneTask, object>;

export function sure(choice: string, probability = 0.95): object {
  return { choice, probabilities: { [choice]: probability } };
}

/** A shell program, since a test may ask it dozens of times. */
export const TAP = `input=$(cat)
printf '%s\\n' "$input" >> "$1/calls.jsonl"
task=$(printf '%s' "$input" | sed 's/.*"task":"\\([a-z_]*\\)".*/\\1/')
cat "plane-answer-$task.json"
`;

export function planeWorkspace(
  o: { readonly classifier?: object; readonly tap?: string } = {},
): PlaneWorkspace {
  const repo = throwawayRepo({ "README.md": "# plane\n", ".gitignore": "plane-*\n.env\n" });
  const { path } = repo;
  // Outside of the workspace: what a classifier writes there would count as a job's.
  const outside = temporaryFolder();
  const log = join(outside, "calls.jsonl");
  const answers = (value: Partial<Record<PlaneTask, object>>): void => {
    for (const [task, own] of Object.entries({ ...CALM, ...value }))
      writeFileSync(
        join(path, `plane-answer-${task}.json`),
        JSON.stringify({ schemaVersion: 1, task, answers: { ...CALM[task as PlaneTask], ...own } }),
      );
  };
  writeFileSync(join(path, "plane-tap.sh"), o.tap ?? TAP);
  answers({});
  mkdirSync(join(path, ".orchestrate"), { recursive: true });
  const classifier = {
    id: "tester",
    command: "sh",
    argv: ["plane-tap.sh", outside],
    agent: false,
    role: "classifier",
    ...o.classifier,
  };
  const shell = { id: "sh", command: "sh", agent: false };
  writeFileSync(join(path, ".orchestrate/runtimes.yaml"), JSON.stringify({ runtimes: [shell, classifier] }));
  repo.commit("start");
  return {
    path,
    outside,
    answers,
    calls: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line))
        : [],
    spec: (spec) =>
      writeFileSync(
        join(path, "jobs.json"),
        JSON.stringify({
          version: 1,
          outcome: "x",
          constraints: ["none"],
          acceptance: ["exit 0"],
          defaults: { timeout: "1m" },
          egress: [EGRESS],
          ...spec,
        }),
      ),
  };
}

/** A program that reads and reports: R0, and everything but the plane's part of acceptance holds. */
export const program = (id: string, script = `echo ${id} is done`, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "sh",
  prompt: `run ${id}`,
  expected_output: `${id} is done`,
  invocation: { command: "sh", args: ["-c", script] },
  ...more,
});
