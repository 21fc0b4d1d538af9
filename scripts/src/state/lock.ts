/** Who coordinates a run: at most one process, known by pid, start time, boot id and host. */
import type { Result } from "../core/result.ts";
import type { Clock } from "../host/clock.ts";
import type { ProcessIdentity } from "../host/identity.ts";

export interface Lock {
  /** Written into every journal line. 0 until `openStore` has taken the run over. */
  readonly epoch: number;
  /** False once the lock is no longer ours; read before every write. */
  verify(): boolean;
  release(): void;
}

export interface LockRefusal {
  /** Null when the lock cannot be read. */
  readonly owner: ProcessIdentity | null;
  /** One sentence, with what to do when the owner is known to be gone. */
  readonly reason: string;
}

export function acquireLock(_o: { runDir: string; clock: Clock }): Result<Lock, LockRefusal> {
  throw new Error("not built yet");
}

/** The identity in the lock file, dead or alive (judge it with `liveness`); null when there is none or it is unreadable. */
export function lockOwner(_runDir: string): ProcessIdentity | null {
  throw new Error("not built yet");
}
