/** What follows when an arbiter's call failed: the same rules as for a job, without a job's fields. Pure. */
import { RETRY_LIMITS } from "../core/policy.ts";
import { FAILURE_RULES, type FailureClass } from "../core/runtime.ts";

/** Calls of one candidate in one round: a spec cannot ask for more. */
export const ARBITER_TRIES = 2;
const BACKOFF_MS = 2_000;

export type ArbiterNext =
  /** The same candidate again, after this many ms. */
  | { readonly action: "retry"; readonly afterMs: number }
  /** The next candidate of the choice list. */
  | { readonly action: "next" }
  /** No usable verdict: only `resume` or a verdict opens the work again. */
  | { readonly action: "blocked" };

export function afterArbiterFailure(o: {
  readonly failureClass: FailureClass;
  /** Calls of this candidate in this round, the failed one included. */
  readonly tries: number;
  /** ms until a quota opens again, if the runtime said so. */
  readonly resetInMs: number | null;
  readonly quotaWaitMs: number;
  /** The spec names the model, so that no other may stand in for it. */
  readonly modelPinned: boolean;
}): ArbiterNext {
  const rule = FAILURE_RULES[o.failureClass];
  if (rule.group !== "infrastructure") return { action: "blocked" };
  if (o.failureClass === "MODEL_UNAVAILABLE" && o.modelPinned) return { action: "blocked" };
  const longest = Math.max(RETRY_LIMITS.quotaFloorMs, o.quotaWaitMs);
  const far = o.resetInMs !== null && o.resetInMs > longest;
  if (!rule.retry || far || o.tries >= ARBITER_TRIES) return { action: "next" };
  return {
    action: "retry",
    afterMs: Math.max(BACKOFF_MS, o.resetInMs === null ? 0 : o.resetInMs + RETRY_LIMITS.quotaMarginMs),
  };
}
