/** `clean`: removes a run's worktrees where nothing would be lost, and says what it kept and why. */
import type { WorktreeFault } from "./worktree-fault.ts";

export interface CleanTarget {
  readonly jobId: string;
  readonly path: string;
  readonly branch: string;
  /** Latest attempt, for the snapshot's name. */
  readonly attempt: number;
  readonly baseCommit: string | null;
  /** A process of the job may still be alive. */
  readonly busy: boolean;
}

export interface CleanedWorktree {
  readonly jobId: string;
  readonly action: "removed" | "kept" | "absent";
  readonly reason: string;
  readonly snapshotRef: string | null;
  readonly snapshotCommit: string | null;
  readonly fault: WorktreeFault | null;
}

export function cleanRun(_o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  readonly targets: readonly CleanTarget[];
  /** Commit of the user's branch: work that it contains is integrated. */
  readonly integratedInto: string | null;
  /** Job ids whose unintegrated work the user gives up by name. */
  readonly discard: readonly string[];
  readonly preview: boolean;
}): Promise<readonly CleanedWorktree[]> {
  throw new Error("not built yet");
}
