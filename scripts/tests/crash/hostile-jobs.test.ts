/** Jobs that do not want to end, through the built tool: each ends as it should, and no process of them is left. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { type Life, violations } from "./harness/invariants.ts";
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

/** Status, settlement and flags of a job's last attempt. */
function lastOf(life: Life, id: string): unknown[] {
  if (typeof life.state === "string") throw new Error(life.state);
  const attempt = life.state.jobs[id]?.attemptRecords.at(-1);
  const flags = (attempt?.flags ?? []).filter((flag) => flag !== "group-survivors");
  return [attempt?.status, attempt?.settlement, ...flags];
}

/** 200, or half of what a container that counts its processes still allows: the other tests need some as well. */
function manyProcesses(): number {
  try {
    const [max, now] = ["max", "current"].map((name) =>
      Number(readFileSync(`/sys/fs/cgroup/pids.${name}`, "utf8")),
    ) as [number, number];
    return Number.isFinite(max) ? Math.max(20, Math.min(200, Math.floor((max - now) / 2))) : 200;
  } catch {
    return 200;
  }
}

describe("hostile jobs", () => {
  it("end at their time or with their first process, and nothing of them lives on", LONG, async () => {
    const lane = await laneOf([
      hostile("deaf", "2s", "ignore-tree"),
      hostile("stopped", "2s", "stop-self"),
      hostile("relay", "2s", "relay"),
      hostile("daemon", "1m", "daemon"),
      hostile("daemon-pipe", "1m", "daemon-pipe"),
      hostile("daemon-deaf", "1m", "daemon-deaf"),
    ]);
    const life = await liveOnce(lane, lane.coordinate());
    expect(life.exit).toMatchObject({ code: 0, stderr: "" });
    const last = (id: string) => lastOf(life, id);
    expect(last("deaf")).toEqual(["timed_out", "settled", "killed-after-grace"]);
    for (const id of ["stopped", "relay"]) expect([id, ...last(id)]).toEqual([id, "timed_out", "settled"]);
    for (const id of ["daemon", "daemon-pipe", "daemon-deaf"])
      expect([id, ...last(id)]).toEqual([id, "success", "settled", "leaky"]);
    expect(lane.survivors()).toEqual([]);
  });

  it("one that starts hundreds of processes takes them all with it", LONG, async () => {
    const lane = await laneOf([hostile("many", "3s", `fork-bomb ${manyProcesses()}`)]);
    const life = await liveOnce(lane, lane.coordinate());
    expect(life.exit).toMatchObject({ code: 0, stderr: "" });
    expect(lastOf(life, "many")).toEqual(["timed_out", "settled"]);
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
