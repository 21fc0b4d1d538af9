/** Removes the worktrees of a run that nobody coordinates; what is not integrated stays. */
import { findRepo } from "../host/git.ts";
import { type CleanedWorktree, type CleanTarget, cleanRun } from "../run/worktree-clean.ts";
import type { RunView } from "./view.ts";

export async function cleanRunDir(o: {
  readonly view: RunView;
  readonly preview: boolean;
  readonly discard?: readonly string[];
}): Promise<readonly CleanedWorktree[]> {
  const { view } = o;
  const byRepo = new Map<string, CleanTarget[]>();
  for (const plan of view.graph.jobs) {
    const job = view.state.jobs[plan.id];
    if (job === undefined || job.worktree === null || job.branch === null || plan.repo === null) continue;
    const last = job.attemptRecords.at(-1);
    const target: CleanTarget = {
      jobId: plan.id,
      path: job.worktree,
      branch: job.branch,
      attempt: last?.attempt ?? 1,
      baseCommit: job.baseCommit,
      givenBase: job.baseOverride,
      busy: last?.settlement === "unsettled" || last?.status === "running",
    };
    byRepo.set(plan.repo, [...(byRepo.get(plan.repo) ?? []), target]);
  }
  const cleaned: CleanedWorktree[] = [];
  for (const [repo, targets] of byRepo) {
    const found = await findRepo(repo);
    if (found === null) continue;
    cleaned.push(
      ...(await cleanRun({
        repo,
        commonDir: found.commonDir,
        runId: view.state.runId,
        targets,
        integratedInto: found.head.commit,
        discard: o.discard ?? [],
        preview: o.preview,
      })),
    );
  }
  return cleaned;
}
