/** What a triage of an ended attempt leads to: a proposal beside what deterministic policy decided, never instead of it. */
import { FAILURE_RULES, type FailureClass } from "../core/runtime.ts";
import type { AnswerOf } from "./answer.ts";
import { confident } from "./answer.ts";
import type { ProposalKind } from "./watchdog.ts";

const MAPPING: Readonly<Record<AnswerOf<"triage">["recovery_class"]["choice"], ProposalKind | null>> = {
  reprobe_runtime: "look-again",
  retry_same: "retry",
  retry_with_changed_input: "change-input",
  fallback_runtime: "other-runtime",
  request_approval: "approve",
  escalate_to_user: "ask-user",
  block: null,
};

/** Repeating these finds the same boundary or the same failing check: no score proposes it. */
const REPEATS: ReadonlySet<ProposalKind> = new Set(["retry", "other-runtime"]);

export interface TriageDecision {
  readonly proposal: ProposalKind | null;
  readonly lowConfidence: boolean;
}

export function triageDecision(
  answers: AnswerOf<"triage">,
  attempt: { readonly failureClass: FailureClass; readonly external: boolean },
): TriageDecision {
  const recovery = confident(answers.recovery_class);
  if (recovery === null) return { proposal: null, lowConfidence: true };
  const proposal = MAPPING[recovery];
  const repeats = proposal !== null && REPEATS.has(proposal);
  return { proposal: repeats && !mayRepeat(attempt) ? null : proposal, lowConfidence: false };
}

const mayRepeat = (attempt: { readonly failureClass: FailureClass; readonly external: boolean }): boolean =>
  !attempt.external &&
  FAILURE_RULES[attempt.failureClass].group !== "boundary" &&
  attempt.failureClass !== "TEST_FAILURE" &&
  attempt.failureClass !== "BAD_OUTPUT";

/** Asked only when nothing follows by itself: then a proposal is all there is to add. */
export const triageCouldHelp = (action: "retry" | "wait" | "promote" | "block" | "fail"): boolean =>
  action === "block" || action === "fail";
