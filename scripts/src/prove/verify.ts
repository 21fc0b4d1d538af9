/** Layer 1: the deterministic checks of one attempt, judged from gathered evidence. Pure. */
import type { Artifact, Attempt, Check } from "../core/generated/state.ts";
import type { PlanJob } from "../core/runtime.ts";
import type { FixtureResult } from "./fixture.ts";

/** The part of `run/changes` that the judge needs, as a value. Paths are relative to the checkout's root. */
export interface ChangeFacts {
  readonly measured: boolean;
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly ignored: readonly string[];
  readonly tracked: readonly string[];
  readonly headMoved: { readonly from: string | null; readonly to: string | null } | null;
}

/** Another attempt that ran in the same checkout at some moment of this one. */
export interface WindowPeer {
  readonly jobId: string;
  readonly effect: PlanJob["effect"];
  readonly cwdPrefix: string;
  readonly ownedPaths: readonly string[];
  readonly outputs: readonly string[];
}

export interface OutputFact {
  readonly path: string;
  readonly required: boolean;
  readonly fromResult: boolean;
  readonly declaredSha256: string | null;
  /** Null when there is no such file; `fault` says why it could not be read. */
  readonly found: { readonly sha256: string; readonly bytes: number } | null;
  readonly fault: string | null;
}

export interface VerificationFact {
  /** From 1, the order of the spec. */
  readonly index: number;
  readonly argv: readonly string[];
  /** False: not started, see `reason`. */
  readonly ran: boolean;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly spawnError: string | null;
  readonly wallMs: number | null;
  readonly stdoutTail: string;
  readonly stderrTail: string;
  /** Workspace files named on the argv, relative to the checkout's root. */
  readonly files: readonly {
    readonly path: string;
    readonly sha256: string | null;
    readonly implied: boolean;
  }[];
}

export interface LayerOneEvidence {
  readonly job: Pick<
    PlanJob,
    "id" | "task" | "effect" | "writer" | "riskTier" | "ownedPaths" | "isolation" | "dependsOn"
  >;
  /** False for a plain program (`agent: false`). */
  readonly agent: boolean;
  /** Runs in its own worktree. */
  readonly ownWorktree: boolean;
  /** Path of the job's cwd below the checkout's root; empty when it is the root. `/` separated. */
  readonly cwdPrefix: string;
  readonly settled: boolean;
  /** A valid result with a non-zero exit. */
  readonly suspect: boolean;
  readonly resultText: string | null;
  readonly resultTruncated: boolean;
  /** Tool events seen; null when the runtime does not show them. */
  readonly toolEvents: number | null;
  readonly changes: ChangeFacts;
  readonly peers: readonly WindowPeer[];
  readonly outputs: readonly OutputFact[];
  readonly verification: readonly VerificationFact[];
  readonly claims: readonly ClaimFact[];
  readonly fixture: FixtureResult;
}

/** A structured claim found in the output, with the recorded fact it is compared with. */
export interface ClaimFact {
  readonly kind: "hash" | "file-created" | "file-deleted" | "check-passed" | "check-failed";
  readonly subject: string;
  readonly claimed: string;
  readonly recorded: string;
  readonly contradicts: boolean;
}

export interface LayerOneResult {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly failureClass: "BAD_OUTPUT" | "TEST_FAILURE" | null;
  /** Code of the first failing check; null when all hold. */
  readonly reason: string | null;
  readonly detail: string | null;
  readonly flags: readonly Extract<
    Attempt["flags"][number],
    "trailing-question" | "check-edited" | "zero-work" | "suspect" | "truncated"
  >[];
  readonly artifacts: readonly Artifact[];
  /** Changes attributed to this job, relative to the checkout's root, sorted; ignored files of an own worktree are listed too. */
  readonly changedPaths: readonly string[];
  /** The question the output ends with, bounded. */
  readonly question: string | null;
  readonly injectionFixture: Attempt["injectionFixture"];
}

export function verifyLayerOne(_evidence: LayerOneEvidence): LayerOneResult {
  throw new Error("not built yet");
}
