/** Why an adapter does not start what was asked of it: the sentences that several adapters share. */
import type { RuntimeRecord } from "../core/runtime.ts";
import type { Effort } from "../core/tiers.ts";
import type { StartRefusal } from "./adapter.ts";

export function refuseMissingFlags(
  id: string,
  record: RuntimeRecord,
  needed: readonly string[],
): StartRefusal | null {
  const missing = needed.filter((flag) => record.flags[flag] !== true);
  if (missing.length === 0) return null;
  const list = missing.map((flag) => `\`${flag}\``).join(", ");
  return { code: "flag-missing", detail: `the live help of \`${id}\` does not list ${list}` };
}

export function refuseEffort(id: string, record: RuntimeRecord, effort: Effort | null): StartRefusal | null {
  if (effort === null || record.effortLevels.includes(effort)) return null;
  const offered = record.effortLevels.length === 0 ? "none" : record.effortLevels.join(", ");
  return {
    code: "effort-unsupported",
    detail: `\`${id}\` does not offer effort \`${effort}\` (it offers ${offered})`,
  };
}

export const refuseBypass = (flag: string | null): StartRefusal | null =>
  flag === null
    ? null
    : { code: "bypass-flag", detail: `\`${flag}\` switches permission checks off and is never passed` };
