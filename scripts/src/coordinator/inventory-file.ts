/** runtimes.json: what was found on this host when the run was prepared. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Inventory } from "../core/runtime.ts";
import { readTextIfPresent, replaceFile } from "../host/files.ts";

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
