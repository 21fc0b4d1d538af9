/** Makes a run directory from a plan: everything the coordinator will read, frozen and durable before it starts. */
import { join } from "node:path";
import { ulid } from "ulid";
import { stringify } from "yaml";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Graph, State } from "../core/runtime.ts";
import { spanIdOf } from "../evidence/trace.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import { replaceFile } from "../host/files.ts";
import { decisionRecord } from "../plane/record.ts";
import { createRun } from "../state/store.ts";
import { blankJob } from "./blank.ts";
import { freezeGraph } from "./graph-file.ts";
import { writeInventory } from "./inventory-file.ts";
import type { PlannedRun } from "./plan-spec.ts";
import { createRunDir, type RunDirFault } from "./run-dir.ts";

export interface PreparedRun {
  readonly runDir: string;
  readonly graph: Graph;
}

export function prepareRun(o: {
  readonly planned: PlannedRun;
  readonly requestedDir: string | null;
  readonly cwd: string;
  readonly clock: Clock;
}): Result<PreparedRun, RunDirFault> {
  const now = o.clock.now();
  const root = o.planned.graph.workspaceRoots[0] as string;
  const made = createRunDir({ root, requested: o.requestedDir, cwd: o.cwd, now });
  if (!made.ok) return err(made.error);
  const { path: runDir, runId } = made.value;
  const graph: Graph = { ...o.planned.graph, runId, createdAt: isoTime(now) };
  const supervisorRunId = ulid(now);
  replaceFile(join(runDir, RUN_FILES.spec), frozenSpec(o.planned, graph));
  writeInventory(runDir, o.planned.inventory);
  writePlanDecisions(runDir, runId, o.planned.plane.decisions);
  const graphSha256 = freezeGraph(runDir, supervisorRunId, graph);
  createRun({ runDir, initial: initialState(graph, { graphSha256, supervisorRunId }) });
  return ok({ runDir, graph });
}

/** Questions that planning put to the decision plane, now that there is a run whose they are. */
function writePlanDecisions(
  runDir: string,
  runId: string,
  decisions: PlannedRun["plane"]["decisions"],
): void {
  const lines = decisions.flatMap((decision, at) => {
    const spanId = spanIdOf(runId, "decide", "plan", String(at + 1));
    const record = decisionRecord({ ...decision, runId, spanId });
    return record === null ? [] : [`${JSON.stringify(record)}\n`];
  });
  if (lines.length > 0) replaceFile(join(runDir, RUN_FILES.decisions), lines.join(""));
}

/** The spec as it will run: placeholders resolved, and from what. Private; JSON specs stay readable as YAML too. */
function frozenSpec(planned: PlannedRun, graph: Graph): string {
  const routes = new Map(graph.jobs.map((job) => [job.id, job.route]));
  const spec = planned.loaded.spec as { jobs: { id: string }[] };
  const jobs = spec.jobs
    .filter((job) => routes.has(job.id))
    .map((job) => {
      const route = routes.get(job.id);
      const first = route?.chain[0];
      if (route === undefined || first === undefined) return job;
      return {
        ...job,
        runtime: first.runtime,
        ...(first.model === null ? {} : { model: first.model }),
        ...(route.chain.length > 1 ? { fallback_runtime: route.chain.slice(1).map((c) => c.runtime) } : {}),
        runtimeFrom: route.runtimeFrom ?? (route.pinned ? "spec" : "router"),
      };
    });
  const head = `# The input of ${graph.runId} as it runs. Private; written once, changed by nothing.\n`;
  const written = { aliasDuplicateObjects: false };
  if (jobs.length <= JOBS_AS_BLOCKS) return head + stringify({ ...spec, jobs }, written);
  const { jobs: _, ...rest } = spec;
  return `${head}${stringify(rest, written)}jobs:\n${jobs.map((job) => `  - ${JSON.stringify(job)}\n`).join("")}`;
}

/** More than a person reads are written a line each, as JSON, which YAML can read: printing them as YAML costs as much as reading the spec. */
const JOBS_AS_BLOCKS = 50;

function initialState(graph: Graph, o: { graphSha256: string; supervisorRunId: string }): State {
  return {
    schemaVersion: 1,
    seq: 0,
    epoch: 0,
    runId: graph.runId,
    specPath: graph.specPath,
    specSha256: graph.specSha256,
    graphSha256: o.graphSha256,
    baseRef: graph.repo?.baseRef ?? null,
    baseCommit: graph.repo?.baseCommit ?? null,
    harness: graph.harness,
    createdAt: graph.createdAt,
    updatedAt: graph.createdAt,
    endedAt: null,
    status: "preparing",
    reason: null,
    cancelRequested: false,
    mock: false,
    notes: disclosures(graph),
    supervisorRunId: o.supervisorRunId,
    approvals: [],
    arbiters: [],
    jobs: Object.fromEntries(
      graph.jobs.map((job) => [
        job.id,
        blankJob({ riskTier: job.riskTier, runtime: job.route.chain[0]?.runtime ?? null, agent: job.agent }),
      ]),
    ),
  };
}

function disclosures(graph: Graph): string[] {
  const repos = graph.repos ?? (graph.repo === null ? [] : [graph.repo]);
  return repos
    .filter((repo) => repo.dirty > 0)
    .map(
      (repo) =>
        `${repo.dirty} uncommitted path${repo.dirty === 1 ? "" : "s"} in \`${repo.topLevel}\` when the run started: worktrees start from ${repo.baseCommit?.slice(0, 12) ?? "no commit"} without them.`,
    );
}
