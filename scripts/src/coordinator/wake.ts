/** One waiter, many reasons to wake: the loop sleeps here until an attempt ends, a command arrives, a timer is due or a signal comes. */
export interface Wake {
  ring(): void;
  /** Resolves at the next ring, or at once when one came since the last wait. */
  wait(): Promise<void>;
}

export function createWake(): Wake {
  let rung = false;
  let release: (() => void) | null = null;
  return {
    ring() {
      rung = true;
      release?.();
    },
    async wait() {
      if (!rung) await new Promise<void>((resolve) => (release = resolve));
      rung = false;
      release = null;
    },
  };
}
