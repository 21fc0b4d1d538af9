/** The completion block: what the agent passes on to its user, at most 1.2 KB. */
import type { Graph, State } from "../core/runtime.ts";

export function completionBlock(_input: {
  readonly graph: Graph;
  readonly state: State;
  readonly runDir: string;
}): string {
  throw new Error("not written yet");
}
