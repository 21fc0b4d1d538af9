/** From a spec's text to a plan: the way that `validate`, `plan`, `gate` and `run` share, so that what one says the other does. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { hasErrors } from "../core/diagnostic.ts";
import { SPEC_LIMITS } from "../core/policy.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Inventory } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { errorCode, sha256 } from "../host/files.ts";
import { findRepo, trackedFiles } from "../host/git.ts";
import { buildPlan, type PlanGraph } from "../plan/build-plan.ts";
import type { NormalJob, NormalTop } from "../plan/normal.ts";
import { normalizeSpec } from "../plan/normalize.ts";
import type { RepoState } from "../plan/plan-input.ts";
import { parseSpec, type Spec } from "../plan/spec.ts";
import { takeInventory } from "../run/inventory.ts";
import { adapterFor } from "../runtimes/registry.ts";
import { type Config, loadConfig } from "./load-config.ts";
import { workspaceRoot } from "./workspace-root.ts";

export interface SpecInput {
  readonly path: string;
  readonly env: Environment;
  readonly clock: Clock;
}

export interface LoadedSpec {
  readonly path: string;
  readonly text: string;
  readonly sha256: string;
  readonly spec: Spec;
  readonly jobs: readonly NormalJob[];
  readonly top: NormalTop;
  readonly locate: (path: readonly (string | number)[]) => { line: number; column: number } | null;
  readonly config: Config;
  readonly root: string;
}

export interface PlanFlags {
  readonly yes: boolean;
  readonly internal: boolean;
  readonly concurrency: number | null;
  readonly only: readonly string[];
  readonly harness: { readonly name: string; readonly subagents: boolean };
}

export interface PlannedRun {
  readonly loaded: LoadedSpec;
  readonly graph: PlanGraph;
  readonly inventory: Inventory;
}

/** Reads and validates; all diagnostics of the spec, whether it can be used or not. */
export function loadSpec(o: SpecInput): { loaded: LoadedSpec | null; diagnostics: Diagnostic[] } {
  const path = resolve(o.env.cwd, o.path);
  const read = readSpecFile(path);
  if (!read.ok) return { loaded: null, diagnostics: [read.error] };
  const root = workspaceRoot(o.env.cwd);
  const config = loadConfig({ root, home: o.env.home, now: o.clock.now() });
  const parsed = parseSpec(read.value, { fileName: o.path });
  const diagnostics = [...parsed.diagnostics];
  if (parsed.spec === null) return { loaded: null, diagnostics };
  const normal = normalizeSpec(parsed.spec, {
    cwd: o.env.cwd,
    workspaceRootsDefault: [root],
    realpath: realpathOrNull,
    fileName: basename(path),
    approvals: config.approvals,
    locate: parsed.locate,
  });
  diagnostics.push(...normal.diagnostics, ...config.diagnostics);
  if (hasErrors(diagnostics)) return { loaded: null, diagnostics };
  const text = typeof read.value === "string" ? read.value : Buffer.from(read.value).toString("utf8");
  return {
    loaded: {
      path,
      text,
      sha256: sha256(read.value),
      spec: parsed.spec,
      jobs: normal.jobs,
      top: normal.top,
      locate: parsed.locate,
      config,
      root,
    },
    diagnostics,
  };
}

export async function planSpec(
  o: SpecInput & { readonly flags: PlanFlags },
): Promise<{ planned: PlannedRun | null; diagnostics: Diagnostic[] }> {
  const { loaded, diagnostics } = loadSpec(o);
  if (loaded === null) return { planned: null, diagnostics };
  const selected = select(loaded, o.flags);
  if (!selected.ok) return { planned: null, diagnostics: [...diagnostics, selected.error] };
  const { jobs, top } = selected.value;
  const inventory = await takeInventory({
    ids: runtimesOf(jobs, top),
    full: needsRouter(jobs),
    declared: loaded.config.declared.map((d) => d.entry),
    env: o.env,
    clock: o.clock,
    exec,
    harness: o.flags.harness,
  });
  const repos = await reposOf(jobs, top);
  const tracked = new Map<string, string[]>();
  const attempt = () => {
    const asked = new Set<string>();
    const plan = buildPlan({
      spec: { path: loaded.path, sha256: loaded.sha256, fileName: o.path },
      normal: { jobs, top },
      inventory,
      policy: loaded.config.policy,
      facts: {
        traits: (id) =>
          adapterFor(
            id,
            loaded.config.declared.map((d) => d.entry),
          ),
        repoOf: (cwd) => repos.get(cwd) ?? null,
        trackedFiles: (topLevel) => {
          const known = tracked.get(topLevel);
          if (known === undefined) asked.add(topLevel);
          return known ?? [];
        },
        locate: loaded.locate,
        harness: o.flags.harness,
        declared: loaded.config.declared,
        automaticArbiter: false,
      },
      flags: { yes: o.flags.yes, internal: o.flags.internal },
    });
    return { plan, asked };
  };
  let { plan, asked } = attempt();
  // The planner is pure and asks for tracked files only where an answer depends on them: fetch those, plan once more.
  if (asked.size > 0) {
    for (const topLevel of asked) tracked.set(topLevel, await trackedFiles(topLevel));
    ({ plan, asked } = attempt());
  }
  diagnostics.push(...plan.diagnostics);
  if (plan.graph === null || hasErrors(diagnostics)) return { planned: null, diagnostics };
  return { planned: { loaded, graph: plan.graph, inventory }, diagnostics };
}

function readSpecFile(path: string): Result<Uint8Array, Diagnostic> {
  const fault = (code: string, message: string, fix?: string): Result<never, Diagnostic> =>
    err({ severity: "error", code, message, file: path, ...(fix === undefined ? {} : { fix }) });
  if (!existsSync(path))
    return fault(
      "spec-not-found",
      `There is no file \`${path}\`.`,
      "`init` writes a commented spec to start from.",
    );
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return fault("spec-not-a-file", `\`${path}\` is no regular file.`);
    if (stat.size > SPEC_LIMITS.maxJsonBytes)
      return fault(
        "spec-too-large",
        `\`${path}\` has ${stat.size} bytes; at most ${SPEC_LIMITS.maxYamlBytes} as YAML or ${SPEC_LIMITS.maxJsonBytes} as JSON are read.`,
      );
    return ok(readFileSync(path));
  } catch (error) {
    return fault("spec-unreadable", `Cannot read \`${path}\`: ${errorCode(error) ?? String(error)}.`);
  }
}

function realpathOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** `--only JOB` keeps a job and all it depends on; `--concurrency` replaces the spec's number. */
function select(
  loaded: LoadedSpec,
  flags: PlanFlags,
): Result<{ jobs: readonly NormalJob[]; top: NormalTop }, Diagnostic> {
  const top: NormalTop =
    flags.concurrency === null ? loaded.top : { ...loaded.top, concurrency: flags.concurrency };
  if (flags.only.length === 0) return ok({ jobs: loaded.jobs, top });
  const byId = new Map(loaded.jobs.map((job) => [job.id, job]));
  const unknown = flags.only.find((id) => !byId.has(id));
  if (unknown !== undefined)
    return err({
      severity: "error",
      code: "only-unknown-job",
      message: `--only: the spec has no job \`${unknown}\`.`,
      fix: `Its jobs: ${[...byId.keys()].slice(0, 20).join(", ")}`,
    });
  const keep = new Set<string>();
  const stack = [...flags.only];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (keep.has(id)) continue;
    keep.add(id);
    stack.push(...(byId.get(id)?.dependsOn ?? []));
  }
  return ok({
    jobs: loaded.jobs.filter((job) => keep.has(job.id)).map((job, index) => ({ ...job, index })),
    top,
  });
}

const isPlaceholder = (runtime: string): boolean => runtime.startsWith("<");

function runtimesOf(jobs: readonly NormalJob[], top: NormalTop): string[] {
  const named = jobs.flatMap((job) => [job.runtime, ...job.fallbackRuntime]);
  return [
    ...new Set(
      [...named, top.arbiter.runtime, ...top.arbiter.fallbackRuntime].filter(
        (id): id is string => id !== null && !isPlaceholder(id),
      ),
    ),
  ];
}

/** Every shipped runtime is asked only when the router may choose among them. */
const needsRouter = (jobs: readonly NormalJob[]): boolean =>
  jobs.some(
    (job) => job.runtime === null || isPlaceholder(job.runtime) || job.fallbackRuntime.some(isPlaceholder),
  );

async function reposOf(jobs: readonly NormalJob[], top: NormalTop): Promise<Map<string, RepoState | null>> {
  const folders = new Set([...jobs.map((job) => job.cwd), ...top.workspaceRoots]);
  const found = new Map<string, RepoState | null>();
  for (const folder of folders) {
    const repo = await findRepo(folder);
    found.set(
      folder,
      repo === null
        ? null
        : {
            topLevel: repo.topLevel,
            commonDir: repo.commonDir,
            baseRef: repo.head.ref ?? "HEAD",
            baseCommit: repo.head.commit,
            dirty: repo.dirtyCount,
          },
    );
  }
  return found;
}
