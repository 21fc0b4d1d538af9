/**
 * Who coordinates a run: at most one process, known by pid, start time, boot id and host.
 *
 * The lock appears by `link`, so it always shows a whole owner. The lock of a dead owner is not removed and taken again,
 * which two processes could do in turn, but succeeded: `lock.next-<digest of the dead lock>` is claimed by `link`, which
 * one process can, and renamed over the lock once the claimant has seen that the dead lock still stands. A claimant that
 * died is succeeded in the same way. Nobody ever removes what another may hold.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import { type Disk, systemDisk } from "../host/disk.ts";
import { errorCode, sha256 } from "../host/files.ts";
import { identityOf, liveness, type ProcessIdentity } from "../host/identity.ts";
import { ioFault } from "./fault.ts";

export interface Lock {
  /** Written into every journal line. 0 until `openStore` has taken the run over. */
  readonly epoch: number;
  adopt(epoch: number): void;
  /** False once the lock is not ours any more; asked before every write. */
  verify(): boolean;
  /** Removes the lock if it is ours. Never throws. */
  release(): void;
}

export interface LockRefusal {
  /** `held`: the owner lives. `unproven`: it may. `unreadable`: no owner can be read. `io`: the folder refuses locks. */
  readonly code: "held" | "unproven" | "unreadable" | "io";
  readonly owner: ProcessIdentity | null;
  /** One or two sentences; with the way to heal it where a person must. */
  readonly reason: string;
}

interface Ports {
  readonly disk: Disk;
  readonly self: ProcessIdentity;
}

export function acquireLock(o: { runDir: string; clock: Clock } & Partial<Ports>): Result<Lock, LockRefusal> {
  const disk = o.disk ?? systemDisk;
  const self = o.self ?? identityOf(process.pid);
  const path = join(o.runDir, RUN_FILES.lock);
  const temp = `${path}.${ownMark(self)}.${randomBytes(8).toString("hex")}.tmp`;
  const mine = Buffer.from(
    `${JSON.stringify({ ...self, token: randomUUID(), since: isoTime(o.clock.now()) })}\n`,
  );
  try {
    writeNew(disk, temp, mine);
    try {
      const refusal = take({ disk, path, temp, mine });
      if (refusal !== null) return err(refusal);
    } finally {
      disk.remove(temp);
    }
    sweep(disk, o.runDir, self);
    disk.syncDirNow(o.runDir);
  } catch (error) {
    return err({ code: "io", owner: null, reason: ioFault("write", error, path).message });
  }
  return ok(held(disk, path, mine));
}

/** The identity in the lock file, dead or alive (judge it with `liveness`); null when there is none or it is unreadable. */
export function lockOwner(runDir: string, disk: Disk = systemDisk): ProcessIdentity | null {
  try {
    return parseOwner(disk.read(join(runDir, RUN_FILES.lock)) ?? Buffer.alloc(0));
  } catch {
    return null;
  }
}

interface Try {
  readonly disk: Disk;
  readonly path: string;
  readonly temp: string;
  readonly mine: Buffer;
}

/** A lock that changes this often under our eyes is contended by live processes; one of them has it. */
const TRIES = 50;

/** Null when the lock is ours. */
function take(t: Try): LockRefusal | null {
  for (let tries = 0; tries < TRIES; tries++) {
    if (place(t, t.path)) return null;
    const found = t.disk.read(t.path);
    if (found === null) continue;
    const refusal = judge(found, t.path);
    if (refusal !== null) return refusal;
    const outcome = succeed(t, found);
    if (outcome === "ours") return null;
    if (outcome !== "again") return outcome;
  }
  return { code: "unproven", owner: null, reason: `The lock \`${t.path}\` keeps changing hands.` };
}

/** Claims the place behind a dead lock, and behind claimants that died before they moved up. */
function succeed(t: Try, dead: Buffer): LockRefusal | "ours" | "again" {
  const seen = [{ path: t.path, bytes: dead }];
  let claim = nextName(t.path, dead);
  while (!place(t, claim)) {
    const other = t.disk.read(claim);
    if (other === null) return "again";
    const refusal = judge(other, claim);
    if (refusal !== null) return refusal;
    seen.push({ path: claim, bytes: other });
    claim = nextName(t.path, other);
  }
  // Somebody may have moved up between our look and our claim: then the lock is another one by now.
  if (!seen.every((s) => t.disk.read(s.path)?.equals(s.bytes))) {
    t.disk.remove(claim);
    return "again";
  }
  t.disk.rename(claim, t.path);
  for (const s of seen.slice(1)) t.disk.remove(s.path);
  return "ours";
}

const nextName = (path: string, dead: Buffer): string => `${path}.next-${sha256(dead).slice(0, 24)}`;

/** Puts our owner record at `path` unless something is there. */
function place(t: Try, path: string): boolean {
  try {
    t.disk.link(t.temp, path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST") return false;
    if (!NO_LINKS.has(code ?? "")) throw error;
  }
  // No links here: exclusive creation is as exclusive, but shows an empty lock for a moment, which reads as held.
  try {
    writeNew(t.disk, path, t.mine);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

function writeNew(disk: Disk, path: string, bytes: Buffer): void {
  const fd = disk.openNew(path);
  try {
    disk.write(fd, bytes);
    disk.syncNow(fd);
  } finally {
    disk.close(fd);
  }
}

/** Null when the owner is provably dead. */
function judge(bytes: Buffer, path: string): LockRefusal | null {
  const owner = parseOwner(bytes);
  const heal = `If it has ended, remove \`${path}\` and run the command again.`;
  if (owner === null)
    return {
      code: "unreadable",
      owner,
      reason: `The lock \`${path}\` names no owner, so nobody can tell whether one lives. If no coordinator of this run is alive, remove it and run the command again.`,
    };
  const who = `process ${owner.pid}${owner.host === "" ? "" : ` on \`${owner.host}\``}`;
  switch (liveness(owner)) {
    case "alive":
      return { code: "held", owner, reason: `The run is coordinated by ${who}.` };
    case "unknown":
      return {
        code: "unproven",
        owner,
        reason: `The lock was taken by ${who}, and from here nobody can prove that it ended. ${heal}`,
      };
    case "dead":
      return null;
  }
}

function parseOwner(bytes: Buffer): ProcessIdentity | null {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { pid, startTime, bootId, host } = value as Record<string, unknown>;
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
  const text = (x: unknown): string | null => (typeof x === "string" ? x : null);
  return { pid, startTime: text(startTime), bootId: text(bootId), host: text(host) ?? "" };
}

/** Who writes a file, said by its name before it has a content: host and boot as digests, pid, start time. */
const ownMark = (self: ProcessIdentity): string =>
  `${digest(self.host)}-${digest(self.bootId ?? "")}-${self.pid}-${self.startTime ?? "unknown"}`;

const digest = (text: string): string => sha256(text).slice(0, 8);

const LEFTOVER = /^lock\.(?:next-[0-9a-f]{24}|([0-9a-f]{8})-([0-9a-f]{8})-(\d+)-(\w+)\.[0-9a-f]{16}\.tmp)$/;

/** Removes what dead contenders left. A live one's file stays, and so does one of which nobody can tell. */
function sweep(disk: Disk, runDir: string, self: ProcessIdentity): void {
  for (const name of disk.list(runDir).filter((entry) => LEFTOVER.test(entry))) {
    try {
      const path = join(runDir, name);
      const owner = parseOwner(disk.read(path) ?? Buffer.alloc(0)) ?? ownerByName(name, self);
      if (owner !== null && liveness(owner) === "dead") disk.remove(path);
    } catch {
      // A leftover that cannot be read or removed hinders nobody.
    }
  }
}

/** Of a file whose writer died before the content; null when that was on another host. */
function ownerByName(name: string, self: ProcessIdentity): ProcessIdentity | null {
  const [, host, boot, pid, startTime] = LEFTOVER.exec(name) ?? [];
  if (host !== digest(self.host)) return null;
  return {
    pid: Number(pid),
    startTime: startTime === "unknown" ? null : (startTime ?? null),
    bootId: boot === digest(self.bootId ?? "") ? self.bootId : "an earlier boot",
    host: self.host,
  };
}

function held(disk: Disk, path: string, mine: Buffer): Lock {
  let epoch = 0;
  let known = disk.stamp(path)?.id;
  const verify = (): boolean => {
    try {
      const now = disk.stamp(path)?.id;
      if (now !== undefined && now === known) return true;
      // Touched or copied with the folder, perhaps: the content decides.
      if (now === undefined || disk.read(path)?.equals(mine) !== true) return false;
      known = now;
      return true;
    } catch {
      return false;
    }
  };
  return {
    get epoch() {
      return epoch;
    },
    adopt(next) {
      epoch = next;
    },
    verify,
    release() {
      try {
        if (verify()) disk.remove(path);
      } catch {
        // Whoever comes next finds the owner dead.
      }
    },
  };
}
