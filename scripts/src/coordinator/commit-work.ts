/** Puts the work of an attempt on its job's branch: exactly what was measured of it. */
import { lstatSync } from "node:fs";
import { join, relative } from "node:path";
import { INPUTS_DIR } from "../core/layout.ts";
import type { Changes } from "../run/changes.ts";
import { type CommittedWorktree, commitWorktree } from "../run/worktree-commit.ts";
import { TRANSIENT_PATHS } from "../runtimes/registry.ts";
import type { Judged } from "./judge.ts";
import type { Session } from "./session.ts";

/** Null without a worktree: there the work stays where it is. */
export async function commitWork(
  s: Session,
  o: Pick<Judged, "job" | "ordinal" | "place">,
  changes: Changes,
): Promise<{ ok: true; value: CommittedWorktree | null } | { ok: false; code: string; detail: string }> {
  const tree = o.place.worktree;
  if (tree === null || o.place.baseCommit === null) return { ok: true, value: null };
  const committed = await commitWorktree({
    repo: tree.repo,
    commonDir: tree.commonDir,
    path: tree.path,
    branch: tree.branch,
    baseCommit: o.place.baseCommit,
    message: `orchestrate: ${o.job.id} (attempt ${o.ordinal})\n\nRun: ${s.runId}`,
    exclude: [INPUTS_DIR, ...emptyFiles(tree.path, TRANSIENT_PATHS)],
    ...(changes.measured ? { changedPaths: travelling(o, changes) } : {}),
  });
  return committed.ok
    ? { ok: true, value: committed.value }
    : { ok: false, code: committed.error.code, detail: committed.error.detail };
}

/** What goes on the job's branch: what it changed, and its declared outputs even if `worktree_setup` had made them. */
const travelling = (
  { job, place }: Pick<Judged, "job" | "place">,
  { created, modified, deleted }: Changes,
): string[] => [
  ...[...created, ...modified, ...deleted],
  ...job.outputs.map(({ path }) => relative(place.root, join(place.cwd, path))),
];

/** What a sandbox put there to mount over and did not take away again. One that holds something is the job's work. */
const emptyFiles = (root: string, names: readonly string[]): string[] =>
  names.filter((name) => {
    const look = lstatSync(join(root, name), { throwIfNoEntry: false });
    return look?.isFile() && look.size === 0;
  });
