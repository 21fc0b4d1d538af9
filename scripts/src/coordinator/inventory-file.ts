/** runtimes.json: what was found on this host when the run was prepared. */
import { join } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Inventory } from "../core/runtime.ts";
import { readTextIfPresent, replaceFile } from "../host/files.ts";
import { findRunDir } from "./run-dir.ts";

export function writeInventory(runDir: string, inventory: Inventory): void {
  replaceFile(join(runDir, RUN_FILES.runtimes), `${JSON.stringify(inventory, null, 1)}\n`);
}

export function readInventory(runDir: string): Result<Inventory, string> {
  const path = join(runDir, RUN_FILES.runtimes);
  const text = readTextIfPresent(path);
  if (text === null)
    return err(`\`${path}\` is missing: the run was never prepared. Start it again with \`run SPEC\`.`);
  try {
    const value = JSON.parse(text) as Inventory;
    return value.schemaVersion === 1
      ? ok(value)
      : err(`\`${path}\` has schema version ${String(value.schemaVersion)}; this version reads 1.`);
  } catch {
    return err(`\`${path}\` is damaged: it is not JSON.`);
  }
}

/** `plan`, `gate` and `doctor` may look at answers this old; `run` and `resume` always ask again. */
const REUSE_MS = 10 * 60 * 1000;

/** What the newest run of the workspace found, for those who may reuse it; undefined when there is none. */
export function earlierInventory(
  root: string,
): { readonly inventory: Inventory; readonly maxAgeMs: number } | undefined {
  const newest = findRunDir({ which: undefined, root, cwd: root });
  const read = newest.ok ? readInventory(newest.value.path) : null;
  return read?.ok === true ? { inventory: read.value, maxAgeMs: REUSE_MS } : undefined;
}

/** Says which records are not from now. */
export function reuseDiagnostics(inventory: Inventory, now: number): Diagnostic[] {
  const reused = inventory.records.filter((record) => record.reused);
  if (reused.length === 0) return [];
  const oldest = Math.max(...reused.map((record) => now - Date.parse(record.probedAt)));
  return [
    {
      severity: "info",
      code: "inventory-reused",
      message: `answers of ${reused.map((record) => `\`${record.id}\``).join(", ")} are of the newest run, up to ${Math.ceil(oldest / 60_000)} min old (reused); \`run\` and \`probe\` ask again`,
    },
  ];
}
