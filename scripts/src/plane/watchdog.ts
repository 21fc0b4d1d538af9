/** What a watchdog's answer leads to: a proposal or nothing. A fixed table; no answer ends or changes work. */
import type { Attempt } from "../core/runtime.ts";
import type { AnswerOf } from "./answer.ts";
import { confident } from "./answer.ts";

export type ProposalKind = NonNullable<NonNullable<Attempt["proposal"]>["kind"]>;

/** A closed action → what is proposed for a job that only reads, and for one that may be in the middle of a write. */
const MAPPING: Readonly<
  Record<
    AnswerOf<"watchdog">["recommended_action"]["choice"],
    { readonly reader: ProposalKind | null; readonly writer: ProposalKind | null }
  >
> = {
  continue: { reader: null, writer: null },
  steer: { reader: "look", writer: "look" },
  // Both belong to an attempt that has ended: while one runs, they are only recorded.
  retry: { reader: null, writer: null },
  fallback_runtime: { reader: null, writer: null },
  escalate: { reader: "ask-user", writer: "ask-user" },
  // A writer is never ended on a probability.
  abort: { reader: "end", writer: "look" },
};

export interface WatchdogDecision {
  readonly proposal: ProposalKind | null;
  readonly lowConfidence: boolean;
}

export function watchdogDecision(
  answers: AnswerOf<"watchdog">,
  job: { readonly writer: boolean },
): WatchdogDecision {
  const action = confident(answers.recommended_action);
  if (action === null) return { proposal: null, lowConfidence: true };
  return { proposal: MAPPING[action][job.writer ? "writer" : "reader"], lowConfidence: false };
}
