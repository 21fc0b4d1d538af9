/** Which files of an attempt would be read whole, and whether one of them is too large for that. */
import { join, relative } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { ownedBy, plainPath } from "../prove/ownership.ts";
import type { Changes } from "../run/changes.ts";
import { tooLargeFile } from "../run/work-size.ts";
import type { Workplace } from "./workplace.ts";

/**
 * In words; null when all can be read. Read are declared outputs; in a worktree what would be committed, which is nothing
 * that git ignores; in a shared checkout what the job owns, since the rest is somebody else's or fails the boundary by name.
 */
export function tooLargeWork(job: PlanJob, place: Workplace, changes: Changes): string | null {
  const cwdPrefix = relative(place.root, place.cwd).split("\\").join("/");
  const ignored = new Set(changes.ignored);
  const isOwned = ownedBy({ cwdPrefix, ownedPaths: job.ownedPaths });
  const isRead = place.worktree === null ? isOwned : (path: string) => !ignored.has(path);
  return tooLargeFile(place.root, [
    ...[...changes.created, ...changes.modified].filter(isRead),
    ...job.outputs.map(({ path }) => join(cwdPrefix, plainPath(path))),
  ]);
}
