/** What a verdict does to the run: outcomes as plain values, which the coordinator turns into records. */
import type { Attempt, Graph, State } from "../core/runtime.ts";
import type { Arbiter, EffectiveVerdict } from "./verdict.ts";

export type Independence = NonNullable<Arbiter["independence"]>;

export interface AttemptOutcome {
  readonly jobId: string;
  readonly attempt: number;
  readonly acceptance: Attempt["acceptance"];
  readonly c3Verdict: Attempt["c3Verdict"];
  /** Null for work that no arbiter saw and that only shares the outcome of a dependency. */
  readonly arbitration: Attempt["arbitration"];
  /** `arbiter-rejected`, `dependency-rejected` or null. */
  readonly reason: string | null;
  readonly outcomeBlock: { readonly code: string; readonly detail: string } | null;
  readonly reasons: readonly string[];
}

export interface RoundOutcome {
  /** In topological order; only attempts whose acceptance was still pending. */
  readonly outcomes: readonly AttemptOutcome[];
  /** Jobs above a rejected one that have no finished work: cancel what runs, start nothing. */
  readonly rejectedDependents: readonly { readonly jobId: string; readonly dependency: string }[];
}

export function outcomesAfterVerdict(_input: {
  readonly graph: Graph;
  readonly state: State;
  readonly arbiter: Arbiter;
  readonly effective: readonly EffectiveVerdict[];
  readonly independence: Independence;
}): RoundOutcome {
  throw new Error("not written yet");
}

/** `arbiter.family` is the family of the context that answered, null when unknown. */
export function nativeIndependence(_input: {
  readonly handle: string | null;
  readonly arbiter: Arbiter;
  readonly state: State;
  readonly graph: Graph;
}): Independence {
  throw new Error("not written yet");
}
