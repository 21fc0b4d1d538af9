/**
 * One worktree per isolated job: made so that parallel creation cannot fail, verified before anything runs in it, removed
 * only after its content is kept under a ref.
 *
 * What happens in unusual repositories:
 * - detached HEAD: nothing special, a base is always a full commit id;
 * - no commit yet: `no-base-commit`;
 * - bare repository: `bare-repository` (there is no checkout whose work could be integrated);
 * - shallow clone: works from its own commits; `shallow-history` when a merge would need what was cut off;
 * - partial clone: never downloads here; a missing object fails the checkout;
 * - uncommitted changes of the user: not part of the base (the caller discloses their number);
 * - submodules: their folders stay empty; `worktree_setup` may fill them. A change inside one cannot travel on the job's
 *   branch, so committing it is refused (`submodule-changed`);
 * - git LFS: pointer files are checked out as they are, without the filter program and without a download; committing uses
 *   the repository's own filter;
 * - sparse checkout of the user: inherited by git; names that are not ASCII, or not even UTF-8: kept byte for byte;
 * - a branch named `orchestrate` or `orchestrate/<run>` makes ours impossible: `branch-conflict`.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { ensureDir, errorCode } from "../host/files.ts";
import { git, resolveAll } from "../host/git.ts";
import { withRepoLock } from "../host/repo-lock.ts";
import { mergeBases } from "./merge.ts";
import { type Snapshot, snapshotRef } from "./snapshot.ts";
import { canonical, checkedOut, findAdmin, pristineIndex } from "./worktree-admin.ts";
import {
  type DependencyCommit,
  gitFault,
  isObjectId,
  lockFault,
  type WorktreeFault,
} from "./worktree-fault.ts";
import { copyIncluded } from "./worktree-include.ts";

export interface CreateWorktreeInput {
  /** Top level of the user's checkout. */
  readonly repo: string;
  readonly commonDir: string;
  /** Absolute; must not exist, or be an empty folder. */
  readonly path: string;
  /** `orchestrate/<run-id>/<job-id>`, without `refs/heads/`. */
  readonly branch: string;
  readonly baseCommit: string;
  /** Transitive dependencies in success, in topological order. */
  readonly mergeCommits: readonly DependencyCommit[];
  readonly lockTimeoutMs?: number;
}

export interface CreatedWorktree {
  /** The commit that the worktree starts from: base and dependencies merged. */
  readonly baseCommit: string;
  /** The worktree's own git directory, below the common one. Believe this, not the `.git` file that a job can replace. */
  readonly gitDir: string;
  /** Ignored files copied because `.worktreeinclude` names them. */
  readonly included: readonly string[];
  /** Disclosures for the report: submodules not populated, LFS pointers, files not copied. */
  readonly notes: readonly string[];
}

const CHECKOUT_TIMEOUT_MS = 600_000;

/**
 * Adds the worktree under the repository's mutex without a checkout, checks it out outside of it, and verifies it from
 * inside: branch, commit, common directory. Any failure leaves neither folder nor registration nor branch behind.
 */
export async function createWorktree(
  input: CreateWorktreeInput,
): Promise<Result<CreatedWorktree, WorktreeFault>> {
  const place = await checkPlace(input);
  if (!place.ok) return place;
  const base = await mergeBases(input);
  if (!base.ok) return base;
  const added = await addRegistration(input, base.value.commit, place.value.reuseBranch);
  if (!added.ok) return added;
  const made = await checkOut(input, { gitDir: added.value.gitDir, commit: base.value.commit });
  if (!made.ok) {
    // Nothing has run there yet, so nothing can be lost.
    await takeBack(input, added.value.gitDir, base.value.commit);
    return made;
  }
  return made;
}

/** Finds what would make the creation fail or, worse, succeed with the wrong content. */
async function checkPlace(
  input: CreateWorktreeInput,
): Promise<Result<{ reuseBranch: boolean }, WorktreeFault>> {
  const taken = folderFault(input.path);
  if (taken !== null) return err(taken);
  const admin = findAdmin(input.commonDir, input.path);
  if (admin?.locked !== null && admin !== null)
    return err({
      code: "worktree-locked",
      detail: `\`${input.path}\` is registered as a locked worktree${admin.locked === "" ? "" : ` (${admin.locked})`}; run \`git worktree unlock ${quoteShell(input.path)}\` if nobody needs it`,
    });
  const parts = input.branch.split("/");
  const shorter = parts.slice(0, -1).map((_, i) => `refs/heads/${parts.slice(0, i + 1).join("/")}`);
  const own = `refs/heads/${input.branch}`;
  const [base, branch, ...prefixes] = await resolveAll([`${input.baseCommit}^{commit}`, own, ...shorter], {
    cwd: input.repo,
  });
  if (!isObjectId(input.baseCommit) || base !== input.baseCommit)
    return err({
      code: "no-base-commit",
      detail: `\`${input.repo}\` has no commit \`${input.baseCommit}\` to start from; commit once, then run again`,
    });
  const inTheWay = shorter.find((_, i) => prefixes[i] !== null);
  if (inTheWay !== undefined)
    return err({
      code: "branch-conflict",
      detail: `the branch \`${inTheWay.slice("refs/heads/".length)}\` exists, so git cannot create \`${input.branch}\`; rename it with \`git branch -m\``,
    });
  return branch === null || branch === undefined
    ? ok({ reuseBranch: false })
    : existingBranch(input, { commit: branch, ref: own, stale: admin?.gitDir ?? null });
}

/** A branch that still stands at the base and that nobody has checked out was left by a creation that died: nothing is lost. */
function existingBranch(
  input: CreateWorktreeInput,
  o: { readonly commit: string; readonly ref: string; readonly stale: string | null },
): Result<{ reuseBranch: boolean }, WorktreeFault> {
  const where = checkedOut(input.commonDir).get(o.ref);
  const free = where === undefined || where === o.stale;
  if (free && o.commit === input.baseCommit) return ok({ reuseBranch: true });
  return err({
    code: "branch-exists",
    detail: `the branch \`${input.branch}\` exists already, at ${o.commit}${free ? "" : `, checked out in ${where}`}`,
  });
}

function folderFault(path: string): WorktreeFault | null {
  try {
    if (!lstatSync(path).isDirectory())
      return { code: "worktree-exists", detail: `\`${path}\` is no folder` };
    return readdirSync(path).length === 0
      ? null
      : { code: "worktree-exists", detail: `\`${path}\` exists and is not empty` };
  } catch (error) {
    return errorCode(error) === "ENOENT"
      ? null
      : { code: "unsafe-path", detail: `\`${path}\`: ${errorCode(error) ?? String(error)}` };
  }
}

async function addRegistration(
  input: CreateWorktreeInput,
  commit: string,
  reuseBranch: boolean,
): Promise<Result<{ gitDir: string }, WorktreeFault>> {
  try {
    ensureDir(dirname(input.path));
  } catch (error) {
    return err({ code: "unsafe-path", detail: `\`${dirname(input.path)}\`: ${errorCode(error)}` });
  }
  const locked = await withRepoLock({
    commonDir: input.commonDir,
    purpose: `adding worktree ${input.branch}`,
    ...(input.lockTimeoutMs === undefined ? {} : { timeoutMs: input.lockTimeoutMs }),
    work: () => addLocked(input, commit, reuseBranch),
  });
  return locked.ok ? locked.value : err(lockFault(locked.error));
}

async function addLocked(
  input: CreateWorktreeInput,
  commit: string,
  reuseBranch: boolean,
): Promise<Result<{ gitDir: string }, WorktreeFault>> {
  // Registered, but its folder was deleted by hand: the registration is all that is left of it.
  const stale = findAdmin(input.commonDir, input.path);
  if (stale !== null) rmSync(stale.gitDir, { recursive: true, force: true });
  if (reuseBranch)
    await git(["update-ref", "-d", `refs/heads/${input.branch}`, input.baseCommit], { cwd: input.repo });
  const added = await git(
    ["worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b", input.branch, input.path, commit],
    { cwd: input.repo },
  );
  const admin = findAdmin(input.commonDir, input.path);
  if (added.exitCode === 0 && admin !== null) return ok({ gitDir: admin.gitDir });
  if (admin !== null) rmSync(admin.gitDir, { recursive: true, force: true });
  rmSync(input.path, { recursive: true, force: true });
  const below = await git(
    ["for-each-ref", "--count=1", "--format=%(refname)", `refs/heads/${input.branch}/`],
    {
      cwd: input.repo,
    },
  );
  if (below.stdout.trim() !== "")
    return err({
      code: "branch-conflict",
      detail: `\`${below.stdout.trim()}\` exists, so git cannot create \`${input.branch}\``,
    });
  // `worktree add` creates the branch first and leaves it when it fails later.
  if (!/already exists/.test(added.stderr))
    await git(["update-ref", "-d", `refs/heads/${input.branch}`, commit], { cwd: input.repo });
  return err(gitFault(added, `add the worktree \`${input.path}\``));
}

async function checkOut(
  input: CreateWorktreeInput,
  o: { readonly gitDir: string; readonly commit: string },
): Promise<Result<CreatedWorktree, WorktreeFault>> {
  const reset = await git(["reset", "--hard", "--quiet", o.commit], {
    cwd: input.path,
    gitDir: o.gitDir,
    workTree: input.path,
    timeoutMs: CHECKOUT_TIMEOUT_MS,
    config: ["filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false"],
  });
  if (reset.exitCode !== 0)
    return err({ ...gitFault(reset, `check out ${o.commit}`), code: "checkout-failed" });
  const wrong = await verifyInside(input, o.commit);
  if (wrong !== null) return err({ code: "base-mismatch", detail: wrong });
  keepPristineIndex(o.gitDir);
  const included = await copyIncluded({
    repo: input.repo,
    gitDir: gitDirOfCheckout(input.repo),
    path: input.path,
  });
  return ok({
    baseCommit: o.commit,
    gitDir: o.gitDir,
    included: included.included,
    notes: [...contentNotes(input.path), ...included.notes],
  });
}

/** What a process started in the folder will see; null when that is exactly what it shall see. */
async function verifyInside(input: CreateWorktreeInput, commit: string): Promise<string | null> {
  const answer = await git(
    [
      "rev-parse",
      "--path-format=absolute",
      "--show-toplevel",
      "--git-common-dir",
      "HEAD",
      "--symbolic-full-name",
      "HEAD",
    ],
    { cwd: input.path },
  );
  const [topLevel = "", commonDir = "", head = "", branch = ""] = answer.stdout.split("\n");
  if (answer.exitCode !== 0) return `\`${input.path}\` is no working tree: ${answer.stderr.trim()}`;
  if (canonical(topLevel) !== canonical(input.path))
    return `\`${input.path}\` belongs to the checkout \`${topLevel}\``;
  if (canonical(commonDir) !== canonical(input.commonDir))
    return `\`${input.path}\` belongs to the repository \`${commonDir}\``;
  if (branch !== `refs/heads/${input.branch}`)
    return `\`${input.path}\` has \`${branch}\` checked out, not \`${input.branch}\``;
  return head === commit ? null : `\`${input.path}\` is at ${head}, not at ${commit}`;
}

/** The copy gets the original's time (or a little less): git takes files that are newer than their index as doubtful. */
function keepPristineIndex(gitDir: string): void {
  const index = join(gitDir, "index");
  if (!existsSync(index)) return;
  const times = statSync(index);
  copyFileSync(index, pristineIndex(gitDir));
  utimesSync(pristineIndex(gitDir), times.atimeMs / 1000, Math.floor(times.mtimeMs) / 1000);
}

function gitDirOfCheckout(repo: string): string {
  const path = join(repo, ".git");
  try {
    if (statSync(path).isDirectory()) return path;
    const target = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
    return target === undefined ? path : resolve(repo, target.trim());
  } catch {
    return path;
  }
}

function contentNotes(path: string): string[] {
  const notes: string[] = [];
  if (existsSync(join(path, ".gitmodules")))
    notes.push("submodules are not filled in the worktree; `worktree_setup` can do it");
  const attributes = readText(join(path, ".gitattributes"));
  if (/\bfilter=lfs\b/.test(attributes))
    notes.push("git LFS content is checked out as pointer files; `worktree_setup` can fetch it");
  return notes;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * Removes a worktree that held no job's work, such as the scratch one of a trial merge, without keeping anything. The
 * branch goes only while it still stands at `commit`.
 */
export async function discardScratch(o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly commit: string;
}): Promise<Result<void, WorktreeFault>> {
  const admin = findAdmin(o.commonDir, o.path);
  if (admin === null) {
    // The branch is made before the registration.
    await git(["update-ref", "-d", `refs/heads/${o.branch}`, o.commit], { cwd: o.repo });
    return err({ code: "worktree-missing", detail: `\`${o.path}\` is no worktree of \`${o.repo}\`` });
  }
  return takeBack(o, admin.gitDir, o.commit);
}

async function takeBack(
  o: Pick<CreateWorktreeInput, "repo" | "commonDir" | "path" | "branch">,
  gitDir: string,
  commit: string,
): Promise<Result<void, WorktreeFault>> {
  rmSync(o.path, { recursive: true, force: true });
  const locked = await withRepoLock({
    commonDir: o.commonDir,
    purpose: `taking back worktree ${o.branch}`,
    work: async () => {
      rmSync(gitDir, { recursive: true, force: true });
      await git(["update-ref", "-d", `refs/heads/${o.branch}`, commit], { cwd: o.repo });
    },
  });
  return locked.ok ? ok(undefined) : err(lockFault(locked.error));
}

/** The git directory of the worktree at `path`, from its registration; null when it is not registered. */
export const worktreeGitDir = (commonDir: string, path: string): string | null =>
  findAdmin(commonDir, path)?.gitDir ?? null;

/**
 * Keeps everything under the ref `snapshot` (`refs/orchestrate/<run>/<job>/attempt-<n>`), then removes folder, registration
 * and (with `deleteBranch`) branch. Refuses and changes nothing when the content cannot be kept whole, when a person locked
 * the worktree, or when the folder is there but is no worktree of this repository. Null: there was nothing to remove.
 */
export async function removeWorktree(o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly path: string;
  readonly branch: string;
  readonly snapshot: string;
  readonly deleteBranch: boolean;
  readonly lockTimeoutMs?: number;
}): Promise<Result<Snapshot | null, WorktreeFault>> {
  const admin = findAdmin(o.commonDir, o.path);
  const folder = folderFault(o.path) === null ? "gone" : "there";
  if (admin === null && folder === "there")
    return err({
      code: "worktree-missing",
      detail: `\`${o.path}\` is no worktree of \`${o.repo}\`; it was left alone`,
    });
  if (admin !== null && admin.locked !== null)
    return err({
      code: "worktree-locked",
      detail: `\`${o.path}\` is locked${admin.locked === "" ? "" : ` (${admin.locked})`}`,
    });
  const kept = await snapshotRef({ ...o, ref: o.snapshot });
  if (!kept.ok) return kept;
  if (admin === null && kept.value === null) return ok(null);
  // Folder first: a crash in between leaves a registration without a folder, which the next call finishes.
  rmSync(o.path, { recursive: true, force: true });
  const locked = await withRepoLock({
    commonDir: o.commonDir,
    purpose: `removing worktree ${o.branch}`,
    ...(o.lockTimeoutMs === undefined ? {} : { timeoutMs: o.lockTimeoutMs }),
    work: async (): Promise<WorktreeFault | null> => {
      if (admin !== null) rmSync(admin.gitDir, { recursive: true, force: true });
      if (!o.deleteBranch || kept.value === null) return null;
      return dropBranch(o, kept.value);
    },
  });
  if (!locked.ok) return err(lockFault(locked.error));
  return locked.value === null ? kept : err(locked.value);
}

/** Only at the commit that the snapshot contains: a branch that moved meanwhile holds something else. */
async function dropBranch(
  o: { readonly repo: string; readonly branch: string },
  kept: Snapshot,
): Promise<WorktreeFault | null> {
  if (kept.branchCommit === null) return null;
  const dropped = await git(["update-ref", "-d", `refs/heads/${o.branch}`, kept.branchCommit], {
    cwd: o.repo,
  });
  return dropped.exitCode === 0 ? null : gitFault(dropped, `delete the branch \`${o.branch}\``);
}
