/**
 * Work of several writers passed its checks alone; together it may not. Before anybody judges it, the branches that are not
 * accepted yet are merged over the accepted ones and their checks run on the result. What fails there fails: `union`.
 */
import type { PlanJob } from "../core/runtime.ts";
import { riskAtLeast } from "../core/tiers.ts";
import { sha256 } from "../host/files.ts";
import type { RoundOutcome } from "../prove/accept.ts";
import type { BundledUnion } from "../prove/bundle.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import { mergeBases } from "../run/merge.ts";
import type { DependencyCommit } from "../run/worktree-fault.ts";
import type { JournalRecord } from "../state/records.ts";
import { transitiveDependents } from "./readiness.ts";
import { jobState, type Session } from "./session.ts";
import { runTrial } from "./trial.ts";
import { blockRejected } from "./verdicts.ts";
import { baseCommitOf, commonDirOfRepo } from "./workplace.ts";

export interface UnionEnd {
  /** What the arbiter is told, one for each repository in which there was something to merge. */
  readonly unions: readonly BundledUnion[];
  readonly changed: readonly string[];
  readonly rejectedDependents: RoundOutcome["rejectedDependents"];
}

interface Failure {
  readonly jobId: string;
  readonly failureClass: "BAD_OUTPUT" | "TEST_FAILURE";
  readonly detail: string;
}

export async function unionCheck(s: Session): Promise<UnionEnd> {
  const changed = new Set<string>();
  const dead: RoundOutcome["rejectedDependents"][number][] = [];
  const unions: BundledUnion[] = [];
  for (const repo of new Set(s.graph.jobs.flatMap((job) => (job.repo === null ? [] : [job.repo]))))
    for (;;) {
      const found = await unionOf(s, repo);
      if (found.union !== null) unions.push(found.union);
      if (found.failures.length === 0) break;
      const failed = await recordFailures(s, found.failures);
      for (const id of failed.changed) changed.add(id);
      dead.push(...failed.rejectedDependents);
    }
  return { unions, changed: [...changed], rejectedDependents: dead };
}

interface Found {
  readonly union: BundledUnion | null;
  readonly failures: readonly Failure[];
}

const NOTHING: Found = { union: null, failures: [] };

async function unionOf(s: Session, repo: string): Promise<Found> {
  const writers = s.graph.jobs.filter((job) => job.repo === repo && isFinishedWriter(s, job));
  const open = writers.filter((job) => acceptance(s, job) === "pending");
  const [any] = open;
  const base = any === undefined ? null : baseCommitOf(s, any);
  if (writers.length < 2 || any === undefined || base === null) return NOTHING;
  const accepted = writers.filter((job) => acceptance(s, job) === "accepted");
  const key = sha256(
    JSON.stringify([base, accepted.map((job) => work(s, job)), open.map((job) => work(s, job))]),
  );
  const known = s.unions.get(key);
  if (known !== undefined) return { union: known, failures: [] };
  const over = await mergeBases({
    repo,
    baseCommit: base,
    mergeCommits: accepted.map((job) => work(s, job)),
  });
  if (!over.ok) return await unmade(s, over.error.detail);
  const merged = await mergeOpen(s, { repo, over: over.value.commit, open });
  if (merged.failures.length > 0 || merged.commit === null) return { union: null, failures: merged.failures };
  const trial = await runTrial({
    host: s,
    repo,
    commonDir: commonDirOfRepo(repo),
    commit: merged.commit,
    jobs: open,
    purpose: "union",
  });
  if (trial.fault !== null) return await unmade(s, trial.fault);
  const failures = trial.checks
    .filter((one) => !one.ok && one.check.startsWith("verification:"))
    .map(
      ({ jobId, detail }): Failure => ({
        jobId,
        failureClass: "TEST_FAILURE",
        detail: `Merged with ${listed(others(writers, jobId))}, ${detail}`,
      }),
    );
  if (failures.length > 0) return { union: null, failures };
  const union: BundledUnion = {
    commit: merged.commit,
    jobs: open.map((job) => job.id),
    over: accepted.map((job) => job.id),
    checks: trial.checks.map(({ jobId, check, ok }) => ({ jobId, check, ok })),
  };
  s.unions.set(key, union);
  return { union, failures: [] };
}

/** In success, in a worktree of its own, below R3, with work that counts. */
function isFinishedWriter(s: Session, job: PlanJob): boolean {
  const attempt = currentAttempt(s.store.state, job.id);
  return (
    job.writer &&
    attempt?.status === "success" &&
    attempt.commit !== null &&
    attempt.acceptance !== "rejected" &&
    !riskAtLeast(attempt.riskTier, "R3")
  );
}

const acceptance = (s: Session, job: PlanJob) => currentAttempt(s.store.state, job.id)?.acceptance ?? null;

const work = (s: Session, job: PlanJob): DependencyCommit => ({
  jobId: job.id,
  commit: currentAttempt(s.store.state, job.id)?.commit ?? "",
});

/** Nothing is proven wrong, but nobody may think that it was looked at. */
async function unmade(s: Session, why: string): Promise<Found> {
  const note = `The branches of this run could not be tried together: ${s.redact(why)}`;
  if (!s.store.state.notes.includes(note)) await s.commit([{ type: "run", patch: {}, note }]);
  return NOTHING;
}

async function mergeOpen(
  s: Session,
  o: { readonly repo: string; readonly over: string; readonly open: readonly PlanJob[] },
): Promise<{ commit: string | null; failures: Failure[] }> {
  let current = o.over;
  const merged: DependencyCommit[] = [];
  for (const job of o.open) {
    const next = work(s, job);
    const step = await mergeBases({ repo: o.repo, baseCommit: current, mergeCommits: [next] });
    if (step.ok) {
      current = step.value.commit;
      merged.push(next);
      continue;
    }
    if (step.error.code !== "dependency-conflict") {
      await unmade(s, step.error.detail);
      return { commit: null, failures: [] };
    }
    const paths = step.error.conflict?.paths ?? [];
    const sides = [...(await otherSides(o, { merged, next })), next];
    return {
      commit: null,
      failures: sides.map(({ jobId }) => ({
        jobId,
        failureClass: "BAD_OUTPUT",
        detail: `Its changes conflict with those of ${
          sides.length === 1
            ? "accepted work"
            : listed(
                others(
                  sides.map(({ jobId: id }) => ({ id })),
                  jobId,
                ),
              )
        } in ${listed(paths.slice(0, 5))}`,
      })),
    };
  }
  return { commit: current, failures: [] };
}

/** The unaccepted work that this one conflicts with; none: it conflicts with what is accepted. */
async function otherSides(
  o: { readonly repo: string; readonly over: string },
  pair: { readonly merged: readonly DependencyCommit[]; readonly next: DependencyCommit },
): Promise<DependencyCommit[]> {
  const alone = await mergeBases({ repo: o.repo, baseCommit: o.over, mergeCommits: [pair.next] });
  if (!alone.ok) return [];
  const sides: DependencyCommit[] = [];
  for (const other of pair.merged) {
    const both = await mergeBases({ repo: o.repo, baseCommit: o.over, mergeCommits: [other, pair.next] });
    if (!both.ok) sides.push(other);
  }
  return sides.length > 0 ? sides : [...pair.merged];
}

const others = (jobs: readonly { readonly id: string }[], id: string): string[] =>
  jobs.map((job) => job.id).filter((other) => other !== id);

const listed = (items: readonly string[]): string => items.map((item) => `\`${item}\``).join(", ");

/** Fails the attempts; for what stands on them it is the same as a rejection. */
async function recordFailures(
  s: Session,
  failures: readonly Failure[],
): Promise<Pick<UnionEnd, "changed" | "rejectedDependents">> {
  const records: JournalRecord[] = [];
  const failed = new Set(failures.map((one) => one.jobId));
  const changed = new Set(failed);
  const dead: RoundOutcome["rejectedDependents"][number][] = [];
  for (const id of failed) {
    const attempt = currentAttempt(s.store.state, id);
    if (attempt === null) continue;
    const why = failures.filter((one) => one.jobId === id);
    const detail = s.redact(`${why.map((one) => one.detail).join("; ")}.`);
    records.push({
      type: "attempt",
      jobId: id,
      attempt: attempt.attempt,
      patch: {
        status: "failed",
        reason: "union",
        failureClass: why[0]?.failureClass ?? "BAD_OUTPUT",
        detail,
      },
    });
    for (const below of transitiveDependents(s.index, id)) {
      if (changed.has(below)) continue;
      changed.add(below);
      const above = currentAttempt(s.store.state, below);
      if (above?.status === "success" && above.acceptance === "pending")
        records.push(
          {
            type: "attempt",
            jobId: below,
            attempt: above.attempt,
            patch: { acceptance: "rejected", reason: "dependency-rejected" },
          },
          { type: "job", jobId: below, patch: { outcomeBlock: null } },
        );
      else if (jobState(s, below).status !== "success") {
        dead.push({ jobId: below, dependency: id });
        records.push(...blockRejected(s, { jobId: below, dependency: id }));
      }
    }
  }
  await s.commit(records);
  return { changed: [...changed], rejectedDependents: dead };
}
