/** An arbiter's answer: read as hostile text, bound to what was asked, then read at its least favourable. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Verdict } from "../core/generated/verdict.ts";
import type { Result } from "../core/result.ts";
import type { Graph, State } from "../core/runtime.ts";

export type { Verdict };
export type VerdictWord = Verdict["overall"];
export type Arbiter = State["arbiters"][number];

export type VerdictFaultCode = "stale-verdict" | "wrong-attempts" | "malformed-verdict" | "mock-arbiter";
export interface VerdictFault {
  readonly code: VerdictFaultCode;
  readonly detail: string;
}

/** How one attempt stands after a verdict. */
export interface EffectiveVerdict {
  readonly jobId: string;
  readonly attempt: number;
  /** What the arbiter's words about this attempt alone come to. */
  readonly own: VerdictWord;
  /** `own`, lowered by the dependencies it stands on. */
  readonly verdict: VerdictWord;
  /** The dependency whose outcome it shares, when that is what lowered it. */
  readonly sharedWith: string | null;
  readonly reasons: readonly string[];
}

export function parseVerdict(_text: string): Result<Verdict, Diagnostic[]> {
  throw new Error("not written yet");
}

export function checkVerdict(_input: {
  readonly verdict: Verdict;
  readonly arbiter: Arbiter;
  readonly state: State;
}): Result<Verdict, VerdictFault> {
  throw new Error("not written yet");
}

/** In the graph's topological order. */
export function effectiveVerdicts(_input: {
  readonly verdict: Verdict;
  readonly graph: Graph;
  readonly state: State;
}): EffectiveVerdict[] {
  throw new Error("not written yet");
}
