/** Timeout and silence of one job, on the monotonic clock, patient with a machine that slept. */
import { SUPERVISION } from "../core/policy.ts";
import type { Clock } from "../host/clock.ts";

interface DeadlinesOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** null: silence never ends the job. */
  readonly stallAfterMs: number | null;
  /** Called once. */
  readonly onDue: (which: "timeout" | "stall") => void;
}

/** How often a suspend is looked for, ms. */
const TICK = 1_000;

/**
 * The clock decides and the timer only wakes: a timer that fires early looks again. A wake-up that comes much too late
 * means that nothing ran meanwhile, neither this process nor, as far as we know, the job: both deadlines move on by that.
 */
export class Deadlines {
  readonly #o: DeadlinesOptions;
  #timer: NodeJS.Timeout | null = null;
  #timeoutAt = Number.POSITIVE_INFINITY;
  #lastActivity = 0;
  #expected = 0;

  constructor(options: DeadlinesOptions) {
    this.#o = options;
  }

  start(): void {
    const now = this.#o.clock.mono();
    this.#timeoutAt = now + this.#o.timeoutMs;
    this.#lastActivity = now;
    this.#arm(now);
  }

  activity(): void {
    this.#lastActivity = this.#o.clock.mono();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #stallAt(): number {
    return this.#o.stallAfterMs === null
      ? Number.POSITIVE_INFINITY
      : this.#lastActivity + this.#o.stallAfterMs;
  }

  #arm(now: number): void {
    const wait = Math.max(1, Math.min(TICK, this.#timeoutAt - now, this.#stallAt() - now));
    this.#expected = now + wait;
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(wait));
  }

  #wake(): void {
    const now = this.#o.clock.mono();
    const late = now - this.#expected;
    if (late > SUPERVISION.suspendJumpMs) {
      this.#timeoutAt += late;
      this.#lastActivity += late;
    }
    if (now >= this.#timeoutAt) this.#due("timeout");
    else if (now >= this.#stallAt()) this.#due("stall");
    else this.#arm(now);
  }

  #due(which: "timeout" | "stall"): void {
    this.stop();
    this.#o.onDue(which);
  }
}
