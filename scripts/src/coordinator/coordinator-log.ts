/** supervisor/coordinator.log: what coordinators print, above all why they stopped. */
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { PRIVATE_FILE, replaceFile } from "../host/files.ts";
import { ioFault, StateFaultError } from "../state/fault.ts";

const fileOf = (runDir: string): string => join(runDir, RUN_FILES.supervisor, "coordinator.log");
const LINE_MAX_CHARS = 500;

export interface CoordinatorLog {
  /** For a coordinator's stdout and stderr. */
  readonly fd: number;
  /** Where its words will start. */
  readonly from: number;
  close(): void;
}

/** Throws `StateFaultError` (`io`) when the run directory takes no log: nothing else can be written there either. */
export function openCoordinatorLog(runDir: string): CoordinatorLog {
  const path = fileOf(runDir);
  try {
    const flags = constants.O_CREAT | constants.O_WRONLY | constants.O_APPEND;
    const fd = openSync(path, flags, PRIVATE_FILE);
    return { fd, from: fstatSync(fd).size, close: () => closeSync(fd) };
  } catch (error) {
    throw new StateFaultError(ioFault("write", error, path));
  }
}

/** The last line printed behind `from`; null when there is none. */
export function lastLine(runDir: string, from = 0): string | null {
  try {
    const text = readFileSync(fileOf(runDir)).subarray(from).toString("utf8").trimEnd();
    return text.split("\n").at(-1)?.slice(0, LINE_MAX_CHARS) || null;
  } catch {
    return null;
  }
}

/** The same for a coordinator that was just seen to stop; a full disk takes no last words, and then says so itself. */
export const lastWords = (runDir: string, from: number): string | null =>
  lastLine(runDir, from) ?? whyUnwritable(runDir);

/** As much as a state of the usual kind takes: what a disk that is nearly full has no room for. */
const PROBE = "x".repeat(65_536);

function whyUnwritable(runDir: string): string | null {
  const path = join(runDir, RUN_FILES.supervisor, "probe");
  try {
    replaceFile(path, PROBE);
    rmSync(path);
    return null;
  } catch (error) {
    return ioFault("write", error, path).message;
  }
}
