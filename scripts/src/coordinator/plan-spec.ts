/** From a spec's text to a plan: the way that `validate`, `plan`, `gate` and `run` share, so that what one says the other does. */
import { realpathSync } from "node:fs";
import type { Diagnostic } from "../core/diagnostic.ts";
import { hasErrors } from "../core/diagnostic.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Inventory } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { exec } from "../host/exec.ts";
import { findRepo, trackedFiles } from "../host/git.ts";
import { buildPlan, type PlanGraph } from "../plan/build-plan.ts";
import type { NormalJob, NormalTop } from "../plan/normal.ts";
import type { RepoState } from "../plan/plan-input.ts";
import { MOCK_RUNTIME } from "../prove/current-attempt.ts";
import { takeInventory } from "../run/inventory.ts";
import { adapterFor } from "../runtimes/registry.ts";
import { earlierInventory, reuseDiagnostics } from "./inventory-file.ts";
import { inFile, type LoadedSpec, loadSpec, type SpecInput } from "./load-spec.ts";
import { type PlanPlane, planPlane } from "./plane-plan.ts";
import { classifierIdOf, type PlaneInput, planeStanding } from "./plane-setup.ts";
import { ratingBy } from "./rating.ts";

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
  /** What the decision plane was asked on the way, and how it says that jobs relate. */
  readonly plane: Pick<PlanPlane, "decisions" | "relations">;
}

export async function planSpec(
  o: SpecInput & {
    readonly flags: PlanFlags;
    /** A look only: answers of the newest run may stand in while they are young. */
    readonly reuse?: boolean;
    /** The tool's main file: where the skill's own key file is looked for. */
    readonly script?: string;
    /** A run follows. */
    readonly run?: boolean;
  },
): Promise<{ planned: PlannedRun | null; diagnostics: Diagnostic[] }> {
  const { loaded, diagnostics } = loadSpec(o);
  if (loaded === null) return { planned: null, diagnostics };
  const selected = select(loaded, o.flags);
  if (!selected.ok) return { planned: null, diagnostics: [...diagnostics, selected.error] };
  const { jobs, top } = selected.value;
  const planeInput = planeInputOf(loaded, top, o);
  const classifier = classifierIdOf(planeInput);
  const earlier = o.reuse === true ? earlierInventory(loaded.root) : undefined;
  let inventory = await takeInventory({
    ids: [...runtimesOf(jobs, top), ...(classifier === null ? [] : [classifier])],
    full: needsRouter(jobs) || needsArbiter(jobs, top),
    declared: loaded.config.declared.map((d) => d.entry),
    env: o.env,
    clock: o.clock,
    exec,
    harness: o.flags.harness,
    rate: ratingBy(loaded.config),
    ...(earlier === undefined ? {} : { earlier }),
  });
  diagnostics.push(...reuseDiagnostics(inventory, o.clock.now()));
  const repos = await reposOf(jobs, top, loaded.path);
  const tracked = new Map<string, string[]>();
  diagnostics.push(...egressDiagnostics(planeInput, o.path));
  let targets: PlanPlane["targets"] = new Map();
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
        targets: (id) => targets.get(id) ?? null,
        locate: loaded.locate,
        harness: o.flags.harness,
        declared: loaded.config.declared,
      },
      flags: { yes: o.flags.yes, internal: o.flags.internal },
    });
    return { plan, asked };
  };
  // The planner is pure and asks for tracked files only where an answer depends on them: fetch those, plan once more.
  const planned = async () => {
    const { plan, asked } = attempt();
    if (asked.size === 0) return plan;
    for (const topLevel of asked) tracked.set(topLevel, await trackedFiles(topLevel));
    return attempt().plan;
  };
  let plan = await planned();
  let plane: PlannedRun["plane"] = { decisions: [], relations: [] };
  if (classifier !== null && plan.graph !== null && !hasErrors([...diagnostics, ...plan.diagnostics])) {
    const asked = await planPlane({
      input: planeInput,
      graph: plan.graph,
      inventory,
      dryRun: o.run !== true,
    });
    ({ targets, inventory } = asked);
    plane = asked;
    if (targets.size > 0) plan = await planned();
  }
  diagnostics.push(...plan.diagnostics.map((one) => inFile(one, o.path)));
  if (plan.graph === null || hasErrors(diagnostics)) return { planned: null, diagnostics };
  return { planned: { loaded, graph: plan.graph, inventory, plane }, diagnostics };
}

/** What the user could confirm before a run asks. */
const egressDiagnostics = (input: PlaneInput, specPath: string): Diagnostic[] =>
  planeStanding(input, { records: [], malformed: false })
    .state.egress.filter(({ status }) => status === "asked")
    .map(
      ({ id, words }): Diagnostic => ({
        severity: "info",
        code: "egress-unconfirmed",
        message: `${words}: not confirmed, so the decision plane is off`,
        fix: `approve ${quoteShell(specPath)} --egress ${id}`,
      }),
    );

const planeInputOf = (
  loaded: LoadedSpec,
  top: NormalTop,
  o: SpecInput & { readonly script?: string },
): PlaneInput => ({
  declared: loaded.config.declared,
  specEgress: top.egress,
  policyEgress: loaded.config.egress,
  specSha256: loaded.sha256,
  root: top.workspaceRoots[0] as string,
  script: o.script ?? "",
  env: o.env,
});

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
    // Each keeps its place in the spec, so that what is said of it names its own line.
    jobs: loaded.jobs.filter((job) => keep.has(job.id)),
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

/** Anybody may have to judge the work, unless the spec names who does. Scripted work is judged by its own script. */
const needsArbiter = (jobs: readonly NormalJob[], top: NormalTop): boolean =>
  (top.arbiter.runtime === null || isPlaceholder(top.arbiter.runtime)) &&
  jobs.some((job) => job.runtime !== MOCK_RUNTIME);

/** No job reads the spec itself: that it is not committed takes nothing from anybody. */
async function reposOf(
  jobs: readonly NormalJob[],
  top: NormalTop,
  specPath: string,
): Promise<Map<string, RepoState | null>> {
  const folders = new Set([...jobs.map((job) => job.cwd), ...top.workspaceRoots]);
  const found = new Map<string, RepoState | null>();
  for (const folder of folders) {
    const repo = await findRepo(folder, { notDirty: realpathSync(specPath) });
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
