import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Disk, systemDisk } from "../../src/host/disk.ts";
import { StateFaultError } from "../../src/state/fault.ts";
import { followRun } from "../../src/state/follow.ts";
import type { JournalRecord } from "../../src/state/records.ts";
import { createRun, openStore, readRun, type Store } from "../../src/state/store.ts";
import { computed } from "../../src/state/transition.ts";
import type { WriterPorts } from "../../src/state/writer.ts";
import { runFixture } from "./processes.ts";
import { blankState, fixedClock, lifeOf, openLock } from "./support.ts";
import { tempDir } from "./temp-dir.ts";

const JOURNAL = { inlineBytes: 0, journalFloorBytes: 1e9 };

async function open(ports: Partial<WriterPorts> = JOURNAL): Promise<{ runDir: string; store: Store }> {
  const runDir = tempDir();
  createRun({ runDir, initial: blankState(["a", "b"]) });
  const opened = await openStore({ runDir, lock: openLock(), clock: fixedClock, ports });
  if (!opened.ok) throw new Error(opened.error.message);
  return { runDir, store: opened.value };
}

const note = (text: string): JournalRecord => ({ type: "run", patch: {}, note: text });

/** How often each file was read whole, and how many bytes were read behind a place. */
function countingDisk(): Disk & { whole: number; appended: number } {
  return {
    ...systemDisk,
    whole: 0,
    appended: 0,
    read(path) {
      if (path.endsWith("state.json")) this.whole += 1;
      return systemDisk.read(path);
    },
    readFrom(path, offset, length) {
      const bytes = systemDisk.readFrom(path, offset, length);
      if (path.endsWith("journal.jsonl")) this.appended += bytes.length;
      return bytes;
    },
  };
}

test.each([
  ["small", {}],
  ["large", JOURNAL],
])("each commit of a %s run is seen at the next poll, once", async (_name, ports) => {
  const { runDir, store } = await open(ports);
  const follower = followRun(runDir);
  for (const step of lifeOf("a")) {
    await store.commit(step);
    expect(follower.poll()).toBe(true);
    expect(follower.state()).toEqual(store.state);
    expect(follower.poll()).toBe(false);
  }
});

test("a large run is read once; after that only what was appended", async () => {
  const { runDir, store } = await open();
  const disk = countingDisk();
  const follower = followRun(runDir, disk);
  const before = readFileSync(join(runDir, "journal.jsonl")).length;
  for (let n = 0; n < 50; n++) {
    await store.commit([note(String(n))]);
    follower.poll();
  }
  expect(follower.state()).toEqual(store.state);
  expect(disk.whole).toBe(1);
  // Besides what is new, the 19 bytes that prove the place.
  expect(disk.appended).toBe(readFileSync(join(runDir, "journal.jsonl")).length - before + 50 * 19);
});

test("what moved is told once, and after a replaced snapshot anything may have", async () => {
  const { runDir, store } = await open();
  const follower = followRun(runDir);
  const nothing = { jobs: new Set(), others: false };
  expect(follower.changes()).toBeNull();
  expect(follower.changes()).toEqual(nothing);
  await store.commit([note("x")]);
  follower.poll();
  expect(follower.changes()).toEqual({ jobs: new Set(), others: true });
  const [opened, ...rest] = lifeOf("a");
  await store.commit(opened as JournalRecord[]);
  await store.commit([{ type: "job", jobId: "b", patch: { detail: "x" } }]);
  follower.poll();
  expect(follower.changes()).toEqual({ jobs: new Set(["a", "b"]), others: false });
  for (const step of rest) await store.commit(step);
  follower.poll();
  expect(follower.changes()?.jobs).toEqual(new Set(["a"]));
  follower.poll();
  expect(follower.changes()).toEqual(nothing);
  await store.snapshot();
  follower.poll();
  expect(follower.changes()).toBeNull();
});

test("a line that is half there waits for its other half", async () => {
  const { runDir, store } = await open();
  const path = join(runDir, "journal.jsonl");
  const follower = followRun(runDir);
  const start = readFileSync(path).length;
  await store.commit([note("x")]);
  const whole = readFileSync(path);
  for (let cut = start + 1; cut < whole.length; cut++) {
    writeFileSync(path, whole.subarray(0, cut));
    expect(follower.poll()).toBe(false);
  }
  writeFileSync(path, whole);
  expect(follower.poll()).toBe(true);
  expect(follower.state()).toEqual(store.state);
});

test("a snapshot, and a journal that has grown past the old place since, are read anew", async () => {
  const { runDir, store } = await open();
  const follower = followRun(runDir);
  await store.commit([note("1")]);
  follower.poll();
  await store.snapshot();
  for (let n = 0; n < 20; n++) await store.commit([note(String(n))]);
  expect(follower.poll()).toBe(true);
  expect(follower.state()).toEqual(store.state);
});

test("a journal that was emptied and has grown to exactly the old place is read anew", async () => {
  const { runDir, store } = await open();
  const path = join(runDir, "journal.jsonl");
  for (let n = 0; n < 5; n++) await store.commit([note("1")]);
  const lines = readFileSync(path, "utf8");
  await store.snapshot();
  // A reader that comes between the snapshot and the emptying of the journal.
  writeFileSync(path, lines);
  const follower = followRun(runDir);
  writeFileSync(path, "");
  while (readFileSync(path).length < lines.length) {
    const missing = lines.length - readFileSync(path).length;
    const bare = readFileSync(path).length;
    await store.commit([note("")]);
    const size = readFileSync(path).length - bare;
    if (missing - size > 0 && missing - size < 2 * size)
      await store.commit([note("x".repeat(missing - 2 * size))]);
  }
  expect(readFileSync(path).length).toBe(lines.length);
  expect(follower.poll()).toBe(true);
  expect(follower.state()).toEqual(store.state);
});

test("the records of the next coordinator are followed, those of a fenced one are not", async () => {
  const { runDir } = await open();
  const path = join(runDir, "journal.jsonl");
  const old = await openStore({ runDir, lock: openLock(), clock: fixedClock, ports: JOURNAL });
  const follower = followRun(runDir);
  if (!old.ok) throw new Error(old.error.message);
  const before = readFileSync(path, "utf8");
  await old.value.commit([note("fenced")]);
  const fenced = readFileSync(path, "utf8").slice(before.length);
  writeFileSync(path, before);
  const next = await openStore({ runDir, lock: openLock(), clock: fixedClock, ports: JOURNAL });
  if (!next.ok) throw new Error(next.error.message);
  writeFileSync(path, fenced, { flag: "a" });
  await next.value.commit([note("next")]);
  expect(follower.poll()).toBe(true);
  expect(follower.state()).toEqual(next.value.state);
  expect(follower.state().notes).toEqual(["next"]);
});

describe("waiting for a change", () => {
  test("ends at the change", async () => {
    const { runDir, store } = await open();
    const follower = followRun(runDir);
    const seen = follower.changed(60_000);
    await store.commit([note("x")]);
    expect(await seen).toBe(true);
    expect(follower.state().notes).toEqual(["x"]);
  });

  test("ends at once when there was one already", async () => {
    const { runDir, store } = await open();
    const follower = followRun(runDir);
    await store.commit([note("x")]);
    expect(await follower.changed(60_000)).toBe(true);
  });

  test("does not look again and again while a writer is busy", async () => {
    const { runDir, store } = await open();
    const disk = countingDisk();
    const follower = followRun(runDir, disk);
    const started = performance.now();
    let woken = 0;
    while (performance.now() - started < 300) {
      await store.commit([note("x")]);
      if (woken === 0 || (await follower.changed(60_000))) woken += 1;
    }
    expect(woken).toBeLessThanOrEqual(2 + (performance.now() - started) / 25);
    expect(follower.poll() || follower.state().notes.length > 0).toBe(true);
  });

  test("ends after its time without one", async () => {
    const { runDir } = await open();
    expect(await followRun(runDir).changed(20)).toBe(false);
  });

  test("ends without a change when the follower is closed", async () => {
    const { runDir, store } = await open();
    const follower = followRun(runDir);
    const seen = follower.changed(60_000);
    follower.close();
    await store.commit([note("x")]);
    expect(await seen).toBe(false);
  });

  test("fails by name when the run is taken away", async () => {
    const { runDir } = await open();
    const follower = followRun(runDir);
    const seen = follower.changed(60_000);
    rmSync(join(runDir, "state.json"));
    await expect(seen).rejects.toBeInstanceOf(StateFaultError);
  });
});

test("a run that cannot be read is refused at the start", () => {
  const runDir = tempDir();
  expect(() => followRun(runDir)).toThrow(`\`${runDir}\` holds no run: there is no state.json.`);
});

test.each([
  ["small", 1e9, 0],
  ["large with few snapshots", 0, 1e9],
  ["large with a snapshot every few lines", 0, 4_000],
])(
  "a %s run that another process writes is followed without a gap, a step back or a half-applied record",
  async (_name, inlineBytes, floor) => {
    const runDir = tempDir();
    const ids = Array.from({ length: 60 }, (_, i) => `job-${i}`);
    createRun({ runDir, initial: blankState(ids) });
    const follower = followRun(runDir);
    const writer = runFixture("busy-writer.ts", [runDir, String(inlineBytes), String(floor)]);
    let seq = 0;
    let seen = 0;
    while (follower.state().status !== "ended") {
      if (!(await follower.changed(200))) continue;
      const state = follower.state();
      expect(state.seq).toBeGreaterThan(seq);
      seq = state.seq;
      seen += 1;
      for (const job of Object.values(state.jobs)) expect(computed(structuredClone(job))).toEqual(job);
    }
    await writer;
    follower.poll();
    expect(seen).toBeGreaterThan(1);
    const found = readRun(runDir);
    expect(found.ok && found.value.state).toEqual(follower.state());
    for (const job of Object.values(follower.state().jobs)) expect(job.outcome).toBe("accepted");
  },
  300_000,
);
