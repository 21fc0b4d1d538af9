/** Sifting: every candidate of the world for one job, passed, set aside, or rejected with its reasons. */
import { isPlaceholder } from "../core/placeholders.ts";
import { candidatesOf, type RouteCandidate, type RouteJob, type RouteWorld } from "./candidates.ts";
import type { Raise } from "./controls.ts";
import { mayLead, pinOf, type Rejection, raiseFor, rejections } from "./filter.ts";
import { compareIds } from "./job-graph.ts";
import { rank } from "./rank.ts";

export interface Sifted {
  readonly passed: readonly RouteCandidate[];
  readonly rejected: readonly Rejected[];
  /** Claims of project files about any of them that do not count. */
  readonly ignored: readonly string[];
}

export interface Rejected {
  readonly runtime: string;
  readonly model: string | null;
  readonly live: boolean;
  readonly reasons: readonly (Rejection | { readonly code: "needs-worktree"; readonly detail: string })[];
}

const ELSEWHERE: ReadonlySet<string> = new Set(["pin-mismatch", "not-named"]);

/** Sorts every candidate of every record. More isolation is asked for only when nobody else could lead. */
export function sift(job: RouteJob, world: RouteWorld): Sifted & { readonly raise: Raise | null } {
  const { passed, aside, rejected, ignored } = judgeAll(job, world);
  const raise = raiseNeeded(job, world, passed, aside);
  if (raise !== null) return { passed: [...passed, ...aside], rejected, ignored, raise };
  const spared = aside.map((candidate) => setAside(candidate, job));
  return { passed, rejected: [...rejected, ...spared, ...missingNames(job, world)], ignored, raise: null };
}

function judgeAll(
  job: RouteJob,
  world: RouteWorld,
): { passed: RouteCandidate[]; aside: RouteCandidate[]; rejected: Rejected[]; ignored: string[] } {
  const passed: RouteCandidate[] = [];
  const aside: RouteCandidate[] = [];
  const rejected: Rejected[] = [];
  const ignored = new Set<string>();
  for (const record of [...world.records].sort((a, b) => compareIds(a.id, b.id)))
    for (const candidate of candidatesOf(record, job, world)) {
      const reasons = rejections({ candidate, job, world });
      // A runtime that was never meant for the job is none of its business.
      if (!ELSEWHERE.has(reasons[0]?.code ?? ""))
        for (const claim of candidate.finding.ignored) ignored.add(claim);
      if (reasons.length > 0) rejected.push(rejectedAs(candidate, reasons));
      else if (raiseFor({ candidate, job }) !== null) aside.push(candidate);
      else passed.push(candidate);
    }
  return { passed, aside, rejected, ignored: [...ignored] };
}

const rejectedAs = (candidate: RouteCandidate, reasons: Rejected["reasons"]): Rejected => ({
  runtime: candidate.record.id,
  model: candidate.model,
  live: !reasons.some(({ code }) => code === "not-live" || code === "auth-false"),
  reasons,
});

const RAISES: Readonly<Record<Raise, string>> = {
  unverified: "its write boundary is unverified: it would make the job R2",
  "auto-approval": "it approves everything itself, so it may write only in a worktree",
  "write-boundary": "nothing but its prompt keeps its edits in their place, so it needs a worktree",
};

function setAside(candidate: RouteCandidate, job: RouteJob): Rejected {
  const why = RAISES[raiseFor({ candidate, job }) ?? "write-boundary"];
  return rejectedAs(candidate, [{ code: "needs-worktree", detail: `${why}, and another does without` }]);
}

/** What the best of those set aside asks for, when it is the only way to have a candidate. */
function raiseNeeded(
  job: RouteJob,
  world: RouteWorld,
  passed: readonly RouteCandidate[],
  aside: readonly RouteCandidate[],
): Raise | null {
  const leads = mayLead(job);
  if (passed.some(leads)) return null;
  const leading = aside.filter(leads);
  if (leading.length === 0 && passed.length > 0) return null;
  const best = rank(leading.length > 0 ? leading : aside, job, world).order[0];
  return best === undefined ? null : raiseFor({ candidate: best.candidate, job });
}

/** Names in the spec that no probe has a record of. */
function missingNames(job: RouteJob, world: RouteWorld): Rejected[] {
  const pin = pinOf(job);
  const names = [...(pin === null ? [] : [pin]), ...job.fallbackRuntime].filter(
    (name) => !isPlaceholder(name) && !world.records.some((record) => record.id === name),
  );
  return [...new Set(names)].map((runtime) => ({
    runtime,
    model: null,
    live: false,
    reasons: [{ code: "not-live", detail: "was not found on this host" }],
  }));
}
