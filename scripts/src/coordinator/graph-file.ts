/** graph.json: frozen once, found again by the digest in the state. */
import { copyFileSync, linkSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Graph } from "../core/runtime.ts";
import { ensureDir, errorCode, replaceFile, sha256, utf8Text } from "../host/files.ts";

export interface GraphFault {
  readonly code: "graph-missing" | "graph-changed" | "graph-schema";
  readonly message: string;
  readonly fix: string;
}

export const supervisorDir = (runDir: string, id: string): string => join(runDir, RUN_FILES.supervisor, id);

/** Writes the plan below the supervisor's folder; returns its SHA-256 for the state. */
export function freezeGraph(runDir: string, supervisorRunId: string, graph: Graph): string {
  const dir = supervisorDir(runDir, supervisorRunId);
  ensureDir(dir);
  const text = `${JSON.stringify(graph)}\n`;
  replaceFile(join(dir, RUN_FILES.graph), text);
  return sha256(text);
}

/** The plan with exactly this digest, from whichever supervisor folder holds it. */
export function readGraph(
  runDir: string,
  digest: string,
): Result<{ graph: Graph; path: string }, GraphFault> {
  let seen = 0;
  for (const path of graphFiles(runDir)) {
    const bytes = readOrNull(path);
    if (bytes === null) continue;
    seen += 1;
    if (sha256(bytes) !== digest) continue;
    const graph = JSON.parse(utf8Text(bytes)) as Graph;
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

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
