/** Paths below a root that no text can lead out of: checked by words, then opened part by part without following links. */
import type { Result } from "../core/result.ts";

export interface PathFault {
  readonly code:
    | "empty"
    | "absolute"
    | "traversal"
    | "nul"
    | "git-dir"
    | "symlink"
    | "not-regular"
    | "missing"
    | "too-long"
    | "too-large"
    | "exists"
    | "io";
  readonly path: string;
  readonly detail: string;
}

/** Checks the words of a relative path; returns it with `/` separators and no `.` segments. Touches no disk. */
export function safeRelative(_path: string): Result<string, PathFault> {
  throw new Error("not built yet");
}

/** Absolute path of `relative` below the real path `root`, no part of which is a link. It need not exist. */
export function resolveInside(_root: string, _relative: string): Result<string, PathFault> {
  throw new Error("not built yet");
}

export function readInside(
  _root: string,
  _relative: string,
  _options: { readonly maxBytes: number },
): Promise<Result<Buffer, PathFault>> {
  throw new Error("not built yet");
}

export function hashInside(
  _root: string,
  _relative: string,
): Promise<Result<{ readonly sha256: string; readonly bytes: number; readonly mode: number }, PathFault>> {
  throw new Error("not built yet");
}

/** Creates `relative` with its parents; `replace` decides what happens to a file of other content. */
export function writeInside(
  _root: string,
  _relative: string,
  _data: string | Uint8Array,
  _options: { readonly replace: boolean; readonly mode?: number },
): Promise<
  Result<{ readonly sha256: string; readonly bytes: number; readonly written: boolean }, PathFault>
> {
  throw new Error("not built yet");
}
