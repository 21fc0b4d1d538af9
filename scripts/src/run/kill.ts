/** Ending a whole process tree, and proving that it ended. */
import { SUPERVISION } from "../core/policy.ts";
import type { Clock } from "../host/clock.ts";
import { type JobTrace, membersOf, processTable } from "./process-table.ts";
import { isAlive, type ProcessFacts, signal } from "./process-tree.ts";

export interface EndTreeOptions {
  readonly pid: number;
  /** Kernel start time recorded when the process was started; a process of another start time is never signalled. */
  readonly startTime: string | null;
  readonly marker: string;
  /** 0 kills at once. */
  readonly graceMs: number;
  readonly clock: Clock;
}

export interface EndTreeResult {
  /** Proven: two readings of the process table, or one while nothing was created, found none of the job. */
  readonly gone: boolean;
  /** Some ignored SIGTERM for the whole grace. */
  readonly killedAfterGrace: boolean;
  /** Pids that are still alive. */
  readonly survivors: readonly number[];
}

/**
 * Ends what is left of a job that this process does not supervise, such as the orphan of a coordinator that died:
 * SIGTERM, grace, SIGKILL, over leader, group, descendants and whatever carries the marker.
 */
export function endTree(options: EndTreeOptions): Promise<EndTreeResult> {
  const trace: JobTrace = {
    marker: options.marker,
    pid: options.pid,
    startTime: options.startTime,
    groupIsOurs: false,
    known: new Map(),
  };
  return new TreeEnding({ trace, graceMs: options.graceMs, clock: options.clock }).done;
}

/** Pids of live processes that carry the marker in their environment, lowest first. */
export const sweepMarker = async (marker: string): Promise<readonly number[]> =>
  (await markedProcesses((found) => found === marker)).map(({ pid }) => pid);

/** Live processes that carry a marker which `matches`, with that marker, lowest pid first. */
export async function markedProcesses(
  matches: (marker: string) => boolean,
): Promise<readonly { readonly pid: number; readonly marker: string }[]> {
  const table = await processTable();
  return [...table.markers]
    .flatMap(([pid, found]) => {
      const marker = pid === process.pid ? undefined : found.find(matches);
      return marker === undefined ? [] : [{ pid, marker }];
    })
    .sort((a, b) => a.pid - b.pid);
}

/** First waits between two looks, in ms; the last one repeats. */
const STEPS = [2, 5, 10, 20, 50] as const;

/** One tree on its way out; `harden` cuts the grace short. */
export class TreeEnding {
  readonly done: Promise<EndTreeResult>;
  readonly #trace: JobTrace;
  readonly #clock: Clock;
  #graceUntil: number;
  #killed = false;
  #met = false;
  #metInGroup = false;
  #wake: () => void = () => {};

  constructor(options: { trace: JobTrace; graceMs: number; clock: Clock }) {
    this.#trace = options.trace;
    this.#clock = options.clock;
    this.#graceUntil =
      options.graceMs > 0 ? options.clock.mono() + options.graceMs : Number.NEGATIVE_INFINITY;
    this.done = this.#run().catch(() => this.#blind());
  }

  /** Whether any process of the job was found alive, and whether one was in its group. */
  get met(): { any: boolean; inGroup: boolean } {
    return { any: this.#met, inGroup: this.#metInGroup };
  }

  /** No more grace: SIGKILL now. */
  harden(): void {
    this.#graceUntil = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  async #run(): Promise<EndTreeResult> {
    if (await this.#ask()) return this.#result([]);
    // Whoever is left has had its grace, or none was given.
    const until = this.#clock.mono() + SUPERVISION.killWaitMs;
    for (let round = 0; ; round += 1) {
      const members = await this.#frozen();
      if (members.length === 0) return this.#result([]);
      if (this.#clock.mono() > until) return this.#result(members);
      this.#killed ||= this.#graceUntil !== Number.NEGATIVE_INFINITY;
      this.#signalAll(members, "SIGKILL");
      await this.#sleep(STEPS[Math.min(round, STEPS.length - 1)] ?? 50);
    }
  }

  /** The process table cannot be read (no descriptor left): the group is killed, and nothing is proven. */
  #blind(): EndTreeResult {
    const { pid, groupIsOurs, known } = this.#trace;
    if (pid !== null && groupIsOurs) signal(-pid, "SIGKILL");
    return { gone: false, killedAfterGrace: this.#killed, survivors: [...known.keys()] };
  }

  #result(survivors: readonly ProcessFacts[]): EndTreeResult {
    return {
      gone: survivors.length === 0,
      killedAfterGrace: this.#killed,
      survivors: survivors.map((row) => row.pid),
    };
  }

  /** SIGTERM to all, and to those that appear meanwhile; true when all are gone before the grace ends. */
  async #ask(): Promise<boolean> {
    const asked = new Set<string>();
    while (this.#clock.mono() < this.#graceUntil) {
      const members = await this.#members();
      if (members.length === 0) return true;
      const fresh = members.filter((row) => !asked.has(nameOf(row)));
      for (const row of fresh) asked.add(nameOf(row));
      this.#signalAll(fresh, "SIGTERM");
      // A stopped process takes SIGTERM only once it runs again.
      for (const row of fresh) if (row.state === "T") signalOne(row, "SIGCONT");
      await this.#untilGone(members);
    }
    return false;
  }

  /** Returns when all of `members` are gone, a while has passed, or the grace is over. */
  async #untilGone(members: readonly ProcessFacts[]): Promise<void> {
    for (let round = 0; round < STEPS.length + 8; round += 1) {
      const left = this.#graceUntil - this.#clock.mono();
      if (left <= 0 || !members.some(isAlive)) return;
      await this.#sleep(Math.min(left, STEPS[Math.min(round, STEPS.length - 1)] ?? 50));
    }
  }

  /** All members, stopped, so that none forks away between the look and the kill. */
  async #frozen(): Promise<ProcessFacts[]> {
    const stopped = new Set<string>();
    for (;;) {
      const members = await this.#members();
      const moving = members.filter((row) => !stopped.has(nameOf(row)));
      if (moving.length === 0) return members;
      for (const row of moving) {
        stopped.add(nameOf(row));
        signalOne(row, "SIGSTOP");
      }
    }
  }

  /** Live members; when none is found, looked for twice unless nothing was created during the first look. */
  async #members(): Promise<ProcessFacts[]> {
    for (let look = 0; look < 2; look += 1) {
      const table = await processTable();
      const members = membersOf(this.#trace, table);
      this.#met ||= members.length > 0;
      this.#metInGroup ||= members.some((row) => row.group === this.#trace.pid);
      for (const row of members) this.#trace.known.set(row.pid, row.startTime);
      // Once a group has been seen empty its number may be given to somebody else.
      if (!table.processes.some((row) => row.group === this.#trace.pid || row.session === this.#trace.pid))
        this.#trace.groupIsOurs = false;
      if (members.length > 0 || table.quiet) return members;
    }
    return [];
  }

  /** The group by one call, which no fork can slip through, then each one outside of it. */
  #signalAll(members: readonly ProcessFacts[], name: "SIGTERM" | "SIGKILL"): void {
    const group = this.#trace.pid;
    const leads = members.some((row) => row.pid === group);
    const asGroup =
      group !== null && (leads || this.#trace.groupIsOurs) && members.some((row) => row.group === group);
    if (asGroup) signal(-group, name);
    for (const row of members) if (!asGroup || row.group !== group) signalOne(row, name);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const nameOf = (row: ProcessFacts): string => `${row.pid}:${row.startTime}`;

/** Never signals a process that got the number of one that is gone. */
function signalOne(row: ProcessFacts, name: NodeJS.Signals): void {
  if (isAlive(row)) signal(row.pid, name);
}
