/**
 * Bringing accepted branches into the user's checkout: a trial first, one job at a time, nothing half-applied, undoable.
 * Each merge is made without a checkout; only when it is whole does the user's branch move to it, fast-forward, so that a
 * conflict or a refusal leaves the checkout exactly as it was.
 */
import { err, ok, type Result } from "../core/result.ts";
import { git, resolveAll } from "../host/git.ts";
import { withRepoLock } from "../host/repo-lock.ts";
import { diffStat, mergeBases } from "./merge.ts";
import { type DependencyCommit, gitFault, lockFault, type WorktreeFault } from "./worktree-fault.ts";

export type IntegrateFault =
  | WorktreeFault
  | {
      readonly code:
        | "dirty-target"
        | "target-moved"
        | "nothing-to-undo"
        | "integrate-conflict"
        | "detached-target";
      readonly detail: string;
      readonly conflict?: { readonly jobs: readonly string[]; readonly paths: readonly string[] };
    };

export interface IntegratePreview {
  readonly target: Target;
  readonly jobs: readonly PreviewedJob[];
  /** Commit with all that applies on top of the target; the target itself when nothing does. */
  readonly merged: string;
}

export interface Target {
  readonly ref: string;
  readonly commit: string;
}

export interface PreviewedJob {
  readonly jobId: string;
  readonly commit: string;
  readonly state: "applies" | "contained" | "conflict";
  /** Against the target with the earlier jobs applied. */
  readonly diffStat: string;
  readonly conflict: { readonly jobs: readonly string[]; readonly paths: readonly string[] } | null;
}

/** One line of the undo record. */
export interface IntegrationRecord {
  readonly jobId: string;
  readonly ref: string;
  readonly from: string;
  readonly to: string;
}

export interface Integration {
  readonly applied: readonly IntegrationRecord[];
  /** Why it stopped before the last job; null when it did not. */
  readonly stopped: IntegrateFault | null;
}

/** Title of a merge in the user's own history, which outlives the run's folder. */
const integrateTitle =
  (runId: string) =>
  (jobId: string): string =>
    `Integrate job ${jobId} of run ${runId}`;

/** `jobs` in topological order. Touches neither branch nor checkout. */
export async function previewIntegration(o: {
  readonly repo: string;
  readonly runId: string;
  readonly jobs: readonly DependencyCommit[];
}): Promise<Result<IntegratePreview, IntegrateFault>> {
  const target = await readTarget(o.repo);
  if (!target.ok) return target;
  let current = target.value.commit;
  const jobs: PreviewedJob[] = [];
  const applied: DependencyCommit[] = [];
  for (const job of o.jobs) {
    const step = await mergeBases({
      repo: o.repo,
      baseCommit: current,
      mergeCommits: [job],
      title: integrateTitle(o.runId),
    });
    if (!step.ok) {
      if (step.error.code !== "dependency-conflict") return step;
      const conflict = await bothSides(o.repo, target.value.commit, applied, job, step.error);
      jobs.push({ ...job, state: "conflict", diffStat: "", conflict });
      continue;
    }
    const next = step.value.commit;
    const contained = next === current;
    jobs.push({
      ...job,
      state: contained ? "contained" : "applies",
      diffStat: contained ? "" : await diffStat(o.repo, current, next),
      conflict: null,
    });
    if (!contained) applied.push(job);
    current = next;
  }
  return ok({ target: target.value, jobs, merged: current });
}

/** Names the earlier jobs of the same integration that are the other side; none of them: the user's own branch is. */
async function bothSides(
  repo: string,
  target: string,
  applied: readonly DependencyCommit[],
  job: DependencyCommit,
  fault: WorktreeFault,
): Promise<{ jobs: readonly string[]; paths: readonly string[] }> {
  const paths = fault.conflict?.paths ?? [];
  const alone = await mergeBases({ repo, baseCommit: target, mergeCommits: [job] });
  for (const other of alone.ok ? applied : []) {
    const pair = await mergeBases({ repo, baseCommit: target, mergeCommits: [other, job] });
    if (!pair.ok && pair.error.conflict !== undefined) return { jobs: [other.jobId, job.jobId], paths };
  }
  return { jobs: [job.jobId], paths };
}

/**
 * Applies one job after the other to the branch that is checked out in `repo`. Stops at the first that does not apply; what
 * was applied before it stays, and every step can be undone. `record` is called before each step and awaited.
 *
 * Errors before anything happens: `dirty-target`, `detached-target`, `target-moved`, `no-base-commit`, `repo-locked`.
 */
export async function applyIntegration(o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  readonly jobs: readonly DependencyCommit[];
  /** Where the trial took place: what held there says nothing of another branch or commit. */
  readonly target: Target;
  /** Called before each branch update and resolved when the record is durable. */
  readonly record: (entry: IntegrationRecord) => Promise<void>;
}): Promise<Result<Integration, IntegrateFault>> {
  const locked = await withRepoLock({
    commonDir: o.commonDir,
    purpose: `integrating ${o.runId}`,
    work: () => applyLocked(o),
  });
  return locked.ok ? locked.value : err(lockFault(locked.error));
}

async function applyLocked(o: {
  readonly repo: string;
  readonly runId: string;
  readonly jobs: readonly DependencyCommit[];
  readonly target: Target;
  readonly record: (entry: IntegrationRecord) => Promise<void>;
}): Promise<Result<Integration, IntegrateFault>> {
  const target = await cleanTarget(o.repo);
  if (!target.ok) return target;
  if (target.value.ref !== o.target.ref || target.value.commit !== o.target.commit)
    return err(movedMeanwhile(o.target, target.value));
  const { ref } = target.value;
  let current = target.value.commit;
  const applied: IntegrationRecord[] = [];
  for (const job of o.jobs) {
    const step = await mergeBases({
      repo: o.repo,
      baseCommit: current,
      mergeCommits: [job],
      title: integrateTitle(o.runId),
    });
    if (!step.ok) return ok({ applied, stopped: asIntegrateConflict(job, step.error) });
    if (step.value.commit === current) continue;
    const entry = { jobId: job.jobId, ref, from: current, to: step.value.commit };
    await o.record(entry);
    // Without the flag git writes over what the user has there in ignored files, and an undo would delete them.
    const moved = await git(
      ["merge", "--ff-only", "--no-overwrite-ignore", "--quiet", "--no-stat", entry.to],
      { cwd: o.repo },
    );
    if (moved.exitCode !== 0)
      return ok({ applied, stopped: gitFault(moved, `bring \`${job.jobId}\` into the checkout`) });
    applied.push(entry);
    current = entry.to;
  }
  return ok({ applied, stopped: null });
}

const movedMeanwhile = (tried: Target, now: Target): IntegrateFault => ({
  code: "target-moved",
  detail:
    tried.ref === now.ref
      ? `\`${now.ref}\` moved from ${tried.commit} to ${now.commit} while the work was tried on it; nothing was applied, try again`
      : `the work was tried on \`${tried.ref}\`, and \`${now.ref}\` is checked out now; nothing was applied, try again`,
});

const asIntegrateConflict = (job: DependencyCommit, fault: WorktreeFault): IntegrateFault =>
  fault.code === "dependency-conflict"
    ? {
        code: "integrate-conflict",
        detail: `\`${job.jobId}\` conflicts with the branch in ${(fault.conflict?.paths ?? []).map((path) => `\`${path}\``).join(", ")}; nothing of it was applied`,
        conflict: { jobs: [job.jobId], paths: fault.conflict?.paths ?? [] },
      }
    : fault;

/** Takes applied steps back, the last first. Refuses when the branch has moved on or the checkout is dirty. */
export async function undoIntegration(o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  /** In the order in which they were applied. A step that was recorded and never made is skipped. */
  readonly records: readonly IntegrationRecord[];
}): Promise<Result<readonly IntegrationRecord[], IntegrateFault>> {
  // Whatever the checkout looks like, there is nothing to take back.
  if (o.records.length === 0) return err(nothingIntegrated());
  const locked = await withRepoLock({
    commonDir: o.commonDir,
    purpose: `undoing the integration of ${o.runId}`,
    work: () => undoLocked(o),
  });
  return locked.ok ? locked.value : err(lockFault(locked.error));
}

async function undoLocked(o: {
  readonly repo: string;
  readonly records: readonly IntegrationRecord[];
}): Promise<Result<readonly IntegrationRecord[], IntegrateFault>> {
  const target = await cleanTarget(o.repo);
  if (!target.ok) return target;
  const undone: IntegrationRecord[] = [];
  let current = target.value.commit;
  for (const record of [...o.records].reverse()) {
    if (record.ref !== target.value.ref) continue;
    // Only a step that was announced and not made stands at its `from`.
    if (record.to !== current && record.from === current) continue;
    if (record.to !== current) break;
    undone.push(record);
    current = record.from;
  }
  if (undone.length === 0) return err(nothingToUndo(o.records, target.value));
  const back = await git(["reset", "--keep", "--quiet", current], { cwd: o.repo });
  return back.exitCode === 0 ? ok(undone) : err(gitFault(back, "take the integration back"));
}

const nothingIntegrated = (): IntegrateFault => ({
  code: "nothing-to-undo",
  detail: "nothing of this run was integrated",
});

function nothingToUndo(records: readonly IntegrationRecord[], target: Target): IntegrateFault {
  const last = records.at(-1);
  if (last === undefined) return nothingIntegrated();
  return last.ref === target.ref
    ? {
        code: "target-moved",
        detail: `\`${target.ref}\` is at ${target.commit}, not at ${last.to} where the integration left it: undo by hand, or with \`git revert\``,
      }
    : {
        code: "target-moved",
        detail: `the integration went into \`${last.ref}\`, and \`${target.ref}\` is checked out`,
      };
}

async function readTarget(repo: string): Promise<Result<Target, IntegrateFault>> {
  const [commit = null] = await resolveAll(["HEAD^{commit}"], { cwd: repo });
  const ref = await git(["symbolic-ref", "-q", "HEAD"], { cwd: repo });
  if (commit === null) return err({ code: "no-base-commit", detail: `\`${repo}\` has no commit yet` });
  if (ref.exitCode !== 0)
    return err({
      code: "detached-target",
      detail: `\`${repo}\` has no branch checked out; check out the branch that shall receive the work`,
    });
  return ok({ ref: ref.stdout.trim(), commit });
}

/** Untracked files do not count: git itself refuses to overwrite one. */
async function cleanTarget(repo: string): Promise<Result<Target, IntegrateFault>> {
  const target = await readTarget(repo);
  if (!target.ok) return target;
  const status = await git(["status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames"], {
    cwd: repo,
  });
  const dirty = status.stdout.split("\0").filter((entry) => entry !== "").length;
  if (status.exitCode !== 0) return err(gitFault(status, "read the checkout's state"));
  return dirty === 0
    ? target
    : err({
        code: "dirty-target",
        detail: `\`${repo}\` has ${dirty} uncommitted ${dirty === 1 ? "change" : "changes"}; commit or stash first`,
      });
}
