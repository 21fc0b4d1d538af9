/** A failure of a sweep prints one command: it has to mean exactly that point. */
import { describe, expect, it } from "vitest";
import { readPoint } from "../../dev/crash-point.ts";
import { FAULT_MODES, type Fault } from "../support/fault-shim.ts";
import { SCENES } from "./harness/scenes.ts";
import { reproduction } from "./harness/sweep.ts";

const START = "npx tsx scripts/dev/crash-point.ts ";

describe("the command that shows a crash point again", () => {
  it("means the scene, the mode, the operation and the flags that failed", () => {
    for (const scene of SCENES)
      for (const mode of FAULT_MODES)
        for (const more of [{}, { sticky: true }, { only: "write:/journal.jsonl,spawn:" }]) {
          const fault: Fault = { mode, at: 17, ...more };
          const command = reproduction(scene, fault);
          expect(command.startsWith(START)).toBe(true);
          expect(readPoint(command.slice(START.length).split(" "))).toEqual({ scene, fault, keep: false });
        }
  });

  it.each([
    [["medium", "torn", "1"], "no scene medium: one of small, large, verdict, worktrees, troubled"],
    [["small", "burn", "1"], `no mode burn: one of ${FAULT_MODES.join(", ")}`],
    [["small", "torn", "first"], "no operation number: first"],
  ])("refuses %j", (words, message) => {
    expect(() => readPoint(words)).toThrow(message);
  });
});
