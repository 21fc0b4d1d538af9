/** report.md. */
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
  readonly events?: EventSummary | null;
  readonly trace: TraceSummary;
  /** ms since the epoch. */
  readonly now: number;
}

export function renderReport(_input: ReportInput): string {
  throw new Error("not written yet");
}
