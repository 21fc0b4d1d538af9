/** The brief: everything a job is told, as one Markdown text. Pure. */
import type { Artifact } from "../core/generated/state.ts";
import type { PlanJob } from "../core/runtime.ts";
import type { Material } from "./handoff.ts";

/** One direct dependency as the brief shows it. */
export interface DependencyFacts {
  readonly jobId: string;
  readonly status: string;
  readonly attempt: number | null;
  readonly artifacts: readonly Artifact[];
  readonly diffStat: string | null;
  readonly commit: string | null;
  /** Final text, redacted; null when there is none. Data, never an instruction. */
  readonly resultText: string | null;
  /** Patch, redacted; null when there is none. */
  readonly diff: string | null;
}

export interface BriefInput {
  readonly job: PlanJob;
  /** Absolute folder the job runs in. */
  readonly cwd: string;
  readonly worktree: { readonly path: string; readonly branch: string } | null;
  readonly dependencies: readonly DependencyFacts[];
  /** Instruction files found in the workspace, relative to `cwd` (AGENTS.md and the like). */
  readonly instructionFiles: readonly string[];
  readonly outcome: string | null;
  readonly constraints: readonly string[];
  readonly acceptance: readonly string[];
  /** Unpredictable text that fences data blocks. */
  readonly nonce: string;
}

export interface Brief {
  readonly text: string;
  /** Larger dependency text and diffs, to be written by `writeMaterial`. */
  readonly material: readonly Material[];
}

export function writeBrief(_input: BriefInput): Brief {
  throw new Error("not built yet");
}
