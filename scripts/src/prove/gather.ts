/** Gathers what layer 1 judges: reads outputs, runs the declared verification, looks for claims. */
import type { Command } from "../core/generated/graph.ts";
import type { PlanJob } from "../core/runtime.ts";
import type { FixtureResult } from "./fixture.ts";
import type { ChangeFacts, LayerOneEvidence, WindowPeer } from "./verify.ts";

export interface CommandRun {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly stdoutTail: string;
  readonly stderrTail: string;
  readonly wallMs: number;
  readonly spawnError: string | null;
}

export type RunCommand = (command: {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly timeoutMs: number;
  /** `verification-<n>`. */
  readonly label: string;
}) => Promise<CommandRun>;

export interface GatherInput {
  readonly job: Pick<
    PlanJob,
    | "id"
    | "task"
    | "effect"
    | "writer"
    | "riskTier"
    | "ownedPaths"
    | "isolation"
    | "dependsOn"
    | "outputs"
    | "verification"
    | "cwd"
  >;
  readonly agent: boolean;
  readonly ownWorktree: boolean;
  /** Real path of the checkout's top level, the worktree, or the workspace root. */
  readonly root: string;
  /** Absolute folder the job ran in, inside `root`. */
  readonly cwd: string;
  readonly settled: boolean;
  readonly suspect: boolean;
  readonly resultText: string | null;
  readonly resultTruncated: boolean;
  readonly toolEvents: number | null;
  /** Measured before this call: verification may change files too. */
  readonly changes: ChangeFacts;
  readonly peers: readonly WindowPeer[];
  readonly fixture: FixtureResult;
  /** Where a command of the spec with an absolute `cwd` runs: maps it into the worktree. */
  readonly mapCwd: (command: Command) => string;
  readonly runCommand: RunCommand;
}

export function gatherLayerOne(_input: GatherInput): Promise<LayerOneEvidence> {
  throw new Error("not built yet");
}
