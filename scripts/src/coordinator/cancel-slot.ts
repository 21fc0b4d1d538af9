/** A wish to end an attempt, which may come before there is a process to end. */

export interface CancelSlot {
  readonly set: (mode: "graceful" | "hard") => void;
  /** Connects the process once there is one; a cancel that came before is passed on at once. */
  readonly connect: (cancel: (mode: "graceful" | "hard") => void) => void;
}

export function cancelSlot(): CancelSlot {
  let asked: "graceful" | "hard" | null = null;
  let target: ((mode: "graceful" | "hard") => void) | null = null;
  return {
    set(mode) {
      asked = mode;
      target?.(mode);
    },
    connect(cancel) {
      target = cancel;
      if (asked !== null) cancel(asked);
    },
  };
}
