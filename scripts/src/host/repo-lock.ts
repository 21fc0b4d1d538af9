/**
 * One mutex per repository across processes: an append-only queue of claims below the common git directory.
 *
 * A claim is one appended line; the holder is the first claim in the file that is neither released nor left by a dead
 * process. Nothing is ever deleted to take the lock, so there is no moment in which two contenders can both remove a stale
 * lock and both win, and the queue is first come, first served. Whether a claim's process is dead is decided by
 * pid + start time + boot id; "unknown" (another host) counts as alive. Only the holder shortens the file, by replacing it
 * whole; a contender whose line was lost that way (or torn by a crash of its neighbour) no longer finds it and appends again.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { err, ok, type Result } from "../core/result.ts";
import { errorCode, PRIVATE_FILE, writeAll } from "./files.ts";
import { identityOf, liveness, type ProcessIdentity } from "./identity.ts";

export interface RepoLockFault {
  readonly code: "repo-locked" | "repo-lock-unwritable";
  readonly detail: string;
  readonly holder: ProcessIdentity | null;
}

export const REPO_LOCK_FILE = "orchestrate-worktrees.lock";
const TIMEOUT_MS = 120_000;
const SHORTEN_ABOVE_BYTES = 65_536;

interface Claim {
  readonly id: string;
  readonly purpose: string;
  readonly owner: ProcessIdentity;
}

/** Within one process contenders queue here, so that only one of them at a time polls the file. */
const local = new Map<string, Promise<unknown>>();

/**
 * Runs `work` while holding the mutex of the repository. Never runs it unlocked: `repo-locked` names the holder when the
 * wait ends (default after two minutes), `repo-lock-unwritable` the errno. What `work` throws is thrown.
 */
export async function withRepoLock<T>(o: {
  readonly commonDir: string;
  /** What is being done, for whoever waits. */
  readonly purpose: string;
  readonly timeoutMs?: number;
  readonly work: () => Promise<T>;
}): Promise<Result<T, RepoLockFault>> {
  const path = join(o.commonDir, REPO_LOCK_FILE);
  const before = local.get(path) ?? Promise.resolve();
  const turn = before.then(
    () => lockedWork(path, o),
    () => lockedWork(path, o),
  );
  const settled = turn.catch(() => undefined);
  local.set(path, settled);
  try {
    return await turn;
  } finally {
    if (local.get(path) === settled) local.delete(path);
  }
}

async function lockedWork<T>(
  path: string,
  o: { readonly purpose: string; readonly timeoutMs?: number; readonly work: () => Promise<T> },
): Promise<Result<T, RepoLockFault>> {
  const claim: Claim = { id: randomUUID(), purpose: o.purpose, owner: identityOf(process.pid) };
  const taken = await take(path, claim, o.timeoutMs ?? TIMEOUT_MS);
  if (!taken.ok) return taken;
  try {
    return ok(await o.work());
  } finally {
    release(path, claim.id);
  }
}

async function take(path: string, claim: Claim, timeoutMs: number): Promise<Result<void, RepoLockFault>> {
  const deadline = performance.now() + timeoutMs;
  for (const [id, where] of owed) release(where, id);
  try {
    append(path, { claim });
    for (;;) {
      const queue = read(path);
      if (!queue.claims.some((other) => other.id === claim.id)) append(path, { claim });
      const holder = queue.claims.find((other) => other.id === claim.id || liveness(other.owner) !== "dead");
      if (holder?.id === claim.id) {
        if (queue.bytes > SHORTEN_ABOVE_BYTES) shorten(path, queue.claims, claim.id);
        return ok(undefined);
      }
      if (performance.now() >= deadline) {
        release(path, claim.id);
        return err(locked(path, holder ?? null, timeoutMs));
      }
      await delay(2 + Math.random() * 8);
    }
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    return err({
      code: "repo-lock-unwritable",
      detail: `cannot use the worktree lock \`${path}\`: ${code}`,
      holder: null,
    });
  }
}

function locked(path: string, holder: Claim | null, timeoutMs: number): RepoLockFault {
  const who =
    holder === null
      ? "another process"
      : `process ${holder.owner.pid} on ${holder.owner.host} (${holder.purpose})`;
  return {
    code: "repo-locked",
    detail: `${who} held the worktree lock for longer than ${Math.round(timeoutMs / 1000)} s; if that process is gone, delete \`${path}\``,
    holder: holder?.owner ?? null,
  };
}

/** Leading newline: a line torn by a crash must not swallow ours. */
function append(path: string, line: { claim: Claim } | { release: string }): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, PRIVATE_FILE);
  try {
    writeAll(fd, Buffer.from(`\n${JSON.stringify(line)}\n`));
  } finally {
    closeSync(fd);
  }
}

/** Releases that could not be written (a full disk): tried again before the next claim, and healed when this process ends. */
const owed = new Map<string, string>();

function release(path: string, id: string): void {
  try {
    append(path, { release: id });
    owed.delete(id);
  } catch {
    owed.set(id, path);
  }
}

function read(path: string): { claims: readonly Claim[]; bytes: number } {
  const text = readIfThere(path);
  const claims = new Map<string, Claim>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const entry = parse(line);
    if (entry === null) continue;
    if ("release" in entry) claims.delete(entry.release);
    else if (!claims.has(entry.claim.id)) claims.set(entry.claim.id, entry.claim);
  }
  return { claims: [...claims.values()], bytes: text.length };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

function parse(line: string): { claim: Claim } | { release: string } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) return null;
    if ("release" in value && typeof value.release === "string") return { release: value.release };
    if ("claim" in value && isClaim(value.claim)) return { claim: value.claim };
    return null;
  } catch {
    return null;
  }
}

function isClaim(value: unknown): value is Claim {
  if (typeof value !== "object" || value === null) return false;
  const { id, purpose, owner } = value as Record<string, unknown>;
  if (typeof id !== "string" || typeof purpose !== "string" || typeof owner !== "object" || owner === null)
    return false;
  const { pid, host } = owner as Record<string, unknown>;
  return Number.isInteger(pid) && typeof host === "string";
}

/** Keeps the living claims, ours first among them as before. */
function shorten(path: string, claims: readonly Claim[], own: string): void {
  const living = claims.filter((claim) => claim.id === own || liveness(claim.owner) !== "dead");
  const temporary = `${path}.${own}.tmp`;
  writeFileSync(temporary, living.map((claim) => `${JSON.stringify({ claim })}\n`).join(""), {
    mode: PRIVATE_FILE,
    flag: "wx",
  });
  renameSync(temporary, path);
}
