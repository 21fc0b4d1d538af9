/** Watching a run from another process without reading it all again. */
import type { State } from "./records.ts";

export interface Follower {
  state(): State;
  /** Reads what was appended since; true when the state changed. */
  poll(): boolean;
  /** Resolves true at the next change, false after `timeoutMs`. */
  changed(timeoutMs: number): Promise<boolean>;
  close(): void;
}

/** Throws `StateFaultError` when the run cannot be read. */
export function followRun(_runDir: string): Follower {
  throw new Error("not built yet");
}
