/** The command of a next action, as a vector and as one line to paste. */
import type { NextAction } from "../core/diagnostic.ts";
import type { Graph, State } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";

export interface NextInput {
  readonly graph: Graph;
  readonly state: State;
  /** Absolute. */
  readonly runDir: string;
  /** Path of orchestrate.mjs, for the `shell` line. */
  readonly script: string;
  /** False when the lock's owner is provably gone: work that reads as running needs `resume`. Default true. */
  readonly coordinatorAlive?: boolean;
}

export const command = (
  input: NextInput,
  argv: readonly string[],
): { readonly argv: string[]; readonly shell: string } => ({
  argv: [...argv],
  shell: ["node", input.script, ...argv].map((part) => quoteShell(part)).join(" "),
});

/** An action that could be offered; its text is made only for the few that are. */
export interface Offer {
  readonly action: NextAction["action"];
  readonly make: () => NextAction;
}
