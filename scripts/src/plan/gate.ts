/**
 * The safety gate as a report: per job the controls that its tier needs, the evidence that meets each and what is
 * missing; and for the whole run every command that it would execute and everybody who would see its content.
 */
import type { Command, PlanJob } from "../core/generated/graph.ts";
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { type RiskTier, riskAtLeast } from "../core/tiers.ts";
import type { PlanGraph } from "./build-plan.ts";
import { MOCK } from "./capability.ts";
import { type ControlCheck, checkControls } from "./controls.ts";
import type { DeclaredSource } from "./plan-input.ts";
import { candidateName } from "./route-words.ts";

export interface GateJob {
  readonly id: string;
  readonly riskTier: RiskTier;
  readonly tierDerivation: readonly string[];
  /** Who would run it, or null. */
  readonly candidate: string | null;
  readonly isolation: string;
  readonly controls: readonly ControlCheck[];
  /** Whose word it waits for before it starts, or null. */
  readonly approval: "r3" | "spec" | null;
  /** Everything that keeps it from starting, as `code: detail`. Empty: it may start. */
  readonly missing: readonly string[];
}

export interface GateCommand {
  readonly kind: "worktree-setup" | "invocation" | "preview" | "verification";
  readonly jobs: readonly string[];
  readonly argv: readonly string[];
  /** Absolute; null: the job's folder. */
  readonly cwd: string | null;
}

export interface GateProvider {
  /** Null: the runtime does not say to whom it sends. */
  readonly provider: string | null;
  readonly runtime: string;
  /** `fallback`: only if it takes over. */
  readonly role: "job" | "fallback" | "arbiter";
  readonly jobs: readonly string[];
}

export interface GateReport {
  readonly ok: boolean;
  readonly jobs: readonly GateJob[];
  readonly commands: readonly GateCommand[];
  /** Rollback commands: shown, never run by us. */
  readonly rollbacks: readonly { readonly job: string; readonly argv: readonly string[] }[];
  readonly providers: readonly GateProvider[];
  /** What proves the controls of each runtime in use. */
  readonly evidence: readonly { readonly runtime: string; readonly findings: readonly string[] }[];
  readonly declaredIn: readonly {
    readonly runtime: string;
    readonly path: string;
    readonly sha256: string;
  }[];
}

/** The gate of a plan. `inventory` is the one that the plan was made with. */
export function gateReport(
  graph: PlanGraph,
  inventory: Inventory,
  declared: readonly DeclaredSource[] = [],
): GateReport {
  const records = new Map(inventory.records.map((record) => [record.id, record]));
  const jobs = graph.jobs.map((job) => gateJob(job, records));
  const used = new Set(graph.jobs.flatMap((job) => job.route.chain.map((member) => member.runtime)));
  for (const member of graph.arbiter.route.chain) used.add(member.runtime);
  return {
    ok: jobs.every((job) => job.missing.length === 0),
    jobs,
    commands: commandsOf(graph),
    rollbacks: graph.jobs.flatMap((job) =>
      job.rollback?.kind === "command" ? [{ job: job.id, argv: argvOf(job.rollback.command) }] : [],
    ),
    providers: providersOf(graph, records.get("internal")?.provider ?? null),
    evidence: [...used].sort().map((runtime) => ({
      runtime,
      findings: (records.get(runtime)?.evidence ?? []).map(({ source, finding }) => `${source}: ${finding}`),
    })),
    declaredIn: declared
      .filter(({ entry }) => used.has(entry.id))
      .map(({ entry, path, sha256 }) => ({ runtime: entry.id, path, sha256 })),
  };
}

function gateJob(job: PlanJob, records: ReadonlyMap<string, RuntimeRecord>): GateJob {
  const lead = job.route.chain[0];
  const record = lead === undefined ? undefined : records.get(lead.runtime);
  const controls =
    record === undefined || record.id === MOCK.id
      ? []
      : checkControls(record, {
          riskTier: job.riskTier,
          writer: job.writer,
          worktree: job.isolation === "worktree",
          tools: job.tools.allowed,
        });
  return {
    id: job.id,
    riskTier: job.riskTier,
    tierDerivation: job.tierDerivation,
    candidate: lead === undefined ? null : candidateName(lead),
    isolation: `${job.isolation} (${job.isolationOrigin})`,
    controls,
    approval: job.riskTier === "R3" ? "r3" : job.approval === "require" ? "spec" : null,
    missing: missingOf(job, controls),
  };
}

function missingOf(job: PlanJob, controls: readonly ControlCheck[]): string[] {
  const missing: string[] = [];
  if (job.route.blocked !== null) missing.push(`${job.route.blocked.code}: ${job.route.blocked.detail}`);
  for (const check of controls)
    if (!check.met)
      missing.push(
        `${check.concern}: needs ${check.needs} ${check.evidenceNeeded}, has ${check.has} ${check.evidence}`,
      );
  if (job.riskTier === "R3" && job.preview === null) missing.push("preview: R3 needs one");
  if (job.riskTier === "R3" && job.rollback === null) missing.push("rollback: R3 needs one");
  const unchecked = job.verification.length + job.checks.length === 0;
  if (riskAtLeast(job.riskTier, "R2") && job.writer && unchecked)
    missing.push("checks: R2 needs a `verification` or `checks` entry");
  return missing;
}

/** Equal commands of several jobs are one entry. */
function commandsOf(graph: PlanGraph): GateCommand[] {
  const found = new Map<
    string,
    { kind: GateCommand["kind"]; jobs: string[]; argv: string[]; cwd: string | null }
  >();
  const add = (kind: GateCommand["kind"], job: string, argv: string[], cwd: string | null): void => {
    const key = JSON.stringify([kind, argv, cwd]);
    const entry = found.get(key);
    if (entry === undefined) found.set(key, { kind, jobs: [job], argv, cwd });
    else if (entry.jobs.at(-1) !== job) entry.jobs.push(job);
  };
  for (const job of graph.jobs) {
    if (job.isolation === "worktree")
      for (const command of graph.worktreeSetup) add("worktree-setup", job.id, argvOf(command), command.cwd);
    if (job.invocation !== null)
      add("invocation", job.id, [job.invocation.command, ...job.invocation.args], null);
    if (job.preview?.kind === "command")
      add("preview", job.id, argvOf(job.preview.command), job.preview.command.cwd);
    for (const command of job.verification) add("verification", job.id, argvOf(command), command.cwd);
  }
  return [...found.values()];
}

const argvOf = (command: Command): string[] => [command.command, ...command.args];

/** Agents send what they read to a model; a program's argv is listed as a command, the script player sends nothing. */
function providersOf(graph: PlanGraph, harnessProvider: string | null): GateProvider[] {
  const found = new Map<
    string,
    { provider: string | null; runtime: string; role: GateProvider["role"]; jobs: string[] }
  >();
  const add = (member: PlanJob["route"]["chain"][number], role: GateProvider["role"], job: string): void => {
    if (member.kind === "program" || member.runtime === MOCK.id) return;
    const key = JSON.stringify([member.runtime, member.provider, role]);
    const entry = found.get(key);
    if (entry === undefined)
      found.set(key, { provider: member.provider, runtime: member.runtime, role, jobs: [job] });
    else if (entry.jobs.at(-1) !== job) entry.jobs.push(job);
  };
  for (const job of graph.jobs)
    job.route.chain.forEach((member, at) => {
      if (at === 0) add(member, "job", job.id);
      else if (member.weaker.length === 0 && job.maxPromotions > 0) add(member, "fallback", job.id);
    });
  for (const member of graph.arbiter.route.chain) add(member, "arbiter", "arbiter");
  const asked =
    graph.arbiter.route.chain.length === 0 && graph.jobs.some((job) => job.route.chain.length > 0);
  // Without a route the harness judges in a session of its own: it reads the evidence, too.
  return asked
    ? [
        ...found.values(),
        { provider: harnessProvider, runtime: "internal", role: "arbiter", jobs: ["arbiter"] },
      ]
    : [...found.values()];
}
