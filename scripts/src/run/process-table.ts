/** All processes at one moment, read once for everybody who asks, and which of them belong to a job. */
import { nextTurn } from "../host/clock.ts";
import { lastPid } from "./last-pid.ts";
import {
  allPids,
  hasProc,
  markersOf,
  type ProcessFacts,
  processesByPs,
  readProcess,
} from "./process-tree.ts";

export interface ProcessTable {
  readonly processes: readonly ProcessFacts[];
  readonly markers: ReadonlyMap<number, readonly string[]>;
  /**
   * No process was created while the table was read. Then it is complete: a process that was alive at the end was
   * alive when its row was read.
   */
  readonly quiet: boolean;
}

/** What is known of a job's processes. */
export interface JobTrace {
  readonly marker: string;
  /** The process that was started: leader of its own group and session. */
  readonly pid: number | null;
  /** null: unknown. */
  readonly startTime: string | null;
  /**
   * The number of the group still names this job even when its leader is gone: true while we supervise it. The
   * kernel gives a number out again only once no process, group or session bears it.
   */
  groupIsOurs: boolean;
  /** Processes seen to belong to the job, by pid with their start time: they stay its own when their parent ends. */
  readonly known: Map<number, string>;
}

/** Rows read in one turn of the event loop, about 3 ms. */
const SLICE = 64;

let waiting: Promise<ProcessTable> | null = null;
let reading: Promise<unknown> = Promise.resolve();

/** A table whose reading begins after this call. Calls made until it begins share it. */
export function processTable(): Promise<ProcessTable> {
  if (waiting === null) {
    waiting = reading.then(async () => {
      await nextTurn();
      waiting = null;
      return readTable();
    });
    reading = waiting.catch(() => {});
  }
  return waiting;
}

async function readTable(): Promise<ProcessTable> {
  if (!hasProc) return { processes: processesByPs(), markers: new Map(), quiet: false };
  const before = lastPid();
  const processes: ProcessFacts[] = [];
  const markers = new Map<number, readonly string[]>();
  for (const [index, pid] of allPids().entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    const facts = readProcess(pid);
    if (facts === null) continue;
    processes.push(facts);
    // Kernel threads have no environment.
    if (pid === 2 || facts.parent === 2) continue;
    const found = markersOf(pid);
    if (found.length > 0) markers.set(pid, found);
  }
  return { processes, markers, quiet: before !== null && before === lastPid() };
}

/**
 * The processes of `table` that belong to the job: its leader, its group and session, those that carry its marker,
 * those known from before, and all descendants of these. Never this process, never init.
 */
export function membersOf(trace: JobTrace, table: ProcessTable): ProcessFacts[] {
  const leader = table.processes.find((row) => row.pid === trace.pid && isLeader(trace, row));
  const inGroup = trace.pid !== null && (trace.groupIsOurs || leader !== undefined) ? trace.pid : -1;
  const members = new Set<number>();
  const children = new Map<number, ProcessFacts[]>();
  const queue: ProcessFacts[] = [];
  const admit = (row: ProcessFacts): void => {
    if (members.has(row.pid) || row.pid === process.pid || row.pid === 1) return;
    members.add(row.pid);
    queue.push(row);
  };
  for (const row of table.processes) {
    const siblings = children.get(row.parent);
    if (siblings === undefined) children.set(row.parent, [row]);
    else siblings.push(row);
  }
  for (const row of table.processes)
    if (
      row === leader ||
      row.group === inGroup ||
      row.session === inGroup ||
      trace.known.get(row.pid) === row.startTime ||
      table.markers.get(row.pid)?.includes(trace.marker) === true
    )
      admit(row);
  for (let next = queue.pop(); next !== undefined; next = queue.pop())
    for (const child of children.get(next.pid) ?? []) admit(child);
  return table.processes.filter((row) => members.has(row.pid));
}

/** With an unknown start time only a process that we hold ourselves can be told from one that got its number later. */
function isLeader(trace: JobTrace, row: ProcessFacts): boolean {
  return trace.startTime === null ? trace.groupIsOurs : trace.startTime === row.startTime;
}
