/** `next[]`: what harness or user can do now, computed from state alone. */
import type { NextAction } from "../core/diagnostic.ts";
import type { ExitCode } from "../core/exit-codes.ts";
import type { Graph, State } from "../core/runtime.ts";

export interface NextInput {
  readonly graph: Graph;
  readonly state: State;
  /** Absolute. */
  readonly runDir: string;
  /** Path of orchestrate.mjs, for the `shell` line. */
  readonly script: string;
  /** ms since the epoch. */
  readonly now: number;
  /** False when the lock's owner is provably gone: work that reads as running needs `resume`. Default true. */
  readonly coordinatorAlive?: boolean;
  /** Scope and words of each open approval request, by job. */
  readonly approvalRequests?: ReadonlyMap<string, { readonly scope: string; readonly words: string }>;
}

export interface NextActions {
  /** At most ten. */
  readonly actions: NextAction[];
  readonly omitted: number;
}

export function nextActions(_input: NextInput): NextActions {
  throw new Error("not written yet");
}

/** Rule of exit code 3: an action that somebody other than a running coordinator must take. */
export function isActionDue(_actions: readonly NextAction[]): boolean {
  throw new Error("not written yet");
}

export function exitCodeFor(_input: {
  readonly state: State;
  readonly actions: readonly NextAction[];
}): Extract<ExitCode, 0 | 1 | 3 | 130> {
  throw new Error("not written yet");
}

/** Where the harness saves the answer of a native attempt, and where its brief is. */
export function nativeFiles(
  _runDir: string,
  _jobId: string,
  _attempt: number,
): { readonly promptFile: string; readonly resultFile: string } {
  throw new Error("not written yet");
}

export function arbiterFiles(
  _runDir: string,
  _arbiterId: string,
): { readonly promptFile: string; readonly resultFile: string } {
  throw new Error("not written yet");
}
