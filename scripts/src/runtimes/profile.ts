/** What a probe proved, as the controls of a record. A value is verified only beside the evidence that proves it. */
import type { RuntimeRecord } from "../core/runtime.ts";
import type { ProbeAnswer, Profile } from "./adapter.ts";
import type { LiveHelp } from "./help-flags.ts";

export type Level = "verified" | "attested" | "unverified";
export type Evidence = RuntimeRecord["evidence"][number];
type Control =
  | "approval"
  | "toolGating"
  | "writeBoundary"
  | "isolation"
  | "bypassAbsent"
  | "timeout"
  | "capture";
export type ControlValue<C extends Control> = RuntimeRecord[C]["value"];

export const found = (source: string, finding: string): Evidence => ({ source, finding, sha256: null });

/** Nothing proved: the start of every profile. */
export const UNPROVEN: Profile = {
  state: "unverified",
  reason: null,
  version: null,
  authenticated: "unverified",
  authSource: "unknown",
  gateway: false,
  provider: null,
  models: null,
  modelAliases: [],
  family: null,
  agents: null,
  headless: false,
  vendorBound: false,
  cwdControl: "unverified",
  approval: { value: "unverified", evidence: "unverified" },
  toolGating: { value: "unverified", evidence: "unverified" },
  writeBoundary: { value: "unverified", evidence: "unverified" },
  isolation: { value: "unverified", evidence: "unverified" },
  bypassAbsent: { value: false, evidence: "unverified" },
  timeout: { value: "external", evidence: "verified" },
  capture: { value: "unverified", evidence: "unverified" },
  nativeBudget: false,
  externalTimeout: true,
  resume: "unverified",
  fork: "unverified",
  steer: "unverified",
  structuredOutput: false,
  effortLevels: [],
  flags: {},
  evidence: [],
  notes: [],
};

/** `value` when every flag it rests on is in the live help, else unverified. */
export function provenBy<V extends string>(
  help: LiveHelp,
  flags: readonly string[],
  value: V,
): { value: V | "unverified"; evidence: Level } {
  return flags.every((flag) => help.has(flag))
    ? { value, evidence: "verified" }
    : { value: "unverified", evidence: "unverified" };
}

/** Every flag of `used`, present or not, and the sentence that says where it was looked up. */
export function flagFindings(
  help: LiveHelp,
  used: readonly string[],
): { flags: Record<string, boolean>; evidence: Evidence[] } {
  const flags = Object.fromEntries(used.map((flag) => [flag, help.has(flag)]));
  const missing = used.filter((flag) => !help.has(flag));
  const finding = missing.length === 0 ? `lists ${used.join(", ")}` : `does not list ${missing.join(", ")}`;
  return { flags, evidence: [found("--help", finding)] };
}

/** Also behind a `v`; never the tail of a longer one. */
const VERSION = /(?<![0-9A-Za-z.])v?(\d{1,9}\.\d{1,9}(?:\.\d{1,9})?(?:[-+.][0-9A-Za-z.]{1,40})?)\b/;

/** The first thing that looks like a version, on stdout before stderr; null when the program did not answer. */
export function versionIn(answer: ProbeAnswer): string | null {
  if (answer.timedOut) return null;
  for (const stream of [answer.stdout, answer.stderr]) {
    const match = VERSION.exec(
      stream
        .split(/\r?\n/)
        .filter((line) => !/^\s*WARN/i.test(line))
        .join("\n"),
    );
    if (match !== null) return match[1] as string;
  }
  return null;
}

/** State and reason from what is missing, most basic first. */
export function liveState(o: {
  readonly version: ProbeAnswer;
  readonly help: readonly ProbeAnswer[];
  readonly missingEssential: readonly string[];
  readonly authenticated: RuntimeRecord["authenticated"];
  readonly constrained: string | null;
}): { state: RuntimeRecord["state"]; reason: string | null } {
  if (o.version.timedOut || o.help.some((answer) => answer.timedOut))
    return { state: "unavailable", reason: "probe-timeout" };
  if (o.version.exitCode !== 0) return { state: "unavailable", reason: "version-failed" };
  if (o.help.every((answer) => answer.exitCode !== 0 && answer.stdout === "" && answer.stderr === ""))
    return { state: "unavailable", reason: "help-failed" };
  if (o.missingEssential.length > 0)
    return { state: "unavailable", reason: `flag-missing: ${o.missingEssential.join(", ")}` };
  if (o.authenticated === false) return { state: "unavailable", reason: "not-authenticated" };
  if (o.constrained !== null) return { state: "constrained", reason: o.constrained };
  return { state: "available", reason: null };
}
