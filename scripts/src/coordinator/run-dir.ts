/** Where a run lives: making a new run directory and finding the one a command means. */
import { mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { REPORTS_DIR, RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { ensureDir, errorCode, PRIVATE_DIR, writePrivate } from "../host/files.ts";

export interface RunDir {
  readonly path: string;
  readonly runId: string;
}

export interface RunDirFault {
  readonly code: "run-dir-exists" | "run-dir-unwritable" | "run-not-found" | "run-dir-invalid";
  readonly message: string;
  readonly fix: string;
}

const RUN_NAME = /^orchestrate-\d{8}-\d{6}(-\d+)?$/;

/**
 * Makes `plans/reports/orchestrate-<UTC stamp>[-n]/` below `root` (or exactly `requested`), mode 0700, ignored by git.
 * The folder is created exclusively, so two runs that start in the same second get two folders.
 */
export function createRunDir(o: {
  root: string;
  requested: string | null;
  cwd: string;
  now: number;
}): Result<RunDir, RunDirFault> {
  try {
    const path =
      o.requested === null
        ? claimStamped(join(o.root, REPORTS_DIR), o.now)
        : claim(resolve(o.cwd, o.requested));
    if (path === null)
      return err({
        code: "run-dir-exists",
        message: `\`${o.requested}\` already holds a run or other files.`,
        fix: "Name a folder that does not exist yet. If it holds a run, `resume` goes on with that one.",
      });
    writePrivate(join(path, ".gitignore"), "*\n");
    for (const name of [RUN_FILES.inbox, RUN_FILES.supervisor]) ensureDir(join(path, name));
    return ok({ path, runId: basename(path) });
  } catch (error) {
    return err({
      code: "run-dir-unwritable",
      message: `Cannot create the run directory: ${errorCode(error) ?? String(error)}${error instanceof Error && "path" in error ? ` at \`${String(error.path)}\`` : ""}.`,
      fix: "Run from a writable folder, or name one with --run-dir.",
    });
  }
}

function claimStamped(parent: string, now: number): string {
  ensureDir(parent);
  const stamp = new Date(now).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  for (let n = 1; ; n++) {
    const path = join(parent, `orchestrate-${stamp}${n === 1 ? "" : `-${n}`}`);
    try {
      mkdirSync(path, { mode: PRIVATE_DIR });
      return realpathSync(path);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
}

/** An empty folder that the caller made is taken; one with content is not. */
function claim(path: string): string | null {
  ensureDir(resolve(path, ".."));
  try {
    mkdirSync(path, { mode: PRIVATE_DIR });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    if (readdirSync(path).length > 0) return null;
  }
  return realpathSync(path);
}

/** `which`: a run directory, a run id below `root`, or absent for the newest run there. */
export function findRunDir(o: {
  which: string | undefined;
  root: string;
  cwd: string;
}): Result<RunDir, RunDirFault> {
  const reports = join(o.root, REPORTS_DIR);
  if (o.which === undefined) return newest(reports);
  const candidates = isAbsolute(o.which) ? [o.which] : [resolve(o.cwd, o.which), join(reports, o.which)];
  for (const path of candidates) {
    if (isRun(path)) {
      const real = realpathSync(path);
      return ok({ path: real, runId: basename(real) });
    }
  }
  return err({
    code: "run-not-found",
    message: `\`${o.which}\` is neither a run directory nor the id of a run below \`${reports}\`.`,
    fix: "Give the path that `run` printed, or leave it out to mean the newest run.",
  });
}

function newest(reports: string): Result<RunDir, RunDirFault> {
  let names: string[] = [];
  try {
    names = readdirSync(reports).filter((name) => RUN_NAME.test(name) && isRun(join(reports, name)));
  } catch {
    names = [];
  }
  const last = names.sort(byStamp).at(-1);
  if (last === undefined)
    return err({
      code: "run-not-found",
      message: `No run below \`${reports}\`.`,
      fix: "Start one with `run SPEC`, or name the run directory.",
    });
  const path = realpathSync(join(reports, last));
  return ok({ path, runId: basename(path) });
}

/** `…-2` follows the same stamp without a number, and `-10` follows `-9`. */
function byStamp(a: string, b: string): number {
  const key = (name: string): [string, number] => [name.slice(0, 27), Number(name.slice(28) || "1")];
  const [stampA, numberA] = key(a);
  const [stampB, numberB] = key(b);
  return stampA === stampB ? numberA - numberB : stampA < stampB ? -1 : 1;
}

function isRun(path: string): boolean {
  try {
    return (
      statSync(join(path, RUN_FILES.state)).isFile() ||
      statSync(join(path, RUN_FILES.supervisor)).isDirectory()
    );
  } catch {
    try {
      return statSync(join(path, RUN_FILES.supervisor)).isDirectory();
    } catch {
      return false;
    }
  }
}
