/** Files of a job that are too large to be read whole. Looked for before anything reads them: nothing could stop that in time. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { WORK_FILE_MAX_BYTES } from "../core/policy.ts";

/** In words, naming the first of `paths` (relative to `root`) that is larger than `maxBytes`; null when none is. Links are not followed. */
export function tooLargeFile(
  root: string,
  paths: Iterable<string>,
  maxBytes: number = WORK_FILE_MAX_BYTES,
): string | null {
  for (const path of paths) {
    const look = lstatSync(join(root, path), { throwIfNoEntry: false });
    if (look?.isFile() === true && look.size > maxBytes)
      return `\`${path}\` has ${look.size} bytes, more than the ${maxBytes} that a file of a job may have`;
  }
  return null;
}
