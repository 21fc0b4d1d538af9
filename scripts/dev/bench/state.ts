/**
 * What does it cost to make a state transition durable? Prints CPU per transition at 8 in flight, syncs and bytes.
 *
 *   npx tsx scripts/dev/bench/state.ts [--jobs 10000] [--in-flight 8] [--dir DIR]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/host/clock.ts";
import { type Disk, systemDisk } from "../../src/host/disk.ts";
import { acquireLock } from "../../src/state/lock.ts";
import { createRun, openStore, readRun, type Store } from "../../src/state/store.ts";
import { blankState, lifeOf } from "../../tests/state/support.ts";
import { figure } from "./measure.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "10000" },
    "in-flight": { type: "string", default: "8" },
    figures: { type: "boolean", default: false },
    dir: { type: "string", default: tmpdir() },
  },
});
const jobs = Number(values.jobs);
const inFlight = Number(values["in-flight"]);
const runDir = mkdtempSync(join(values.dir, "bench-state-"));
const count = { journal: 0, snapshots: 0, snapshotFiles: 0, syncs: 0 };

try {
  await main();
} finally {
  rmSync(runDir, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const ids = Array.from({ length: jobs }, (_, i) => `job-${i}`);
  createRun({ runDir, initial: blankState(ids) });
  const lock = acquireLock({ runDir, clock: systemClock });
  if (!lock.ok) throw new Error(lock.error.reason);
  const opened = await openStore({
    runDir,
    lock: lock.value,
    clock: systemClock,
    ports: { disk: counting() },
  });
  if (!opened.ok) throw new Error(opened.error.message);
  const store = opened.value;
  count.journal = count.snapshots = count.snapshotFiles = count.syncs = 0;
  const longest = watchTurns();
  const cpu = process.cpuUsage();
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, () => worker(store, ids)));
  await store.close();
  const wall = performance.now() - started;
  const used = process.cpuUsage(cpu);
  const blocked = longest();
  lock.value.release();
  const transitions = jobs * 4;
  const cpuMs = (used.user + used.system) / 1000;
  const total = count.journal + count.snapshots;
  print("transitions", `${transitions} of ${jobs} jobs, ${inFlight} in flight`);
  print("cpu a transition", `${(cpuMs / transitions).toFixed(4)} ms`);
  print("wall a transition", `${(wall / transitions).toFixed(4)} ms`);
  print("syncs a job", `${(count.syncs / jobs).toFixed(3)}`);
  print("journal written", `${mb(count.journal)} MB`);
  print("snapshots written", `${mb(count.snapshots)} MB in ${count.snapshotFiles} files`);
  print("bytes in all", `${(total / Math.max(1, count.journal)).toFixed(2)} x journal`);
  print("longest turn", `${blocked.toFixed(1)} ms (goal: at most 50)`);
  print("peak memory", `${mb(process.resourceUsage().maxRSS * 1024)} MB`);
  const told = [
    ["durable transition, 8 in flight", cpuMs / transitions, "cpu ms", 0.06],
    ["syncs a job", count.syncs / jobs, "", 2],
    ["bytes written, to those of the journal", total / Math.max(1, count.journal), "x", 3],
  ] as const;
  for (const [name, value, unit, limit] of told) figure({ name, value, unit, limit });
  const readStart = performance.now();
  const read = readRun(runDir);
  print(
    "reading it back",
    `${(performance.now() - readStart).toFixed(0)} ms, ${read.ok ? "whole" : read.error.message}`,
  );
}

/** One slot of the run: takes a job through its life, each step awaited. */
async function worker(store: Store, ids: string[]): Promise<void> {
  for (let id = ids.pop(); id !== undefined; id = ids.pop())
    for (const step of lifeOf(id)) await store.commit(step);
}

/** The longest time that the event loop did not turn, in ms. */
function watchTurns(): () => number {
  const resolution = 5;
  const histogram = monitorEventLoopDelay({ resolution });
  histogram.enable();
  return () => {
    histogram.disable();
    return histogram.max / 1e6 - resolution;
  };
}

function counting(): Disk {
  const journals = new Set<number>();
  return {
    ...systemDisk,
    openAppend(path) {
      const fd = systemDisk.openAppend(path);
      journals.add(fd);
      return fd;
    },
    openNew(path) {
      count.snapshotFiles += 1;
      return systemDisk.openNew(path);
    },
    write(fd, data) {
      count[journals.has(fd) ? "journal" : "snapshots"] += data.length;
      systemDisk.write(fd, data);
    },
    sync(fd) {
      count.syncs += 1;
      return systemDisk.sync(fd);
    },
    syncData(fd) {
      count.syncs += 1;
      return systemDisk.syncData(fd);
    },
    syncDir(path) {
      count.syncs += 1;
      return systemDisk.syncDir(path);
    },
  };
}

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(20)} ${figure}`);
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
