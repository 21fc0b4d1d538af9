/** Reading the process table: who is alive, whose child it is, and whether it carries a job's marker. */
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { JOB_ANCESTORS, JOB_MARKER } from "../core/harness-markers.ts";
import { errorCode } from "../host/files.ts";

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** One letter of the kernel; `T` is stopped. */
  readonly state: string;
  /** Clock ticks since boot; with the pid it names a process for as long as the machine runs. */
  readonly startTime: string;
}

/** Whether this host shows its processes as files. Elsewhere `ps` answers, and markers cannot be read. */
export const hasProc: boolean = fs.existsSync("/proc/self/stat") && isOwnProc();

/** A /proc of another pid namespace would name other processes by our numbers. */
function isOwnProc(): boolean {
  try {
    return fs.readlinkSync("/proc/self") === String(process.pid);
  } catch {
    return false;
  }
}

const buffer = Buffer.allocUnsafe(65_536);

/** What opening or reading says of a process that is gone, or of one that is not ours to look into. */
const ABSENT: ReadonlySet<string | null> = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

/**
 * Up to 64 KiB of a file of /proc; -1 when it is gone or not ours to read. Any other fault throws: with no descriptor
 * left every process would seem to be gone.
 */
function readProc(path: string): number {
  let fd: number | null = null;
  try {
    fd = fs.openSync(path, "r");
    return fs.readSync(fd, buffer, 0, buffer.length, null);
  } catch (error) {
    if (ABSENT.has(errorCode(error))) return -1;
    throw error;
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}

/** A live process, or null when it is gone or a zombie whose threads have all ended. */
export function readProcess(pid: number): ProcessFacts | null {
  const length = readProc(`/proc/${pid}/stat`);
  if (length <= 0) return null;
  const text = buffer.toString("latin1", 0, length);
  // The name in parentheses may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const state = fields[0] ?? "";
  if (state === "X" || state === "x" || (state === "Z" && !hasLiveThread(pid))) return null;
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    state,
    startTime: fields[19] ?? "",
  };
}

/** Whether that very process is still alive; its number alone may have been given to another. */
export function isAlive(facts: ProcessFacts): boolean {
  if (hasProc) return readProcess(facts.pid)?.startTime === facts.startTime;
  return signal(facts.pid, 0);
}

/** A process whose first thread has ended looks like a zombie while others run on. */
function hasLiveThread(pid: number): boolean {
  try {
    return fs.readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}

export function allPids(): number[] {
  const pids: number[] = [];
  for (const name of fs.readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first >= 0x31 && first <= 0x39) pids.push(Number(name));
  }
  return pids;
}

/** Every process, by `ps`, where there is no /proc. Start times are what `ps` prints: to the second, but stable. */
export function processesByPs(): ProcessFacts[] {
  const answer = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="], {
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
  });
  return (answer.stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state = "", ...started] = line.trim().split(/\s+/);
    if (pid === undefined || pid === "" || state.startsWith("Z")) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        state: state.charAt(0),
        startTime: started.join(" "),
      },
    ];
  });
}

const MARKER_KEY = Buffer.from(`${JOB_MARKER}=`);
const ANCESTORS_KEY = Buffer.from(`${JOB_ANCESTORS}=`);
/** No environment is longer; the kernel refuses it. */
const ENVIRONMENT_MAX = 6 * 1024 * 1024;

/** Markers of the jobs that a process belongs to: its own and those around it. Empty when none or not readable. */
export function markersOf(pid: number): string[] {
  const length = readProc(`/proc/${pid}/environ`);
  if (length <= 0) return [];
  const environ = length < buffer.length ? buffer.subarray(0, length) : readLong(pid);
  const own = variable(environ, MARKER_KEY);
  const around = variable(environ, ANCESTORS_KEY);
  return [...(own === null ? [] : [own]), ...(around === null ? [] : around.split("\n"))];
}

function readLong(pid: number): Buffer {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`).subarray(0, ENVIRONMENT_MAX);
  } catch {
    return Buffer.alloc(0);
  }
}

function variable(environ: Buffer, key: Buffer): string | null {
  for (let at = environ.indexOf(key); at >= 0; at = environ.indexOf(key, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue;
    const end = environ.indexOf(0, at);
    return environ.toString("utf8", at + key.length, end < 0 ? environ.length : end);
  }
  return null;
}

/** Sends a signal; false when there is no such process or group, or it is not ours to signal. */
export function signal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, name);
    return true;
  } catch {
    return false;
  }
}
