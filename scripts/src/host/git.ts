/** The only door to git: fixed environment, no hooks, no helpers of the repository's own, bytes in and out. */

export interface GitOptions {
  readonly cwd: string;
  /** Variables for git itself; `GIT_*` are stripped. Default: PATH, HOME and the like of our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Explicit git directory: git then never reads a `.git` file that a job could have replaced. */
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
}

export interface GitResult {
  /** Null when git could not be started or was ended by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Buffer;
  readonly timedOut: boolean;
  /** errno name when git could not be started. */
  readonly spawnError: string | null;
}

export function git(_args: readonly string[], _options: GitOptions): Promise<GitResult> {
  throw new Error("not built yet");
}

export interface Repo {
  /** Real path of the checkout; for a bare repository the repository itself. */
  readonly topLevel: string;
  /** Git directory of this checkout (of a linked worktree: below `commonDir`). */
  readonly gitDir: string;
  readonly commonDir: string;
  /** `ref` is the full branch name, or `HEAD` when detached. `commit` is null before the first commit. */
  readonly head: { readonly ref: string; readonly commit: string | null };
  /** Paths that differ from HEAD or are untracked: none of them is part of a worktree's base. */
  readonly dirtyCount: number;
  readonly detached: boolean;
  readonly shallow: boolean;
  readonly bare: boolean;
  readonly submodules: boolean;
  readonly lfs: boolean;
}

/** The repository that holds `cwd`, or null when there is none (or no git). */
export function findRepo(_cwd: string): Promise<Repo | null> {
  throw new Error("not built yet");
}

/** Paths in the index, relative to the top level. */
export function trackedFiles(_topLevel: string): Promise<string[]> {
  throw new Error("not built yet");
}
