/** What a power loss needs and a kill cannot show: the order of writes, syncs and starts, read from the shim's log. */
import type { FileOperation } from "../../support/fault-shim.ts";

/**
 * Steps that a power loss could undo after they were built upon. Of a run that does one thing at a time: with several
 * jobs at once, one may start while the step of another is on its way.
 */
export function orderFaults(operations: readonly FileOperation[]): string[] {
  const faults: string[] = [];
  const unsynced = new Set<string>();
  let unsyncedName: string | null = null;
  for (const { number, kind, path } of operations) {
    const at = `operation ${number}`;
    if (/^p?writev?$/.test(kind) && isState(path)) unsynced.add(path);
    else if (kind === "fsync" || kind === "fdatasync") {
      unsynced.delete(path);
      if (unsyncedName !== null && path === folderOf(unsyncedName)) unsyncedName = null;
    } else if (kind === "rename" && path.endsWith("/state.json")) {
      const content = [...unsynced].find((name) => name.startsWith(`${path}.`));
      if (content !== undefined) faults.push(`${at}: state.json got its name before its content was synced`);
      if (content !== undefined) unsynced.delete(content);
      unsyncedName = path;
    } else if (kind === "ftruncate" && unsyncedName !== null)
      faults.push(`${at}: the journal was emptied before the name of the snapshot was synced`);
    else if (kind === "spawn") {
      if (unsyncedName !== null)
        faults.push(`${at}: a process was started before the name of state.json was synced`);
      for (const name of unsynced)
        faults.push(`${at}: a process was started before ${nameOf(name)} was synced`);
    }
  }
  return faults;
}

const isState = (path: string): boolean => /\/(?:state\.json\.\d+\.tmp|journal\.jsonl)$/.test(path);
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
