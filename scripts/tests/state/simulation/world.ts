/** What outlives a coordinator: virtual time, the disk, the jobs' processes, and the model that judges it all. */
import type { JournalRecord, State } from "../../../src/state/records.ts";
import type { Random } from "./random.ts";

export interface SimJob {
  readonly id: string;
  readonly deps: readonly string[];
  /** So many attempts fail before one succeeds. */
  readonly failures: number;
}

export interface Process {
  readonly jobId: string;
  readonly attempt: number;
  readonly success: boolean;
  exited: boolean;
  /** It left no exit record. */
  killed: boolean;
  /** Its coordinator, as long as it listens. */
  onExit: (() => void) | null;
}

/** Virtual time: tasks run in order of time, then of arrival; promises settle in between. */
export class Time {
  now = 0;
  private queue: { at: number; order: number; task: () => void }[] = [];
  private order = 0;

  later(ms: number, task: () => void): void {
    const entry = { at: this.now + ms, order: this.order++, task };
    let i = this.queue.length;
    while (i > 0 && (this.queue[i - 1] as typeof entry).at > entry.at) i -= 1;
    this.queue.splice(i, 0, entry);
  }

  /** False when nothing is left to happen. */
  async step(): Promise<boolean> {
    await settled();
    const entry = this.queue.shift();
    if (entry === undefined) return false;
    this.now = entry.at;
    entry.task();
    return true;
  }
}

/** Resolves when every promise that can go on has gone on: a tick comes after all of them, and costs no turn of the loop. */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

const topText = (state: State): string => `${state.status},${state.updatedAt},${state.notes.length};`;

/** The promises of reliability, as sets: what was reported, what was started, what is alive. */
export class World {
  readonly time = new Time();
  readonly processes: Process[] = [];
  readonly violations: string[] = [];
  /** Reported as accepted by a commit that resolved. */
  readonly accepted = new Set<string>();
  readonly started = new Map<string, number>();
  /** The state as it was about to be written, by epoch and seq. */
  private readonly written = new Map<string, Set<string>>();
  /** The jobs of every state that was written, by seq: what a coordinator that takes over starts from. */
  private readonly jobsAt = new Map<number, Set<string>>();
  acknowledged = 0;
  lockHolder = 0;
  /** Makes a long-lived reader start over: seq may go back at a power loss. */
  powerLosses = 0;

  constructor(
    readonly random: Random,
    readonly jobs: readonly SimJob[],
    readonly thorough: boolean,
  ) {}

  violation(text: string): void {
    this.violations.push(text);
  }

  spawn(jobId: string, attempt: number, onExit: () => void): void {
    if (this.accepted.has(jobId)) this.violation(`${jobId} was accepted and is started again`);
    if (this.alive(jobId) !== undefined) this.violation(`${jobId} has two live processes`);
    this.started.set(jobId, (this.started.get(jobId) ?? 0) + 1);
    const job = this.jobs.find((j) => j.id === jobId) as SimJob;
    const process: Process = {
      jobId,
      attempt,
      success: attempt > job.failures,
      exited: false,
      killed: false,
      onExit,
    };
    this.processes.push(process);
    this.time.later(1 + this.random.int(20), () => this.exit(process));
  }

  exit(process: Process): void {
    if (process.exited) return;
    process.exited = true;
    process.onExit?.();
  }

  alive(jobId: string): Process | undefined {
    return this.processes.find((p) => p.jobId === jobId && !p.exited);
  }

  /** Killed from outside: no coordinator hears of it by its own listener. */
  kill(process: Process): void {
    if (process.exited) return;
    process.onExit = null;
    process.exited = true;
    process.killed = true;
  }

  processOf(jobId: string, attempt: number): Process | undefined {
    return this.processes.findLast((p) => p.jobId === jobId && p.attempt === attempt);
  }

  /** At the first look at each seq: later ones may hold commits of the next. An epoch that was lost is used again. */
  remember(state: State): void {
    const jobs = this.jobsText(state);
    const key = `${state.epoch}:${state.seq}`;
    const texts = this.written.get(key) ?? new Set();
    this.written.set(key, texts.add(topText(state) + jobs));
    this.rememberJobs(state.seq, jobs);
  }

  private rememberJobs(seq: number, jobs: string): void {
    const known = this.jobsAt.get(seq) ?? new Set();
    this.jobsAt.set(seq, known.add(jobs));
  }

  /** Every member of every job on some seeds, what decides on the others: most of the time goes here. */
  private jobsText(state: State): string {
    if (this.thorough) return JSON.stringify(state.jobs);
    let text = "";
    for (const job of Object.values(state.jobs)) {
      text += `${job.status},${job.outcome},${job.reason},${job.pendingAttempt?.relation};`;
      for (const a of job.attemptRecords) text += `${a.status},${a.phase},${a.acceptance};`;
    }
    return text;
  }

  /** Any state that anybody reads must be one that was about to be written, and not older than what was acknowledged. */
  checkRead(state: State, who: string): void {
    const at = `epoch ${state.epoch}, seq ${state.seq}`;
    const jobs = this.jobsText(state);
    const known = this.written.get(`${state.epoch}:${state.seq}`);
    if (known === undefined) {
      // The first record of a coordinator changes no job.
      const before = this.jobsAt.get(state.seq - 1);
      if (state.seq > 0 && before?.has(jobs) !== true)
        this.violation(`${who} reads ${at}, which nobody wrote`);
      this.rememberJobs(state.seq, jobs);
    } else if (!known.has(topText(state) + jobs))
      this.violation(`${who} reads another state at ${at} than was written`);
    if (state.seq < this.acknowledged)
      this.violation(`${who} reads seq ${state.seq} although ${this.acknowledged} was acknowledged`);
  }

  /** After a crash, of the state from the files alone. */
  checkRecovered(state: State): void {
    this.checkRead(state, "recovery");
    for (const id of this.accepted)
      if (state.jobs[id]?.outcome !== "accepted") this.violation(`${id} was accepted and is lost`);
    for (const [id, count] of this.started) {
      const job = state.jobs[id];
      if (count > (job?.attempts ?? 0))
        this.violation(`${id} was started ${count} times, ${job?.attempts} on disk: effect before intent`);
      for (const dep of this.jobs.find((j) => j.id === id)?.deps ?? [])
        if (state.jobs[dep]?.status !== "success")
          this.violation(`${id} was started, the success of ${dep} is not on disk`);
    }
  }

  /** A commit resolved: its records are promised from here on. */
  reported(records: readonly JournalRecord[], seq: number): void {
    this.acknowledged = Math.max(this.acknowledged, seq);
    for (const record of records)
      if (record.type === "attempt" && record.patch.acceptance === "accepted")
        this.accepted.add(record.jobId);
  }
}
