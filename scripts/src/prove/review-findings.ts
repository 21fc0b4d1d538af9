/** What review, audit and security jobs found: read from their final text, and matched with the work that it is about. */
import type { Attempt, Graph, PlanJob, State } from "../core/runtime.ts";
import { currentAttempt } from "./current-attempt.ts";
import type { VerdictWord } from "./verdict.ts";

export interface ReviewText {
  /** The word of its last `Verdict:` line; null when it has none. */
  readonly verdict: VerdictWord | null;
  readonly findings: readonly string[];
}

const VERDICT_LINE =
  /^[\s>#*_-]*(?:overall\s+)?verdict[\s*_]*:[\s*_`]*(pass|fail|blocked)(?![a-z])[^\n]{0,200}$/gim;
const FINDING_LINE = /^[\s>#*_-]*finding(?:[ \t]+\d{1,3})?[\s*_]*:[ \t*_]*(\S[^\n]*)$/gim;
const NOTHING = /^(?:none|nothing|n\/a|-)[.!]?$/i;

/** The lines that the brief of such a job asks for. Anything else in the text is for the arbiter to read. */
export function readReview(text: string): ReviewText {
  const words = [...text.matchAll(VERDICT_LINE)].map((match) => match[1]?.toLowerCase());
  const findings = [...text.matchAll(FINDING_LINE)]
    .map((match) => (match[1] ?? "").replace(/[\s*_]+$/, ""))
    .filter((finding) => finding !== "" && !NOTHING.test(finding));
  return { verdict: (words.at(-1) as VerdictWord | undefined) ?? null, findings };
}

/** Whether a review says that the work is not right as it is. */
export const findsFault = ({ verdict, findings }: ReviewText): boolean =>
  findings.length > 0 || (verdict !== null && verdict !== "pass");

export const isReview = (job: Pick<PlanJob, "task">): boolean =>
  job.task === "review" || job.task === "audit" || job.task === "security";

export const FINDING_FLAG = "review-finding" satisfies Attempt["flags"][number];

/** Ids of reviews whose current attempt found fault, by the job that they review: what they directly depend on. */
export function openFindings(
  graph: Pick<Graph, "jobs">,
  state: Pick<State, "jobs">,
): Map<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const job of graph.jobs) {
    if (!isReview(job)) continue;
    const attempt = currentAttempt(state as State, job.id);
    if (attempt?.status !== "success" || !attempt.flags.includes(FINDING_FLAG)) continue;
    for (const id of job.dependsOn) found.set(id, [...(found.get(id) ?? []), job.id]);
  }
  return found;
}
