/** Why a run's state cannot be read or written: closed codes, each with what to run next. */
import { errorCode } from "../host/files.ts";

export type StateFaultCode =
  /** No state.json in that folder. */
  | "no-run"
  /** `createRun` found a state.json. */
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
  /** What to run next. */
  readonly hint: string;
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

/** `path` is used when the system's error names none. */
export function ioFault(doing: "read" | "write", error: unknown, path: string): StateFault {
  const errno = errorCode(error);
  const at = placeOf(error) ?? path;
  if (errno === "ENOTREG" || errno === "EISDIR" || errno === "ELOOP")
    return {
      code: "not-a-file",
      message: `\`${at}\` is not a regular file; a folder, a link or a device is never read or written in its place.`,
      hint: "Move it away and put the file back, or name another run directory.",
      path: at,
      errno,
    };
  const reason = errno ?? (error instanceof Error ? error.message : String(error));
  return {
    code: "io",
    message: `Cannot ${doing} \`${at}\`: ${reason}.`,
    hint: REMEDY[errno ?? ""] ?? "Check the disk and the folder, then `resume` the run.",
    path: at,
    errno,
  };
}

/** Where the system says that it failed; of a rename the target, which is what was to be written. */
function placeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { dest, path } = error as { dest?: unknown; path?: unknown };
  return typeof dest === "string" ? dest : typeof path === "string" ? path : null;
}

const REMEDY: Readonly<Record<string, string>> = {
  ENOSPC: "Free some space, then `resume` the run.",
  EDQUOT: "Free some of your quota, then `resume` the run.",
  EACCES: "Make the run directory readable and writable for you, then `resume` the run.",
  EPERM: "Make the run directory readable and writable for you, then `resume` the run.",
  EROFS: "Mount the file system writable, or copy the run directory to one that is, then `resume` the run.",
  EMFILE: "Raise the limit of open files (`ulimit -n`), then `resume` the run.",
  ENOENT: "The run directory was moved or removed while the run went on; put it back, then `resume` the run.",
};

export const fencedFault = (runDir: string): StateFault => ({
  code: "fenced",
  message: `This coordinator no longer holds the lock of \`${runDir}\`, so it wrote nothing and stops.`,
  hint: "See who coordinates now by `status`; that process goes on.",
  path: runDir,
  errno: null,
});
