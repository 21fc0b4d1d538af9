/** The only module that writes to stdout and stderr. It stands alone, so that `--help` loads nothing else. */
import { writeSync } from "node:fs";

export interface Sink {
  /** Writes all of `text`; false when the other end is closed. */
  write(stream: "stdout" | "stderr", text: string): boolean;
}

/** Prints prepared text (help, version) and nothing else. */
export function printText(text: string): void {
  processSink.write("stdout", endLine(text));
}

/** One line for a fault that no command could answer for. */
export function printFault(line: string): void {
  processSink.write("stderr", endLine(line));
}

export const endLine = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Synchronous, so that a document is complete before the process exits, however slow the reader is. */
export const processSink: Sink = {
  write(stream, text) {
    const fd = stream === "stdout" ? 1 : 2;
    const bytes = Buffer.from(text);
    let offset = 0;
    while (offset < bytes.length) {
      try {
        offset += writeSync(fd, bytes, offset);
      } catch (fault) {
        if (!isRetryable(fault)) return false;
        pause(PIPE_FULL_PAUSE_MS);
      }
    }
    return true;
  },
};

const PIPE_FULL_PAUSE_MS = 5;

/** A pipe that its owner made non-blocking answers EAGAIN while it is full; any other fault means nobody reads. */
function isRetryable(fault: unknown): boolean {
  const code = fault instanceof Error && "code" in fault ? fault.code : null;
  return code === "EAGAIN" || code === "EINTR";
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
