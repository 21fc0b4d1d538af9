/** What changed in a folder between two moments: tracked, untracked and ignored files alike, by content. */

export interface FingerprintOptions {
  /** Real path of the checkout's top level, of the worktree, or of the workspace root without git. */
  readonly root: string;
  /** Null without git. `gitDir` is the checkout's own git directory (of a worktree: below the common one). */
  readonly repo: { readonly gitDir: string } | null;
  /** Paths relative to `root` that are not measured, with all below; a last segment may end with `*`. */
  readonly exclude: readonly string[];
  /** An earlier fingerprint of the same root: unchanged files are not read again, and all its paths are looked at. */
  readonly previous?: Fingerprint;
}

/** Opaque outside this module; `encodeFingerprint` makes it a string for disk. */
export interface Fingerprint {
  readonly kind: "git" | "manifest" | "too-large";
  /** SHA-256 over the canonical content. */
  readonly digest: string;
  readonly data: unknown;
}

export interface Changes {
  /** False: no evidence (the folder is too large without git). */
  readonly measured: boolean;
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  /** Those of the above that git ignores. */
  readonly ignored: readonly string[];
  /** Those of the above that were tracked before (without git: that existed before). */
  readonly tracked: readonly string[];
  /** Set when HEAD of the checkout moved. */
  readonly headMoved: { readonly from: string | null; readonly to: string | null } | null;
}

export function takeFingerprint(_options: FingerprintOptions): Promise<Fingerprint> {
  throw new Error("not built yet");
}

/** Paths are relative to the root, sorted. */
export function compareFingerprints(_before: Fingerprint, _after: Fingerprint): Changes {
  throw new Error("not built yet");
}

export function encodeFingerprint(_fingerprint: Fingerprint): string {
  throw new Error("not built yet");
}

/** Null for text that is no fingerprint. */
export function decodeFingerprint(_text: string): Fingerprint | null {
  throw new Error("not built yet");
}
