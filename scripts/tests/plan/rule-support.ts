/** What one rule says by itself: `CODE PATH MESSAGE | FIX`, and ` | PATH NOTE` for a related place. */
import type { Job, JobsSpec } from "../../src/core/generated/jobs.ts";
import { formatPath } from "../../src/plan/fault.ts";
import type { Say } from "../../src/plan/rule.ts";
import { LooseJob, type LooseSpec } from "../../src/plan/spec-shape.ts";

export function saidBy(rule: (say: Say) => unknown): string[] {
  const said: string[] = [];
  rule((code, path, message, { fix, related = [] } = {}) => {
    const advice = typeof fix === "function" ? fix() : fix;
    const notes = related.map((note) => ` | ${formatPath(note.path)} ${note.message}`).join("");
    said.push(`${code} ${formatPath(path) || "-"} ${message} | ${advice ?? "-"}${notes}`);
  });
  return said;
}

/** Some fields by name; `undefined` leaves one out. Their shape was checked before any rule looks at them. */
export type Some<T> = { readonly [K in keyof T]?: unknown };

export const looseSpec = (jobs: readonly Some<Job>[], top: Some<Omit<JobsSpec, "jobs">> = {}): LooseSpec => ({
  top: top as LooseSpec["top"],
  jobs: jobs.map((job, index) => new LooseJob(index, job as Partial<Job>)),
});
