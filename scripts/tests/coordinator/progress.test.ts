/** What is told of a run while it goes on. */
import { describe, expect, it } from "vitest";
import { createProgress } from "../../src/coordinator/progress.ts";
import type { Job, State } from "../../src/core/runtime.ts";
import { attemptOf, graphOf, jobOf, planJob, stateOf } from "../prove/sample-run.ts";

const queued = jobOf([], { status: "queued" });
const running = jobOf([attemptOf({ status: "running" })], { status: "running" });
const done = jobOf([attemptOf()], { status: "success" });
const failed = jobOf([attemptOf({ status: "failed" })], { status: "failed", reason: "exit 1" });

function scene(count: number) {
  const ids = Array.from({ length: count }, (_, i) => `j${i}`);
  const jobs: Record<string, Job> = Object.fromEntries(ids.map((id) => [id, queued]));
  let looked = 0;
  const watched = new Proxy(jobs, {
    get: (target, id: string) => {
      looked += 1;
      return target[id];
    },
  });
  const state: State = { ...stateOf({}), jobs: watched };
  const lines: string[] = [];
  const tell = createProgress(graphOf(ids.map((id) => planJob(id))), (line) => lines.push(line));
  const move = (changed: Readonly<Record<string, Job>>): readonly string[] => {
    Object.assign(jobs, changed);
    lines.length = 0;
    tell(state, { jobs: new Set(Object.keys(changed)), others: false });
    return [...lines];
  };
  const whole = (): readonly string[] => {
    lines.length = 0;
    tell(state, null);
    return [...lines];
  };
  return { jobs, move, whole, looks: () => looked };
}

describe("of up to twenty jobs", () => {
  it("each change is a line with how many have ended", () => {
    const { move, whole } = scene(2);
    expect(whole()).toEqual([]);
    expect(move({ j0: running })).toEqual(["[0/2] j0: running on claude"]);
    expect(move({ j0: running })).toEqual([]);
    expect(move({ j0: done, j1: failed })).toEqual([
      "[2/2] j0: success, not judged yet",
      "[2/2] j1: failed: exit 1",
    ]);
    expect(move({ j1: { ...queued, detail: "waits for quota" } })).toEqual([
      "[1/2] j1: queued: waits for quota",
    ]);
  });

  it("what moved while nobody followed is told from the whole state", () => {
    const { jobs, whole } = scene(2);
    jobs["j1"] = done;
    expect(whole()).toEqual(["[1/2] j1: success, not judged yet"]);
    expect(whole()).toEqual([]);
  });
});

describe("of many jobs", () => {
  it("only trouble is a line, and a count at each tenth", () => {
    const { move, whole } = scene(40);
    expect(whole()).toEqual([]);
    expect(move({ j0: running, j1: done, j2: done })).toEqual([]);
    expect(move({ j3: failed })).toEqual(["[3/40] j3: failed: exit 1"]);
    expect(move({ j4: done })).toEqual(["[4/40] ended, 1 failed or blocked"]);
  });

  it("what did not move is not looked at", () => {
    const { move, whole, looks } = scene(1_000);
    whole();
    const before = looks();
    for (let i = 0; i < 100; i += 1) move({ [`j${i}`]: running });
    expect(looks() - before).toBe(100);
  });
});
