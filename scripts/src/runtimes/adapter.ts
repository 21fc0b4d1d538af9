/** The adapter interface: data and pure functions. The runner performs what they describe; no adapter touches disk, clock or processes. */

import type { Result } from "../core/result.ts";
import type { Candidate, FailureClass, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import type { CapabilityTier, Effort, RiskTier } from "../core/tiers.ts";

/** One probe command's recorded answer. */
export interface ProbeAnswer {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/**
 * What the runner shall ask before a runtime is used, as arguments of its executable. Never logs in, installs, writes or
 * spends inference. Every command runs with stdin closed, in an empty private folder, under its own budget, in parallel.
 */
export interface ProbePlan {
  /** Empty: nothing is asked. */
  readonly version: readonly string[];
  readonly help: readonly (readonly string[])[];
  readonly auth: readonly string[] | null;
  readonly models: readonly string[] | null;
  /** A command that its own sandbox has to refuse; proves the sandbox on this host. */
  readonly sandbox?: readonly string[] | null;
  /** Variables that keep a probe quiet (no update check, no telemetry). */
  readonly env?: Readonly<Record<string, string>>;
  readonly footprint?: Footprint;
  /** Settings in its state folder that decide which endpoint answers; only looked at. */
  readonly settings?: readonly string[];
}

/**
 * Where a CLI keeps its state. One that was never set up is asked with an empty private home: the answers are the same
 * and the user's home stays as it was.
 */
export interface Footprint {
  /** Variable that names the state folder, or the home folder that holds it. */
  readonly env: string;
  readonly envIsHome?: boolean;
  /** The folder below the home folder otherwise. */
  readonly folder: string;
  /** Files below the home folder that only a set-up CLI has; a bare folder may hold somebody else's skills. */
  readonly marks: readonly string[];
}

export interface ProbeInput {
  readonly binary: string;
  readonly binaryReal: string;
  readonly answers: {
    version: ProbeAnswer;
    help: readonly ProbeAnswer[];
    auth: ProbeAnswer | null;
    models: ProbeAnswer | null;
    sandbox?: ProbeAnswer | null;
  };
  /** Text of the settings files that exist, by the name in `ProbePlan.settings`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Environment variable names (never values) that are set for the child. */
  readonly envNames: ReadonlySet<string>;
  readonly hostOS: string;
}

/** What a probe concludes; the runner adds id, binary, times and policy to make a `RuntimeRecord`. */
export type Profile = Omit<
  RuntimeRecord,
  | "id"
  | "role"
  | "kind"
  | "binary"
  | "binaryReal"
  | "hostOS"
  | "probedAt"
  | "reused"
  | "capability"
  | "capabilitySource"
  | "familySource"
  | "classifier_hint"
>;

export interface StartInput {
  readonly job: Pick<
    PlanJob,
    | "id"
    | "effect"
    | "tools"
    | "riskTier"
    | "verification"
    | "invocation"
    | "session"
    | "mock"
    | "task"
    | "maxOutputBytes"
    | "outputs"
  >;
  readonly attempt: number;
  readonly candidate: Candidate;
  readonly record: RuntimeRecord;
  /** Absolute folder the process runs in. */
  readonly cwd: string;
  /** The whole brief. Delivered by stdin or by `promptFile`, never through a shell. */
  readonly prompt: string;
  /** The brief on disk, private. */
  readonly promptFile: string;
  /** Private folder of this attempt for files an adapter needs (settings, MCP config). */
  readonly scratch: string;
  /** argv prefix that starts this tool itself, for runtimes that are part of it. */
  readonly self: readonly string[];
  /** True when the job runs in its own worktree. */
  readonly worktree: boolean;
  readonly resumeSession: { readonly handle: string; readonly mode: "continue" | "fork" } | null;
  /** A later job continues this session: keep it on disk. Default: leave none behind where the CLI can do that. */
  readonly keepSession?: boolean;
  /** Private folder of the run for sessions that are kept, for a CLI that can be told where to store them. */
  readonly sessionDir?: string | null;
}

export interface StartPlan {
  readonly argv: readonly string[];
  readonly stdin: string | null;
  /** Variables set for the child beyond the allowlist (no secrets: those pass by `envPass`). */
  readonly env: Readonly<Record<string, string>>;
  /** Names passed through from our own environment when set. */
  readonly envPass: readonly string[];
  /** Files to write below `scratch` before the start. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** How tools are bounded: `granular` or an enforced sandbox (`coarse`). */
  readonly toolGating: "granular" | "coarse";
}

export interface StartRefusal {
  readonly code:
    | "tool-unmapped"
    | "flag-missing"
    | "effort-unsupported"
    | "session-unsupported"
    | "invocation-missing"
    | "prompt-too-large"
    | "bypass-flag"
    | "not-a-process";
  readonly detail: string;
}

/** A normalized event before the runner adds ids, time and sequence. */
export interface AdapterEvent {
  readonly kind:
    | "lifecycle"
    | "tool"
    | "error"
    | "artifact"
    | "usage"
    | "permission"
    | "progress"
    | "unknown";
  readonly phase?: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly truncated?: boolean;
}

/** What the stream has told so far; a plain value that `observe` folds lines into. */
export interface ObservedState {
  readonly sessionHandle: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly resultText: string | null;
  /** The CLI's own settling line was seen. */
  readonly settled: boolean;
  readonly terminal: {
    readonly ok: boolean;
    readonly message: string | null;
    readonly status: number | null;
    readonly code: string | null;
  } | null;
  readonly usage: AttemptUsage | null;
  readonly denied: readonly { readonly boundary: string; readonly requested: string }[];
  readonly events: number;
  readonly unknownLines: number;
  /** Adapter-private accumulator. */
  readonly memo: Readonly<Record<string, unknown>>;
}

export interface AttemptUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly actualMarginalCostUsd: number | null;
  readonly apiEquivalentCostUsd: number | null;
  readonly quotaBurn: number | null;
  readonly source: string | null;
}

export interface ExitFacts {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** We ended it: deadline, stall or cancel. */
  readonly endedBy: "self" | "timeout" | "stall" | "cancel" | "spawn-failed";
  readonly spawnError: string | null;
  readonly stdoutTail: string;
  readonly stderrTail: string;
  readonly stdoutBytes: number;
  readonly now: number;
}

export interface Settlement {
  readonly ok: boolean;
  readonly failureClass: FailureClass | null;
  /** One sentence for a person; the runner redacts it. */
  readonly detail: string | null;
  readonly resultText: string | null;
  /** A valid result with a non-zero exit: kept, but rejected at R2 and above. */
  readonly suspect: boolean;
  /** When a quota opens again, ms since the epoch, if the runtime said so. */
  readonly resetAt: number | null;
}

export interface SessionScope {
  readonly continue: "anywhere" | "folder";
  readonly fork: "anywhere" | "folder";
}

export interface Adapter {
  readonly id: string;
  readonly kind: "cli" | "internal";
  /** False: a plain program without a model inside. */
  readonly agent: boolean;
  readonly role: "agent" | "program" | "classifier";
  /** The vendor whose models this CLI is bound to, or null for multi-provider CLIs. */
  readonly vendor: string | null;
  readonly capability: CapabilityTier;
  /** Name looked up on PATH (or a path); null when the runtime is this tool itself or the harness. */
  readonly executable: string | null;
  /** Flags never passed, and refused in invocations. */
  readonly bypassFlags: readonly string[];
  /** Environment variables whose presence means another endpoint answers than the vendor's. */
  readonly gatewayEnv: readonly string[];
  /** Provider variables this runtime itself declares (not "credentialed" in a spec's env_allow). */
  readonly providerEnv: readonly string[];
  /** Names taken over from our environment for probes and jobs alike: credentials, endpoints, state folders. */
  readonly envPass?: readonly string[];
  /**
   * Executables that a launcher script would start, best first, given the launcher's real path. The first that exists is
   * `binaryReal`: without the launcher between us, signals reach the program itself.
   */
  native?(o: {
    readonly binaryReal: string;
    readonly platform: string;
    readonly arch: string;
  }): readonly string[];
  /** Paths that come and go in the working folder while it runs; no change of the job's. */
  readonly transientPaths?: readonly string[];
  readonly output: "text" | "json" | "jsonl";
  readonly probe: ProbePlan;
  profile(input: ProbeInput): Profile;
  start(input: StartInput): Result<StartPlan, StartRefusal>;
  initial(): ObservedState;
  /** Total: never throws, an unreadable line becomes an `unknown` event. */
  observe(state: ObservedState, line: string): { state: ObservedState; events: readonly AdapterEvent[] };
  settle(state: ObservedState, exit: ExitFacts): Settlement;
  readonly resume: "verified" | "unsupported" | "unverified";
  readonly fork: "verified" | "unsupported" | "unverified";
  readonly steer: "verified" | "unsupported" | "unverified";
  /** Where a session can go on: in any folder, or only in the one that it was made in. Absent: it cannot. */
  readonly sessionScope?: SessionScope;
  /** `thread`: the usage that it reports counts all turns of a continued session, not this one alone. Default `turn`. */
  readonly usageCounts?: "turn" | "thread";
  /** Words of the neutral tool vocabulary this adapter can map at this tier, else the word that it cannot. */
  unmappedTool(words: readonly string[], tier: RiskTier, disallowed?: readonly string[]): string | null;
  readonly effortLevels: readonly Effort[];
}
