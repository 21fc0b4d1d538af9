/** Digests that bind a result to what it was made from and to what it is. Pure. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

/** Everything an attempt consumed. */
export interface Consumed {
  readonly briefSha256: string;
  readonly baseCommit: string | null;
  readonly inputs: readonly { readonly path: string; readonly sha256: string }[];
  readonly dependencies: readonly {
    readonly jobId: string;
    readonly attempt: number;
    readonly treeSha256: string | null;
    readonly resultSha256: string | null;
  }[];
  readonly invocation: unknown;
  readonly verification: unknown;
}

export interface InputFingerprint {
  readonly sha256: string;
  /** Part name → SHA-256, to say later which part changed. */
  readonly parts: Readonly<Record<string, string>>;
}

const digest = (value: unknown): string =>
  createHash("sha256")
    .update(canonicalize(value) ?? "null")
    .digest("hex");

/** SHA-256 of the canonical JSON of all parts. The order in which inputs and dependencies are listed does not matter. */
export function inputFingerprint(consumed: Consumed): InputFingerprint {
  const parts: Record<string, string> = {
    brief: consumed.briefSha256,
    base: digest(consumed.baseCommit),
    invocation: digest(consumed.invocation ?? null),
    verification: digest(consumed.verification ?? null),
  };
  for (const input of consumed.inputs) parts[`input ${input.path}`] = input.sha256;
  for (const { jobId, attempt, treeSha256: tree, resultSha256 } of consumed.dependencies)
    parts[`dependency ${jobId}`] = digest({ attempt, tree, resultSha256 });
  return { sha256: digest(parts), parts };
}

/** Reasons, one sentence each, why work made from `before` does not stand for `now`; empty when it does. */
export function changedInputs(
  before: InputFingerprint["parts"],
  now: InputFingerprint["parts"],
): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.filter((name) => before[name] !== now[name]).map((name) => sentence(name, before, now));
}

const FIXED: Readonly<Record<string, string>> = {
  brief: "the brief changed",
  base: "the base commit changed",
  invocation: "the invocation changed",
  verification: "the verification commands changed",
};

function sentence(name: string, before: InputFingerprint["parts"], now: InputFingerprint["parts"]): string {
  const fixed = FIXED[name];
  if (fixed !== undefined) return fixed;
  const space = name.indexOf(" ");
  const what = `${name.slice(0, space)} \`${name.slice(space + 1)}\``;
  if (before[name] === undefined) return `${what} is new`;
  return now[name] === undefined ? `${what} is gone` : `${what} changed`;
}

/** Tree digest of work outside a worktree: SHA-256 of the canonical list (path, sha256), sorted by path. A deleted file has null. */
export function treeSha256(
  files: readonly { readonly path: string; readonly sha256: string | null }[],
): string {
  const byPath = new Map(files.map((file) => [file.path, file.sha256]));
  return digest([...byPath].sort(([a], [b]) => (a < b ? -1 : 1)));
}
