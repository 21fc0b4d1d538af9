/** Fields that are valid and whose behaviour this version does not have yet. Data: it shrinks, and `run` alone refuses. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Job, JobsSpec } from "../core/generated/jobs.ts";
import { formatPath, type Path, type Place } from "./fault.ts";
import { SPEC_CODES } from "./spec-codes.ts";

export interface UnsupportedField {
  /** As documents name it: `budget`, `jobs[].session`. */
  readonly field: string;
  /** What it would do. */
  readonly behaviour: string;
  readonly used: (spec: JobsSpec) => readonly Path[];
}

const top = (
  field: keyof JobsSpec,
  behaviour: string,
  used: (spec: JobsSpec) => boolean,
): UnsupportedField => ({
  field,
  behaviour,
  used: (spec) => (used(spec) ? [[field]] : []),
});

const perJob = (
  field: keyof Job & string,
  behaviour: string,
  used: (job: Job) => boolean,
): UnsupportedField => ({
  field: `jobs[].${field}`,
  behaviour,
  used: (spec) => spec.jobs.flatMap((job, index) => (used(job) ? [["jobs", index, field]] : [])),
});

export const UNSUPPORTED_FIELDS: readonly UnsupportedField[] = [
  top("budget", "stops admission when a cost is reached", (spec) => spec.budget !== undefined),
  {
    field: "defaults.benchmark",
    behaviour: "limits the age of benchmark evidence",
    used: (spec) => (spec.defaults?.benchmark === undefined ? [] : [["defaults", "benchmark"]]),
  },
  perJob("benchmark", "limits the age of benchmark evidence", (job) => job.benchmark !== undefined),
];

/** One error for each use, in the order of the spec. */
export function unsupportedFields(
  spec: JobsSpec,
  options: { readonly fileName?: string; readonly locate?: (path: Path) => Place | null } = {},
): Diagnostic[] {
  return UNSUPPORTED_FIELDS.flatMap((entry) =>
    entry.used(spec).map((path): Diagnostic => {
      const place = options.locate?.(path) ?? null;
      return {
        severity: SPEC_CODES["field-not-supported-yet"].severity,
        code: "field-not-supported-yet",
        message: `\`${formatPath(path)}\` is valid, but this version does not have its behaviour yet: it ${entry.behaviour}`,
        path: formatPath(path),
        ...(options.fileName === undefined ? {} : { file: options.fileName }),
        ...(place === null ? {} : { line: place.line, column: place.column }),
        fix: "remove it to run the spec with this version",
      };
    }),
  );
}
