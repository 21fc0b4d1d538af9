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

export interface EventSummary {
  readonly written: number;
  readonly dropped: number;
  readonly unknown: number;
}

export interface ReportInput {
  readonly graph: Graph;
  readonly state: State;
  readonly inventory: Inventory | null;
  readonly runDir: string;
  /** Path of orchestrate.mjs, for the commands that the report shows. */
  readonly script: string;
  readonly trace: TraceSummary;
  readonly events?: EventSummary | null;
  /** What `next` offers now, and how much more; absent: nobody asked. */
  readonly next?: readonly NextAction[];
  readonly nextOmitted?: number;
  /** ms since the epoch. */
  readonly now: number;
}
