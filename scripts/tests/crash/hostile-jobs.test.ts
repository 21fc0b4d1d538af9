/** Jobs that do not want to end, through the built tool: each ends as it should, and no process of them is left. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { type Life, violations } from "./harness/invariants.ts";
import { createLane, type Lane, type LaneJob } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { WAITING } from "./harness/scenes.ts";
import { entriesBelow } from "./harness/tree.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const LONG = { timeout: SOAK ? 7_200_000 : 300_000 };
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

async function laneOf(jobs: readonly LaneJob[], git = false): Promise<Lane> {
  const lane = await createLane({ main: built.main, jobs, concurrency: Math.min(8, jobs.length), git });
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

/** Of a process that may be gone already. */
function peakMbOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

/** Gigabytes in a soak; far more than is kept in any case. */
const FLOOD_BYTES = SOAK ? 10_000_000_000 : 100_000_000;

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

  it("each strange end and output is told by name, and nothing outside is touched", LONG, async () => {
    const writer = "effect: scoped-write, isolation: worktree, checks: [looked at]";
    const lane = await laneOf(
      [
        {
          ...hostile("link", "1m", "symlink-out out"),
          fields: `timeout: 1m, ${writer}, owned_paths: [out], outputs: [{ path: out }]`,
        },
        { ...hostile("gone", "1m", "rm-cwd"), fields: `timeout: 1m, ${writer}, owned_paths: [any/**]` },
        hostile("reads", "1m", "read-stdin"),
        hostile("shut", "1m", "close-stdin"),
        hostile("segv", "1m", "segv"),
        hostile("code", "1m", "exit 3"),
        hostile("mute", "1m", "close-stdout"),
        hostile("flood", SOAK ? "2h" : "10m", `flood ${FLOOD_BYTES}`),
        hostile("flood-err", "1m", "flood-err 4000000"),
        hostile("long-line", "1m", "long-line 8000000"),
        hostile("ansi", "1m", "ansi"),
        hostile("utf8", "1m", "bad-utf8"),
        hostile("zeros", "1m", "nul"),
        hostile("bare", "1m", "no-newline"),
      ],
      true,
    );
    const life = await liveOnce(lane, lane.coordinate());
    expect(life.exit).toMatchObject({ code: 0, stderr: "" });
    if (typeof life.state === "string") throw new Error(life.state);
    const said = Object.entries(life.state.jobs).map(([id, job]) => {
      const last = job.attemptRecords.at(-1);
      return [id, [last?.status, last?.failureClass, last?.detail, ...(last?.flags ?? [])]];
    });
    const fine = ["success", null, null];
    expect(Object.fromEntries(said)).toEqual({
      link: ["failed", "BAD_OUTPUT", "`out` is a symbolic link"],
      gone: ["failed", "TOOL_FAILURE", `the job removed its own worktree \`${lane.runDir}/worktrees/gone\``],
      reads: fine,
      shut: fine,
      segv: ["failed", "RUNTIME_CRASH", "ended by signal SIGSEGV"],
      code: ["failed", "TOOL_FAILURE", "exited with 3"],
      mute: ["failed", "TOOL_FAILURE", "exited with 5"],
      flood: [...fine, "truncated"],
      "flood-err": [...fine, "truncated"],
      "long-line": [...fine, "truncated"],
      ansi: fine,
      utf8: fine,
      zeros: fine,
      bare: fine,
    });
    const flood = readFileSync(join(lane.runDir, "flood/stdout.txt"), "utf8");
    const [marker, dropped] = /\n\[… (\d+) bytes dropped …\]\n/.exec(flood) ?? ["", ""];
    expect(Buffer.byteLength(flood) - Buffer.byteLength(marker) + Number(dropped)).toBe(FLOOD_BYTES);
    expect(statSync(join(lane.runDir, "flood/stdout.txt")).size).toBeLessThan(1_100_000);
    for (const name of ["report.md", "report.html"])
      for (const control of ["\u0000", "\u001b"])
        expect(readFileSync(join(lane.runDir, name), "utf8")).not.toContain(control);
    const streams = entriesBelow(lane.runDir).filter((path) => path.endsWith(".jsonl"));
    for (const path of streams)
      for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean))
        expect(() => JSON.parse(line), path).not.toThrow();
    expect(lane.survivors()).toEqual([]);
  });

  it("one that eats memory costs its coordinator none, and ends where a limit lets it", LONG, async () => {
    const limited = (job: LaneJob): LaneJob => ({ ...job, script: `ulimit -v 262144\n${job.script}` });
    const lane = await laneOf([
      hostile("greedy", "2m", "eat-memory 400000000"),
      limited(hostile("limited", "2m", "eat-memory 400000000")),
    ]);
    const coordinator = lane.coordinate();
    let peakMb = 0;
    const timer = setInterval(() => {
      peakMb = Math.max(peakMb, peakMbOf(coordinator.pid));
    }, 20);
    const life = await liveOnce(lane, coordinator);
    clearInterval(timer);
    expect(life.exit).toMatchObject({ code: 0, stderr: "" });
    expect(lastOf(life, "greedy")).toEqual(["success", "settled"]);
    expect(lastOf(life, "limited")).toEqual(["failed", "settled"]);
    expect(lane.survivors()).toEqual([]);
    expect(peakMb).toBeGreaterThan(0);
    expect(peakMb).toBeLessThan(160);
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
