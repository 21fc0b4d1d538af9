/** Digests that bind a result to what it was made from and to what it is. Pure. */

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

export function inputFingerprint(_consumed: Consumed): InputFingerprint {
  throw new Error("not built yet");
}

/** Reasons, one sentence each, why work made from `before` does not stand for `now`; empty when it does. */
export function changedInputs(
  _before: InputFingerprint["parts"],
  _now: InputFingerprint["parts"],
): readonly string[] {
  throw new Error("not built yet");
}

/** Tree digest of work outside a worktree: SHA-256 of the canonical list (path, sha256), sorted by path. */
export function treeSha256(
  _files: readonly { readonly path: string; readonly sha256: string | null }[],
): string {
  throw new Error("not built yet");
}
