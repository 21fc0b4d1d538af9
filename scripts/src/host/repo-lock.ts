/** One mutex per repository across processes. */
import type { Result } from "../core/result.ts";
import type { ProcessIdentity } from "./identity.ts";

export interface RepoLockFault {
  readonly code: "repo-locked" | "repo-lock-unwritable";
  readonly detail: string;
  readonly holder: ProcessIdentity | null;
}

/** Runs `work` while holding the mutex of the repository; never runs it unlocked. */
export function withRepoLock<T>(_o: {
  readonly commonDir: string;
  /** What is being done, for whoever waits. */
  readonly purpose: string;
  readonly timeoutMs?: number;
  readonly work: () => Promise<T>;
}): Promise<Result<T, RepoLockFault>> {
  throw new Error("not built yet");
}
