/** The library that makes one change of a run folder fail (fault-shim.c): compiled once a process, told by variables. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const FAULT_MODES = ["kill-before", "kill-after", "torn", "eio", "enospc", "eacces", "short"] as const;
export type FaultMode = (typeof FAULT_MODES)[number];

export interface Fault {
  readonly mode: FaultMode;
  /** The operation that is hit, from 1; 0 hits none. */
  readonly at: number;
  /** Every later operation is hit too. */
  readonly sticky?: boolean;
  /** `kind:end of path` pairs with commas between them; nothing else is counted. */
  readonly only?: string;
}

export interface FileOperation {
  readonly number: number;
  readonly kind: string;
  readonly path: string;
}

let compiled: string | null = null;

/** Path of the compiled library. Throws where there is no C compiler or no Linux. */
export function faultShim(): string {
  if (compiled === null) {
    const folder = mkdtempSync(join(tmpdir(), "orchestrate-shim-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const library = join(folder, "fault-shim.so");
    const source = join(import.meta.dirname, "fault-shim.c");
    execFileSync("cc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
    compiled = library;
  }
  return compiled;
}

/** Variables that put the library into a process; `log` gets one line an operation and lies outside `root`. */
export function faultEnvironment(o: { root: string; log: string; fault: Fault }): Record<string, string> {
  return {
    LD_PRELOAD: faultShim(),
    FAULT_ROOT: o.root,
    FAULT_LOG: o.log,
    FAULT_AT: String(o.fault.at),
    FAULT_MODE: o.fault.mode,
    ...(o.fault.sticky === true ? { FAULT_STICKY: "1" } : {}),
    ...(o.fault.only === undefined ? {} : { FAULT_ONLY: o.fault.only }),
  };
}

export function readOperations(log: string): FileOperation[] {
  if (!existsSync(log)) return [];
  return readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [number = "", kind = ""] = line.split(" ", 2);
      return { number: Number(number), kind, path: line.slice(number.length + kind.length + 2) };
    });
}
