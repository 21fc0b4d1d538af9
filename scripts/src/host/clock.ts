/** The only door to time. Deadlines use `mono`; `now` is for people and for records. */
export interface Clock {
  /** Wall clock, ms since the epoch. */
  now(): number;
  /** Monotonic, ms; unaffected by clock changes. */
  mono(): number;
}

export const systemClock: Clock = { now: () => Date.now(), mono: () => performance.now() };

export const isoTime = (ms: number): string => new Date(ms).toISOString();
