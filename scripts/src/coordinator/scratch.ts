/**
 * A worktree of a commit for the time of one question: nobody's work, so nothing of it is kept. A note beside it, written
 * first and removed last, lets the next coordinator take away what one that died left.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { ensureDir, readTextIfPresent, sha256, writePrivate } from "../host/files.ts";
import { createWorktree, discardScratch } from "../run/worktree.ts";
import { endMarked } from "./reconcile.ts";
import { attemptMarker, jobState, type Session } from "./session.ts";

interface Scratch {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly commit: string;
}

export interface ScratchInput {
  readonly runDir: string;
  readonly runId: string;
  readonly repo: string;
  readonly commonDir: string;
  readonly commit: string;
  /** Names folder and branch: `union`, `integrate`, `preview-<job>`. One at a time of each. */
  readonly purpose: string;
}

/** Checks `commit` out, lets `use` work in it, and takes everything away again. The fault says why there is no such place. */
export async function withScratch<T>(
  o: ScratchInput,
  use: (path: string) => Promise<T>,
): Promise<Result<T, { readonly code: string; readonly detail: string }>> {
  // `_` begins no job id, so neither folder nor branch can be a job's.
  const path = join(o.runDir, RUN_FILES.worktrees, `_${o.purpose}`);
  const branch = `orchestrate/${o.runId}/_${o.purpose}-${sha256(o.commit).slice(0, 12)}`;
  const scratch = { repo: o.repo, commonDir: o.commonDir, path, branch, commit: o.commit };
  if (existsSync(path)) {
    // Left by a process that died: it held nobody's work.
    await discardScratch(scratch);
    rmSync(path, { recursive: true, force: true });
  }
  ensureDir(join(path, ".."));
  writePrivate(noteOf(path), `${JSON.stringify(scratch)}\n`);
  try {
    const made = await createWorktree({ ...scratch, baseCommit: o.commit, mergeCommits: [] });
    return made.ok ? ok(await use(path)) : err({ code: made.error.code, detail: made.error.detail });
  } finally {
    await discard(scratch);
  }
}

const noteOf = (path: string): string => `${path}.scratch.json`;

async function discard(scratch: Scratch): Promise<void> {
  await discardScratch(scratch);
  rmSync(scratch.path, { recursive: true, force: true });
  rmSync(noteOf(scratch.path), { force: true });
}

/** Scratch worktrees of a coordinator that died, and what it ran in them. An `integrate` is no coordinator's: it stays. */
export async function removeScratches(s: Session): Promise<void> {
  const folder = join(s.runDir, RUN_FILES.worktrees);
  for (const name of namesIn(folder)) {
    const purpose = /^_(union|preview-.+)\.scratch\.json$/.exec(name)?.[1];
    if (purpose === undefined) continue;
    await endMarked(s, markersOf(s, purpose));
    const scratch = parse(readTextIfPresent(join(folder, name)));
    if (scratch?.path === join(folder, `_${purpose}`)) await discard(scratch);
    else rmSync(join(folder, name), { force: true });
  }
}

/** A preview runs for an attempt that is not there yet, a trial for attempt 0 of any job. */
function markersOf(s: Session, purpose: string): (marker: string) => boolean {
  const jobId = purpose.slice("preview-".length);
  if (purpose === "union")
    return (marker) => marker.startsWith(`${s.runDir}#`) && marker.endsWith(`#${TRIAL_ATTEMPT}`);
  if (!s.index.byId.has(jobId)) return () => false;
  const expected = attemptMarker(s.runDir, jobId, jobState(s, jobId).attempts + 1);
  return (marker) => marker === expected;
}

/** What runs on work of several jobs belongs to no attempt of one. */
export const TRIAL_ATTEMPT = 0;

function parse(text: string | null): Scratch | null {
  try {
    const value = JSON.parse(text ?? "") as Partial<Scratch>;
    const whole = (["repo", "commonDir", "path", "branch", "commit"] as const).every(
      (key) => typeof value[key] === "string",
    );
    return whole ? (value as Scratch) : null;
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
