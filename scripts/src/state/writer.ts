/**
 * Makes a state durable. Small states: state.json is replaced at each step and the journal stays empty. Large ones: a
 * synced journal line a step, and a snapshot when the journal has outgrown the last one, so that all bytes written stay
 * within a constant factor of the journal's.
 */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { RUN_FILES } from "../core/layout.ts";
import { POLICY } from "../core/policy.ts";
import type { Clock } from "../host/clock.ts";
import { type Disk, systemDisk } from "../host/disk.ts";
import { fencedFault, ioFault, StateFaultError } from "./fault.ts";
import { encodeLine } from "./journal.ts";
import type { Lock } from "./lock.ts";
import type { Job, JournalRecord, State } from "./records.ts";
import { headText, JOBS_END, jobText, sealText, stateText } from "./state-file.ts";

/** What tests replace. */
export interface WriterPorts {
  readonly disk: Disk;
  /** Runs `task` once everything that is ready in this turn of the event loop has run. */
  nextTurn(task: () => void): void;
  /** Up to this size the state is written whole at each step. */
  readonly inlineBytes: number;
  /** A snapshot is due when the journal is longer than both this and twice the last snapshot. */
  readonly journalFloorBytes: number;
}

export const writerPorts: WriterPorts = {
  disk: systemDisk,
  nextTurn: (task) => void setImmediate(task),
  inlineBytes: POLICY.STATE_INLINE_BYTES.value,
  journalFloorBytes: POLICY.STATE_INLINE_BYTES.value,
};

const JOURNAL_FACTOR = 2;
/** A snapshot of a large state is serialized in pieces of this size, and lets others run after this time. */
const CHUNK_CHARS = 256 * 1024;
const SLICE_MS = 8;

export interface WriterOptions {
  readonly runDir: string;
  readonly lock: Lock;
  readonly clock: Clock;
  readonly ports: WriterPorts;
  /** The live state: read at each write, changed only between writes or by replacing jobs. */
  readonly state: State;
  /** Size of state.json as it is on disk. */
  readonly stateBytes: number;
}

export class StateWriter {
  private readonly disk: Disk;
  private readonly statePath: string;
  private readonly journalPath: string;
  private readonly temp: string;
  /** Texts of unchanged jobs, while the state is small. */
  private readonly texts = new Map<string, { job: Job; text: string }>();
  private stateBytes: number;
  private journalBytes: number;
  private journalFd: number | null = null;
  /** The seq that state.json on disk is known to hold. */
  private snapshotSeq = -1;

  constructor(private readonly o: WriterOptions) {
    this.disk = o.ports.disk;
    this.statePath = join(o.runDir, RUN_FILES.state);
    this.journalPath = join(o.runDir, RUN_FILES.journal);
    this.temp = `${this.statePath}.${process.pid}.tmp`;
    this.stateBytes = o.stateBytes;
    this.journalBytes = this.disk.stamp(this.journalPath)?.size ?? 0;
  }

  /** One durable step; `state` holds the records and their seq already. `whole` leaves the journal empty. Throws `StateFaultError`. */
  async write(records: readonly JournalRecord[], whole: boolean): Promise<void> {
    if (records.length === 0 && (!whole || this.isWhole())) return;
    try {
      this.verify();
      if (this.stateBytes <= this.o.ports.inlineBytes) await this.replaceState((fd) => this.fillSmall(fd));
      else if (whole || !(await this.append(records))) await this.replaceState((fd) => this.fillLarge(fd));
      // A process that was stopped meanwhile must not act on a step that its successor has already judged.
      this.verify();
    } catch (error) {
      throw error instanceof StateFaultError
        ? error
        : new StateFaultError(ioFault("write", error, this.statePath));
    }
  }

  /**
   * What must hold before the first step: all that was found is on the platter. A predecessor may have died between a
   * rename and its sync, and a power loss would bring back the older state.json under our newer journal; or between a
   * line and its sync, and a power loss might keep our line behind it and lose its own; or between emptying the journal
   * and its sync, and a power loss might bring the old lines back with blocks of ours in their midst.
   */
  async prepare(): Promise<void> {
    for (const name of this.disk.list(this.o.runDir))
      if (LEFTOVER.test(name)) this.disk.remove(join(this.o.runDir, name));
    await this.disk.syncData(this.openJournal());
    await this.disk.syncDir(this.o.runDir);
  }

  close(): void {
    if (this.journalFd !== null) this.disk.close(this.journalFd);
    this.journalFd = null;
  }

  private isWhole(): boolean {
    return this.journalBytes === 0 && this.snapshotSeq === this.o.state.seq;
  }

  private verify(): void {
    if (!this.o.lock.verify()) throw new StateFaultError(fencedFault(this.o.runDir));
  }

  private openJournal(): number {
    this.journalFd ??= this.disk.openAppend(this.journalPath);
    return this.journalFd;
  }

  /** False when the journal would outgrow the snapshot: then a new snapshot is the cheaper step. */
  private async append(records: readonly JournalRecord[]): Promise<boolean> {
    const { seq, epoch, updatedAt } = this.o.state;
    const line = encodeLine({ seq, epoch, ts: updatedAt, records });
    const limit = Math.max(this.o.ports.journalFloorBytes, JOURNAL_FACTOR * this.stateBytes);
    if (this.journalBytes + line.length > limit) return false;
    try {
      const fd = this.openJournal();
      this.disk.write(fd, line);
      this.journalBytes += line.length;
      await this.disk.syncData(fd);
    } catch (error) {
      throw new StateFaultError(ioFault("write", error, this.journalPath));
    }
    return true;
  }

  /** Temporary file, sync, rename, sync of the folder; only then may the journal's lines go. */
  private async replaceState(fill: (fd: number) => number | Promise<number>): Promise<void> {
    const fd = this.disk.openNew(this.temp);
    let bytes = 0;
    try {
      bytes = await fill(fd);
      await this.disk.sync(fd);
    } finally {
      this.disk.close(fd);
    }
    this.verify();
    this.disk.rename(this.temp, this.statePath);
    await this.disk.syncDir(this.o.runDir);
    this.stateBytes = bytes;
    this.snapshotSeq = this.o.state.seq;
    if (bytes > this.o.ports.inlineBytes) this.texts.clear();
    if (this.journalBytes > 0) await this.emptyJournal();
  }

  private async emptyJournal(): Promise<void> {
    this.verify();
    try {
      const fd = this.openJournal();
      this.disk.truncate(fd);
      // Or a power loss might keep the old length under the blocks of the next line: a mixture of two lines.
      await this.disk.syncData(fd);
    } catch (error) {
      throw new StateFaultError(ioFault("write", error, this.journalPath));
    }
    this.journalBytes = 0;
  }

  private fillSmall(fd: number): number {
    const bytes = Buffer.from(stateText(this.o.state, (id, job) => this.cachedText(id, job)));
    this.disk.write(fd, bytes);
    return bytes.length;
  }

  private cachedText(id: string, job: Job): string {
    const known = this.texts.get(id);
    if (known?.job === job) return known.text;
    const text = jobText(id, job);
    this.texts.set(id, { job, text });
    return text;
  }

  /** Commits go on while this runs: they replace jobs in the live state, and the entries taken here stay as they were. */
  private async fillLarge(fd: number): Promise<number> {
    const { clock, ports, state } = this.o;
    const jobs = Object.entries(state.jobs);
    let text = headText(state);
    let crc = 0;
    let total = 0;
    // One for all pieces: hundreds of them would be as much as the file, until the collector comes.
    const room = Buffer.allocUnsafeSlow(2 * CHUNK_CHARS);
    const put = (last: string): void => {
      const bytes = encoded(text, room);
      crc = crc32(bytes, crc);
      const tail = Buffer.from(last === "" ? "" : sealText(crc));
      this.disk.write(fd, bytes);
      if (tail.length > 0) this.disk.write(fd, tail);
      total += bytes.length + tail.length;
      text = "";
    };
    let sliceEnds = clock.mono() + SLICE_MS;
    for (const [i, [id, job]] of jobs.entries()) {
      text += `${i === 0 ? "" : ","}\n${jobText(id, job)}`;
      if (text.length < CHUNK_CHARS) continue;
      put("");
      if (clock.mono() < sliceEnds) continue;
      await new Promise<void>((resolve) => ports.nextTurn(resolve));
      sliceEnds = clock.mono() + SLICE_MS;
    }
    text += JOBS_END;
    put("last");
    return total;
  }
}

/** The text's bytes, in `room` while they fit: UTF-8 takes at most three bytes for a character of a string. */
function encoded(text: string, room: Buffer): Buffer {
  return 3 * text.length <= room.length || Buffer.byteLength(text) <= room.length
    ? room.subarray(0, room.write(text))
    : Buffer.from(text);
}

const LEFTOVER = /^state\.json\.\d+\.tmp$/;
