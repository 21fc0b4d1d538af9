/**
 * Controls: what holds a candidate back, how strong each value is, what each tier asks for, and what is left of it
 * for one job. Everything that compares two candidates or a candidate with a tier goes through this file.
 */
import type { RuntimeRecord } from "../core/runtime.ts";
import { RISK_TIERS, type RiskTier, riskAtLeast } from "../core/tiers.ts";

export const CONCERNS = [
  "approval",
  "toolGating",
  "writeBoundary",
  "isolation",
  "timeout",
  "bypass",
  "capture",
] as const;
export type Concern = (typeof CONCERNS)[number];
export type Evidence = "verified" | "attested" | "unverified";

/** Values of each concern, strong to weak. `unverified` is below all of them. */
export const CONTROL_ORDERS: Readonly<Record<Concern, readonly string[]>> = {
  approval: ["per-operation", "scoped", "auto", "none"],
  toolGating: ["granular", "coarse", "none"],
  writeBoundary: ["enforced", "worktree", "prompt-only", "none"],
  isolation: ["container", "os-sandbox", "worktree", "prompt-only", "none"],
  timeout: ["native+external", "external", "accounting"],
  bypass: ["absent", "present"],
  capture: ["structured", "text"],
};

/** What a tier asks for beyond the tier below it. */
const ADDED_MINIMUMS: Readonly<Record<RiskTier, readonly (readonly [Concern, string])[]>> = {
  R0: [
    ["timeout", "accounting"],
    ["capture", "text"],
    ["toolGating", "coarse"],
  ],
  R1: [
    ["bypass", "absent"],
    ["writeBoundary", "worktree"],
  ],
  R2: [
    ["isolation", "worktree"],
    ["timeout", "external"],
  ],
  R3: [["approval", "scoped"]],
};

export interface Control {
  readonly value: string;
  readonly evidence: Evidence;
  /** Who provides it: the candidate itself, our worktree, our exact argv, or a measurement after the fact. */
  readonly by: "candidate" | "worktree" | "argv" | "afterwards";
}
export type Controls = Readonly<Record<Concern, Control>>;

/** The part of a job that decides how much of a candidate's controls counts. */
export interface ControlledJob {
  readonly riskTier: RiskTier;
  readonly writer: boolean;
  /** The job runs in its own worktree. */
  readonly worktree: boolean;
  /** Granted tool words, after what is disallowed was taken away. */
  readonly tools: readonly string[];
}

/** One line of the gate: what the tier needs, what this candidate has for it. */
export interface ControlCheck {
  readonly concern: Concern;
  readonly needs: string;
  readonly evidenceNeeded: "verified" | "attested";
  readonly has: string;
  readonly evidence: Evidence;
  readonly by: Control["by"];
  readonly met: boolean;
}

/** Every control that `tier` needs, strongest demand per concern. */
export function minimumControls(tier: RiskTier): ReadonlyMap<Concern, string> {
  const needs = new Map<Concern, string>();
  for (const step of RISK_TIERS.slice(0, RISK_TIERS.indexOf(tier) + 1))
    for (const [concern, value] of ADDED_MINIMUMS[step]) needs.set(concern, value);
  return needs;
}

/** Strength of a control as a number: 0 when nothing proves it, else by value first and by evidence second. */
export function controlLevel(concern: Concern, control: { value: string; evidence: Evidence }): number {
  const order = CONTROL_ORDERS[concern];
  const at = order.indexOf(control.value);
  if (at < 0 || control.evidence === "unverified") return 0;
  return (order.length - at) * 2 + (control.evidence === "verified" ? 1 : 0);
}

/** The strongest that the candidate can be held to in this job: its own controls, our worktree, our argv. */
export function effectiveControls(
  record: RuntimeRecord,
  job: Pick<ControlledJob, "riskTier" | "worktree">,
): Controls {
  const strongest = (concern: Concern): Control =>
    controlsFor(concern, record, job).reduce((a, b) => stronger(concern, a, b));
  return Object.fromEntries(CONCERNS.map((concern) => [concern, strongest(concern)])) as Record<
    Concern,
    Control
  >;
}

/** Each control of the job's tier against this candidate, in the order of `CONCERNS`. */
export function checkControls(record: RuntimeRecord, job: ControlledJob): ControlCheck[] {
  const needs = minimumControls(job.riskTier);
  const evidenceNeeded = riskAtLeast(job.riskTier, "R2") ? "verified" : "attested";
  return CONCERNS.filter((concern) => needs.has(concern)).map((concern) => {
    const value = needs.get(concern) as string;
    const floor = controlLevel(concern, { value, evidence: "attested" });
    const meets = (control: Control): boolean =>
      controlLevel(concern, control) >= floor &&
      (evidenceNeeded === "attested" || control.evidence === "verified");
    // A weaker control that is proven may do where a stronger one is only claimed.
    const offered = controlsFor(concern, record, job);
    const fitting = offered.filter(meets);
    const {
      value: has,
      evidence,
      by,
    } = (fitting.length > 0 ? fitting : offered).reduce((a, b) => stronger(concern, a, b));
    return { concern, needs: value, evidenceNeeded, has, evidence, by, met: fitting.length > 0 };
  });
}

export type Raise = "unverified" | "auto-approval" | "write-boundary";

/**
 * Why this writer's candidate may run it only in a worktree of its own, or null: nobody verified where it can write
 * (which also makes the job R2), it approves everything itself, or nothing but words keeps its edits in their place.
 */
export function isolationRaise(record: RuntimeRecord, job: ControlledJob): Raise | null {
  if (job.worktree || !job.writer) return null;
  const { approval, writeBoundary } = effectiveControls(record, job);
  const boundary = controlLevel("writeBoundary", writeBoundary);
  if (boundary === 0 && riskAtLeast(job.riskTier, "R1")) return "unverified";
  if (writeBoundary.by === "afterwards") return null;
  const fenced = writeBoundary.value === "enforced" && boundary > 0;
  const asks = controlLevel("approval", approval) >= SCOPED;
  if (!asks && !fenced) return "auto-approval";
  return boundary < FENCED && riskAtLeast(job.riskTier, "R1") ? "write-boundary" : null;
}

/**
 * Levels of all concerns in the order of `CONCERNS`, as effective for this job, for comparing candidates.
 * An enforced sandbox that covers the job's tools counts as granular gating and scoped approval.
 */
export function controlStrength(record: RuntimeRecord, job: ControlledJob): number[] {
  const controls = effectiveControls(record, job);
  const box = record.isolation;
  const boxed = (box.value === "container" || box.value === "os-sandbox") && box.evidence !== "unverified";
  if (!boxed || !job.tools.every(sandboxCovers))
    return CONCERNS.map((concern) => controlLevel(concern, controls[concern]));
  const counted: Controls = {
    ...controls,
    approval: stronger("approval", controls.approval, candidate("scoped", box.evidence)),
    toolGating: stronger("toolGating", controls.toolGating, candidate("granular", box.evidence)),
  };
  return CONCERNS.map((concern) => controlLevel(concern, counted[concern]));
}

/** Concerns on which `candidate` is weaker than `reference`. No strength elsewhere makes up for one. */
export function weakerConcerns(candidate: readonly number[], reference: readonly number[]): Concern[] {
  return CONCERNS.filter((_, i) => (candidate[i] ?? 0) < (reference[i] ?? 0));
}

/** True when it is proven that writing tools can be withheld from the candidate. */
export function provenReadOnly(record: RuntimeRecord): boolean {
  const gate = record.toolGating;
  return gate.evidence === "verified" && (gate.value === "granular" || gate.value === "coarse");
}

const WORKTREE: Control = { value: "worktree", evidence: "verified", by: "worktree" };
const AFTERWARDS: Control = { value: "worktree", evidence: "attested", by: "afterwards" };
const ARGV = (value: string): Control => ({ value, evidence: "verified", by: "argv" });
const SCOPED = controlLevel("approval", { value: "scoped", evidence: "attested" });
const FENCED = controlLevel("writeBoundary", { value: "worktree", evidence: "attested" });

const candidate = (value: string, evidence: Evidence): Control => ({ value, evidence, by: "candidate" });

/** Everything that provides one concern: never empty. */
function controlsFor(
  concern: Concern,
  record: RuntimeRecord,
  job: Pick<ControlledJob, "riskTier" | "worktree">,
): Control[] {
  const offered = [ownControls(record)[concern]];
  if (job.worktree && (concern === "isolation" || concern === "writeBoundary")) offered.push(WORKTREE);
  if (concern === "writeBoundary" && provedByMeasurement(record) && !riskAtLeast(job.riskTier, "R2"))
    offered.push(AFTERWARDS);
  return offered;
}

function ownControls(record: RuntimeRecord): Controls {
  const program = record.role !== "agent";
  const of = (control: { value: string; evidence: Evidence }): Control =>
    candidate(control.value, control.value === "unverified" ? "unverified" : control.evidence);
  return {
    // A program can run nothing but the argv that the spec declares, and that was checked before.
    approval: program ? ARGV("scoped") : of(record.approval),
    toolGating: program ? ARGV("granular") : of(record.toolGating),
    writeBoundary: of(record.writeBoundary),
    isolation: of(record.isolation),
    timeout: of(record.timeout),
    bypass: program
      ? ARGV("absent")
      : candidate(record.bypassAbsent.value ? "absent" : "present", record.bypassAbsent.evidence),
    capture: of(record.capture),
  };
}

/** What an in-session agent or a program changed is measured by comparing the workspace before and after. */
const provedByMeasurement = (record: RuntimeRecord): boolean =>
  record.kind === "internal" || record.role !== "agent";

const stronger = (concern: Concern, a: Control, b: Control): Control =>
  controlLevel(concern, b) > controlLevel(concern, a) ? b : a;

const sandboxCovers = (word: string): boolean =>
  /^(?:read|search|edit|write|shell)$|^shell\([\s\S]*\)$/.test(word);
