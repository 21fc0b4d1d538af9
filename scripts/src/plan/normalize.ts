/** A valid spec to plain data with every default applied and the origin of each value. Asks the host only by callbacks. */
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Job, JobsSpec, SetupCommand, Verification } from "../core/generated/jobs.ts";
import { CWD_PLACEHOLDER, MODEL_PLACEHOLDER } from "../core/placeholders.ts";
import { POLICY, SPEC_LIMITS } from "../core/policy.ts";
import { type Effect, RETRY_CLASSES } from "../core/tiers.ts";
import { plainPath } from "./check-paths.ts";
import { parseDuration } from "./duration.ts";
import type { Path, Place } from "./fault.ts";
import type {
  NormalArbiter,
  NormalCommand,
  NormalJob,
  NormalPlanText,
  NormalTop,
  Origin,
  SpecFacts,
} from "./normal.ts";
import { createReport, type Report } from "./report.ts";
import { quoted } from "./shown.ts";

export interface NormalizedSpec {
  readonly jobs: NormalJob[];
  readonly top: NormalTop;
  /** Errors about the host: folders and authorities that are not there. */
  readonly diagnostics: Diagnostic[];
}

export interface NormalizeFacts extends SpecFacts {
  /** Place of a value in the spec's text. */
  readonly locate?: (path: Path) => Place | null;
}

export function normalizeSpec(spec: JobsSpec, facts: NormalizeFacts): NormalizedSpec {
  const host = createHost(facts);
  const roots = workspaceRoots(spec, host);
  const jobs = spec.jobs.map((job, index) => normalJob(job, index, spec, roots, host));
  const top = normalTop(spec, roots, facts.fileName);
  return { jobs, top, diagnostics: host.report.list() };
}

// ---- the host, each question asked once

interface Host {
  readonly facts: NormalizeFacts;
  readonly report: Report;
  readonly realpath: (path: string) => string | null;
  readonly say: (
    code: Parameters<Report["add"]>[0]["code"],
    path: Path,
    message: string,
    fix: string,
  ) => void;
}

function createHost(facts: NormalizeFacts): Host {
  const report = createReport(facts.fileName);
  const known = new Map<string, string | null>();
  return {
    facts,
    report,
    realpath: (path) => {
      let real = known.get(path);
      if (real === undefined) {
        real = facts.realpath(path);
        known.set(path, real);
      }
      return real;
    },
    say: (code, path, message, fix) =>
      report.add({ code, path, message, fix, place: () => facts.locate?.(path) ?? { line: 1, column: 1 } }),
  };
}

function workspaceRoots(spec: JobsSpec, host: Host): readonly string[] {
  if (spec.workspace_roots === undefined) return host.facts.workspaceRootsDefault;
  return spec.workspace_roots.map((root, index) => {
    const path = resolve(host.facts.cwd, root);
    const real = host.realpath(path);
    if (real === null)
      host.say(
        "root-missing",
        ["workspace_roots", index],
        `the workspace root ${quoted(root)} does not exist`,
        "create the folder, or name another",
      );
    return real ?? path;
  });
}

/** True for `path` itself and everything below; both must be real paths. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function workFolder(job: Job, index: number, spec: JobsSpec, roots: readonly string[], host: Host): string {
  const written = job.cwd ?? spec.defaults?.cwd ?? CWD_PLACEHOLDER;
  const first = roots[0]!;
  if (written === CWD_PLACEHOLDER) return first;
  // A relative folder is meant from the first workspace root: the same spec means the same from anywhere inside it.
  const path = resolve(first, written);
  const real = host.realpath(path);
  const place: Path = job.cwd === undefined ? ["defaults", "cwd"] : ["jobs", index, "cwd"];
  if (real === null)
    host.say(
      "cwd-missing",
      place,
      `the folder ${quoted(written)} does not exist below ${quoted(first)}`,
      "create it, or name another",
    );
  else if (!roots.some((root) => isInside(real, root)))
    host.say(
      "cwd-outside-roots",
      place,
      `the folder ${quoted(written)} leads to ${quoted(real)}, outside every workspace root`,
      "add its folder to `workspace_roots`, or name one inside",
    );
  return real ?? path;
}

// ---- values and where they came from

/** Milliseconds of a duration that was validated. */
function milliseconds(text: string): number {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new Error(`not a duration: ${text}`);
  return parsed.value;
}

/** Takes the first that is given, and notes whose it was. */
function createPicker(origins: Record<string, Origin>) {
  return <T>(field: string, own: T | undefined, byDefaults: T | undefined, builtIn: T): T => {
    if (own !== undefined) {
      origins[field] = "spec";
      return own;
    }
    origins[field] = byDefaults === undefined ? "built-in" : "defaults";
    return byDefaults ?? builtIn;
  };
}

type Picker = ReturnType<typeof createPicker>;

function normalJob(job: Job, index: number, spec: JobsSpec, roots: readonly string[], host: Host): NormalJob {
  const origins: Record<string, Origin> = {};
  const pick = createPicker(origins);
  const { defaults } = spec;
  const cwd = workFolder(job, index, spec, roots, host);
  pick("cwd", job.cwd, defaults?.cwd, CWD_PLACEHOLDER);
  if (job.authority !== undefined && !host.facts.approvals.has(job.authority))
    host.say(
      "unknown-authority",
      ["jobs", index, "authority"],
      `the authority ${quoted(job.authority)} is not among the approvals of the home policy`,
      "add it to `approvals` in the home policy, or remove `authority`",
    );
  return {
    id: job.id,
    index,
    task: job.task ?? null,
    runtime: job.runtime ?? null,
    fallbackRuntime: job.fallback_runtime ?? [],
    agent: job.agent ?? null,
    model: job.model === undefined || job.model === MODEL_PLACEHOLDER ? null : job.model,
    effort: job.effort ?? null,
    session: job.session === undefined ? null : { fromJob: job.session.from_job, mode: job.session.mode },
    cwd,
    prompt: job.prompt ?? null,
    skill: job.skill ?? null,
    promptGenerated: job.prompt === undefined && job.skill === undefined,
    expectedOutput: job.expected_output,
    timeoutMs: milliseconds(pick("timeout", job.timeout, defaults?.timeout, "0s")),
    stallAfterMs: job.stall_after === undefined ? null : milliseconds(job.stall_after),
    dependsOn: job.depends_on ?? [],
    importance: pick("importance", job.importance, undefined, "normal"),
    ...effectOf(job, spec, pick, origins),
    destructive: job.destructive ?? false,
    preview: planText(job.preview),
    rollback: planText(job.rollback),
    approval: pick("approval", job.approval, defaults?.approval, "inherit"),
    authority: job.authority ?? null,
    isolation: pick("isolation", job.isolation, defaults?.isolation, "none"),
    untrusted: job.untrusted ?? false,
    ownedPaths: job.owned_paths ?? [],
    allowedTools: job.allowed_tools ?? null,
    disallowedTools: job.disallowed_tools ?? [],
    inputs: (job.inputs ?? []).map((input) => ({
      path: plainPath(input.path),
      sha256: input.sha256 ?? null,
      fromJob: input.from_job ?? null,
      fromPath: input.from_path === undefined ? null : plainPath(input.from_path),
    })),
    outputs: (job.outputs ?? []).map((output) => ({
      path: plainPath(output.path),
      sha256: output.sha256 ?? null,
      required: output.required ?? true,
      fromResult: output.from === "result",
    })),
    checks: job.checks ?? [],
    verification: (job.verification ?? []).map((check) => normalCommand(check, cwd)),
    invocation: invocationOf(job),
    retry: retryOf(job, spec, pick),
    cacheTtlHours: pick(
      "benchmark.cacheTTLHours",
      job.benchmark?.cacheTTLHours,
      defaults?.benchmark?.cacheTTLHours,
      POLICY.CACHE_TTL_DEFAULT_HOURS.value,
    ),
    maxPromotions: pick(
      "fallback.maxPromotions",
      job.fallback?.maxPromotions,
      defaults?.fallback?.maxPromotions,
      POLICY.MAX_PROMOTIONS_DEFAULT.value,
    ),
    maxOutputBytes: pick(
      "max_output_bytes",
      job.max_output_bytes,
      defaults?.max_output_bytes,
      POLICY.MAX_OUTPUT_BYTES_DEFAULT.value,
    ),
    mock: job.mock ?? null,
    origins,
  };
}

/** The effect a task has when nothing else is said (contract of the tiers). */
export function defaultEffect(task: NonNullable<Job["task"]>, ownsPaths: boolean): Effect {
  switch (task) {
    case "implement":
    case "mechanical":
      return "scoped-write";
    case "docs":
    case "test":
      return ownsPaths ? "scoped-write" : "observe";
    default:
      return "observe";
  }
}

function effectOf(
  job: Job,
  spec: JobsSpec,
  pick: Picker,
  origins: Record<string, Origin>,
): Pick<NormalJob, "effect" | "effectSource"> {
  const declared = job.effect ?? spec.defaults?.effect;
  if (job.destructive === true) {
    origins["effect"] = "spec";
    return { effect: "external-destructive", effectSource: "destructive" };
  }
  // Without task and effect nothing is known about the job, so it is treated as one that may change much.
  const builtIn =
    job.task === undefined
      ? "high-impact-write"
      : defaultEffect(job.task, (job.owned_paths ?? []).length > 0);
  const effect = pick("effect", job.effect, spec.defaults?.effect, builtIn);
  const source = declared !== undefined ? "declared" : job.task === undefined ? "none" : "task";
  return { effect, effectSource: source };
}

function retryOf(job: Job, spec: JobsSpec, pick: Picker): NormalJob["retry"] {
  const own = job.retry;
  const byDefaults = spec.defaults?.retry;
  return {
    maxAttempts: pick("retry.max_attempts", own?.max_attempts, byDefaults?.max_attempts, 1),
    backoffMs: milliseconds(
      pick("retry.backoff", own?.backoff, byDefaults?.backoff, `${SPEC_LIMITS.retryBackoffMs}ms`),
    ),
    classes: pick("retry.classes", own?.classes, byDefaults?.classes, [...RETRY_CLASSES]),
  };
}

function invocationOf(job: Job): NormalJob["invocation"] {
  const { invocation } = job;
  if (invocation === undefined) return null;
  return {
    command: invocation.command,
    args: invocation.args ?? [],
    stdin: invocation.stdin ?? "none",
    envAllow: invocation.env_allow ?? [],
  };
}

function normalCommand(command: SetupCommand | Verification, cwd: string | null): NormalCommand {
  const folder = "cwd" in command && command.cwd !== undefined ? plainPath(command.cwd) : "";
  return {
    command: command.command,
    args: command.args ?? [],
    timeoutMs:
      command.timeout === undefined ? SPEC_LIMITS.verificationTimeoutMs : milliseconds(command.timeout),
    cwd: cwd === null || folder === "" ? null : resolve(cwd, folder),
  };
}

function planText(value: Job["preview"]): NormalPlanText | null {
  if (value === undefined) return null;
  if (typeof value === "string") return { kind: "text", text: value };
  return { kind: "command", command: normalCommand(value, null) };
}

// ---- the top level

const ARBITER_TIMEOUT = "10m";

function normalTop(spec: JobsSpec, roots: readonly string[], fileName: string): NormalTop {
  const origins: Record<string, Origin> = {};
  const pick = createPicker(origins);
  return {
    name: pick("name", spec.name, undefined, labelOf(fileName)),
    outcome: spec.outcome ?? null,
    constraints: spec.constraints ?? [],
    acceptance: spec.acceptance ?? [],
    concurrency: pick("concurrency", spec.concurrency, undefined, SPEC_LIMITS.concurrencyDefault),
    pools: spec.pools ?? {},
    workspaceRoots: pick(
      "workspace_roots",
      spec.workspace_roots === undefined ? undefined : roots,
      undefined,
      roots,
    ),
    calibrationMinimumSamples: spec.calibration?.minimum_samples ?? null,
    egress: spec.egress ?? [],
    arbiter: normalArbiter(spec.arbiter, pick),
    budget:
      spec.budget === undefined
        ? null
        : {
            dimension: spec.budget.dimension,
            limit: spec.budget.limit,
            onUnknown: spec.budget.on_unknown ?? "stop",
          },
    quotaWaitMs: milliseconds(pick("quota_wait", spec.quota_wait, undefined, "0s")),
    worktreeSetup: (spec.worktree_setup ?? []).map((command) => normalCommand(command, null)),
    origins,
  };
}

function normalArbiter(arbiter: JobsSpec["arbiter"], pick: Picker): NormalArbiter {
  return {
    runtime: arbiter?.runtime ?? null,
    fallbackRuntime: arbiter?.fallback_runtime ?? [],
    model: arbiter?.model === undefined || arbiter.model === MODEL_PLACEHOLDER ? null : arbiter.model,
    effort: arbiter?.effort ?? null,
    timeoutMs: milliseconds(pick("arbiter.timeout", arbiter?.timeout, undefined, ARBITER_TIMEOUT)),
    mock: arbiter?.mock ?? null,
  };
}

/** The file's name without folders and ending. */
function labelOf(fileName: string): string {
  const name = fileName.slice(Math.max(fileName.lastIndexOf("/"), fileName.lastIndexOf("\\")) + 1);
  return name.replace(/\.(?:ya?ml|json)$/i, "") || "jobs";
}
