/** The bytes of the files that decide what a declared command does: a pass or an approval holds only while they are the same. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { ensureDir, readTextIfPresent, sha256File, writePrivate } from "../host/files.ts";
import { filesOfCommand } from "../prove/check-files.ts";
import type { LayerOneResult } from "../prove/verify.ts";
import { jobDir } from "./session.ts";

type Scripts = LayerOneResult["scripts"];

const fileOf = (runDir: string, jobId: string): string =>
  join(jobDir(runDir, jobId), "checks", "scripts.json");

export function writeScripts(runDir: string, jobId: string, scripts: Scripts): void {
  const file = fileOf(runDir, jobId);
  ensureDir(join(file, ".."));
  writePrivate(file, `${JSON.stringify(scripts)}\n`);
}

/** Files of a job's past checks that are not what they were, relative to `root`. Empty also when the place is gone. */
export async function changedScripts(o: {
  readonly runDir: string;
  readonly jobId: string;
  readonly root: string;
}): Promise<string[]> {
  const text = readTextIfPresent(fileOf(o.runDir, o.jobId));
  if (text === null || !existsSync(o.root)) return [];
  const changed = new Set<string>();
  for (const { path, sha256 } of parse(text)) {
    const now = await sha256File(join(o.root, path));
    if ((now?.sha256 ?? null) !== sha256) changed.add(path);
  }
  return [...changed];
}

function parse(text: string): Scripts {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as Scripts) : [];
  } catch {
    return [];
  }
}

/** What an approval of this job covers beside the argument vectors: the scripts that they name. */
export async function scriptsOfScope(
  job: PlanJob,
  root: string,
): Promise<{ path: string; sha256: string | null }[]> {
  const commands = [
    ...(job.invocation === null ? [] : [[job.invocation.command, ...job.invocation.args]]),
    ...[job.preview, job.rollback].flatMap((plan) =>
      plan?.kind === "command" ? [[plan.command.command, ...plan.command.args]] : [],
    ),
    ...job.verification.map((command) => [command.command, ...command.args]),
  ];
  const found = new Map<string, string | null>();
  for (const argv of commands)
    for (const { path, sha256 } of await filesOfCommand({ root, cwd: job.cwd, argv, deleted: [] }))
      found.set(path, sha256);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, sha256]) => ({ path, sha256 }));
}
