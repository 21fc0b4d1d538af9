/** Names inside a run directory (contract section 6); paths are built only from these. */
export const RUN_FILES = {
  spec: "jobs.yaml",
  state: "state.json",
  journal: "journal.jsonl",
  metrics: "metrics.jsonl",
  runtimes: "runtimes.json",
  decisions: "decisions.jsonl",
  calibration: "calibration.json",
  trace: "trace.jsonl",
  report: "report.md",
  reportHtml: "report.html",
  integrations: "integrations.json",
  lock: "lock",
  inbox: "inbox",
  worktrees: "worktrees",
  supervisor: "supervisor",
  graph: "graph.json",
  events: "events.jsonl",
} as const;

export const JOB_FILES = {
  prompt: "prompt.md",
  command: "command.txt",
  stdout: "stdout.txt",
  stderr: "stderr.txt",
  result: "result.md",
  session: "session.json",
  status: "status.json",
  handoff: "handoff",
  artifacts: "artifacts",
  /** Takes back what a writer without a worktree changed in the checkout. */
  reversePatch: "reverse.patch",
} as const;

/** Relative to the first workspace root. */
export const REPORTS_DIR = "plans/reports";
export const INPUTS_DIR = ".orchestrate-inputs";
export const CONFIG_DIR = ".orchestrate";

/** Every top-level name of a run directory: never a job id. */
export const RESERVED_RUN_NAMES: ReadonlySet<string> = new Set([...Object.values(RUN_FILES), ".gitignore"]);
