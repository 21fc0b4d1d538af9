/** Tells, and judges by it nothing, what moved in the user's repository while a job worked in a worktree of it. */
import type { PlanJob } from "../core/runtime.ts";
import { movedMarks, type RepoMarks, takeRepoMarks } from "../run/repo-marks.ts";
import type { Session } from "./session.ts";
import { checkoutGitDir, type Workplace } from "./workplace.ts";

/** Null: the job works in the checkout itself, where what it does is measured. */
export async function marksOf(place: Workplace): Promise<RepoMarks | null> {
  if (place.worktree === null) return null;
  const { repo, commonDir } = place.worktree;
  return takeRepoMarks({ repo, commonDir, gitDir: checkoutGitDir(repo) ?? commonDir });
}

const NAMED = 5;

/** Once the work has ended and before any of it is committed. */
export async function noteMoves(
  s: Session,
  job: PlanJob,
  o: { readonly ordinal: number; readonly place: Workplace; readonly before: RepoMarks | null },
): Promise<void> {
  const after = o.before === null ? null : await marksOf(o.place);
  if (o.before === null || after === null) return;
  const moved = movedMarks(o.before, after);
  if (moved.length === 0) return;
  const more = moved.length > NAMED ? ` and ${moved.length - NAMED} more` : "";
  const what = s.redact(`${moved.slice(0, NAMED).join(", ")}${more}`);
  await s.commit([
    {
      type: "run",
      patch: {},
      note: `${job.id}: moved in the repository while attempt ${o.ordinal} ran, by this job or by somebody else: ${what}`,
    },
  ]);
}
