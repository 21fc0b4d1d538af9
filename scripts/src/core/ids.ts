import { RESERVED_RUN_NAMES } from "./layout.ts";

/** A job id is also a folder name and a branch name: the allow-list below holds for all three. */
export const JOB_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$/i;

/** Why `id` is not usable as a job id, or null when it is. Enforced at parse and again where paths are built. */
export function jobIdProblem(id: string): string | null {
  if (!JOB_ID.test(id)) return "must match `^[a-z0-9][a-z0-9._-]{0,63}$`";
  if (id.includes("..")) return "must not contain `..`";
  if (id.endsWith(".")) return "must not end with a dot";
  if (id.endsWith(".lock")) return "must not end with `.lock` (git refuses such a branch)";
  if (RESERVED_RUN_NAMES.has(id)) return "is a name of the run directory";
  if (/^(arbiter|inbox)$/.test(id) || /^(arbiter|attempt)-/.test(id))
    return "is reserved for the coordinator";
  if (WINDOWS_DEVICE.test(id)) return "is a device name on Windows";
  return null;
}
