import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of the running test, removed at its end. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "orchestrate-state-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
