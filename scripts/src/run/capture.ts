/** Bounded, redacted capture of one stream: head and tail kept, everything counted. */

/** Exact figures of one captured stream. `bytes` = `keptBytes` + `droppedBytes`, all as the child wrote them (before redaction). */
export interface CaptureSummary {
  readonly bytes: number;
  readonly keptBytes: number;
  readonly droppedBytes: number;
  /** Bytes that were no UTF-8 and stand as U+FFFD in what was kept. */
  readonly invalidBytes: number;
  readonly truncated: boolean;
  readonly redactions: number;
  /** The last 8 KiB, redacted. */
  readonly tail: string;
}
