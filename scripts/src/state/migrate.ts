/** Which state files this version reads: its own, and by name the ones it refuses. */
import { err, ok, type Result } from "../core/result.ts";
import type { StateFaultCode } from "./fault.ts";
import type { State } from "./records.ts";

/** Raised with every change of shape that an older reader would misread, together with a step in `UPGRADES`. */
export const STATE_VERSION = 1;

/** `UPGRADES[n]` turns a state of version n into one of n + 1. Version 1 is the first. */
const UPGRADES: Readonly<Record<number, (old: Record<string, unknown>) => Record<string, unknown>>> = {};

export interface Refusal {
  readonly code: Extract<StateFaultCode, "state-newer" | "state-foreign">;
  readonly what: string;
}

/**
 * A parsed document as a state of this version; upgraded when it is older, refused when it is newer or not ours. A
 * document whose checksum holds is `sealed`: its jobs need no look, which large runs would pay for.
 */
export function migrate(document: unknown, sealed: boolean): Result<State, Refusal> {
  if (typeof document !== "object" || document === null || Array.isArray(document))
    return err({ code: "state-foreign", what: "it is not a JSON object" });
  let value = document as Record<string, unknown>;
  const version = value["schemaVersion"];
  if (typeof version !== "number" || !Number.isInteger(version))
    return err({ code: "state-foreign", what: "it has no `schemaVersion`" });
  if (version > STATE_VERSION)
    return err({
      code: "state-newer",
      what: `its version is ${version} and this tool reads up to ${STATE_VERSION}`,
    });
  for (let v = version; v < STATE_VERSION; v++) {
    const upgrade = UPGRADES[v];
    if (upgrade === undefined)
      return err({ code: "state-foreign", what: `version ${version} never existed` });
    value = upgrade(value);
  }
  const problem = shapeProblem(value, sealed);
  return problem === null ? ok(value as unknown as State) : err({ code: "state-foreign", what: problem });
}

const LISTS = ["notes", "approvals", "arbiters"] as const;
const TEXTS = ["runId", "specSha256", "graphSha256", "createdAt", "updatedAt", "status"] as const;

/** Enough to know the file as ours and to walk it safely. */
function shapeProblem(value: Record<string, unknown>, sealed: boolean): string | null {
  for (const key of ["seq", "epoch"]) if (!Number.isSafeInteger(value[key])) return `\`${key}\` is no number`;
  for (const key of TEXTS) if (typeof value[key] !== "string") return `\`${key}\` is no text`;
  for (const key of LISTS) if (!Array.isArray(value[key])) return `\`${key}\` is no list`;
  const jobs = value["jobs"];
  if (typeof jobs !== "object" || jobs === null || Array.isArray(jobs)) return "`jobs` is no object";
  if (sealed) return null;
  for (const [id, job] of Object.entries(jobs)) {
    const attempts: unknown = (job as { attemptRecords?: unknown } | null)?.attemptRecords;
    if (!Array.isArray(attempts)) return `job \`${id}\` has no \`attemptRecords\``;
    if (!attempts.every((a: { attempt?: unknown } | null, i) => a?.attempt === i + 1))
      return `the attempts of job \`${id}\` are not numbered from 1`;
  }
  return null;
}
