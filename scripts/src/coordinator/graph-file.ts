/** graph.json: frozen once, found again by the digest in the state. */
import { createHash, type Hash } from "node:crypto";
import { copyFileSync, linkSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Graph, PlanJob } from "../core/runtime.ts";
import { ensureDir, errorCode, linesOfFile, piecesOfText, replaceFileInParts } from "../host/files.ts";

export interface GraphFault {
  readonly code: "graph-missing" | "graph-changed" | "graph-schema";
  readonly message: string;
  readonly fix: string;
}

export const supervisorDir = (runDir: string, id: string): string => join(runDir, RUN_FILES.supervisor, id);

/** Writes the plan below the supervisor's folder, a line a job; returns its SHA-256 for the state. */
export function freezeGraph(runDir: string, supervisorRunId: string, graph: Graph): string {
  const dir = supervisorDir(runDir, supervisorRunId);
  ensureDir(dir);
  const hash = createHash("sha256");
  replaceFileInParts(join(dir, RUN_FILES.graph), seenBy(hash, piecesOfText(graphTexts(graph))));
  return hash.digest("hex");
}

/** What stands at the end of the first line: everything but the jobs is before it. */
const JOBS = ',"jobs":[';
const JOBS_END = "]}";

/** Ten thousand jobs are tens of megabytes: neither their text nor its bytes are ever there whole. */
function* graphTexts({ jobs, ...head }: Graph): Generator<string> {
  yield `${JSON.stringify(head).slice(0, -1)}${JOBS}`;
  for (const [i, job] of jobs.entries()) yield `${i === 0 ? "" : ","}\n${JSON.stringify(job)}`;
  yield `\n${JOBS_END}\n`;
}

function* seenBy(hash: Hash, pieces: Iterable<Buffer>): Generator<Buffer> {
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** The plan with exactly this digest, from whichever supervisor folder holds it. */
export function readGraph(
  runDir: string,
  digest: string,
): Result<{ graph: Graph; path: string }, GraphFault> {
  let seen = 0;
  for (const path of graphFiles(runDir)) {
    const found = parseGraph(path);
    if (found === null) continue;
    seen += 1;
    const { graph } = found;
    if (found.sha256 !== digest || graph === null) continue;
    if (graph.schemaVersion !== 1)
      return err({
        code: "graph-schema",
        message: `\`${path}\` has schema version ${String(graph.schemaVersion)}; this version reads 1.`,
        fix: "Use the version of Orchestrate that started the run.",
      });
    return ok({ graph, path });
  }
  return err(
    seen === 0
      ? {
          code: "graph-missing",
          message: `No graph.json below \`${runDir}/${RUN_FILES.supervisor}\`.`,
          fix: "The run was never prepared: start it again with `run SPEC`.",
        }
      : {
          code: "graph-changed",
          message:
            "graph.json is not the plan that this run was started with (its digest differs from state.json).",
          fix: "Restore the file, or start a new run from the spec.",
        },
  );
}

/** A later supervisor's folder shows the same frozen plan. */
export function shareGraph(path: string, runDir: string, supervisorRunId: string): void {
  const target = join(supervisorDir(runDir, supervisorRunId), RUN_FILES.graph);
  ensureDir(supervisorDir(runDir, supervisorRunId));
  try {
    linkSync(path, target);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") copyFileSync(path, target);
  }
}

function graphFiles(runDir: string): string[] {
  const dir = join(runDir, RUN_FILES.supervisor);
  try {
    return readdirSync(dir)
      .sort()
      .map((id) => join(dir, id, RUN_FILES.graph));
  } catch {
    return [];
  }
}

/** Null when there is no such file, or none that can be read; a graph of null is no plan at all. */
function parseGraph(path: string): { readonly sha256: string; readonly graph: Graph | null } | null {
  const hash = createHash("sha256");
  try {
    const graph = graphOf(linesOfFile(path, (piece) => hash.update(piece)));
    return { sha256: hash.digest("hex"), graph };
  } catch (error) {
    return errorCode(error) === null ? { sha256: "", graph: null } : null;
  }
}

/** Throws what the parser throws when the lines are no plan. */
function graphOf(lines: Generator<string>): Graph {
  const first = lines.next().value ?? "";
  // An older version wrote one line, and a file that was edited by hand may be anything.
  if (!first.endsWith(JOBS)) return JSON.parse([first, ...lines].join("\n")) as Graph;
  const head = JSON.parse(`${first}${JOBS_END}`) as Graph;
  const one = sharing();
  const jobs: PlanJob[] = [];
  for (const line of lines)
    if (line !== JOBS_END) jobs.push(one(JSON.parse(line.endsWith(",") ? line.slice(0, -1) : line)));
  return { ...head, jobs };
}

/** Most jobs of a large run have the same route, origins and bounds: one of each stays in memory, for all of them. */
function sharing(): (job: PlanJob) => PlanJob {
  const known = new Map<string, unknown>();
  return (job) => {
    const members = job as unknown as Record<string, unknown>;
    for (const [key, value] of Object.entries(members)) {
      if (typeof value !== "object" || value === null) continue;
      const text = JSON.stringify(value);
      const same = known.get(text);
      if (same === undefined) known.set(text, value);
      else members[key] = same;
    }
    return job;
  };
}
