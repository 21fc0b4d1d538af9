/** The bytes of the files that decide what a declared command does: a pass or an approval holds only while they are the same. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { ensureDir, readTextIfPresent, writePrivate } from "../host/files.ts";
import { digestNow, filesOfCommand, outsideFilesOfCommand } from "../prove/check-files.ts";
import type { LayerOneResult } from "../prove/verify.ts";
import type { ApprovalPlace } from "./approval-place.ts";
import { jobDir, type Session } from "./session.ts";

type Scripts = LayerOneResult["scripts"];

const fileOf = (runDir: string, jobId: string): string =>
  join(jobDir(runDir, jobId), "checks", "scripts.json");

export function writeScripts(runDir: string, jobId: string, scripts: Scripts): void {
  const file = fileOf(runDir, jobId);
  ensureDir(join(file, ".."));
  writePrivate(file, `${JSON.stringify(scripts)}\n`);
}

/** Files of a job's past checks that are not what they were: relative to `root`, absolute, or names on `searchPath`. Empty also when the place is gone. */
export async function changedScripts(o: {
  readonly runDir: string;
  readonly jobId: string;
  readonly root: string;
  readonly searchPath: string;
}): Promise<string[]> {
  const text = readTextIfPresent(fileOf(o.runDir, o.jobId));
  if (text === null || !existsSync(o.root)) return [];
  const changed = new Set<string>();
  for (const { path, sha256, outside } of parse(text)) {
    const now = await digestNow({
      path: outside === true ? path : join(o.root, path),
      cwd: o.root,
      searchPath: o.searchPath,
    });
    if (now !== sha256) changed.add(path);
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

/** `path`: relative to the tree of the job, absolute, or a bare name that is looked up on the search path. */
export interface ScopeFile {
  readonly path: string;
  /** Null: it cannot be read. */
  readonly sha256: string | null;
  /** Not of the job's tree: nothing that the run does makes it. */
  readonly outside: boolean;
}

/** What an approval of this job covers beside the argument vectors: all that they run, as it is in the tree of the job. */
export async function scriptsOfScope(
  s: Pick<Session, "env" | "graph">,
  job: PlanJob,
  place: ApprovalPlace,
): Promise<readonly ScopeFile[]> {
  const declared = (command: PlanJob["verification"][number]) => ({
    argv: [command.command, ...command.args],
    cwd: command.cwd === null ? place.cwd : place.folder(command.cwd),
  });
  const commands = [
    ...(job.invocation === null
      ? []
      : [{ argv: [job.invocation.command, ...job.invocation.args], cwd: place.cwd }]),
    ...[job.preview, job.rollback].flatMap((plan) =>
      plan?.kind === "command" ? [declared(plan.command)] : [],
    ),
    ...job.verification.map(declared),
    ...(place.commit === null
      ? []
      : s.graph.worktreeSetup.map(({ command, args }) => ({ argv: [command, ...args], cwd: place.cwd }))),
  ];
  const { root } = place;
  const searchPath = s.env.get("PATH") ?? "";
  const found = new Map<string, ScopeFile>();
  for (const command of commands) {
    for (const { path, sha256 } of await filesOfCommand({ ...command, root, deleted: [] }))
      found.set(`in ${path}`, { path, sha256, outside: false });
    for (const { path, sha256 } of await outsideFilesOfCommand({
      ...command,
      root,
      searchPath,
      named: "all",
    }))
      found.set(`out ${path}`, { path, sha256, outside: true });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file);
}

/**
 * Paths of approved files that are not what they were, and of files outside that came since. What came inside is the work
 * of an approved setup or a verified handoff.
 */
export function changedScope(approved: readonly ScopeFile[], now: readonly ScopeFile[]): readonly string[] {
  const key = (file: ScopeFile): string => `${file.outside} ${file.path}`;
  const before = new Map(approved.map((file) => [key(file), file]));
  const after = new Map(now.map((file) => [key(file), file]));
  const changed = approved.filter((file) => after.get(key(file))?.sha256 !== file.sha256);
  const came = now.filter((file) => file.outside && !before.has(key(file)));
  return [...new Set([...changed, ...came].map(({ path }) => path))];
}
