import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/clock.ts";
import { startTime } from "../../src/host/identity.ts";
import { type EndTreeResult, endTree, sweepMarker } from "../../src/run/kill.ts";
import { freshMarker, misbehave, PATH } from "./support.ts";

interface Orphan {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly startTime: string | null;
  readonly marker: string;
}

/** A job as a dead coordinator leaves it: in a session of its own, marked, supervised by nobody. */
async function orphan(mode: string, env: Record<string, string> = {}): Promise<Orphan> {
  const marker = freshMarker();
  const [program = "", ...args] = misbehave(mode);
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
    env: { PATH, ORCHESTRATE_JOB: marker, ...env },
  });
  await once(child.stdout, "data");
  const pid = child.pid ?? 0;
  return { child, pid, startTime: startTime(pid), marker };
}

const end = (job: Orphan, change: Partial<Orphan> = {}, graceMs = 5_000): Promise<EndTreeResult> =>
  endTree({ ...job, ...change, graceMs, clock: systemClock });

async function clearUp(job: Orphan): Promise<void> {
  expect(await end(job, {}, 0)).toMatchObject({ gone: true });
}

describe("ending the orphan of a dead coordinator", () => {
  it("asks it, waits for it, and proves that it is gone", async () => {
    const job = await orphan("polite-tree");
    const exit = once(job.child, "exit");
    expect(await end(job)).toEqual({ gone: true, killedAfterGrace: false, survivors: [] });
    expect((await exit)[1]).toBe("SIGTERM");
    expect(await sweepMarker(job.marker)).toEqual([]);
  });

  it("kills it when the grace is over, or at once when there is none", async () => {
    const deaf = await orphan("ignore-tree");
    expect(await end(deaf, {}, 200)).toEqual({ gone: true, killedAfterGrace: true, survivors: [] });
    const other = await orphan("ignore-tree");
    expect(await end(other, {}, 0)).toEqual({ gone: true, killedAfterGrace: false, survivors: [] });
  });

  it("continues a stopped one", async () => {
    const job = await orphan("sleep");
    process.kill(job.pid, "SIGSTOP");
    expect(await end(job)).toEqual({ gone: true, killedAfterGrace: false, survivors: [] });
  });

  it("never signals a process that has got its number since", async () => {
    const job = await orphan("sleep");
    const before = startTime(job.pid);
    for (const graceMs of [0, 100])
      expect(await end(job, { startTime: "12345", marker: freshMarker() }, graceMs)).toEqual({
        gone: true,
        killedAfterGrace: false,
        survivors: [],
      });
    expect(startTime(job.pid)).toBe(before);
    await clearUp(job);
  });

  it("takes an unknown start time for no proof: only the marker counts then", async () => {
    const job = await orphan("sleep");
    const stranger = { startTime: null, marker: freshMarker() };
    expect(await end(job, stranger, 0)).toEqual({ gone: true, killedAfterGrace: false, survivors: [] });
    expect(startTime(job.pid)).toBe(job.startTime);
    expect(await end(job, { startTime: null }, 0)).toMatchObject({ gone: true });
    expect(startTime(job.pid)).toBeNull();
  });

  it("finds what carries the marker when the leader is long gone", async () => {
    const job = await orphan("sleep");
    expect(await end(job, { pid: 999_999_999, startTime: "1" })).toMatchObject({ gone: true });
    expect(startTime(job.pid)).toBeNull();
  });

  it("has nothing to do when there is nothing", async () => {
    expect(
      await endTree({
        pid: 999_999_999,
        startTime: "1",
        marker: freshMarker(),
        graceMs: 5_000,
        clock: systemClock,
      }),
    ).toEqual({ gone: true, killedAfterGrace: false, survivors: [] });
  });

  it("ends several at once, each its own", async () => {
    const jobs = await Promise.all(Array.from({ length: 4 }, () => orphan("polite-tree")));
    const [kept, ...others] = jobs as [Orphan, ...Orphan[]];
    const results = await Promise.all(others.map((job) => end(job)));
    expect(results.every((result) => result.gone)).toBe(true);
    expect(startTime(kept.pid)).toBe(kept.startTime);
    await clearUp(kept);
  });
});

describe("sweeping for a marker", () => {
  it("finds all that carry it, whole and not in part", async () => {
    const job = await orphan("polite-tree");
    const found = await sweepMarker(job.marker);
    expect(found).toContain(job.pid);
    expect(found.length).toBeGreaterThan(1);
    expect(await sweepMarker(job.marker.slice(0, -1))).toEqual([]);
    expect(await sweepMarker(`${job.marker}x`)).toEqual([]);
    await clearUp(job);
  });

  it("finds the jobs that a job's own coordinator started", async () => {
    const outer = freshMarker();
    const job = await orphan("sleep", { ORCHESTRATE_JOB_ANCESTORS: `${outer}\n${outer} middle` });
    expect(await sweepMarker(outer)).toEqual([job.pid]);
    expect(await sweepMarker(`${outer} middle`)).toEqual([job.pid]);
    await clearUp({ ...job, pid: 999_999_999, marker: outer });
    expect(startTime(job.pid)).toBeNull();
  });

  it("finds it in an environment that is larger than one read", async () => {
    const filler = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`A_FILLER_${index}`, "x".repeat(4_000)]),
    );
    const marker = freshMarker();
    const [program = "", ...args] = misbehave("sleep");
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
      env: { PATH, ...filler, ORCHESTRATE_JOB: marker },
    });
    await once(child.stdout, "data");
    expect(await sweepMarker(marker)).toEqual([child.pid]);
    expect(
      await endTree({
        pid: child.pid ?? 0,
        startTime: startTime(child.pid ?? 0),
        marker,
        graceMs: 0,
        clock: systemClock,
      }),
    ).toMatchObject({ gone: true });
  });
});
