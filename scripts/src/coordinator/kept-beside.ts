/** What a run directory holds that its state does not tell: integrations, and patches that take edits of the checkout back. */
import { existsSync } from "node:fs";
import type { Graph } from "../core/runtime.ts";
import type { KeptBeside } from "../prove/report-input.ts";
import { readIntegrations } from "./integrations.ts";
import { jobFile } from "./session.ts";

export function keptBeside(runDir: string, graph: Pick<Graph, "jobs">): KeptBeside {
  const reversePatches: Record<string, string> = {};
  for (const job of graph.jobs) {
    if (job.isolation !== "none" || !job.writer) continue;
    const path = jobFile(runDir, job.id, "reversePatch");
    if (existsSync(path)) reversePatches[job.id] = path;
  }
  return { integrations: readIntegrations(runDir), reversePatches };
}
