/** What a reader of the plan should know beyond its jobs: warnings of routes and of the run as a whole. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { PlanJob } from "../core/generated/graph.ts";
import { type Derivation, type DerivedJob, jobDiagnostic } from "./derive.ts";
import type { PlanInput, RepoState } from "./plan-input.ts";
import type { RoutedJob } from "./route-all.ts";
import type { Route } from "./route-words.ts";
import { isJudgment } from "./tier.ts";

export function routeDiagnostics(one: RoutedJob, input: PlanInput): Diagnostic[] {
  return one.answer.notes.map((note) =>
    jobDiagnostic(
      one.derived.job,
      note.code === "pinned-missing" ? "runtime" : "fallback_runtime",
      input.facts,
      {
        severity: "warning",
        code: note.code,
        message: `job \`${one.derived.job.id}\`: ${note.message}`,
      },
    ),
  );
}

/** Claims of project files that no route could use, each once. */
export function claimDiagnostics(routed: readonly RoutedJob[]): Diagnostic[] {
  return [...new Set(routed.flatMap((one) => one.answer.ignored))].map((message) => ({
    severity: "info",
    code: "policy-unconfirmed",
    message,
  }));
}

/** What concerns the run as a whole. */
export function runDiagnostics(
  jobs: readonly PlanJob[],
  arbiter: Route,
  input: PlanInput,
  { jobs: derived }: Derivation,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const [only] = jobs;
  if (jobs.length === 1 && only !== undefined && !isJudgment(only.task))
    found.push({
      severity: "info",
      code: "orchestration-adds-nothing",
      message: `one job, nothing in parallel and no review: running \`${only.id}\` directly would do the same`,
    });
  const lowered = derived.filter((one) => (one.raised?.discarded ?? 0) > 0);
  const [lower] = lowered;
  if (lower !== undefined)
    found.push({
      severity: "info",
      code: "lower-target-discarded",
      message: `the router proposed a lower tier than is derived for ${lowered.length} job${lowered.length === 1 ? "" : "s"} (\`${lower.job.id}\`${lowered.length === 1 ? "" : ", …"}), ${lowered.reduce((sum, one) => sum + (one.raised?.discarded ?? 0), 0)} in all: none was taken`,
    });
  for (const [key, ids] of blockedGroups(jobs)) {
    const [code, detail] = JSON.parse(key) as [string, string];
    const named = ids
      .slice(0, 3)
      .map((id) => `\`${id}\``)
      .join(", ");
    const more = ids.length > 3 ? ` and ${ids.length - 3} more` : "";
    const job = (derived[(jobs.find(({ id }) => id === ids[0]) as PlanJob).index] as DerivedJob).job;
    found.push(
      jobDiagnostic(job, "runtime", input.facts, {
        severity: "warning",
        code: "job-blocked",
        message: `${named}${more} would be blocked (${code}): ${detail}`,
      }),
    );
  }
  for (const repo of distinctRepos(derived))
    if (repo.dirty > 0 && jobs.some((job) => job.repo === repo.topLevel && job.isolation === "worktree"))
      found.push({
        severity: "warning",
        code: "dirty-base",
        message: `\`${repo.topLevel}\` has ${repo.dirty} path${repo.dirty === 1 ? "" : "s"} with uncommitted changes: worktrees start from ${repo.baseCommit?.slice(0, 12) ?? "nothing"} without them`,
        fix: "commit what the jobs must see",
      });
  found.push(...ownershipHints(derived, input), ...sharedObservation(jobs));
  if (arbiter.blocked !== null && jobs.some((job) => job.route.blocked === null))
    found.push({
      severity: "info",
      code: "arbiter-native",
      message: `no route judges this run by itself: ${arbiter.blocked.detail}`,
    });
  return found;
}

/** A glob that ends in `/` owns a file of that name, which no path can be. */
function ownershipHints(derived: readonly DerivedJob[], input: PlanInput): Diagnostic[] {
  return derived.flatMap(({ job }) =>
    job.ownedPaths
      .filter((glob) => glob.endsWith("/"))
      .map((glob) =>
        jobDiagnostic(job, "owned_paths", input.facts, {
          severity: "warning",
          code: "owns-no-file",
          message: `job \`${job.id}\`: \`${glob}\` owns no file: a glob means files`,
          fix: `write \`${glob}**\` for everything below the folder`,
        }),
      ),
  );
}

/** Observers of one checkout that may run at once see the same changes, and none can tell whose a stray one is. */
function sharedObservation(jobs: readonly PlanJob[]): Diagnostic[] {
  const groups = new Map<string, PlanJob[]>();
  for (const job of jobs) {
    if (job.writer || job.isolation !== "none" || job.route.blocked !== null) continue;
    const key = `${job.stage}\0${job.repo ?? job.cwd}`;
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group) => ({
      severity: "info",
      code: "shared-observation",
      message: `${namesOf(group)} look at one checkout at the same time: a change there that nobody owns fails all of them (\`isolation: worktree\` keeps one apart)`,
    }));
}

function namesOf(jobs: readonly PlanJob[]): string {
  const named = jobs.slice(0, 3).map((job) => `\`${job.id}\``);
  return `${named.join(", ")}${jobs.length > 3 ? ` and ${jobs.length - 3} more` : ""}`;
}

function blockedGroups(jobs: readonly PlanJob[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const job of jobs) {
    if (job.route.blocked === null) continue;
    const key = JSON.stringify([job.route.blocked.code, job.route.blocked.detail]);
    const ids = groups.get(key);
    if (ids === undefined) groups.set(key, [job.id]);
    else ids.push(job.id);
  }
  return groups;
}

/** Every repository that holds a job, by path. */
export function distinctRepos(jobs: readonly DerivedJob[]): RepoState[] {
  const repos = new Map<string, RepoState>();
  for (const { repo } of jobs) if (repo !== null) repos.set(repo.topLevel, repo);
  return [...repos.values()].sort((a, b) => (a.topLevel < b.topLevel ? -1 : 1));
}
