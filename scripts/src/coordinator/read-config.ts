/** Reads a file of the operator's: a file that is there and cannot be read is a fault, for it may hold what matters. */
import { statSync } from "node:fs";
import type { Diagnostic } from "../core/diagnostic.ts";
import { err, ok, type Result } from "../core/result.ts";
import { errorCode, readTextIfPresent } from "../host/files.ts";

/** Larger ones are no configuration. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Null: there is none. */
export function readConfig(path: string): Result<string | null, Diagnostic> {
  const unreadable = (why: string): Result<string | null, Diagnostic> =>
    err({
      severity: "error",
      code: "config-unreadable",
      file: path,
      message: `\`${path}\` cannot be read: ${why}.`,
      fix: "make it a readable text file, or take it away",
    });
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return ok(null);
    if (!stat.isFile()) return unreadable("it is no file");
    return stat.size > MAX_BYTES ? unreadable("it is over 16 MiB") : ok(readTextIfPresent(path));
  } catch (error) {
    return unreadable(errorCode(error) ?? String(error));
  }
}
