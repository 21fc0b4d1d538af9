/** Why a run's state cannot be read or written: closed codes, each with what to run next. */

export type StateFaultCode =
  /** No state.json in that folder. */
  | "no-run"
  /** createRun found a state.json. */
  | "run-exists"
  /** state.json or journal.jsonl is a folder, a link, a device. */
  | "not-a-file"
  | "state-damaged"
  /** Written by a newer version of the tool. */
  | "state-newer"
  /** Not a state file of this tool. */
  | "state-foreign"
  /** A durable journal line is damaged or missing: records would be lost. */
  | "journal-damaged"
  | "journal-missing"
  /** The lock is held by somebody else now; nothing was written. */
  | "fenced"
  /** The system refused: `errno` and `path` say what. */
  | "io";

export interface StateFault {
  readonly code: StateFaultCode;
  /** What is wrong and what was expected, in one sentence. */
  readonly message: string;
  /** What to run next, or null when nothing helps. */
  readonly hint: string | null;
  readonly path: string;
  /** Name such as ENOSPC; null when the system reported none. */
  readonly errno: string | null;
}

/** A fault as an exception, for the places where no value can be returned: commits, followers. */
export class StateFaultError extends Error {
  readonly fault: StateFault;
  constructor(fault: StateFault) {
    super(fault.message);
    this.name = "StateFaultError";
    this.fault = fault;
  }
}
