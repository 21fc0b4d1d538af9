/** The one way to change a run: commits that are durable when their promise resolves, and readers that follow one rule. */
import type { Result } from "../core/result.ts";
import type { Clock } from "../host/clock.ts";
import type { StateFault } from "./fault.ts";
import type { Lock } from "./lock.ts";
import type { JournalRecord, State } from "./records.ts";

export interface Store {
  /** Ahead of the disk by the commits that are not resolved yet: await a commit before any effect it announces. */
  readonly state: State;
  /**
   * Applies the records at once and atomically; resolves when they are durable. Commits of one event-loop turn share a
   * write and a sync. Throws `IllegalTransition` on a bug (nothing applied); rejects with `StateFaultError` when the
   * write failed or the lock was lost, and then so does every later commit.
   */
  commit(records: readonly JournalRecord[]): Promise<void>;
  /** Makes state.json whole and the journal empty. */
  snapshot(): Promise<void>;
  /** A last snapshot, then the files are closed. The lock stays with its owner. */
  close(): Promise<void>;
  /** Set for good by the first failed write. */
  readonly failed: Error | null;
}

/** Writes the first state.json and an empty journal, synced. Throws `StateFaultError`: `run-exists` or `io`. */
export function createRun(_o: { runDir: string; initial: State }): void {
  throw new Error("not built yet");
}

/** Recovers, repairs and takes over a run under a new epoch. */
export function openStore(_o: {
  runDir: string;
  lock: Lock;
  clock: Clock;
}): Promise<Result<Store, StateFault>> {
  throw new Error("not built yet");
}

/** The state as of now, by the one rule (snapshot plus later journal lines). Writes nothing; `repairs` is what a writer will cut. */
export function readRun(_runDir: string): Result<{ state: State; repairs: string[] }, StateFault> {
  throw new Error("not built yet");
}
