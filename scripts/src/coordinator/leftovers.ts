/** Temporary files of writers that were killed before they could rename them: the next coordinator takes them away. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { startTime } from "../host/identity.ts";
import { signal } from "../run/process-tree.ts";

/** As `replaceFile` names them: by the process that writes and a number of its own. */
const TEMPORARY = /\.(\d+)\.\d+\.tmp$/;

/** Leaves the files of processes that live. Never throws: what cannot be removed hinders nobody. */
export function removeLeftovers(runDir: string): void {
  const inbox = join(runDir, RUN_FILES.inbox);
  const supervisor = join(runDir, RUN_FILES.supervisor);
  const supervisors = namesIn(supervisor).map((name) => join(supervisor, name));
  for (const dir of [runDir, inbox, join(inbox, "answered"), ...supervisors])
    for (const name of namesIn(dir)) {
      const pid = TEMPORARY.exec(name)?.[1];
      if (pid !== undefined && !isAlive(Number(pid))) remove(join(dir, name));
    }
}

const isAlive = (pid: number): boolean => startTime(pid) !== null || signal(pid, 0);

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}
