/** Watching a run from another process: what was appended is read once, a replaced snapshot is read anew. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { systemClock } from "../host/clock.ts";
import { type Disk, systemDisk } from "../host/disk.ts";
import { waitInDir } from "../host/watch.ts";
import { StateFaultError } from "./fault.ts";
import { indexJournal, sealBefore } from "./journal.ts";
import type { JournalRecord, State } from "./records.ts";
import { replay } from "./recover.ts";
import { load } from "./store.ts";

/** What moved in a state. */
export interface Changes {
  /** Jobs with a record of their own or of an attempt. */
  readonly jobs: ReadonlySet<string>;
  /** Records of the run, of approvals, arbiters and onboardings. */
  readonly others: boolean;
}

export interface Follower {
  /** Changes in place at `poll` as long as state.json is not replaced: ask again after each. */
  state(): State;
  /** What moved since this was asked last; null: anything may have, and at first. */
  changes(): Changes | null;
  /** Reads what is new; true when the state changed. Throws `StateFaultError`. */
  poll(): boolean;
  /**
   * Resolves true soon after the next change, false after `timeoutMs`; looks at most every `restMs`. Rejects with
   * `StateFaultError`.
   */
  changed(timeoutMs: number, restMs?: number): Promise<boolean>;
  close(): void;
}

/** File systems that report no changes are asked this often. */
const POLL_MS = 250;
/** However fast a run changes, it is read this often at most: its readers share the machine with its jobs. */
const REST_MS = 25;
/** Enough for `schemaVersion`, `seq` and `epoch`. */
const HEAD_BYTES = 80;

/** Throws `StateFaultError` when the run cannot be read. */
export function followRun(runDir: string, disk: Disk = systemDisk): Follower {
  const statePath = join(runDir, RUN_FILES.state);
  const journalPath = join(runDir, RUN_FILES.journal);
  let state: State;
  let stateId = "";
  /** Where the next whole line starts. */
  let offset = 0;
  /** The end of the line before it. */
  let seal: Buffer = Buffer.alloc(0);
  let journalId: string | undefined;
  let moved: { jobs: Set<string>; others: boolean } | null = null;

  const note = (record: JournalRecord): void => {
    if (moved === null) return;
    if ("jobId" in record) moved.jobs.add(record.jobId);
    else moved.others = true;
  };

  /** Inode numbers and coarse file times come again within a few milliseconds; seq, at the start of the text, does not. */
  const identity = (): string =>
    `${disk.stamp(statePath)?.id} ${disk.readFrom(statePath, 0, HEAD_BYTES).toString()}`;

  const reload = (): void => {
    // Taken before the read: a replacement in between is seen at the next poll.
    stateId = identity();
    const found = load(runDir, disk);
    if (!found.ok) throw new StateFaultError(found.error);
    state = found.value.state;
    offset = found.value.journalNext;
    seal = found.value.journalSeal;
    journalId = undefined;
    moved = null;
  };

  /** False when what was appended does not simply go on: then everything is read again. */
  const readOn = (): boolean => {
    const journal = disk.stamp(journalPath);
    if (journal === null || journal.size < offset) return false;
    if (journal.id === journalId) return true;
    journalId = journal.id;
    const bytes = disk.readFrom(journalPath, offset - seal.length);
    // Emptied and written again, a journal has another line before our place, or the middle of one.
    if (!bytes.subarray(0, seal.length).equals(seal)) return false;
    const index = indexJournal(bytes, seal.length);
    const lines = index.lines.filter((line) => line.start < index.next);
    let seq = state.seq;
    let epoch = state.epoch;
    for (const line of lines) {
      seq += 1;
      if (line.seq !== seq || line.epoch < epoch) return false;
      epoch = line.epoch;
    }
    if (!replay(state, bytes, lines, { runDir, applied: note }).ok) return false;
    offset += index.next - seal.length;
    seal = sealBefore(bytes, index.next);
    return true;
  };

  let polledAt = Number.NEGATIVE_INFINITY;
  const poll = (): boolean => {
    const before = state.seq;
    polledAt = systemClock.mono();
    if (identity() !== stateId || !readOn()) reload();
    return state.seq !== before;
  };

  reload();
  let closed = false;
  return {
    state: () => state,
    changes() {
      const since = moved;
      moved = { jobs: new Set(), others: false };
      return since;
    },
    poll,
    async changed(timeoutMs, restMs = REST_MS) {
      const look = (): boolean | null => (closed ? false : poll() ? true : null);
      const firstMs = Math.max(0, polledAt + restMs - systemClock.mono());
      const seen = await waitInDir({
        dir: runDir,
        look,
        timeoutMs,
        everyMs: POLL_MS,
        restMs,
        firstMs,
      });
      return seen ?? false;
    },
    close() {
      closed = true;
    },
  };
}
