/** Which jobs this process runs in: by its own environment and, where the system shows it, by that of its ancestors. */
import { JOB_ANCESTORS, JOB_MARKER } from "../core/harness-markers.ts";
import { hasProc, markersOf, readProcess } from "../run/process-tree.ts";

export interface JobAround {
  readonly runDir: string;
  readonly jobId: string;
}

/** Deeper than any tree that a person starts a command in. */
const ANCESTORS_MAX = 100;

/** Innermost first. A process that lost its marker is still found below one that has it; one that left the tree is not. */
export function jobsAround(environment: Readonly<Record<string, string>>): JobAround[] {
  const own = `${environment[JOB_MARKER] ?? ""}\n${environment[JOB_ANCESTORS] ?? ""}`.split("\n");
  return [...new Set([...own, ...markersAbove()])].flatMap((marker) => {
    const [, runDir, jobId] = /^(.+)#([^#]+)#\d+$/.exec(marker) ?? [];
    return runDir === undefined || jobId === undefined ? [] : [{ runDir, jobId }];
  });
}

function markersAbove(): string[] {
  const found: string[] = [];
  let pid = hasProc ? process.ppid : 0;
  for (let depth = 0; pid > 1 && depth < ANCESTORS_MAX; depth += 1) {
    found.push(...markersOf(pid));
    pid = readProcess(pid)?.parent ?? 0;
  }
  return found;
}
