/** The chain: who leads, and who may take over in which order. */
import { isPlaceholder } from "../core/placeholders.ts";
import type { Candidate } from "../core/runtime.ts";
import type { RouteCandidate, RouteJob } from "./candidates.ts";
import { controlStrength, weakerConcerns } from "./controls.ts";
import { classOf, controlledJob, mayLead, pinOf } from "./filter.ts";
import { independenceOf, judges, type Ranked, type Ranking } from "./rank.ts";

export interface Pick {
  readonly ranked: Ranked;
  readonly by: "pin" | "rank" | "declared";
}

export interface Picks {
  readonly members: readonly Pick[];
  /** Declared fallbacks that nothing could be found for. */
  readonly unresolved: readonly string[];
}

/**
 * The leader, then the declared fallbacks in their order, then, unless a runtime is named, the rest as ranked. A named
 * runtime that cannot lead leaves the lead to its first declared fallback.
 */
export function pickChain(job: RouteJob, ranking: Ranking): Picks {
  const members: Pick[] = [];
  const unresolved: string[] = [];
  const take = (by: Pick["by"], fits: (candidate: RouteCandidate) => boolean): boolean => {
    const ranked = ranking.order.find(
      (one) => fits(one.candidate) && !members.some((member) => member.ranked === one),
    );
    if (ranked !== undefined) members.push({ ranked, by });
    return ranked !== undefined;
  };
  const pinned = pinOf(job) !== null || job.session !== null;
  take(pinned ? "pin" : "rank", mayLead(job));
  if (job.session !== null) return { members, unresolved };
  for (const name of job.fallbackRuntime) if (!takeDeclared(name, job, members, take)) unresolved.push(name);
  if (!pinned) while (take("rank", classOf(job.runtime)));
  return { members, unresolved };
}

/**
 * A placeholder means the best runtime that is not in the chain yet and could take over. It never leads: what leads is
 * said by `runtime` or by name.
 */
function takeDeclared(
  name: string,
  job: RouteJob,
  members: readonly Pick[],
  take: (by: "declared", fits: (candidate: RouteCandidate) => boolean) => boolean,
): boolean {
  if (!isPlaceholder(name)) return take("declared", (candidate) => candidate.record.id === name);
  const head = members[0]?.ranked.candidate.record;
  if (head === undefined) return false;
  const held = controlledJob(job);
  const inClass = classOf(name);
  return take(
    "declared",
    (candidate) =>
      inClass(candidate) &&
      !members.some((member) => member.ranked.candidate.record === candidate.record) &&
      weakerConcerns(controlStrength(candidate.record, held), controlStrength(head, held)).length === 0,
  );
}

/** As recorded in the plan, each with the concerns on which it is weaker than the leader. */
export function toChain(members: readonly Pick[], job: RouteJob): Candidate[] {
  const held = controlledJob(job);
  const strengths = members.map(({ ranked }) => controlStrength(ranked.candidate.record, held));
  return members.map(({ ranked: { candidate } }, at): Candidate => {
    const { record, model, effort, finding } = candidate;
    return {
      runtime: record.id,
      kind: record.kind === "internal" ? "internal" : record.role === "agent" ? "cli" : "program",
      model,
      effort,
      provider: finding.provider,
      family: finding.family,
      capability: finding.capability,
      capabilitySource: finding.capabilitySource,
      familySource: finding.familySource,
      independence: judges(job) ? independenceOf(candidate, job) : null,
      weaker: weakerConcerns(strengths[at] as number[], strengths[0] as number[]),
      strength: strengths[at] as number[],
    };
  });
}
