/** The only door to time. Deadlines use `mono`; `now` is for people and for records. */
export interface Clock {
  /** Wall clock, ms since the epoch. */
  now(): number;
  /** Monotonic, ms; unaffected by clock changes. */
  mono(): number;
}

export const systemClock: Clock = { now: () => Date.now(), mono: () => performance.now() };

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Lets timers, signals and what came in have their turn in between long work. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves after `ms`, or when what `halt` was given is called. */
export function sleepUntil(o: {
  readonly ms: number;
  readonly halt: (wakeUp: () => void) => void;
}): Promise<void> {
  return new Promise((resolve) => {
    // setTimeout takes at most 2^31-1 ms.
    const timer = setTimeout(resolve, Math.min(o.ms, 2_000_000_000));
    o.halt(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
