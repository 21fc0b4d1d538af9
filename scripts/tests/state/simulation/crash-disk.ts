/**
 * A disk in memory that tells content in the page cache from content on the platter. It fails or stops at a chosen
 * operation; after a power loss each unsynced block and each unsynced name may or may not have survived.
 */
import type { Disk } from "../../../src/host/disk.ts";
import type { Random } from "./random.ts";

interface Inode {
  readonly id: number;
  /** What every process sees. */
  cache: Buffer;
  /** What is known to be on the platter. */
  platter: Buffer;
  /** Since the last sync, in order. */
  unsynced: DataChange[];
  /** How many changes there were in all, and how many of them are on the platter. */
  changes: number;
  synced: number;
}

type DataChange = { readonly at: number; readonly data: Buffer } | "truncate";
type NameChange = { readonly name: string; readonly inode: Inode | null };

/** Thrown by every operation of a process that is gone. */
export class Gone extends Error {}

export type Fault = "kill-before" | "kill-after" | "torn" | "EIO" | "ENOSPC" | "EACCES";

export interface FaultPlan {
  /** Counted over the operations of one process, from 1. */
  readonly at: number;
  readonly fault: Fault;
}

const BLOCK = 64;

export class CrashDisk {
  private names = new Map<string, Inode>();
  private platterNames = new Map<string, Inode>();
  /** One entry an operation; a rename changes two names at once. */
  private unsyncedNames: NameChange[][] = [];
  /** How many there were in all, and how many of them are on the platter. */
  private changes = 0;
  private syncedChanges = 0;
  private inodes = 0;

  /** The view of one process. `onGone` is told when the plan kills it; `later` resolves syncs. */
  process(o: {
    plan: FaultPlan | null;
    later: (task: () => void) => void;
    onGone: () => void;
    onWrite?: (path: string) => void;
    /** A disk that says it synced and did not. */
    lies?: boolean;
  }): Disk & { readonly operations: number; kill(): void } {
    return new ProcessView(this, o);
  }

  /** Every process is gone; what was not synced survives in part. */
  losePower(random: Random): void {
    const names = new Map(this.platterNames);
    const ordered = random.chance(0.5);
    const until = random.int(this.unsyncedNames.length + 1);
    for (const [i, changes] of this.unsyncedNames.entries())
      if (ordered ? i < until : random.chance(0.5)) for (const change of changes) setName(names, change);
    for (const inode of new Set([...names.values(), ...this.names.values()])) survive(inode, random);
    this.names = new Map(names);
    this.platterNames = names;
    this.unsyncedNames = [];
    this.syncedChanges = this.changes;
  }

  lookup(path: string): Inode | undefined {
    return this.names.get(path);
  }

  create(path: string): Inode {
    this.inodes += 1;
    const empty = Buffer.alloc(0);
    const inode: Inode = {
      id: this.inodes,
      cache: empty,
      platter: empty,
      unsynced: [],
      changes: 0,
      synced: 0,
    };
    this.rename([{ name: path, inode }]);
    return inode;
  }

  rename(changes: NameChange[]): void {
    for (const change of changes) setName(this.names, change);
    this.unsyncedNames.push(changes);
    this.changes += 1;
  }

  list(dir: string): string[] {
    return [...this.names.keys()]
      .filter((name) => name.startsWith(`${dir}/`))
      .map((name) => name.slice(dir.length + 1));
  }

  /** Returns what puts the names as they are now on the platter. */
  nameSync(): () => void {
    const names = new Map(this.names);
    const upTo = this.changes;
    return () => {
      if (upTo <= this.syncedChanges) return;
      this.unsyncedNames = this.unsyncedNames.slice(upTo - this.syncedChanges);
      this.syncedChanges = upTo;
      this.platterNames = names;
    };
  }
}

function setName(names: Map<string, Inode>, change: NameChange): void {
  if (change.inode === null) names.delete(change.name);
  else names.set(change.name, change.inode);
}

function survive(inode: Inode, random: Random): void {
  let content = inode.platter;
  const ordered = random.chance(0.5);
  const blocks = inode.unsynced.flatMap(blocksOf);
  const until = random.int(blocks.length + 1);
  for (const [i, block] of blocks.entries())
    if (ordered ? i < until : random.chance(0.5)) content = change(content, block);
  inode.platter = content;
  inode.cache = content;
  inode.unsynced = [];
  inode.changes += 1;
  inode.synced = inode.changes;
}

function blocksOf(c: DataChange): DataChange[] {
  if (c === "truncate") return [c];
  const blocks: DataChange[] = [];
  for (let at = 0; at < c.data.length; at += BLOCK)
    blocks.push({ at: c.at + at, data: c.data.subarray(at, at + BLOCK) });
  return blocks;
}

function change(content: Buffer, c: DataChange): Buffer {
  if (c === "truncate") return Buffer.alloc(0);
  // A block behind a lost one leaves a hole, which reads as zeros.
  const size = Math.max(content.length, c.at + c.data.length);
  const next = Buffer.alloc(size);
  content.copy(next);
  c.data.copy(next, c.at);
  return next;
}

class ProcessView implements Disk {
  operations = 0;
  private gone = false;
  private readonly fds = new Map<number, { inode: Inode; path: string }>();
  private nextFd = 3;

  constructor(
    private readonly disk: CrashDisk,
    private readonly o: Parameters<CrashDisk["process"]>[0],
  ) {}

  kill(): void {
    if (this.gone) return;
    this.gone = true;
    this.o.onGone();
  }

  private alive(): void {
    if (this.gone) throw new Gone();
  }

  /** Counts an operation and does it, unless it is the one to fail. `half` is what a torn write leaves. */
  private operate<T>(path: string, act: () => T, half: () => void = () => {}): T {
    this.alive();
    this.operations += 1;
    const { plan } = this.o;
    if (plan === null || plan.at !== this.operations) {
      this.o.onWrite?.(path);
      return act();
    }
    switch (plan.fault) {
      case "kill-before":
        break;
      case "kill-after":
        act();
        break;
      case "torn":
        half();
        break;
      default:
        throw failure(plan.fault, path);
    }
    this.kill();
    throw new Gone();
  }

  private of(fd: number): { inode: Inode; path: string } {
    const file = this.fds.get(fd);
    if (file === undefined) throw failure("EBADF", String(fd));
    return file;
  }

  private opened(inode: Inode, path: string): number {
    const fd = this.nextFd++;
    this.fds.set(fd, { inode, path });
    return fd;
  }

  read(path: string): Buffer | null {
    this.alive();
    return this.disk.lookup(path)?.cache ?? null;
  }

  readFrom(path: string, offset: number, length = Number.POSITIVE_INFINITY): Buffer {
    return this.read(path)?.subarray(offset, offset + length) ?? Buffer.alloc(0);
  }

  stamp(path: string): { id: string; size: number } | null {
    this.alive();
    const inode = this.disk.lookup(path);
    return inode === undefined ? null : { id: `${inode.id}:${inode.changes}`, size: inode.cache.length };
  }

  list(dir: string): string[] {
    this.alive();
    return this.disk.list(dir);
  }

  openNew(path: string): number {
    if (this.disk.lookup(path) !== undefined) throw failure("EEXIST", path);
    return this.operate(path, () => this.opened(this.disk.create(path), path));
  }

  openAppend(path: string): number {
    const known = this.disk.lookup(path);
    if (known !== undefined) return this.opened(known, path);
    return this.operate(path, () => this.opened(this.disk.create(path), path));
  }

  write(fd: number, data: Uint8Array): void {
    const { inode, path } = this.of(fd);
    const put = (bytes: Buffer): void => {
      alter(inode, { at: inode.cache.length, data: Buffer.from(bytes) });
    };
    const bytes = Buffer.from(data);
    this.operate(
      path,
      () => put(bytes),
      () => put(bytes.subarray(0, bytes.length >> 1)),
    );
  }

  truncate(fd: number): void {
    const { inode, path } = this.of(fd);
    this.operate(path, () => alter(inode, "truncate"));
  }

  close(fd: number): void {
    this.fds.delete(fd);
  }

  rename(from: string, to: string): void {
    const inode = this.disk.lookup(from);
    if (inode === undefined) throw failure("ENOENT", from);
    this.operate(to, () =>
      this.disk.rename([
        { name: to, inode },
        { name: from, inode: null },
      ]),
    );
  }

  link(from: string, to: string): void {
    const inode = this.disk.lookup(from);
    if (inode === undefined) throw failure("ENOENT", from);
    if (this.disk.lookup(to) !== undefined) throw failure("EEXIST", to);
    this.operate(to, () => this.disk.rename([{ name: to, inode }]));
  }

  remove(path: string): void {
    if (this.disk.lookup(path) === undefined) return;
    this.operate(path, () => this.disk.rename([{ name: path, inode: null }]));
  }

  syncNow(fd: number): void {
    const { inode, path } = this.of(fd);
    this.operate(path, dataSync(inode));
  }

  syncDirNow(path: string): void {
    this.operate(path, this.disk.nameSync());
  }

  /** What was written before the call is on the platter when the promise resolves; what came later may be. */
  sync(fd: number): Promise<void> {
    const { inode, path } = this.of(fd);
    return this.delayed(path, dataSync(inode));
  }

  syncData(fd: number): Promise<void> {
    return this.sync(fd);
  }

  syncDir(path: string): Promise<void> {
    return this.delayed(path, this.disk.nameSync());
  }

  private delayed(path: string, act: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      try {
        // The fault strikes at the call; the effect comes when the disk is done.
        this.operate(path, () => {});
      } catch (error) {
        reject(error);
        return;
      }
      this.o.later(() => {
        if (this.gone) return;
        if (this.o.lies !== true) act();
        resolve();
      });
    });
  }
}

function alter(inode: Inode, c: DataChange): void {
  inode.cache = change(inode.cache, c);
  inode.unsynced.push(c);
  inode.changes += 1;
}

/** Returns what puts the content as it is now on the platter. */
function dataSync(inode: Inode): () => void {
  const content = inode.cache;
  const upTo = inode.changes;
  return () => {
    if (upTo <= inode.synced) return;
    inode.unsynced = inode.unsynced.slice(upTo - inode.synced);
    inode.synced = upTo;
    inode.platter = content;
  };
}

const failure = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${path}`), { code, path });
