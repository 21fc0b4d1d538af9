/** The capture of an attempt makes room for the next one: it moves to `attempt-<n>/`, nothing is overwritten. */
import { existsSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { ensureDir } from "../host/files.ts";
import { jobDir } from "./session.ts";

const KEPT_IN_PLACE = /^attempt-\d+$/;

/** Does nothing for attempt 0, and nothing twice. */
export function archiveCapture(runDir: string, jobId: string, attempt: number): void {
  const dir = jobDir(runDir, jobId);
  if (attempt < 1 || !existsSync(dir)) return;
  const target = join(dir, `attempt-${attempt}`);
  const names = readdirSync(dir).filter((name) => !KEPT_IN_PLACE.test(name));
  if (names.length === 0) return;
  ensureDir(target);
  for (const name of names) renameSync(join(dir, name), join(target, name));
}
