import type { Candidate, Graph, PlanJob } from "./generated/graph.ts";
import type { Inventory, RuntimeRecord } from "./generated/runtimes.ts";
import type { Attempt, Job, State } from "./generated/state.ts";

export type { Attempt, Candidate, Graph, Inventory, Job, PlanJob, RuntimeRecord, State };

/** Failure classes in three groups (contract section 8.1); what each allows is data. */
export interface FailureRule {
  readonly retry: boolean;
  readonly promote: boolean;
  /** The job's end when the class exhausts what it allows. */
  readonly endsAs: "blocked" | "failed";
  readonly attemptEndsAs: "failed" | "timed_out" | "blocked";
  readonly group: "infrastructure" | "content" | "boundary";
}

export const FAILURE_RULES = {
  RATE_LIMIT: {
    retry: true,
    promote: true,
    endsAs: "blocked",
    attemptEndsAs: "failed",
    group: "infrastructure",
  },
  QUOTA: { retry: true, promote: true, endsAs: "blocked", attemptEndsAs: "failed", group: "infrastructure" },
  NETWORK: {
    retry: true,
    promote: true,
    endsAs: "blocked",
    attemptEndsAs: "failed",
    group: "infrastructure",
  },
  RUNTIME_CRASH: {
    retry: true,
    promote: true,
    endsAs: "blocked",
    attemptEndsAs: "failed",
    group: "infrastructure",
  },
  MODEL_UNAVAILABLE: {
    retry: false,
    promote: true,
    endsAs: "blocked",
    attemptEndsAs: "failed",
    group: "infrastructure",
  },
  STALLED: { retry: false, promote: false, endsAs: "failed", attemptEndsAs: "timed_out", group: "content" },
  CONTEXT_OVERFLOW: {
    retry: false,
    promote: false,
    endsAs: "failed",
    attemptEndsAs: "failed",
    group: "content",
  },
  TOOL_FAILURE: { retry: false, promote: false, endsAs: "failed", attemptEndsAs: "failed", group: "content" },
  UNKNOWN: { retry: false, promote: false, endsAs: "failed", attemptEndsAs: "failed", group: "content" },
  TEST_FAILURE: { retry: false, promote: false, endsAs: "failed", attemptEndsAs: "failed", group: "content" },
  BAD_OUTPUT: { retry: false, promote: false, endsAs: "failed", attemptEndsAs: "failed", group: "content" },
  PERMISSION: {
    retry: false,
    promote: false,
    endsAs: "blocked",
    attemptEndsAs: "blocked",
    group: "boundary",
  },
  SANDBOX: { retry: false, promote: false, endsAs: "blocked", attemptEndsAs: "blocked", group: "boundary" },
  AUTH: { retry: false, promote: false, endsAs: "blocked", attemptEndsAs: "blocked", group: "boundary" },
  BAD_FLAG: { retry: false, promote: false, endsAs: "blocked", attemptEndsAs: "blocked", group: "boundary" },
} as const satisfies Record<string, FailureRule>;
export type FailureClass = keyof typeof FAILURE_RULES;

/** Blocks that leave a run `waiting`, each with the action that can lift it. */
export const REOPENABLE_BLOCKS = {
  "needs-arbiter": "arbitrate_native",
  "arbiter-blocked": "arbitrate_native",
  "not-independent": "arbitrate_native",
  "needs-approval": "request_approval",
  "needs-onboarding": "onboard_runtime",
  "dependency-conflict": "resolve_conflict",
  quota: "resume",
  "no-harness": "resume",
} as const;
export type ReopenableBlock = keyof typeof REOPENABLE_BLOCKS;
