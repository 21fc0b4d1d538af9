/** Jobs that do not want to end, through the built tool: each ends as it should, and no process of them is left. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { violations } from "./harness/invariants.ts";
import { createLane, type Lane, type LaneJob } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { WAITING } from "./harness/scenes.ts";

const LONG = { timeout: 300_000 };
const MISBEHAVE = join(import.meta.dirname, "../fixtures/hostile/misbehave.sh");

let built: BuiltPayload;
const lanes: Lane[] = [];

beforeAll(async () => {
  built = await builtPayload();
});

afterAll(() => {
  for (const lane of lanes) lane.remove();
  built.remove();
});

async function laneOf(jobs: readonly LaneJob[]): Promise<Lane> {
  const lane = await createLane({ main: built.main, jobs, concurrency: jobs.length });
  lanes.push(lane);
  lane.reset();
  return lane;
}

const hostile = (id: string, timeout: string, mode: string): LaneJob => ({
  id,
  after: [],
  seconds: 0,
  script: `exec /bin/sh ${MISBEHAVE} ${mode}`,
  fields: `timeout: ${timeout}`,
});

describe("hostile jobs", () => {
  it("end at their time or with their first process, and nothing of them lives on", LONG, async () => {
    const lane = await laneOf([
      hostile("deaf", "1s", "ignore-tree"),
      hostile("stopped", "1s", "stop-self"),
      hostile("many", "3s", "fork-bomb 200"),
      hostile("relay", "1s", "relay"),
      hostile("daemon", "1m", "daemon"),
      hostile("daemon-pipe", "1m", "daemon-pipe"),
      hostile("daemon-deaf", "1m", "daemon-deaf"),
    ]);
    const life = await liveOnce(lane, lane.coordinate());
    expect(life.exit).toMatchObject({ code: 0, stderr: "" });
    if (typeof life.state === "string") throw new Error(life.state);
    const last = (id: string) => {
      const attempt = typeof life.state === "string" ? undefined : life.state.jobs[id]?.attemptRecords.at(-1);
      return [
        attempt?.status,
        attempt?.settlement,
        ...(attempt?.flags ?? []).filter((flag) => flag !== "group-survivors"),
      ];
    };
    expect(last("deaf")).toEqual(["timed_out", "settled", "killed-after-grace"]);
    for (const id of ["stopped", "many", "relay"])
      expect([id, ...last(id)]).toEqual([id, "timed_out", "settled"]);
    for (const id of ["daemon", "daemon-pipe", "daemon-deaf"])
      expect([id, ...last(id)]).toEqual([id, "success", "settled", "leaky"]);
    expect(lane.survivors()).toEqual([]);
  });

  it("one that kills its coordinator is cut off like any other, and runs again", LONG, async () => {
    const lane = await laneOf([
      {
        id: "first",
        after: [],
        seconds: 0,
        script: '[ "$attempt" -gt 1 ] || { kill -KILL $PPID; sleep 60; }',
      },
      { id: "second", after: ["first"], seconds: 0 },
    ]);
    const first = await liveOnce(lane, lane.coordinate());
    expect(first.exit.signal).toBe("SIGKILL");
    const second = await liveOnce(lane, lane.coordinate({ resume: true }));
    expect(violations(historyOf({ lane, finished: WAITING }, [first, second]))).toEqual([]);
  });
});
