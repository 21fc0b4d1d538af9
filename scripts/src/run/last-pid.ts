/**
 * A cheap and exact answer to "was anything left behind?" for short jobs.
 *
 * Linux hands out process numbers in order, and the last field of /proc/loadavg is the last one given. What a job
 * created therefore lies between the number read before its start and the one read after its end: for a short job on
 * a quiet machine a handful, each looked at for 5 µs, where a sweep over all processes costs 10 ms. Numbers are
 * looked at in the order in which they were given, a parent before its child, and the last one is read again at the
 * end: when it has not moved, nothing was created meanwhile, and what was not seen is not there.
 *
 * Not exact, hence not used: when the numbers have wrapped, when so many were given that a wrap cannot be excluded, when
 * the kernel does not count upwards (each start checks that) or shows no last number.
 */
import * as fs from "node:fs";
import { hasProc, markersOf, readProcess } from "./process-tree.ts";

export interface PidMark {
  readonly last: number;
  /** Monotonic ms. */
  readonly at: number;
}

/** More numbers than this are not looked at one by one. */
const RANGE_MAX = 256;
/** Assumed bound on new processes and threads in a millisecond, on one machine, over the whole life of a short job. */
const PIDS_PER_MS = 65;
/** A child takes the next number, or one soon after when others are started at the same moment. */
const NEXT_MAX = 64;

const buffer = Buffer.allocUnsafe(128);
let descriptor: number | null | undefined;
let numbers = 0;

/** The number given to the newest process or thread; null where the host does not say. */
export function lastPid(): number | null {
  if (descriptor === undefined) open();
  if (descriptor === null || descriptor === undefined) return null;
  const length = fs.readSync(descriptor, buffer, 0, buffer.length, 0);
  let value = 0;
  let unit = 1;
  for (let at = length - 2; at >= 0; at -= 1) {
    const digit = (buffer[at] as number) - 0x30;
    if (digit < 0 || digit > 9) break;
    value += digit * unit;
    unit *= 10;
  }
  return value > 0 ? value : null;
}

function open(): void {
  descriptor = null;
  if (!hasProc) return;
  try {
    numbers = Number(fs.readFileSync("/proc/sys/kernel/pid_max", "utf8"));
    descriptor = fs.openSync("/proc/loadavg", "r");
  } catch {}
}

/** Taken right before a start. */
export function markPids(now: number): PidMark | null {
  const last = lastPid();
  return last === null ? null : { last, at: now };
}

/** Whether the kernel counted upwards from the mark to the process just started. */
export const countsUp = (mark: PidMark, pid: number): boolean =>
  pid > mark.last && pid - mark.last <= NEXT_MAX;

/**
 * Whether a process of the job is alive: one created since the mark that is in the group or session `pid` or carries
 * `marker`. "unknown" when this way cannot tell.
 */
export function leftBehind(o: {
  mark: PidMark;
  now: number;
  pid: number;
  marker: string;
  /** Leaders of other jobs that we supervise. */
  others: ReadonlySet<number>;
}): "none" | "some" | "unknown" {
  if ((o.now - o.mark.at) * PIDS_PER_MS > numbers) return "unknown";
  let looked = o.mark.last;
  for (let last = lastPid(); last !== looked; last = lastPid()) {
    if (last === null || last < looked || last - o.mark.last > RANGE_MAX) return "unknown";
    for (looked += 1; looked <= last; looked += 1)
      if (looked !== o.pid && !o.others.has(looked) && belongs(looked, o.pid, o.marker)) return "some";
    looked = last;
  }
  return "none";
}

function belongs(pid: number, group: number, marker: string): boolean {
  if (fs.statSync(`/proc/${pid}`, { throwIfNoEntry: false }) === undefined) return false;
  const facts = readProcess(pid);
  if (facts === null) return false;
  return facts.group === group || facts.session === group || markersOf(pid).includes(marker);
}
