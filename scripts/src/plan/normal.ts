/** A validated spec with every default applied: plain data, paths absolute and real, durations in milliseconds. */
import type { Egress, MockStep, MockVerdict } from "../core/generated/jobs.ts";
import type { Effect, Effort, RETRY_CLASSES, Task } from "../core/tiers.ts";

/** Where an effective value came from. Later steps of planning add `policy:...` and `inventory`. */
export type Origin = "spec" | "defaults" | "built-in";

export interface NormalCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Absolute, lexically inside the job's cwd; null: the job's cwd. It may not exist before the job has run. */
  readonly cwd: string | null;
}

export type NormalPlanText =
  | { readonly kind: "command"; readonly command: NormalCommand }
  | { readonly kind: "text"; readonly text: string };

export interface NormalInput {
  /** Relative to the job's cwd, with `/` separators and no `.` or `..` in it; so are all paths below. */
  readonly path: string;
  readonly sha256: string | null;
  readonly fromJob: string | null;
  readonly fromPath: string | null;
}

export interface NormalOutput {
  readonly path: string;
  readonly sha256: string | null;
  readonly required: boolean;
  readonly fromResult: boolean;
}

export interface NormalInvocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly stdin: "prompt" | "none";
  readonly envAllow: readonly string[];
}

export interface NormalRetry {
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly classes: readonly (typeof RETRY_CLASSES)[number][];
}

export interface NormalJob {
  readonly id: string;
  /** Place in the spec's `jobs` list, from 0. */
  readonly index: number;
  readonly task: Task | null;
  /** An id, `internal`, a known placeholder, or null: the router chooses. */
  readonly runtime: string | null;
  readonly fallbackRuntime: readonly string[];
  readonly agent: string | null;
  /** A model name; null when absent and for `<resolved-model>`, which both leave the choice to the router. */
  readonly model: string | null;
  readonly effort: Effort | null;
  readonly session: { readonly fromJob: string; readonly mode: "continue" | "fork" } | null;
  /** Absolute real path inside one of the workspace roots. */
  readonly cwd: string;
  readonly prompt: string | null;
  readonly skill: string | null;
  /** Neither prompt nor skill: the brief is generated. */
  readonly promptGenerated: boolean;
  readonly expectedOutput: string;
  readonly timeoutMs: number;
  readonly stallAfterMs: number | null;
  readonly dependsOn: readonly string[];
  readonly importance: "normal" | "high";
  readonly effect: Effect;
  /** Where `effect` came from; `none`: neither task nor effect was declared, so it fails closed to R2. */
  readonly effectSource: "declared" | "destructive" | "task" | "none";
  readonly destructive: boolean;
  readonly preview: NormalPlanText | null;
  readonly rollback: NormalPlanText | null;
  readonly approval: "inherit" | "require";
  readonly authority: string | null;
  /** As asked for; the effective one is decided with the tiers. */
  readonly isolation: "none" | "worktree";
  readonly untrusted: boolean;
  readonly ownedPaths: readonly string[];
  /** Null when absent: the tier's default set applies. */
  readonly allowedTools: readonly string[] | null;
  readonly disallowedTools: readonly string[];
  readonly inputs: readonly NormalInput[];
  readonly outputs: readonly NormalOutput[];
  readonly checks: readonly string[];
  readonly verification: readonly NormalCommand[];
  readonly invocation: NormalInvocation | null;
  readonly retry: NormalRetry;
  readonly cacheTtlHours: number;
  readonly maxPromotions: number;
  readonly maxOutputBytes: number;
  readonly mock: readonly MockStep[] | null;
  /** Field name as in the spec (`timeout`, `max_output_bytes`, `retry.backoff`) → where its value came from. */
  readonly origins: Readonly<Record<string, Origin>>;
}

export interface NormalArbiter {
  readonly runtime: string | null;
  readonly fallbackRuntime: readonly string[];
  readonly model: string | null;
  readonly effort: Effort | null;
  readonly timeoutMs: number;
  readonly mock: Readonly<Record<string, MockVerdict>> | null;
}

export interface NormalTop {
  readonly name: string;
  readonly outcome: string | null;
  readonly constraints: readonly string[];
  readonly acceptance: readonly string[];
  readonly concurrency: number;
  readonly pools: Readonly<Record<string, number>>;
  /** Absolute real paths, at least one. */
  readonly workspaceRoots: readonly string[];
  readonly calibrationMinimumSamples: number | null;
  readonly egress: readonly Egress[];
  readonly arbiter: NormalArbiter;
  readonly budget: {
    readonly dimension: "actualMarginalCostUsd" | "apiEquivalentCostUsd" | "quotaBurn";
    readonly limit: number;
    readonly onUnknown: "stop" | "warn";
  } | null;
  readonly quotaWaitMs: number;
  readonly worktreeSetup: readonly NormalCommand[];
  readonly origins: Readonly<Record<string, Origin>>;
}

/** What normalizing must know of the host, as values and callbacks so that it stays pure. */
export interface SpecFacts {
  /** Folder of the process, absolute. */
  readonly cwd: string;
  /** Used when the spec names none: the git top level of `cwd`, else `cwd`. Absolute real paths. */
  readonly workspaceRootsDefault: readonly string[];
  /** Real path of an existing folder or file with all links followed; null when there is none. */
  readonly realpath: (path: string) => string | null;
  /** Name of the spec's file, for the run's label. */
  readonly fileName: string;
  /** Ids of `approvals` in the home policy. */
  readonly approvals: ReadonlySet<string>;
}
