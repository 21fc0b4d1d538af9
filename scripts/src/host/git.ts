/**
 * The only door to git: a fixed environment, no hooks, no monitors, no external diff, no network, bytes in and out.
 * A repository is data of somebody else: its configuration may name programs, so every setting that would make git start
 * one for us is switched off here, once.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { quoteShell } from "../core/shell-quote.ts";
import { systemEnvironment } from "./env.ts";
import { exec } from "./exec.ts";

export interface GitOptions {
  readonly cwd: string;
  /** Variables for git itself; `GIT_*` are stripped. Default: PATH, HOME and the like of our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Default 120,000. */
  readonly timeoutMs?: number;
  /** Explicit git directory: git then never reads a `.git` file that a job could have replaced. */
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Further `-c` settings. */
  readonly config?: readonly string[];
  /** Dates of a commit that is to be the same whenever it is made (`<seconds> +0000`). */
  readonly commitDate?: string;
}

export interface GitResult {
  /** Null when git could not be started, was ended by a signal or printed more than we read. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Buffer;
  readonly timedOut: boolean;
  /** errno name when git could not be started. */
  readonly spawnError: string | null;
}

/** `merge-tree --write-tree` is what a merge without a checkout stands on. */
export const MIN_GIT = [2, 38] as const;

const INHERITED = [
  "PATH",
  "HOME",
  "USERPROFILE",
  "XDG_CONFIG_HOME",
  "TMPDIR",
  "TEMP",
  "TMP",
  "SystemRoot",
] as const;

const FIXED_ENV = {
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
  GIT_EDITOR: ":",
  // No transport is allowed, so a missing object of a partial clone is an error here and never a download.
  GIT_ALLOW_PROTOCOL: "",
  GIT_NO_LAZY_FETCH: "1",
  GIT_LFS_SKIP_SMUDGE: "1",
  GIT_AUTHOR_NAME: "Orchestrate",
  GIT_AUTHOR_EMAIL: "coordinator@orchestrate.invalid",
  GIT_COMMITTER_NAME: "Orchestrate",
  GIT_COMMITTER_EMAIL: "coordinator@orchestrate.invalid",
} as const;

const FIXED_CONFIG = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.quotePath=false",
  "core.trustctime=true",
  "core.checkStat=default",
  "core.pager=cat",
  "gc.auto=0",
  "maintenance.auto=false",
  "commit.gpgSign=false",
  "log.showSignature=false",
  "submodule.recurse=false",
  "protocol.allow=never",
  "color.ui=false",
  "diff.noprefix=false",
  "diff.mnemonicPrefix=false",
  "worktree.guessRemote=false",
].flatMap((setting) => ["-c", setting]);

const DIFFING = new Set(["diff", "diff-tree", "diff-index", "diff-files", "log", "show"]);

/** Runs one git command. Never throws for what git says: read `exitCode`. Use `-z` forms for paths. */
export async function git(args: readonly string[], options: GitOptions): Promise<GitResult> {
  const [command = "", ...rest] = args;
  const argv = [
    ...FIXED_CONFIG,
    ...(options.config ?? []).flatMap((setting) => ["-c", setting]),
    ...(options.gitDir === undefined ? [] : [`--git-dir=${options.gitDir}`]),
    ...(options.workTree === undefined ? [] : [`--work-tree=${options.workTree}`]),
    command,
    ...(DIFFING.has(command) ? ["--no-ext-diff", "--no-textconv"] : []),
    ...rest,
  ];
  const result = await exec("git", argv, {
    cwd: options.cwd,
    env: environment(options),
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    timeoutMs: options.timeoutMs ?? 120_000,
    maxBytes: 256 * 1024 * 1024,
  });
  return {
    exitCode: result.truncated ? null : result.exitCode,
    // Decoded only when asked for: a listing of paths can have megabytes and is read as bytes.
    get stdout() {
      return result.stdout.toString("utf8");
    },
    stderr: result.stderr.toString("utf8"),
    stdoutBytes: result.stdout,
    timedOut: result.timedOut,
    spawnError: result.spawnError,
  };
}

function environment(options: GitOptions): Record<string, string> {
  const env: Record<string, string> = {};
  if (options.env === undefined) {
    const own = systemEnvironment();
    for (const name of INHERITED) {
      const value = own.get(name);
      if (value !== undefined) env[name] = value;
    }
  } else
    for (const [name, value] of Object.entries(options.env))
      if (!/^GIT_/i.test(name) && !/^LC_ALL$/i.test(name)) env[name] = value;
  Object.assign(env, FIXED_ENV);
  if (options.indexFile !== undefined) env["GIT_INDEX_FILE"] = options.indexFile;
  if (options.commitDate !== undefined) {
    env["GIT_AUTHOR_DATE"] = options.commitDate;
    env["GIT_COMMITTER_DATE"] = options.commitDate;
  }
  return env;
}

/** One line about what went wrong, for a fault's detail. */
export function gitFailure(result: GitResult): string {
  if (result.spawnError !== null) return `git could not be started (${result.spawnError})`;
  if (result.timedOut) return "git did not answer in time and was ended";
  const lines = result.stderr.split("\n").filter((line) => line.trim() !== "");
  const at = lines.findIndex((text) => /^(fatal|error):/.test(text));
  const line = lines[at] ?? lines.at(-1) ?? "";
  // git lists the files that it speaks of below, each behind a tab.
  const after = at === -1 ? [] : lines.slice(at + 1);
  const end = after.findIndex((text) => !text.startsWith("\t"));
  const listed = line.endsWith(":")
    ? (end === -1 ? after : after.slice(0, end)).map((text) => text.trim())
    : [];
  const names = listed.slice(0, 5).join(", ") + (listed.length > 5 ? ` and ${listed.length - 5} more` : "");
  return (
    `${line}${names === "" ? "" : ` ${names}`}`.slice(0, 500) ||
    `git ended with ${result.exitCode ?? "no exit code"}`
  );
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

/** The repository that holds `cwd`, or null when there is none or git refuses it (`explainNoRepo` says why). */
export async function findRepo(cwd: string, o: { readonly notDirty?: string } = {}): Promise<Repo | null> {
  const places = await git(
    [
      "rev-parse",
      "--path-format=absolute",
      "--is-bare-repository",
      "--is-shallow-repository",
      "--git-common-dir",
      "--git-dir",
      "--show-toplevel",
    ],
    { cwd },
  );
  const [bare, shallow, commonDir, gitDir, topLevel] = places.stdout.split("\n");
  if (gitDir === undefined || commonDir === undefined || gitDir === "" || commonDir === "") return null;
  if (bare === "true") {
    const head = await readHead(gitDir, cwd);
    return {
      topLevel: realpathSync(gitDir),
      gitDir: realpathSync(gitDir),
      commonDir: realpathSync(commonDir),
      head,
      dirtyCount: 0,
      detached: head.ref === "HEAD",
      shallow: shallow === "true",
      bare: true,
      submodules: false,
      lfs: false,
    };
  }
  if (places.exitCode !== 0 || topLevel === undefined || topLevel === "") return null;
  const root = realpathSync(topLevel);
  const [head, status, special] = await Promise.all([
    readHead(realpathSync(gitDir), root),
    git(["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames"], { cwd: root }),
    specialContent(root),
  ]);
  return {
    topLevel: root,
    gitDir: realpathSync(gitDir),
    commonDir: realpathSync(commonDir),
    head,
    dirtyCount: status.stdout
      .split("\0")
      .filter((entry) => entry !== "" && join(root, statusPath(entry)) !== o.notDirty).length,
    detached: head.ref === "HEAD",
    shallow: shallow === "true",
    bare: false,
    ...special,
  };
}

/** The path of an entry of `status --porcelain=v2 -z` without renames. */
function statusPath(entry: string): string {
  const fields = entry.startsWith("u ") ? 10 : entry.startsWith("1 ") ? 8 : 1;
  return entry.split(" ").slice(fields).join(" ");
}

async function readHead(gitDir: string, cwd: string): Promise<Repo["head"]> {
  const [ref, commit] = await Promise.all([
    git(["symbolic-ref", "-q", "HEAD"], { cwd, gitDir }),
    git(["rev-parse", "--verify", "-q", "--end-of-options", "HEAD^{commit}"], { cwd, gitDir }),
  ]);
  return {
    ref: ref.exitCode === 0 ? ref.stdout.trim() : "HEAD",
    commit: commit.exitCode === 0 ? commit.stdout.trim() : null,
  };
}

async function specialContent(root: string): Promise<{ submodules: boolean; lfs: boolean }> {
  const attributes = await git(["ls-files", "-z", "--", ":(glob)**/.gitattributes"], { cwd: root });
  const lfs = attributes.stdout
    .split("\0")
    .filter((path) => path !== "")
    .slice(0, 200)
    .some((path) => /\bfilter=lfs\b/.test(readSmall(join(root, path))));
  return { submodules: existsSync(join(root, ".gitmodules")), lfs };
}

function readSmall(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export interface NoRepo {
  readonly code: "git-missing" | "no-git" | "unsafe-ownership" | "bare-repository" | "git-failed";
  readonly detail: string;
  /** The command that fixes it. */
  readonly fix: string;
}

/** Why `findRepo` gave null, for a person. */
export async function explainNoRepo(cwd: string): Promise<NoRepo> {
  const answer = await git(["rev-parse", "--git-dir"], { cwd });
  if (answer.spawnError !== null)
    return { code: "git-missing", detail: gitFailure(answer), fix: "install git 2.38 or newer" };
  if (/dubious ownership/.test(answer.stderr))
    return {
      code: "unsafe-ownership",
      detail: `git does not trust the repository at \`${cwd}\`: it belongs to another user`,
      fix: `git config --global --add safe.directory ${quoteShell(cwd)}`,
    };
  if (/not a git repository/.test(answer.stderr))
    return {
      code: "no-git",
      detail: `\`${cwd}\` is in no git repository`,
      fix: "git init && git add -A && git commit -m base",
    };
  return { code: "git-failed", detail: gitFailure(answer), fix: "git status" };
}

/** Null when git is missing; `[2, 39]` style otherwise. */
export async function gitVersion(cwd: string): Promise<readonly [number, number] | null> {
  const answer = await git(["version"], { cwd });
  const match = /(\d+)\.(\d+)/.exec(answer.stdout);
  return match === null ? null : [Number(match[1]), Number(match[2])];
}

/** Paths in the index, relative to the top level. */
export async function trackedFiles(topLevel: string): Promise<string[]> {
  const answer = await git(["ls-files", "-z"], { cwd: topLevel });
  return splitPaths(answer.stdoutBytes).map((path) => path.text);
}

/** Object ids of revisions (`refs/heads/x`, `HEAD^{tree}`), null for each that does not exist; one process for all of them. */
export async function resolveAll(
  revisions: readonly string[],
  options: GitOptions,
): Promise<(string | null)[]> {
  const answer = await git(["cat-file", "--batch-check=%(objectname)"], {
    ...options,
    stdin: `${revisions.join("\n")}\n`,
  });
  const lines = answer.stdout.split("\n");
  return revisions.map((_, i) => {
    const id = lines[i] ?? "";
    return /^[0-9a-f]{40,64}$/.test(id) ? id : null;
  });
}

export interface BytePath {
  /** The path as text. Bytes that are no UTF-8 stand as `\xNN`, so that two paths never read alike. */
  readonly text: string;
  /** What the file system needs: the text itself, or the raw bytes where the text is an escape. */
  readonly disk: string | Buffer;
}

/** Splits NUL-separated output. */
export function splitPaths(bytes: Buffer): BytePath[] {
  const out: BytePath[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start);
    const stop = end === -1 ? bytes.length : end;
    if (stop > start) out.push(bytePath(bytes.subarray(start, stop)));
    start = stop + 1;
  }
  return out;
}

export function bytePath(bytes: Buffer): BytePath {
  const text = bytes.toString("utf8");
  if (!text.includes("\uFFFD") || Buffer.from(text).equals(bytes)) return { text, disk: text };
  let escaped = "";
  for (const byte of bytes)
    escaped += byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
  return { text: escaped, disk: Buffer.from(bytes) };
}

/**
 * Settings that switch off every content filter the repository's configuration defines, so that measuring a checkout
 * which a job could write to never starts a program that the job named.
 */
export async function withoutFilters(options: GitOptions): Promise<string[]> {
  const answer = await git(["config", "-z", "--name-only", "--get-regexp", "^filter\\."], options);
  const drivers = new Set<string>();
  for (const name of answer.stdout.split("\0")) {
    const driver = /^filter\.(.+)\.[^.]+$/s.exec(name)?.[1];
    if (driver !== undefined) drivers.add(driver);
  }
  return [...drivers].flatMap((driver) =>
    ["clean=", "smudge=", "process=", "required=false"].map((rest) => `filter.${driver}.${rest}`),
  );
}
