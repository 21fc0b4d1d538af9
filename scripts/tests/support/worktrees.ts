/** Shorthand for tests that need a job's worktree. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Result } from "../../src/core/result.ts";
import { type CreatedWorktree, createWorktree } from "../../src/run/worktree.ts";
import { commitWorktree } from "../../src/run/worktree-commit.ts";
import type { DependencyCommit } from "../../src/run/worktree-fault.ts";
import type { ThrowawayRepo } from "./repo-at.ts";

export const RUN_ID = "orchestrate-20260101-000000";

export interface JobPlace {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
}

export const placeOf = (repo: ThrowawayRepo, jobId: string): JobPlace => ({
  repo: repo.path,
  commonDir: repo.commonDir,
  path: join(repo.path, "plans/reports", RUN_ID, "worktrees", jobId),
  branch: `orchestrate/${RUN_ID}/${jobId}`,
});

export function value<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(`expected a value, got ${JSON.stringify(result.error)}`);
  return result.value;
}

export function fault<T, E>(result: Result<T, E>): E {
  if (result.ok) throw new Error(`expected a fault, got ${JSON.stringify(result.value)}`);
  return result.error;
}

export async function jobWorktree(
  repo: ThrowawayRepo,
  jobId: string,
  mergeCommits: readonly DependencyCommit[] = [],
): Promise<JobPlace & CreatedWorktree> {
  const place = placeOf(repo, jobId);
  const made = await createWorktree({ ...place, baseCommit: repo.head(), mergeCommits });
  return { ...place, ...value(made) };
}

export function writeIn(place: { readonly path: string }, name: string, content: string | Buffer): void {
  const target = join(place.path, name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}

/** A job that writes the given files in a worktree of its own and is committed. */
export async function finishedJob(
  repo: ThrowawayRepo,
  jobId: string,
  files: Readonly<Record<string, string>>,
  mergeCommits: readonly DependencyCommit[] = [],
): Promise<JobPlace & CreatedWorktree & { commit: string }> {
  const place = await jobWorktree(repo, jobId, mergeCommits);
  for (const [name, content] of Object.entries(files)) writeIn(place, name, content);
  const committed = value(
    await commitWorktree({ ...place, message: `orchestrate: ${jobId}`, exclude: [".orchestrate-inputs"] }),
  );
  return { ...place, commit: committed.commit };
}
