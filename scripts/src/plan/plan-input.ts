/** What planning is given: plain values and callbacks, so that the same input always gives the same plan. */
import type { Graph } from "../core/generated/graph.ts";
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import type { Inventory } from "../core/runtime.ts";
import type { CapabilityTier, RiskTier, Task } from "../core/tiers.ts";
import type { Outcome, RouteCandidate, RuntimeTraits } from "./candidates.ts";
import type { PolicyLayer } from "./capability.ts";
import type { NormalJob, NormalTop } from "./normal.ts";

export type RepoState = NonNullable<Graph["repo"]>;

export interface FloorTarget {
  readonly risk: RiskTier | null;
  readonly capability: CapabilityTier | null;
}

/** An entry of a `runtimes.yaml` with the file it came from. */
export interface DeclaredSource {
  readonly entry: DeclaredRuntime;
  readonly source: "project" | "home";
  /** The user confirmed exactly this content. */
  readonly confirmed: boolean;
  readonly path: string;
  readonly sha256: string;
  /** What `approve --policy` confirms this entry by. */
  readonly digest?: string;
}

/** What `validate` needs: everything that a plan rests on but the inventory. */
export interface DeriveFacts {
  /** By runtime id; null: nobody knows that id. */
  readonly traits: (runtime: string) => RuntimeTraits | null;
  /** The repository that holds a folder, absolute; null: none. Asked once per folder. */
  readonly repoOf: (cwd: string) => RepoState | null;
  /** Tracked files relative to a repository's top level. Asked only when an answer depends on it. */
  readonly trackedFiles: (topLevel: string) => readonly string[];
  /** Target tiers that a semantic router proposes for a job: they raise floors or do nothing. */
  readonly targets?: (jobId: string) => FloorTarget | null;
  /** Place in the spec's text, for diagnostics. */
  readonly locate?: (path: readonly (string | number)[]) => { line: number; column: number } | null;
}

export interface PlanFacts extends DeriveFacts {
  readonly harness: { readonly name: string; readonly subagents: boolean };
  readonly declared: readonly DeclaredSource[];
  readonly outcomes?: (candidate: RouteCandidate, task: Task | null) => Outcome | null;
}

export interface PlanInput {
  readonly spec: { readonly path: string | null; readonly sha256: string; readonly fileName?: string };
  readonly normal: { readonly jobs: readonly NormalJob[]; readonly top: NormalTop };
  readonly inventory: Inventory;
  readonly policy: readonly PolicyLayer[];
  readonly facts: PlanFacts;
  readonly flags: { readonly yes: boolean; readonly internal: boolean };
}
