/**
 * The hard filter: every reason to reject a candidate, as a table. What it rejects never comes back, whatever ranks
 * how. All reasons of a candidate are reported, save that the basic ones make the others pointless.
 */
import { isExplicitRuntime, isPlaceholder, type RuntimePlaceholder } from "../core/placeholders.ts";
import { capabilityAtLeast } from "../core/tiers.ts";
import { needsName, type RouteCandidate, type RouteJob, type RouteWorld } from "./candidates.ts";
import { isLive, MOCK, policyLine } from "./capability.ts";
import { type ControlledJob, checkControls, isolationRaise, provenReadOnly, type Raise } from "./controls.ts";

export interface FilterInput {
  readonly candidate: RouteCandidate;
  readonly job: RouteJob;
  readonly world: RouteWorld;
}

export interface Rejection {
  readonly code: RejectCode;
  readonly detail: string;
}

interface FilterRule {
  readonly code: string;
  /** Why the candidate is rejected, or null. */
  readonly test: (input: FilterInput) => string | null;
  /** A hit makes the rules below it pointless. */
  readonly stops: boolean;
}

const RULES = [
  { code: "pin-mismatch", stops: true, test: pinMismatch },
  { code: "not-named", stops: true, test: notNamed },
  { code: "mock-arbiter", stops: true, test: mockArbiter },
  { code: "native-arbiter", stops: true, test: nativeArbiter },
  { code: "not-live", stops: true, test: notLive },
  { code: "auth-false", stops: true, test: authFalse },
  { code: "class-mismatch", stops: false, test: classMismatch },
  { code: "below-capability", stops: false, test: belowCapability },
  { code: "internal-r3", stops: false, test: internalR3 },
  { code: "below-controls", stops: false, test: belowControls },
  { code: "model-not-live", stops: false, test: modelNotLive },
  { code: "effort-not-offered", stops: false, test: effortNotOffered },
  { code: "tool-unmapped", stops: false, test: toolUnmapped },
  { code: "capture-below-text", stops: false, test: captureBelowText },
  { code: "agent-not-in-session", stops: false, test: agentNotInSession },
  { code: "skill-undeliverable", stops: false, test: skillUndeliverable },
  { code: "session-unsupported", stops: false, test: sessionUnsupported },
] as const satisfies readonly FilterRule[];

/** `already-failed` is decided at promotion, `needs-worktree` when others do without. */
export type RejectCode = (typeof RULES)[number]["code"];
export const REJECT_CODES: readonly string[] = [...RULES.map((rule) => rule.code), "needs-worktree"];

/** All reasons to reject the candidate for this job, most basic first; empty when it may run it. */
export function rejections(input: FilterInput): Rejection[] {
  const found: Rejection[] = [];
  for (const rule of RULES) {
    const detail = rule.test(input);
    if (detail === null) continue;
    found.push({ code: rule.code, detail });
    if (rule.stops) break;
  }
  return found;
}

/** Isolation that the job must get before this candidate may run it, or null. */
export function raiseFor({ candidate, job }: Pick<FilterInput, "candidate" | "job">): Raise | null {
  return candidate.record.id === MOCK.id ? null : isolationRaise(candidate.record, controlledJob(job));
}

export function controlledJob(job: RouteJob): ControlledJob {
  const disallowed = new Set(job.tools.disallowed);
  return {
    riskTier: job.riskTier,
    writer: job.writer,
    worktree: job.worktree,
    tools: job.tools.allowed.filter((word) => !disallowed.has(word)),
  };
}

interface PlaceholderClass {
  readonly what: string;
  readonly holds: (candidate: RouteCandidate) => boolean;
}

/** Placeholders and the class of candidates that each stands for. */
export const PLACEHOLDER_CLASSES: Readonly<Record<RuntimePlaceholder, PlaceholderClass>> = {
  "<verified-cli-runtime>": { what: "live CLI agent", holds: isCliAgent },
  "<verified-read-runtime>": {
    what: "live CLI agent that is proven read-only",
    holds: (candidate) => isCliAgent(candidate) && provenReadOnly(candidate.record),
  },
  "<verified-judgment-runtime>": {
    what: "live candidate of C3",
    holds: (candidate) => candidate.finding.capability === "C3",
  },
  "<verified-fallback-runtime>": { what: "live candidate", holds: () => true },
};

/** A runtime that the job insists on; a session pins the runtime that it is one of. */
export function pinOf(job: RouteJob): string | null {
  if (job.session !== null) return job.session.runtime;
  return explicit(job);
}

/** Whether a candidate may be the first of the chain, as far as `runtime` says. */
export function mayLead(job: RouteJob): (candidate: RouteCandidate) => boolean {
  const pin = pinOf(job);
  if (job.session !== null || pin !== null) return (candidate) => candidate.record.id === pin;
  return classOf(job.runtime);
}

export const classOf = (name: string | null): ((candidate: RouteCandidate) => boolean) =>
  name === null ? () => true : placeholderClass(name).holds;

/** What a placeholder stands for, in words without an article. */
export const classWhat = (name: string): string => placeholderClass(name).what;

const placeholderClass = (name: string): PlaceholderClass =>
  PLACEHOLDER_CLASSES[name as RuntimePlaceholder] ?? { what: "known kind of runtime", holds: () => false };

function isCliAgent(candidate: RouteCandidate): boolean {
  return candidate.record.kind === "cli" && !needsName(candidate.record);
}

const explicit = (job: RouteJob): string | null => (isExplicitRuntime(job.runtime) ? job.runtime : null);
const isAgent = (runtime: string, world: RouteWorld): boolean =>
  world.records.find((record) => record.id === runtime)?.role === "agent" ||
  world.traits(runtime)?.agent === true;

function pinMismatch({ candidate, job }: FilterInput): string | null {
  const pin = job.session === null ? explicit(job) : (job.session.runtime ?? explicit(job));
  if (pin === null || candidate.record.id === pin) return null;
  if (job.session !== null) return `the session to go on with is one of \`${pin}\``;
  if (isNamedFallback(candidate, job)) return null;
  return `the job names \`${pin}\``;
}

/** A placeholder among the fallbacks of a pinned job lets its whole class in. */
function isNamedFallback(candidate: RouteCandidate, job: RouteJob): boolean {
  return job.fallbackRuntime.some(
    (name) => name === candidate.record.id || (isPlaceholder(name) && classOf(name)(candidate)),
  );
}

function notNamed({ candidate, job, world }: FilterInput): string | null {
  const { record } = candidate;
  if (!needsName(record)) return null;
  if (record.role === "classifier") return "a classifier runs no jobs";
  const pin = explicit(job);
  const isMock = record.id === MOCK.id;
  if (pin === record.id || (isMock && job.arbiter)) return null;
  // A program may stand in for another program, never for an agent, and a script for neither.
  const standIn = pin !== null && !isMock && job.fallbackRuntime.includes(record.id) && !isAgent(pin, world);
  return standIn ? null : `only \`runtime: ${record.id}\` selects it`;
}

function mockArbiter({ candidate, job }: FilterInput): string | null {
  const isMock = candidate.record.id === MOCK.id;
  if (!job.arbiter) return null;
  const onlyMock = job.upstream.runtimes.length > 0 && job.upstream.runtimes.every((id) => id === MOCK.id);
  if (isMock && !onlyMock) return "judges its own work only";
  if (!isMock && onlyMock) return "work of `mock` alone is judged by `mock`";
  return null;
}

function nativeArbiter({ candidate, job }: FilterInput): string | null {
  if (!job.arbiter || candidate.record.kind !== "internal" || explicit(job) === candidate.record.id)
    return null;
  return "asked by `arbitrate_native` when no other is left";
}

function notLive({ candidate }: FilterInput): string | null {
  const { record } = candidate;
  return isLive(record) ? null : `${record.state}${record.reason === null ? "" : `: ${record.reason}`}`;
}

function authFalse({ candidate }: FilterInput): string | null {
  return candidate.record.authenticated === false ? "not authenticated: log in to it" : null;
}

function classMismatch({ candidate, job }: FilterInput): string | null {
  if (job.runtime === null || !isPlaceholder(job.runtime)) return null;
  const wanted = placeholderClass(job.runtime);
  if (wanted.holds(candidate)) return null;
  // A fallback that is named belongs to no class but its own.
  return isNamedFallback(candidate, job) ? null : `is no ${wanted.what}`;
}

function belowCapability({ candidate, job }: FilterInput): string | null {
  const { record, finding } = candidate;
  if (record.id === MOCK.id || capabilityAtLeast(finding.capability, job.capabilityFloor)) return null;
  const has = `${finding.capability}, needs ${job.capabilityFloor}`;
  if (record.role !== "agent") return `${has}: a program has no judgment`;
  return `${has}; to state otherwise, in the home policy below \`candidates:\`: ${policyLine(candidate, job.capabilityFloor)}`;
}

function internalR3({ candidate, job }: FilterInput): string | null {
  return candidate.record.kind === "internal" && job.riskTier === "R3" ? "R3 never runs in-session" : null;
}

function belowControls({ candidate, job }: FilterInput): string | null {
  if (candidate.record.id === MOCK.id) return null;
  // A worktree would meet it, and the job can be given one.
  const raised = raiseFor({ candidate, job }) !== null;
  const gaps = checkControls(candidate.record, controlledJob(job)).filter(
    (check) => !check.met && !(raised && check.concern === "writeBoundary"),
  );
  if (gaps.length === 0) return null;
  return gaps
    .map((gap) => {
      const evidence = gap.has === "unverified" ? "" : ` (${gap.evidence})`;
      const proof = gap.evidenceNeeded === "verified" ? " verified" : "";
      return `${gap.concern} is ${gap.has}${evidence}, ${job.riskTier} needs ${gap.needs}${proof}`;
    })
    .join("; ");
}

function modelNotLive({ candidate, job }: FilterInput): string | null {
  const { record } = candidate;
  if (job.model === null) return null;
  if (record.role !== "agent") return "a program takes no model";
  if (record.kind === "internal")
    return explicit(job) === record.id ? null : "in-session work offers no choice of model";
  // Without a list nothing can be said before the runtime itself answers.
  if (record.models === null) return null;
  const offered = record.models.includes(job.model) || record.modelAliases.includes(job.model);
  return offered ? null : `does not list \`${job.model}\``;
}

function effortNotOffered({ candidate, job }: FilterInput): string | null {
  const { record } = candidate;
  if (job.effort === null || record.id === MOCK.id || record.effortLevels.includes(job.effort)) return null;
  const offered = record.effortLevels.join(", ");
  return offered === "" ? "offers no choice of effort" : `offers ${offered}, not ${job.effort}`;
}

function toolUnmapped({ candidate, job, world }: FilterInput): string | null {
  const { record } = candidate;
  if (record.role !== "agent") return null;
  const { allowed, disallowed, origin } = job.tools;
  // A shell for the job's own checks is a convenience of the default set: where it cannot be bounded, the job goes without.
  const needed = origin === "tier" ? allowed.filter((tool) => !/^shell\([\s\S]+\)$/.test(tool)) : allowed;
  const word = world.traits(record.id)?.unmappedTool(needed, job.riskTier, disallowed) ?? null;
  return word === null ? null : `cannot bound \`${word}\``;
}

function captureBelowText({ candidate, job }: FilterInput): string | null {
  const { capture } = candidate.record;
  const readable = capture.value !== "unverified" && capture.evidence !== "unverified";
  return readable || !job.loadBearing || candidate.record.id === MOCK.id
    ? null
    : "its result cannot be captured, and others build on this job";
}

function agentNotInSession({ candidate, job }: FilterInput): string | null {
  const { record } = candidate;
  if (job.agent === null) return null;
  if (record.kind !== "internal") return "`agent` needs in-session dispatch";
  return record.agents === null || record.agents.includes(job.agent)
    ? null
    : `the harness has no agent \`${job.agent}\``;
}

function skillUndeliverable({ candidate, job }: FilterInput): string | null {
  const { record } = candidate;
  return !job.skill || record.kind === "internal" || record.id === MOCK.id
    ? null
    : "nobody proved that it is given skills";
}

function sessionUnsupported({ candidate, job, world }: FilterInput): string | null {
  if (job.session === null) return null;
  if (job.session.runtime === null) return "the job whose session it goes on with has no route";
  const pin = explicit(job);
  if (pin !== null && pin !== job.session.runtime)
    return `the job names \`${pin}\`, the session is one of \`${job.session.runtime}\``;
  const proof = job.session.mode === "fork" ? candidate.record.fork : candidate.record.resume;
  if (proof !== "verified") return `its ${job.session.mode} of a session is ${proof}`;
  const scope = world.traits(candidate.record.id)?.sessionScope?.[job.session.mode];
  return scope === "folder" && !job.session.sameFolder
    ? `it can ${job.session.mode} a session only in the folder that it was made in, and the two jobs work in different ones`
    : null;
}
