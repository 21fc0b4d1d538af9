/** Who a process is: pid alone is reused by the kernel, pid + start time + boot id is not. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "./files.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** Kernel start time (clock ticks since boot on Linux), or null where it cannot be read. */
  readonly startTime: string | null;
  readonly bootId: string | null;
  readonly host: string;
}

export type Liveness = "alive" | "dead" | "unknown";

let boot: string | null | undefined;

export function bootId(): string | null {
  if (boot === undefined) {
    try {
      boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    } catch {
      boot = null;
    }
  }
  return boot;
}

/** Start time of a live process; null when it is gone, a zombie, or unreadable. */
export function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const state = fields[0];
    return state === "Z" || state === "X" ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

export const identityOf = (pid: number): ProcessIdentity => ({
  pid,
  startTime: startTime(pid),
  bootId: bootId(),
  host: hostname(),
});

/**
 * "unknown" only where nothing can be proved: another host. A missing start time in the record means the process was
 * gone before it could be read, hence dead unless a process of that pid exists and no start time can be read at all.
 */
export function liveness(identity: ProcessIdentity): Liveness {
  if (identity.host !== hostname()) return "unknown";
  if (identity.bootId !== null && bootId() !== null && identity.bootId !== bootId()) return "dead";
  const now = startTime(identity.pid);
  if (now !== null)
    return identity.startTime === null ? "unknown" : now === identity.startTime ? "alive" : "dead";
  if (bootId() !== null) return "dead";
  return signalExists(identity.pid) ? "unknown" : "dead";
}

/** EPERM means that somebody else's process has the pid: it exists. */
function signalExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
