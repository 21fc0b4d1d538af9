import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { validate as validateInbox } from "../../src/core/generated/inbox.validate.js";
import { validate as validateJournal } from "../../src/core/generated/journal.validate.js";
import { validate as validateState } from "../../src/core/generated/state.validate.js";
import { StateFaultError } from "../../src/state/fault.ts";
import type { JournalRecord } from "../../src/state/records.ts";
import { createRun, openStore, readRun, type Store } from "../../src/state/store.ts";
import { IllegalTransition } from "../../src/state/transition.ts";
import type { WriterPorts } from "../../src/state/writer.ts";
import { type WatchedDisk, watchedDisk } from "./disks.ts";
import { attempt, blankState, fixedClock, lifeOf, openLock } from "./support.ts";
import { tempDir } from "./temp-dir.ts";

const JOURNAL: Partial<WriterPorts> = { inlineBytes: 0, journalFloorBytes: 1e9 };

interface Opened {
  readonly runDir: string;
  readonly store: Store;
  readonly disk: WatchedDisk;
  readonly lock: ReturnType<typeof openLock>;
}

async function open(jobs: readonly string[], ports: Partial<WriterPorts> = {}): Promise<Opened> {
  const runDir = tempDir();
  createRun({ runDir, initial: blankState(jobs) });
  const disk = watchedDisk();
  const lock = openLock();
  const opened = await openStore({ runDir, lock, clock: fixedClock, ports: { disk, ...ports } });
  if (!opened.ok) throw new Error(opened.error.message);
  disk.calls.length = 0;
  disk.bytes.all = disk.bytes.journal = 0;
  return { runDir, store: opened.value, disk, lock };
}

const note = (text: string): JournalRecord => ({ type: "run", patch: {}, note: text });
const journalOf = (runDir: string): string => readFileSync(join(runDir, "journal.jsonl"), "utf8");

describe("a small run", () => {
  test("is whole in state.json at each step, and its journal stays empty", async () => {
    const { runDir, store } = await open(["a", "b"]);
    for (const id of ["a", "b"])
      for (const step of lifeOf(id)) {
        await store.commit(step);
        const text = readFileSync(join(runDir, "state.json"), "utf8");
        expect(validateState(JSON.parse(text))).toBe(true);
        expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: store.state, repairs: [] } });
        expect(journalOf(runDir)).toBe("");
      }
    expect(store.state.jobs["a"]).toMatchObject({ status: "success", outcome: "accepted", attempts: 1 });
  });

  test("is replaced by temporary file, sync, rename and sync of the folder, in that order", async () => {
    const { store, disk } = await open(["a"]);
    await store.commit([note("x")]);
    expect(disk.calls).toEqual(["openNew", "write", "sync", "rename", "syncDir"]);
  });

  test("has one line a job and its files are private", async () => {
    const { runDir } = await open(["a", "b"]);
    const lines = readFileSync(join(runDir, "state.json"), "utf8").split("\n");
    expect(lines.map((line) => line.slice(0, 6))).toEqual(['{"sche', '"a":{"', '"b":{"', "},", '"crc":', ""]);
    for (const name of readdirSync(runDir)) expect(statSync(join(runDir, name)).mode & 0o777).toBe(0o600);
  });
});

describe("a large run", () => {
  test("appends one synced line a step, and state.json is untouched", async () => {
    const { runDir, store, disk } = await open(["a"], JOURNAL);
    const before = readFileSync(join(runDir, "state.json"));
    for (const step of lifeOf("a")) await store.commit(step);
    expect(disk.calls).toEqual(Array(4).fill(["write", "syncData"]).flat());
    expect(readFileSync(join(runDir, "state.json")).equals(before)).toBe(true);
    const lines = journalOf(runDir)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => [line.seq, line.epoch])).toEqual([1, 2, 3, 4, 5].map((seq) => [seq, 1]));
    for (const line of lines) expect(validateJournal(line)).toBe(true);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: store.state, repairs: [] } });
  });

  test("goes over from one way to the other by its size", async () => {
    const { runDir, store, disk } = await open(["a", "b", "c"], {
      inlineBytes: 6_000,
      journalFloorBytes: 1e9,
    });
    await store.commit([{ type: "attempt-open", jobId: "a", attempt: attempt(1) }]);
    expect(disk.count("syncData")).toBe(0);
    await store.commit([
      { type: "attempt-open", jobId: "b", attempt: attempt(1, { detail: "x".repeat(4_000) }) },
    ]);
    expect(journalOf(runDir)).toBe("");
    await store.commit([{ type: "attempt-open", jobId: "c", attempt: attempt(1) }]);
    expect(journalOf(runDir)).not.toBe("");
    await store.commit([{ type: "attempt", jobId: "b", attempt: 1, patch: { detail: null } }]);
    await store.snapshot();
    expect(journalOf(runDir)).toBe("");
    await store.commit([note("small again")]);
    expect(journalOf(runDir)).toBe("");
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: store.state } });
  });

  test("is whole after snapshot and after close, and a second snapshot writes nothing", async () => {
    const { runDir, store, disk } = await open(["a"], JOURNAL);
    await store.commit([note("x")]);
    await store.snapshot();
    expect(journalOf(runDir)).toBe("");
    const made = disk.calls.length;
    await store.snapshot();
    expect(disk.calls.length).toBe(made);
    await store.commit([note("y")]);
    await store.close();
    expect(journalOf(runDir)).toBe("");
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: { notes: ["x", "y"] }, repairs: [] } });
  });

  test("writes at most three times its journal, whatever its length", async () => {
    const ids = Array.from({ length: 400 }, (_, i) => `job-${i}`);
    const { runDir, store, disk } = await open(ids);
    for (const id of ids) for (const step of lifeOf(id)) await store.commit(step);
    await store.close();
    expect(disk.bytes.all / disk.bytes.journal).toBeLessThan(3);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { repairs: [] } });
    const found = readRun(runDir);
    expect(found.ok && JSON.stringify(found.value.state)).toBe(JSON.stringify(store.state));
  });

  test("lets others run while a snapshot is written, and what they commit meanwhile is kept", async () => {
    const ids = Array.from({ length: 600 }, (_, i) => `job-${i}`);
    let clock = 0;
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(ids) });
    const opened = await openStore({
      runDir,
      lock: openLock(),
      // Each look at the clock is a slice later, so that each piece ends a slice.
      clock: { now: () => 0, mono: () => (clock += 100) },
      ports: JOURNAL,
    });
    if (!opened.ok) throw new Error(opened.error.message);
    const store = opened.value;
    await store.commit(ids.map((id) => ({ type: "attempt-open", jobId: id, attempt: attempt(1) })));
    const whole = store.snapshot();
    let turns = 0;
    const during: Promise<void>[] = [];
    const spin = setInterval(() => {}, 1);
    const turn = (): void => {
      turns += 1;
      const id = ids[turns % ids.length] as string;
      if (store.state.jobs[id]?.attemptRecords[0]?.status === "queued")
        during.push(store.commit([{ type: "attempt", jobId: id, attempt: 1, patch: { status: "running" } }]));
    };
    let going = true;
    const loop = (): void => {
      turn();
      if (going) setImmediate(loop);
    };
    loop();
    await whole;
    going = false;
    clearInterval(spin);
    expect(turns).toBeGreaterThan(3);
    await Promise.all(during);
    const found = readRun(runDir);
    expect(found.ok && JSON.stringify(found.value.state)).toBe(JSON.stringify(store.state));
  });
});

describe("group commit", () => {
  test("all commits of one turn share a write and a sync", async () => {
    const ids = ["a", "b", "c", "d"];
    const { runDir, store, disk } = await open(ids, JOURNAL);
    await Promise.all(
      ids.map(async (id) => {
        for (const step of lifeOf(id)) await store.commit(step);
      }),
    );
    expect(disk.count("syncData")).toBe(4);
    expect(disk.count("write")).toBe(4);
    expect(journalOf(runDir).trim().split("\n")).toHaveLength(5);
  });

  test("commits made while a write is under way go into the next one", async () => {
    const { store, disk } = await open(["a"], JOURNAL);
    const first = store.commit([note("1")]);
    await new Promise((resolve) => setImmediate(resolve));
    const rest = [store.commit([note("2")]), store.commit([note("3")])];
    await Promise.all([first, ...rest]);
    expect(disk.count("syncData")).toBe(2);
    expect(store.state.notes).toEqual(["1", "2", "3"]);
  });

  test("a chain pays one sync a step", async () => {
    const { store, disk } = await open(["a"], JOURNAL);
    for (const step of lifeOf("a")) await store.commit(step);
    expect(disk.count("syncData")).toBe(4);
  });

  test("a commit resolves only after the sync that carries it", async () => {
    const { store, disk } = await open(["a"], JOURNAL);
    const order: string[] = [];
    const syncData = disk.syncData;
    disk.syncData = async (fd) => {
      await syncData(fd);
      order.push("synced");
    };
    await store.commit([note("x")]).then(() => order.push("resolved"));
    expect(order).toEqual(["synced", "resolved"]);
  });
});

describe("an illegal change", () => {
  test("throws, applies nothing of its commit and leaves the store usable", async () => {
    const { runDir, store } = await open(["a"]);
    const before = JSON.stringify(store.state);
    expect(() => store.commit([note("x"), { type: "job", jobId: "nobody", patch: {} }])).toThrow(
      IllegalTransition,
    );
    expect(JSON.stringify(store.state)).toBe(before);
    await store.commit([note("y")]);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: { notes: ["y"] } } });
  });
});

describe("a failed write", () => {
  test.each([
    [
      "openNew",
      "EACCES",
      {},
      "state.json",
      "Make the run directory readable and writable for you, then `resume` the run.",
    ],
    ["write", "ENOSPC", {}, "state.json", "Free some space, then `resume` the run."],
    ["sync", "EIO", {}, "state.json", "Check the disk and the folder, then `resume` the run."],
    [
      "rename",
      "EROFS",
      {},
      "state.json",
      "Mount the file system writable, or copy the run directory to one that is, then `resume` the run.",
    ],
    ["syncDir", "EIO", {}, "state.json", "Check the disk and the folder, then `resume` the run."],
    ["write", "EDQUOT", JOURNAL, "journal.jsonl", "Free some of your quota, then `resume` the run."],
    ["syncData", "EIO", JOURNAL, "journal.jsonl", "Check the disk and the folder, then `resume` the run."],
  ] as const)(
    "of %s (%s) is final, names file and errno, and nothing is tried again",
    async (call, code, ports, file, hint) => {
      const { runDir, store, disk } = await open(["a", "b"], ports);
      await store.commit([note("before")]);
      disk.failAt(call, code);
      const lost = store.commit([note("lost")]);
      const path = join(runDir, file);
      await expect(lost).rejects.toEqual(
        new StateFaultError({
          code: "io",
          message: `Cannot write \`${path}\`: ${code}.`,
          hint,
          path,
          errno: code,
        }),
      );
      expect(store.failed).toBeInstanceOf(StateFaultError);
      const made = disk.calls.length;
      await expect(store.commit([note("later")])).rejects.toBe(store.failed);
      await expect(store.snapshot()).rejects.toBe(store.failed);
      await expect(store.close()).rejects.toBe(store.failed);
      expect(disk.calls.length).toBe(made);
      const next = await openStore({ runDir, lock: openLock(), clock: fixedClock });
      expect(next).toMatchObject({ ok: true });
      expect(next.ok && next.value.state.notes[0]).toBe("before");
      expect(readdirSync(runDir).sort()).toEqual(["journal.jsonl", "state.json"]);
    },
  );

  test("that nobody awaits does not end the process, and stops what follows", async () => {
    const { store, disk } = await open(["a"]);
    disk.failAt("sync", "EIO");
    void store.commit([note("x")]);
    await expect(store.snapshot()).rejects.toBeInstanceOf(StateFaultError);
    expect(store.failed).toMatchObject({ fault: { errno: "EIO" } });
  });

  test("rejects every commit of its group and all that waited behind it", async () => {
    const { store, disk } = await open(["a"], JOURNAL);
    disk.failAt("syncData", "EIO");
    const group = [store.commit([note("1")]), store.commit([note("2")])];
    await new Promise((resolve) => setImmediate(resolve));
    const behind = store.commit([note("3")]);
    const results = await Promise.allSettled([...group, behind]);
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("while taking over is an answer, not a crash", async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const disk = watchedDisk();
    disk.failAt("sync", "ENOSPC");
    const opened = await openStore({ runDir, lock: openLock(), clock: fixedClock, ports: { disk } });
    expect(opened).toMatchObject({ ok: false, error: { code: "io", errno: "ENOSPC" } });
  });
});

describe("a lost lock", () => {
  test.each([
    ["inline", {}],
    ["journal", JOURNAL],
  ])("stops the %s writer before it writes a byte", async (_name, ports) => {
    const { runDir, store, disk, lock } = await open(["a"], ports);
    await store.commit([note("mine")]);
    lock.lost = true;
    const made = disk.calls.length;
    const before = [readFileSync(join(runDir, "state.json"), "utf8"), journalOf(runDir)];
    await expect(store.commit([note("late")])).rejects.toEqual(
      new StateFaultError({
        code: "fenced",
        message: `This coordinator no longer holds the lock of \`${runDir}\`, so it wrote nothing and stops.`,
        hint: "See who coordinates now by `status`; that process goes on.",
        path: runDir,
        errno: null,
      }),
    );
    expect(disk.calls.length).toBe(made);
    expect([readFileSync(join(runDir, "state.json"), "utf8"), journalOf(runDir)]).toEqual(before);
  });

  test("between the write and its sync rejects the commit, so that nothing is done on it", async () => {
    const { store, disk, lock } = await open(["a"], JOURNAL);
    const write = disk.write;
    Object.assign(disk, {
      write(fd: number, data: Uint8Array) {
        write(fd, data);
        lock.lost = true;
      },
    });
    await expect(store.commit([note("x")])).rejects.toMatchObject({ fault: { code: "fenced" } });
  });
});

describe("a new run", () => {
  test("is not laid over another", () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const before = readFileSync(join(runDir, "state.json"));
    const again = () => createRun({ runDir, initial: blankState(["b"]) });
    expect(again).toThrow(`\`${runDir}\` already holds a run.`);
    expect(readFileSync(join(runDir, "state.json")).equals(before)).toBe(true);
    rmSync(join(runDir, "state.json"));
    writeFileSync(join(runDir, "journal.jsonl"), "left over\n");
    expect(again).toThrow(`\`${runDir}\` already holds a run.`);
  });

  test("in a folder that is not there is a fault with path and errno", () => {
    const runDir = join(tempDir(), "gone");
    expect(() => createRun({ runDir, initial: blankState([]) })).toThrow(
      new StateFaultError({
        code: "io",
        message: `Cannot write \`${join(runDir, "journal.jsonl")}\`: ENOENT.`,
        hint: "The run directory was moved or removed while the run went on; put it back, then `resume` the run.",
        path: join(runDir, "journal.jsonl"),
        errno: "ENOENT",
      }),
    );
  });

  test("leaves state.json and an empty journal, nothing else", () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    expect(readdirSync(runDir).sort()).toEqual(["journal.jsonl", "state.json"]);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: blankState(["a"]), repairs: [] } });
  });
});

test("reading writes nothing", async () => {
  const { runDir, store } = await open(["a"], JOURNAL);
  await store.commit([note("x")]);
  writeFileSync(join(runDir, "journal.jsonl"), "torn", { flag: "a" });
  const stamp = () =>
    readdirSync(runDir).map((name) => [
      name,
      statSync(join(runDir, name)).mtimeMs,
      statSync(join(runDir, name)).size,
    ]);
  const before = stamp();
  expect(readRun(runDir)).toMatchObject({
    ok: true,
    value: { repairs: [expect.stringContaining("4 bytes")] },
  });
  expect(stamp()).toEqual(before);
});

test("what a predecessor may have left unsynced is synced before anything is written behind it", async () => {
  const { runDir } = await open(["a"], JOURNAL);
  const disk = watchedDisk();
  await openStore({ runDir, lock: openLock(), clock: fixedClock, ports: { ...JOURNAL, disk } });
  expect(disk.calls).toEqual(["openAppend", "syncData", "syncDir", "write", "syncData"]);
});

test("each opening raises the epoch, in a small and in a large run", async () => {
  for (const ports of [{}, JOURNAL]) {
    const { runDir, store } = await open(["a"], ports);
    expect(store.state.epoch).toBe(1);
    const lock = {
      ...openLock(),
      adopted: 0,
      adopt(epoch: number) {
        this.adopted = epoch;
      },
    };
    const next = await openStore({ runDir, lock, clock: fixedClock, ports });
    expect(next.ok && next.value.state.epoch).toBe(2);
    expect(lock.adopted).toBe(2);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: { epoch: 2 } } });
  }
});

test("the shapes of journal and inbox refuse what they do not know", () => {
  expect(validateJournal({ seq: 1, epoch: 1, ts: "", records: [{ type: "other" }], crc: "00000000" })).toBe(
    false,
  );
  expect(validateInbox({ schemaVersion: 1, id: "x", at: "", command: { kind: "other" } })).toBe(false);
});
