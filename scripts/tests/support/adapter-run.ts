/** Driving an adapter over lines and exits in tests. */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type {
  Adapter,
  AdapterEvent,
  ExitFacts,
  ObservedState,
  Settlement,
} from "../../src/runtimes/adapter.ts";

/** argv prefix that starts this tool from its sources. */
export const programSelf: readonly string[] = [
  process.execPath,
  "--import",
  pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href,
  fileURLToPath(new URL("../../src/main.ts", import.meta.url)),
];

/** Folds a whole output, line by line as the supervisor hands lines on. */
export function foldLines(adapter: Adapter, text: string): { state: ObservedState; events: AdapterEvent[] } {
  let state = adapter.initial();
  const events: AdapterEvent[] = [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    const step = adapter.observe(state, line);
    state = step.state;
    events.push(...step.events);
  }
  return { state, events };
}

/** A clean exit at a fixed time, changed as the test says. */
export const exitFacts = (facts: Partial<ExitFacts> = {}): ExitFacts => ({
  exitCode: 0,
  signal: null,
  endedBy: "self",
  spawnError: null,
  stdoutTail: "",
  stderrTail: "",
  stdoutBytes: 1,
  now: 1_000_000,
  ...facts,
});

export const settleWith = (
  adapter: Adapter,
  state: ObservedState,
  facts: Partial<ExitFacts> = {},
): Settlement => adapter.settle(state, exitFacts(facts));
