/** Bringing accepted branches into the user's checkout: a trial first, one job at a time, nothing half-applied, undoable. */
import type { Result } from "../core/result.ts";
import type { DependencyCommit, WorktreeFault } from "./worktree-fault.ts";

export type IntegrateFault =
  | WorktreeFault
  | {
      readonly code:
        | "dirty-target"
        | "target-moved"
        | "nothing-to-undo"
        | "integrate-conflict"
        | "detached-target";
      readonly detail: string;
      readonly conflict?: { readonly jobs: readonly string[]; readonly paths: readonly string[] };
    };

export interface IntegratePreview {
  readonly target: { readonly ref: string; readonly commit: string };
  readonly jobs: readonly {
    readonly jobId: string;
    readonly commit: string;
    readonly state: "applies" | "contained" | "conflict";
    readonly diffStat: string;
    readonly conflict: { readonly jobs: readonly string[]; readonly paths: readonly string[] } | null;
  }[];
  /** The merged commit of all that applies; null when the first one conflicts. */
  readonly merged: string | null;
}

/** One line of the undo record. */
export interface IntegrationRecord {
  readonly jobId: string;
  readonly ref: string;
  readonly from: string;
  readonly to: string;
}

export interface Integration {
  readonly applied: readonly IntegrationRecord[];
  readonly stopped: IntegrateFault | null;
}

export function previewIntegration(_o: {
  readonly repo: string;
  readonly jobs: readonly DependencyCommit[];
}): Promise<Result<IntegratePreview, IntegrateFault>> {
  throw new Error("not built yet");
}

export function applyIntegration(_o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  readonly jobs: readonly DependencyCommit[];
  /** Called before each branch update and resolved when the record is durable. */
  readonly record: (entry: IntegrationRecord) => Promise<void>;
}): Promise<Result<Integration, IntegrateFault>> {
  throw new Error("not built yet");
}

export function undoIntegration(_o: {
  readonly repo: string;
  readonly commonDir: string;
  readonly runId: string;
  readonly records: readonly IntegrationRecord[];
}): Promise<Result<readonly IntegrationRecord[], IntegrateFault>> {
  throw new Error("not built yet");
}
