/** The shape of a job spec: the schema as functions, and what is left of a spec when all that is misshapen is put aside. */

import jobsSchema from "../../../schemas/jobs.schema.json" with { type: "json" };
import type { Job, JobsSpec } from "../core/generated/jobs.ts";
import type { Path } from "./fault.ts";
import type { ReadDocument } from "./read-yaml.ts";
import { bad, type CheckContext } from "./scalar-check.ts";
import { compileSchema, type DefinitionRule } from "./schema-check.ts";
import { jobLabel } from "./shown.ts";

const DURATION_WORDS = {
  code: "bad-duration",
  expected: "a duration such as `90s`, `10m` or `1h30m`",
} as const;

/** The well-formed part of a job: later rules never meet a value of the wrong type. */
export class LooseJob {
  readonly index: number;
  readonly job: Partial<Job>;

  constructor(index: number, job: Partial<Job>) {
    this.index = index;
    this.job = job;
  }

  get path(): Path {
    return ["jobs", this.index];
  }

  /** "job `a`" or "`jobs[0]`"; made when a message needs it, since most jobs are sound. */
  get label(): string {
    return jobLabel(this.job.id, this.index);
  }
}

export interface LooseSpec {
  readonly top: Partial<Omit<JobsSpec, "jobs">>;
  readonly jobs: readonly LooseJob[];
}

export interface Shape {
  readonly valid: boolean;
  readonly loose: LooseSpec;
}

/** Reports every fault of shape. */
export function checkShape(document: ReadDocument): Shape {
  const badTop = new Set<string>();
  const badJobs = new Map<number, Set<string>>();
  const onBad = (path: Path): void => {
    const [first, index, field] = path;
    if (first !== "jobs" || index === undefined) badTop.add(String(first));
    else if (typeof index === "number" && typeof field === "string")
      badJobs.set(index, (badJobs.get(index) ?? new Set()).add(field));
  };
  checkJobs ??= compileSchema(jobsSchema, { formats: FORMATS, rules: RULES });
  const valid = checkJobs(document.value, { document, whole: "the spec", onBad });
  return { valid, loose: setAside(document.value, badTop, badJobs) };
}

let checkJobs: ReturnType<typeof compileSchema> | undefined;

const FORMATS = {
  Duration: DURATION_WORDS,
  JobId: {
    code: "bad-job-id",
    expected: "1 to 64 lower-case letters, digits, `.`, `_` or `-`, starting with a letter or digit",
  },
  RuntimeRef: { code: "bad-runtime-name", expected: "a runtime id, `internal` or a placeholder" },
  Sha256: { code: "bad-format", expected: "64 lower-case hex digits" },
} as const;

const taskOrModel: DefinitionRule = (job, path, context) => {
  let valid = true;
  if (!Object.hasOwn(job, "task") && !Object.hasOwn(job, "model"))
    valid = badJob(context, path, job, {
      code: "task-or-model",
      message: "has neither `task` nor `model`",
      fix: "add `task`: it decides which runtimes are good enough",
    });
  if (Object.hasOwn(job, "prompt") && Object.hasOwn(job, "skill"))
    valid = badJob(context, [...path, "skill"], job, {
      code: "prompt-and-skill",
      message: "has both `prompt` and `skill`",
      fix: "keep one of them",
    });
  return valid;
};

function badJob(
  context: CheckContext,
  path: Path,
  job: Record<string, unknown>,
  finding: { code: "task-or-model" | "prompt-and-skill"; message: string; fix: string },
): false {
  const label = jobLabel(job["id"], Number(path[1]));
  return bad(context, path, { ...finding, message: `${label} ${finding.message}` });
}

const oneAction: DefinitionRule = (step, path, context) => {
  const actions = Object.keys(step).filter((key) => key !== "attempt");
  if (actions.length === 1) return true;
  return bad(context, path, {
    code: "bad-step",
    message: `a step of a mock script is one action, but this one has ${actions.length === 0 ? "none" : actions.length}`,
    fix: actions.length === 0 ? "add one, for example `say: done`" : "make a step of its own of each",
  });
};

const RULES = { Job: taskOrModel, MockStep: oneAction };

type Data = Record<string, unknown>;
const isMap = (value: unknown): value is Data =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function setAside(
  value: unknown,
  badTop: ReadonlySet<string>,
  badJobs: ReadonlyMap<number, ReadonlySet<string>>,
): LooseSpec {
  if (!isMap(value)) return { top: {}, jobs: [] };
  const { jobs, ...top } = value;
  const list = Array.isArray(jobs) && !badTop.has("jobs") ? (jobs as unknown[]) : [];
  return {
    top: without(top, badTop),
    jobs: list.flatMap((job, index) =>
      isMap(job) ? [new LooseJob(index, without(job, badJobs.get(index)))] : [],
    ),
  };
}

function without(map: Data, fields: ReadonlySet<string> | undefined): Data {
  if (fields === undefined || fields.size === 0) return map;
  return Object.fromEntries(Object.entries(map).filter(([key]) => !fields.has(key)));
}
