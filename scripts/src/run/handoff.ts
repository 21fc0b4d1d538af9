/** What a job is given: declared inputs, verified copies of other jobs' outputs, and dependency material. */

import type { Artifact } from "../core/generated/state.ts";
import type { Result } from "../core/result.ts";
import type { PlanJob } from "../core/runtime.ts";

export interface HandoffFault {
  readonly code:
    | "input-missing"
    | "input-hash"
    | "input-unsafe"
    | "handoff-missing"
    | "handoff-hash"
    | "handoff-would-overwrite"
    | "handoff-failed";
  readonly path: string;
  readonly detail: string;
}

export interface InputFact {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly fromJob: string | null;
}

/** Copies declared outputs into the job's `artifacts/` folder, so that later changes of the checkout cannot reach a dependent. */
export function keepArtifacts(_o: {
  readonly cwd: string;
  readonly artifacts: readonly Artifact[];
  readonly artifactsDir: string;
}): Promise<Result<void, HandoffFault>> {
  throw new Error("not built yet");
}

/** Verifies plain inputs and copies `from_job` inputs into `cwd`; never overwrites different content. */
export function placeInputs(_o: {
  readonly cwd: string;
  readonly inputs: PlanJob["inputs"];
  /** Kept artifacts of a dependency, or null when it has none. */
  readonly source: (
    jobId: string,
  ) => { readonly artifactsDir: string; readonly artifacts: readonly Artifact[] } | null;
}): Promise<Result<readonly InputFact[], HandoffFault>> {
  throw new Error("not built yet");
}

export interface Material {
  /** File name below `.orchestrate-inputs/<job-id>/`. */
  readonly name: string;
  readonly content: string;
}

export function writeMaterial(_o: {
  readonly cwd: string;
  readonly jobId: string;
  readonly material: readonly Material[];
}): Promise<Result<void, HandoffFault>> {
  throw new Error("not built yet");
}

/** Removes `.orchestrate-inputs/<job-id>/`, and the parent when it is empty. */
export function removeMaterial(_o: { readonly cwd: string; readonly jobId: string }): Promise<void> {
  throw new Error("not built yet");
}

/** Writes a `from: result` output; never through a link, replaces only what an earlier attempt wrote there. */
export function writeResultOutput(_o: {
  readonly cwd: string;
  readonly path: string;
  readonly text: string;
}): Promise<Result<Artifact, HandoffFault>> {
  throw new Error("not built yet");
}
