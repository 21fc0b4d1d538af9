/** How a run stands, seen from outside: state by the one rule, what is due, and the exit code that says so. */
import type { NextAction } from "../core/diagnostic.ts";
import type { ExitCode } from "../core/exit-codes.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Graph, State } from "../core/runtime.ts";
import { liveness } from "../host/identity.ts";
import type { StateFault } from "../state/fault.ts";
import { lockOwner } from "../state/lock.ts";
import { readRun } from "../state/store.ts";
import { type GraphFault, readGraph } from "./graph-file.ts";
import { exitCodeFor, nextActions } from "./next-actions.ts";

export interface RunView {
  readonly runDir: string;
  readonly graph: Graph;
  readonly state: State;
  readonly actions: readonly NextAction[];
  readonly omitted: number;
  readonly exitCode: ExitCode;
  readonly coordinatorAlive: boolean;
  /** What a writer would cut off: a torn tail left by a crash. */
  readonly repairs: readonly string[];
}

export interface ViewInput {
  readonly runDir: string;
  /** Path of orchestrate.mjs, for the commands in `next[]`. */
  readonly script: string;
}

export type ViewFault = StateFault | GraphFault;

/** Writes nothing. */
export function viewRun(o: ViewInput): Result<RunView, ViewFault> {
  const read = readRun(o.runDir);
  if (!read.ok) return err(read.error);
  const graph = readGraph(o.runDir, read.value.state.graphSha256);
  if (!graph.ok) return err(graph.error);
  return ok({ ...viewOf(o, graph.value.graph, read.value.state), repairs: read.value.repairs });
}

function viewOf(o: ViewInput, graph: Graph, state: State): Omit<RunView, "repairs"> {
  const coordinatorAlive = isCoordinated(o.runDir);
  const { actions, omitted } = nextActions({
    graph,
    state,
    runDir: o.runDir,
    script: o.script,
    coordinatorAlive,
  });
  return {
    runDir: o.runDir,
    graph,
    state,
    actions,
    omitted,
    exitCode: exitCodeFor({ state, actions }),
    coordinatorAlive,
  };
}

/** A lock whose owner cannot be proven dead counts as held. */
export function isCoordinated(runDir: string): boolean {
  const owner = lockOwner(runDir);
  return owner !== null && liveness(owner) !== "dead";
}
