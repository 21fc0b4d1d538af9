import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines } from "../../src/run/deadlines.ts";

/** A clock that goes with the timers, unless it is set forward on its own: then the machine slept. */
let slept = 0;
const clock = { now: () => 0, mono: () => performance.now() + slept };

beforeEach(() => {
  slept = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function armed(timeoutMs: number, stallAfterMs: number | null): { deadlines: Deadlines; due: string[] } {
  const due: string[] = [];
  const deadlines = new Deadlines({ clock, timeoutMs, stallAfterMs, onDue: (which) => due.push(which) });
  deadlines.start();
  return { deadlines, due };
}

describe("deadlines of a job", () => {
  it("fall due once, at their time", () => {
    const { due } = armed(12_345, null);
    vi.advanceTimersByTime(12_344);
    expect(due).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(due).toEqual(["timeout"]);
    vi.advanceTimersByTime(100_000);
    expect(due).toEqual(["timeout"]);
  });

  it("silence begins anew with each activity", () => {
    const { deadlines, due } = armed(60_000, 3_000);
    for (let round = 0; round < 5; round += 1) {
      vi.advanceTimersByTime(2_900);
      deadlines.activity();
    }
    expect(due).toEqual([]);
    vi.advanceTimersByTime(3_001);
    expect(due).toEqual(["stall"]);
  });

  it("the timeout comes first when both are due", () => {
    const { due } = armed(3_000, 3_000);
    vi.advanceTimersByTime(3_001);
    expect(due).toEqual(["timeout"]);
  });

  it("move on by the time that the machine slept", () => {
    const { due } = armed(10_000, 8_000);
    vi.advanceTimersByTime(4_500);
    slept = 3_600_000;
    vi.advanceTimersByTime(3_400);
    expect(due).toEqual([]);
    vi.advanceTimersByTime(1_200);
    expect(due).toEqual(["stall"]);
  });

  it("a short delay of the process is not a sleep", () => {
    const { due } = armed(10_000, null);
    vi.advanceTimersByTime(5_500);
    slept = 4_000;
    vi.advanceTimersByTime(600);
    expect(due).toEqual(["timeout"]);
  });

  it("are silent once stopped", () => {
    const { deadlines, due } = armed(1_000, 500);
    deadlines.stop();
    vi.advanceTimersByTime(5_000);
    expect(due).toEqual([]);
  });
});
