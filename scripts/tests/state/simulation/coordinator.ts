/** The smallest coordinator that keeps the order of things: intent, effect, result, dependents. The store under it is ours. */
import type { Clock } from "../../../src/host/clock.ts";
import type { Disk } from "../../../src/host/disk.ts";
import { StateFaultError } from "../../../src/state/fault.ts";
import type { Lock } from "../../../src/state/lock.ts";
import type { Job, JournalRecord } from "../../../src/state/records.ts";
import { openStore, type Store } from "../../../src/state/store.ts";
import type { WriterPorts } from "../../../src/state/writer.ts";
import { AT, attempt } from "../support.ts";
import type { World } from "./world.ts";

/** How one coordinator ended; one that was killed never says. */
export type End = "ended" | "failed" | "fenced";

/** Mutants: dispatch before the intent is durable, report before the result is, syncs that do nothing. */
export type Bug = "late-intent" | "early-report" | "no-sync";

export interface SimOptions {
  readonly world: World;
  readonly id: number;
  readonly runDir: string;
  readonly disk: Disk;
  readonly ports: Omit<WriterPorts, "disk">;
  readonly slots: number;
  readonly bug?: Bug | undefined;
}

export class SimCoordinator {
  private store!: Store;
  private readonly running = new Set<string>();
  private stopped = false;
  /** Nothing is dispatched before: the reconcile would take its own attempts for a predecessor's. */
  private reconciled = false;
  private seen = 0;
  private done!: (end: End) => void;
  readonly ended = new Promise<End>((resolve) => {
    this.done = resolve;
  });

  constructor(private readonly o: SimOptions) {}

  async start(): Promise<void> {
    const { world, id } = this.o;
    world.lockHolder = id;
    const clock: Clock = { now: () => Date.parse(AT) + world.time.now, mono: () => world.time.now };
    const lock: Lock = {
      epoch: 0,
      adopt() {},
      verify: () => {
        if (world.lockHolder !== id) return false;
        if (this.store !== undefined && this.store.state.seq > this.seen) {
          this.seen = this.store.state.seq;
          world.remember(this.store.state);
        }
        return true;
      },
      release() {},
    };
    const opened = await openStore({
      runDir: this.o.runDir,
      lock,
      clock,
      ports: {
        ...this.o.ports,
        disk: this.o.disk,
      },
    });
    if (!opened.ok) {
      if (opened.error.code !== "io" && opened.error.code !== "fenced")
        world.violation(`a run that only crashed is refused: ${opened.error.message}`);
      this.stop(opened.error.code === "fenced" ? "fenced" : "failed");
      return;
    }
    this.store = opened.value;
    world.acknowledged = Math.max(world.acknowledged, this.store.state.seq);
    await this.guard(async () => {
      if (this.store.state.status !== "running")
        await this.commit([{ type: "run", patch: { status: "running" } }]);
      await this.reconcile();
      this.reconciled = true;
      this.pump();
    });
  }

  /** What a fault in any step does: stop, say so, leave the rest to a resume. */
  private async guard(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof StateFaultError))
        this.o.world.violation(`the coordinator threw ${String(error)}`);
      this.stop(error instanceof StateFaultError && error.fault.code === "fenced" ? "fenced" : "failed");
    }
  }

  private stop(end: End): void {
    if (this.stopped) return;
    this.stopped = true;
    if (end === "failed")
      for (const jobId of this.running) {
        const process = this.o.world.alive(jobId);
        if (process !== undefined) this.o.world.kill(process);
      }
    this.done(end);
  }

  private async commit(records: JournalRecord[]): Promise<void> {
    const seq = this.store.state.seq + 1;
    const durable = this.store.commit(records);
    if (this.o.bug === "early-report") this.o.world.reported(records, seq);
    await durable;
    this.o.world.reported(records, seq);
  }

  private job(id: string): Job {
    return this.store.state.jobs[id] as Job;
  }

  /** Attempts that were running when the last coordinator went: adopted when they live or left their exit, else closed. */
  private async reconcile(): Promise<void> {
    const { world } = this.o;
    for (const { id } of world.jobs) {
      const last = this.job(id).attemptRecords.at(-1);
      if (last?.status === "success" && last.acceptance === "pending")
        await this.commit([
          { type: "attempt", jobId: id, attempt: last.attempt, patch: { acceptance: "accepted" } },
        ]);
      if (last?.status !== "running") continue;
      const process = world.processOf(id, last.attempt);
      const adopt = process !== undefined && !process.killed && world.random.chance(0.5);
      if (adopt) {
        this.running.add(id);
        if (process.exited) void this.guard(() => this.exited(id, last.attempt, process.success));
        else process.onExit = () => void this.guard(() => this.exited(id, last.attempt, process.success));
        continue;
      }
      if (process !== undefined) world.kill(process);
      await this.commit([
        { type: "attempt", jobId: id, attempt: last.attempt, patch: { status: "interrupted", phase: null } },
        { type: "job", jobId: id, patch: { pendingAttempt: { relation: "resume", reason: "interrupted" } } },
      ]);
    }
  }

  private pump(): void {
    if (this.stopped || !this.reconciled || this.store.failed !== null) return;
    for (const { id, deps } of this.o.world.jobs) {
      if (this.running.size >= this.o.slots) break;
      if (this.running.has(id) || this.job(id).status !== "queued") continue;
      if (deps.every((dep) => this.job(dep).status === "success")) void this.guard(() => this.dispatch(id));
    }
    if (this.running.size === 0) void this.guard(() => this.finish());
  }

  private async dispatch(id: string): Promise<void> {
    this.running.add(id);
    const n = this.job(id).attempts + 1;
    const intent = this.commit([
      { type: "attempt-open", jobId: id, attempt: attempt(n, { status: "running", phase: "starting" }) },
    ]);
    if (this.o.bug !== "late-intent") await intent;
    if (this.stopped) return;
    const { world } = this.o;
    world.spawn(id, n, () => {
      const process = world.processOf(id, n);
      void this.guard(() => this.exited(id, n, process?.success === true));
    });
    if (this.o.bug === "late-intent") await intent;
  }

  private async exited(id: string, n: number, success: boolean): Promise<void> {
    if (this.stopped) return;
    const records: JournalRecord[] = [
      {
        type: "attempt",
        jobId: id,
        attempt: n,
        patch: { status: success ? "success" : "failed", phase: null },
      },
    ];
    if (!success && n < 6)
      records.push({
        type: "job",
        jobId: id,
        patch: { pendingAttempt: { relation: "retry", reason: "failed" } },
      });
    await this.commit(records);
    if (success)
      await this.commit([{ type: "attempt", jobId: id, attempt: n, patch: { acceptance: "accepted" } }]);
    this.running.delete(id);
    this.pump();
  }

  private async finish(): Promise<void> {
    if (this.stopped) return;
    const all = this.o.world.jobs.every(({ id }) => this.job(id).outcome === "accepted");
    await this.commit([{ type: "run", patch: { status: all ? "accepted" : "ended" } }]);
    await this.store.close();
    this.stop("ended");
  }
}
