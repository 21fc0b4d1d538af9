/** The one way to change a run: commits that are durable when their promise resolves, and readers that follow one rule. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import { type Disk, systemDisk } from "../host/disk.ts";
import { errorCode } from "../host/files.ts";
import { ioFault, type StateFault, StateFaultError } from "./fault.ts";
import type { Lock } from "./lock.ts";
import type { JournalRecord, State } from "./records.ts";
import { type Recovered, recover } from "./recover.ts";
import { stateText } from "./state-file.ts";
import { applyAll } from "./transition.ts";
import { StateWriter, type WriterPorts, writerPorts } from "./writer.ts";

export interface Store {
  /**
   * Ahead of the disk by the commits that are not resolved yet: await the commit that announces an effect before the
   * effect. Jobs and attempts are replaced when they change, so read them again after a commit.
   */
  readonly state: State;
  /**
   * Applies the records at once and atomically; resolves when they are durable. Commits of one event-loop turn share a
   * write and a sync. Throws `IllegalTransition` on a bug (nothing applied); rejects with `StateFaultError` when the
   * write failed or the lock was lost, and then so does every later commit.
   */
  commit(records: readonly JournalRecord[]): Promise<void>;
  /** Makes state.json whole and the journal empty. */
  snapshot(): Promise<void>;
  /** A last snapshot, then the files are closed. The lock stays with its owner. */
  close(): Promise<void>;
  /** Set for good by the first failed write. */
  readonly failed: Error | null;
}

/** Writes the first state.json and an empty journal, synced. Throws `StateFaultError`: `run-exists` or `io`. */
export function createRun(o: { runDir: string; initial: State; disk?: Disk }): void {
  const disk = o.disk ?? systemDisk;
  const statePath = join(o.runDir, RUN_FILES.state);
  const journalPath = join(o.runDir, RUN_FILES.journal);
  const exists = (): StateFaultError =>
    new StateFaultError({
      code: "run-exists",
      message: `\`${o.runDir}\` already holds a run.`,
      hint: "Go on with it by `resume`, or choose another run directory.",
      path: statePath,
      errno: null,
    });
  // A journal without its state.json would be read as part of the new one.
  if (disk.stamp(statePath) !== null || (disk.stamp(journalPath)?.size ?? 0) > 0) throw exists();
  const temp = `${statePath}.${process.pid}.tmp`;
  try {
    disk.remove(temp);
    disk.close(disk.openAppend(journalPath));
    const fd = disk.openNew(temp);
    try {
      disk.write(fd, Buffer.from(stateText(o.initial)));
      disk.syncNow(fd);
    } finally {
      disk.close(fd);
    }
    placeExclusively(disk, temp, statePath);
    disk.syncDirNow(o.runDir);
  } catch (error) {
    throw errorCode(error) === "EEXIST" ? exists() : new StateFaultError(ioFault("write", error, statePath));
  }
}

/** Two clients that prepare the same folder: one of them gets EEXIST, also on file systems without links. */
function placeExclusively(disk: Disk, temp: string, path: string): void {
  try {
    disk.link(temp, path);
  } catch (error) {
    if (errorCode(error) === "EEXIST" || disk.stamp(path) !== null) throw error;
    disk.rename(temp, path);
    return;
  }
  disk.remove(temp);
}

/** Recovers, repairs and takes over a run under a new epoch; what was repaired is appended to `state.notes`. */
export async function openStore(o: {
  runDir: string;
  lock: Lock;
  clock: Clock;
  ports?: Partial<WriterPorts>;
}): Promise<Result<Store, StateFault>> {
  const ports: WriterPorts = { ...writerPorts, ...o.ports };
  const found = load(o.runDir, ports.disk);
  if (!found.ok) return found;
  const { state, repairs, stateBytes } = found.value;
  state.epoch += 1;
  o.lock.adopt(state.epoch);
  try {
    const store = createStore({ runDir: o.runDir, lock: o.lock, clock: o.clock, ports, state, stateBytes });
    await store.takeOver(repairs);
    return ok(store);
  } catch (error) {
    return err(
      error instanceof StateFaultError
        ? error.fault
        : ioFault("write", error, join(o.runDir, RUN_FILES.state)),
    );
  }
}

/** The state as of now, by the one rule (snapshot plus later journal lines). Writes nothing; `repairs` is what a writer will cut. */
export function readRun(
  runDir: string,
  disk: Disk = systemDisk,
): Result<{ state: State; repairs: string[] }, StateFault> {
  return load(runDir, disk);
}

/** How often a reader starts over because a snapshot replaced state.json while it read. */
const READ_TRIES = 20;

export function load(runDir: string, disk: Disk): Result<Recovered, StateFault> {
  const statePath = join(runDir, RUN_FILES.state);
  const journalPath = join(runDir, RUN_FILES.journal);
  for (let tries = 1; ; tries++) {
    try {
      const before = disk.stamp(statePath)?.id;
      const state = disk.read(statePath);
      const journal = disk.read(journalPath);
      if (before !== disk.stamp(statePath)?.id && tries < READ_TRIES) continue;
      return recover({ runDir, state, journal });
    } catch (error) {
      return err(ioFault("read", error, statePath));
    }
  }
}

interface Batch {
  readonly records: JournalRecord[];
  whole: boolean;
  readonly done: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function newBatch(): Batch {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const done = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Whoever does not await a commit learns of its failure by `failed`, not by a crash of the process.
  done.catch(() => {});
  return { records: [], whole: false, done, resolve, reject };
}

function createStore(o: {
  runDir: string;
  lock: Lock;
  clock: Clock;
  ports: WriterPorts;
  state: State;
  stateBytes: number;
}): Store & { takeOver(repairs: readonly string[]): Promise<void> } {
  const { state, ports } = o;
  const writer = new StateWriter(o);
  let failed: Error | null = null;
  let next: Batch | null = null;
  let flushing = false;

  const enqueue = (records: readonly JournalRecord[], whole: boolean): Promise<void> => {
    next ??= newBatch();
    next.records.push(...records);
    next.whole ||= whole;
    if (!flushing) {
      flushing = true;
      ports.nextTurn(flush);
    }
    return next.done;
  };

  const flush = async (): Promise<void> => {
    while (next !== null) {
      const batch: Batch = next;
      next = null;
      try {
        if (failed !== null) throw failed;
        if (batch.records.length > 0) {
          state.seq += 1;
          state.updatedAt = isoTime(o.clock.now());
        }
        await writer.write(batch.records, batch.whole);
        batch.resolve();
      } catch (error) {
        failed ??= error as Error;
        batch.reject(failed);
      }
    }
    flushing = false;
  };

  return {
    state,
    get failed() {
      return failed;
    },
    commit(records) {
      if (failed !== null) return Promise.reject(failed);
      applyAll(state, records);
      return enqueue(records, false);
    },
    snapshot: () => enqueue([], true),
    async close() {
      try {
        await enqueue([], true);
      } finally {
        writer.close();
      }
    },
    async takeOver(repairs) {
      await writer.prepare();
      const notes = repairs.map((note): JournalRecord => ({ type: "run", patch: {}, note }));
      const records: JournalRecord[] = notes.length > 0 ? notes : [{ type: "run", patch: {} }];
      applyAll(state, records);
      return enqueue(records, repairs.length > 0);
    },
  };
}
