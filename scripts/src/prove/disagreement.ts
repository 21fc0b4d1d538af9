/** Claims of different jobs that exclude each other: which of them is right is for an arbiter to say. Pure. */
import { posix } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import type { Claim } from "./claims.ts";

export type Speaker = Pick<PlanJob, "id" | "cwd" | "dependsOn" | "writer">;

/**
 * Ids of all jobs that another one contradicts: two digests of one file, a file there and gone, a command of one folder
 * passed and failed. No disagreement is what follows a change: `npm test` failed, a job that stands on that mended it, and
 * it passes. `claims`: what the final text of each job's current attempt says, by job.
 */
export function disagreeingJobs(
  jobs: readonly Speaker[],
  claims: ReadonlyMap<string, readonly Claim[]>,
): Set<string> {
  const standing = standingOn(jobs);
  const found = new Set<string>();
  for (const said of bySubject(jobs, claims).values()) {
    if (new Set(said.map((one) => one.claimed)).size < 2) continue;
    for (const one of said) {
      const other = said.find((two) => two.claimed !== one.claimed && !isOvertaken(standing, one, two));
      if (other === undefined) continue;
      found.add(one.job.id);
      found.add(other.job.id);
    }
  }
  return found;
}

interface Said {
  readonly job: Speaker;
  readonly claimed: string;
}

function bySubject(
  jobs: readonly Speaker[],
  claims: ReadonlyMap<string, readonly Claim[]>,
): Map<string, Said[]> {
  const subjects = new Map<string, Said[]>();
  for (const job of jobs)
    for (const { kind, subject, claimed } of claims.get(job.id) ?? []) {
      const [group = ""] = kind.split("-");
      const thing = group === "check" ? `${job.cwd}\0${subject}` : posix.resolve(job.cwd, subject);
      const about = `${group}\0${thing}`;
      const said = subjects.get(about) ?? [];
      said.push({ job, claimed });
      subjects.set(about, said);
    }
  return subjects;
}

/** All that a job depends on, directly or not, worked out only for jobs that contradict somebody. */
function standingOn(jobs: readonly Speaker[]): (job: Speaker) => ReadonlySet<Speaker> {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const known = new Map<Speaker, ReadonlySet<Speaker>>();
  return (job) => {
    const before = known.get(job);
    if (before !== undefined) return before;
    const found = new Set<Speaker>();
    const open = [...job.dependsOn];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const below = byId.get(id);
      if (below === undefined || found.has(below)) continue;
      found.add(below);
      open.push(...below.dependsOn);
    }
    known.set(job, found);
    return found;
  };
}

/** One of them speaks of a later state: a writer that stands on the other lies between, or is itself the later one. */
function isOvertaken(standing: ReturnType<typeof standingOn>, one: Said, two: Said): boolean {
  const after = (earlier: Speaker, later: Speaker): boolean =>
    [later, ...standing(later)].some((job) => job.writer && standing(job).has(earlier));
  return after(one.job, two.job) || after(two.job, one.job);
}
