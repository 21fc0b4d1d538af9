/** Which pairs of jobs are worth a question to the plane, and what an answer proposes. The optimizer decides what becomes of it. */
import type { PlanJob } from "../core/runtime.ts";
import type { AnswerOf } from "./answer.ts";
import { confident } from "./answer.ts";

export type Relation = AnswerOf<"graph_relation">["relation"]["choice"];

/** As a file of proposals holds it: the jobs in plan order. */
export interface RelationProposal {
  readonly first: string;
  readonly second: string;
  readonly relation: Relation;
  readonly probability: number;
}

type PairJob = Pick<
  PlanJob,
  | "id"
  | "task"
  | "effect"
  | "riskTier"
  | "agent"
  | "skill"
  | "isolation"
  | "authority"
  | "dependsOn"
  | "modelPinned"
  | "effortPinned"
  | "session"
  | "invocation"
> & { readonly requested?: PlanJob["requested"] };

/** Pairs that may be merged or ordered at all, in plan order, at most `limit`; everything else needs no opinion. */
export function pairsToAsk(
  jobs: readonly PairJob[],
  limit: number,
): { readonly pairs: readonly (readonly [string, string])[]; readonly omitted: number } {
  const pairs: [string, string][] = [];
  let omitted = 0;
  const below = reachable(jobs);
  for (const [at, first] of jobs.entries())
    for (const second of jobs.slice(at + 1)) {
      if (!comparable(first, second)) continue;
      if (below.get(second.id)?.has(first.id) === true || below.get(first.id)?.has(second.id) === true)
        continue;
      if (pairs.length < limit) pairs.push([first.id, second.id]);
      else omitted += 1;
    }
  return { pairs, omitted };
}

/** Merging these would be refused whatever the plane says. */
function comparable(a: PairJob, b: PairJob): boolean {
  if ([a, b].some(isPinned) || [a, b].some(isJudgment)) return false;
  return (
    a.riskTier === b.riskTier &&
    a.effect === b.effect &&
    a.agent === b.agent &&
    a.skill === b.skill &&
    a.isolation === b.isolation &&
    a.authority === b.authority
  );
}

const isPinned = (job: PairJob): boolean =>
  job.modelPinned !== null ||
  job.effortPinned !== null ||
  job.session !== null ||
  job.invocation !== null ||
  (job.requested?.runtime != null && !job.requested.runtime.startsWith("<"));

const isJudgment = (job: PairJob): boolean =>
  job.task === "review" || job.task === "audit" || job.task === "security" || job.riskTier === "R3";

function reachable(jobs: readonly PairJob[]): Map<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  for (const job of jobs) {
    const below = new Set<string>();
    for (const id of job.dependsOn) {
      below.add(id);
      for (const further of all.get(id) ?? []) below.add(further);
    }
    all.set(job.id, below);
  }
  return all;
}

/** Null: the signal is too weak to propose anything. */
export function relationProposal(
  pair: readonly [string, string],
  answers: AnswerOf<"graph_relation">,
): RelationProposal | null {
  const relation = confident(answers.relation);
  if (relation === null) return null;
  return {
    first: pair[0],
    second: pair[1],
    relation,
    probability: answers.relation.probabilities[relation] as number,
  };
}
