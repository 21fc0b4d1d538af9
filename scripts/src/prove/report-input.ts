/** What a report is made from. */
import type { NextAction } from "../core/diagnostic.ts";
import type { Graph, Inventory, State } from "../core/runtime.ts";

export interface TraceSummary {
  readonly status: "complete" | "partial" | "absent";
  readonly records: number;
  /** Null: some were lost and nobody can say how many. */
  readonly lost: number | null;
  readonly reason: string | null;
}

/** One step by which accepted work went into a branch of the user's. */
export interface KeptIntegration {
  readonly repo: string;
  readonly jobId: string;
  readonly ref: string;
  readonly from: string;
  readonly to: string;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** What lies beside the state and belongs into the report. */
export interface KeptBeside {
  readonly integrations: readonly KeptIntegration[];
  /** Absolute path of the patch that takes a job's edits of the shared checkout back, by job. */
  readonly reversePatches: Readonly<Record<string, string>>;
}

export interface ReportInput {
  readonly graph: Graph;
  readonly state: State;
  readonly inventory: Inventory | null;
  readonly runDir: string;
  /** Path of orchestrate.mjs, for the commands that the report shows. */
  readonly script: string;
  readonly trace: TraceSummary;
  /** Absent: nobody looked. */
  readonly kept?: KeptBeside;
  /** What `next` offers now, and how much more; absent: nobody asked. */
  readonly next?: readonly NextAction[];
  readonly nextOmitted?: number;
  /** ms since the epoch. */
  readonly now: number;
}
