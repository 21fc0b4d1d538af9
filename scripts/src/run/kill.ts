/** Ending a whole process tree, and proving that it ended. */
import type { Clock } from "../host/clock.ts";

export interface EndTreeOptions {
  readonly pid: number;
  /** Kernel start time recorded when the process was started; a process of another start time is never signalled. */
  readonly startTime: string | null;
  readonly marker: string;
  readonly graceMs: number;
  readonly clock: Clock;
}

export interface EndTreeResult {
  readonly gone: boolean;
  readonly killedAfterGrace: boolean;
  readonly survivors: readonly number[];
}

export function endTree(_options: EndTreeOptions): Promise<EndTreeResult> {
  throw new Error("not built yet");
}

/** Pids of live processes that carry the marker in their environment. */
export function sweepMarker(_marker: string): Promise<readonly number[]> {
  throw new Error("not built yet");
}
