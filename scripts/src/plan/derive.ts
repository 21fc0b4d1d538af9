/**
 * The part of a plan that needs no inventory: graph, tiers, tools, and what a spec must have at its tiers. `validate`
 * stops here.
 */
import type { Diagnostic } from "../core/diagnostic.ts";
import { SPEC_LIMITS } from "../core/policy.ts";
import { looksSecretName } from "../core/secret-patterns.ts";
import { type RiskTier, riskAtLeast } from "../core/tiers.ts";
import { buildJobGraph, type GraphFault, type JobGraph, unorderedAmong } from "./job-graph.ts";
import type { NormalCommand, NormalJob } from "./normal.ts";
import {
  findOutputConflicts,
  findOverlaps,
  matchesMoreThan,
  OVERLAPS_SHOWN,
  type OwningJob,
} from "./overlap.ts";
import type { DeriveFacts, RepoState } from "./plan-input.ts";
import {
  type DerivedTier,
  deriveTier,
  isWriter,
  type RaisedFloors,
  raiseFloors,
  type TierAttributes,
} from "./tier.ts";

/** One job with everything that follows from the spec alone. */
export interface DerivedJob extends DerivedTier {
  readonly job: NormalJob;
  /** Position in the graph, which is the plan order. */
  readonly at: number;
  readonly writer: boolean;
  /** Another writer of the same repository is not ordered with this one. */
  readonly parallel: boolean;
  readonly repo: RepoState | null;
  /** What a semantic router raised; null: not asked. */
  readonly raised: RaisedFloors | null;
  /** Before anything was raised: what the spec itself has to meet. */
  readonly declaredTier: RiskTier;
  /** Runs a declared program (`agent: false`), no agent. */
  readonly program: boolean;
  readonly tools: {
    readonly allowed: readonly string[];
    readonly disallowed: readonly string[];
    readonly origin: "spec" | "tier";
  };
}

export interface Derivation {
  readonly graph: JobGraph;
  /** In plan order. */
  readonly jobs: readonly DerivedJob[];
}

/** `value` is null only when the jobs make no graph; other errors are reported beside it. */
export function deriveJobs(
  jobs: readonly NormalJob[],
  facts: DeriveFacts,
): { readonly value: Derivation | null; readonly diagnostics: Diagnostic[] } {
  const built = buildJobGraph(jobs);
  if (built.graph === null)
    return { value: null, diagnostics: built.faults.map((fault) => graphFault(fault, jobs, facts)) };
  const { graph } = built;
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ordered = graph.ids.map((id) => byId.get(id) as NormalJob);
  const repoOf = remember(facts.repoOf);
  const repos = ordered.map((job) => repoOf(job.cwd));
  const attributes = ordered.map((job) => tierAttributes(job, facts));
  const writers = attributes.map(isWriter);
  const parallel = parallelWriters(graph, writers, repos, ordered);
  const trackedFiles = remember(facts.trackedFiles);
  const derived = ordered.map((job, at): DerivedJob => {
    const repo = repos[at] ?? null;
    const tier = deriveTier(attributes[at] as TierAttributes, {
      parallelWriter: parallel[at] as boolean,
      broad: () =>
        repo !== null && matchesMoreThan(SPEC_LIMITS.broadFiles, owning(job, at, repo), trackedFiles),
    });
    const program = isProgram(job, facts);
    const target = facts.targets?.(job.id) ?? null;
    const raised = target === null ? null : raiseFloors(tier, target);
    return {
      riskTier: raised?.riskTier ?? tier.riskTier,
      tierDerivation: derivation(
        tier.tierDerivation,
        "router",
        raised?.riskFloorDelta ?? 0,
        raised?.riskTier,
      ),
      capabilityFloor: raised?.capabilityFloor ?? tier.capabilityFloor,
      capabilityDerivation: derivation(
        tier.capabilityDerivation,
        "router",
        raised?.capabilityFloorDelta ?? 0,
        raised?.capabilityFloor,
      ),
      raised,
      declaredTier: tier.riskTier,
      job,
      at,
      writer: writers[at] as boolean,
      parallel: parallel[at] as boolean,
      repo,
      program,
      tools: toolsOf({ job, program, tier, writer: writers[at] as boolean }),
    };
  });
  return {
    value: { graph, jobs: derived },
    diagnostics: [
      ...derived.flatMap((one) => demands(one, facts)),
      ...overlapFaults(graph, derived, trackedFiles, facts),
      ...outputFaults(graph, derived, facts),
    ],
  };
}

/** A diagnostic about one field of one job. */
export function jobDiagnostic(
  job: Pick<NormalJob, "index">,
  field: string,
  facts: Pick<DeriveFacts, "locate">,
  rest: Omit<Diagnostic, "path" | "line" | "column">,
): Diagnostic {
  const place = facts.locate?.(["jobs", job.index, field]) ?? facts.locate?.(["jobs", job.index]) ?? null;
  return { ...rest, path: `jobs[${job.index}].${field}`, ...(place ?? {}) };
}

const remember = <V>(ask: (key: string) => V): ((key: string) => V) => {
  const known = new Map<string, V>();
  return (key) => {
    if (!known.has(key)) known.set(key, ask(key));
    return known.get(key) as V;
  };
};

function graphFault(fault: GraphFault, jobs: readonly NormalJob[], facts: DeriveFacts): Diagnostic {
  const job = jobs.find(({ id }) => id === fault.id) as NormalJob;
  const say = (code: string, message: string, fix: string): Diagnostic =>
    jobDiagnostic(job, "depends_on", facts, { severity: "error", code, message, fix });
  switch (fault.kind) {
    case "unknown":
      return say(
        "unknown-dependency",
        `job \`${fault.id}\` depends on \`${fault.dependency}\`, but there is no such job`,
        "add the job, or remove the dependency",
      );
    case "self":
      return say("self-dependency", `job \`${fault.id}\` depends on itself`, "remove it");
    case "cycle":
      return say(
        "cyclic-dependency",
        `these jobs wait for each other: ${fault.path.join(" → ")}`,
        "remove one of these dependencies",
      );
  }
}

function tierAttributes(job: NormalJob, facts: DeriveFacts): TierAttributes {
  const own = new Set(job.runtime === null ? [] : (facts.traits(job.runtime)?.providerEnv ?? []));
  return {
    task: job.task,
    effect: job.effect,
    effectSource: job.effectSource,
    destructive: job.destructive,
    importance: job.importance,
    untrusted: job.untrusted,
    ownedPaths: job.ownedPaths,
    hasVerification: job.verification.length > 0,
    hasInvocation: job.invocation !== null,
    hasShellTool: job.allowedTools?.some((word) => /^shell\b/.test(word)) === true,
    credentials: (job.invocation?.envAllow ?? []).filter((name) => looksSecretName(name) && !own.has(name)),
  };
}

/** Per repository; outside of one, per folder, as nothing else says that two folders are unrelated. */
function parallelWriters(
  graph: JobGraph,
  writers: readonly boolean[],
  repos: readonly (RepoState | null)[],
  jobs: readonly NormalJob[],
): boolean[] {
  const groups = new Map<string, number>();
  const group = writers.map((writer, at) => {
    if (!writer) return "";
    const key = repos[at]?.topLevel ?? `cwd:${jobs[at]?.cwd}`;
    groups.set(key, (groups.get(key) ?? 0) + 1);
    return key;
  });
  const parallel = writers.map(() => false);
  for (const [key, count] of groups) {
    if (count < 2) continue;
    unorderedAmong(graph, (at) => group[at] === key).forEach((is, at) => {
      if (is) parallel[at] = true;
    });
  }
  return parallel;
}

const isProgram = (job: NormalJob, facts: DeriveFacts): boolean =>
  job.runtime !== null && facts.traits(job.runtime)?.agent === false;

/** As declared, else the least that its tier's work takes: reading, and for a writer editing and its own checks. */
function toolsOf(o: {
  job: NormalJob;
  program: boolean;
  tier: DerivedTier;
  writer: boolean;
}): DerivedJob["tools"] {
  const { allowedTools, disallowedTools: disallowed, verification } = o.job;
  if (allowedTools !== null) return { allowed: allowedTools, disallowed, origin: "spec" };
  const mayWrite = o.writer && riskAtLeast(o.tier.riskTier, "R1");
  const base = o.program ? NO_TOOLS : mayWrite ? WRITING : READING;
  const checks = mayWrite && !o.program && verification.length > 0 ? verification.map(shellTool) : NO_TOOLS;
  return {
    allowed: checks.length === 0 ? base : [...base, ...new Set(checks)],
    disallowed,
    origin: "tier",
  };
}

const derivation = (steps: string[], cause: string, delta: number, tier: string | undefined): string[] =>
  delta === 0 || tier === undefined ? steps : [...steps, `${cause}→${tier}`];

const NOTHING: Diagnostic[] = [];
const NO_TOOLS: readonly string[] = [];
const READING: readonly string[] = ["read", "search"];
const WRITING: readonly string[] = ["read", "search", "edit", "write"];

const shellTool = (command: NormalCommand): string =>
  `shell(${[command.command, ...command.args].join(" ")})`;

/** What a job must declare because of its tier or of the kind of runtime that it names. */
function demands(one: DerivedJob, facts: DeriveFacts): Diagnostic[] {
  // A raised floor adds controls; it makes no valid spec invalid.
  const { job, declaredTier: riskTier } = one;
  if (!riskAtLeast(riskTier, "R2")) return kindDemands(one, facts);
  const found: Diagnostic[] = [];
  const fault = (field: string, code: string, message: string, fix: string): void => {
    found.push(jobDiagnostic(job, field, facts, { severity: "error", code, message, fix }));
  };
  const tier = `job \`${job.id}\` is ${riskTier} (${one.tierDerivation.join(", ")})`;
  if (one.writer && job.verification.length + job.checks.length === 0)
    fault(
      "verification",
      "r2-without-checks",
      `${tier} and writes, but nothing says how its work is checked`,
      "add a `verification` command or a `checks` entry, or declare less",
    );
  if (riskTier === "R3" && job.preview === null)
    fault(
      "preview",
      "r3-without-preview",
      `${tier}, but has no \`preview\``,
      "add a command without effects that shows what will happen, or at least 20 characters of text",
    );
  if (riskTier === "R3" && job.rollback === null)
    fault(
      "rollback",
      "r3-without-rollback",
      `${tier}, but has no \`rollback\``,
      "add the command that undoes it, or at least 20 characters that say how",
    );
  found.push(...kindDemands(one, facts));
  return found;
}

function kindDemands({ job, program }: DerivedJob, facts: DeriveFacts): Diagnostic[] {
  if (!program && job.invocation === null) return NOTHING;
  const found: Diagnostic[] = [];
  const fault = (field: string, code: string, message: string, fix: string): void => {
    found.push(jobDiagnostic(job, field, facts, { severity: "error", code, message, fix }));
  };
  const known = job.runtime !== null && facts.traits(job.runtime) !== null;
  if (job.invocation !== null && known && !program)
    fault(
      "invocation",
      "invocation-on-agent",
      `job \`${job.id}\` gives an \`invocation\` to \`${job.runtime}\`, which is an agent: only its adapter builds its command`,
      "remove `invocation`, or name a runtime that is declared with `agent: false`",
    );
  if (!program) return found;
  if (job.invocation === null)
    fault(
      "invocation",
      "invocation-missing",
      `job \`${job.id}\` runs the program \`${job.runtime}\`, but has no \`invocation\``,
      "add `invocation: {command, args}`: a program runs exactly that",
    );
  const given: [string, boolean][] = [
    ["allowed_tools", job.allowedTools !== null],
    ["disallowed_tools", job.disallowedTools.length > 0],
    ["model", job.model !== null],
    ["effort", job.effort !== null],
  ];
  for (const [field, is] of given)
    if (is)
      fault(
        field,
        "field-on-program",
        `job \`${job.id}\` declares \`${field}\`, but \`${job.runtime}\` is a program without a model inside`,
        `remove \`${field}\``,
      );
  return found;
}

function owning(job: NormalJob, at: number, repo: RepoState | null): OwningJob {
  const root = repo?.topLevel ?? job.cwd;
  return {
    at,
    root,
    folder: job.cwd === root ? "" : job.cwd.slice(root.length).replace(/^\/+/, ""),
    ownedPaths: job.ownedPaths,
    outputs: job.outputs.map((output) => output.path),
  };
}

function overlapFaults(
  graph: JobGraph,
  jobs: readonly DerivedJob[],
  trackedFiles: (root: string) => readonly string[],
  facts: DeriveFacts,
): Diagnostic[] {
  const roots = new Set(jobs.flatMap(({ repo }) => (repo === null ? [] : [repo.topLevel])));
  const owners = jobs
    .filter((one) => one.parallel && one.job.ownedPaths.length > 0)
    .map((one) => owning(one.job, one.at, one.repo));
  // Outside of a repository there is no list of files to ask for.
  const overlaps = findOverlaps(graph, owners, (root) => (roots.has(root) ? trackedFiles(root) : []));
  const found = overlaps.map(({ jobs: [a, b], globs, path }) => {
    const [first, second] = [jobs[a] as DerivedJob, jobs[b] as DerivedJob];
    const where = path === null ? "" : `, for example \`${path}\``;
    return jobDiagnostic(second.job, "owned_paths", facts, {
      severity: "error",
      code: "owned-paths-overlap",
      message: `job \`${first.job.id}\` owns \`${globs[0]}\` and job \`${second.job.id}\` owns \`${globs[1]}\`: both may write the same file${where}, and no dependency orders them`,
      fix: "let one depend on the other, or give them different paths",
    });
  });
  if (overlaps.length === OVERLAPS_SHOWN)
    found.push({
      severity: "info",
      code: "more-faults",
      message: `only the first ${OVERLAPS_SHOWN} overlaps of owned paths are listed`,
    });
  return found;
}

/** Folders are real paths by now, so this also finds files that the spec spells in two ways. */
function outputFaults(graph: JobGraph, jobs: readonly DerivedJob[], facts: DeriveFacts): Diagnostic[] {
  const owners = jobs
    .filter((one) => one.job.outputs.length > 0)
    .map((one) => owning(one.job, one.at, one.repo));
  return findOutputConflicts(graph, owners).map(({ jobs: [a, b], path }) => {
    const [first, second] = [jobs[a] as DerivedJob, jobs[b] as DerivedJob];
    return jobDiagnostic(second.job, "outputs", facts, {
      severity: "error",
      code: "output-conflict",
      message: `job \`${first.job.id}\` and job \`${second.job.id}\` may run at the same time and both declare the output \`${path}\``,
      fix: "choose another path, or let one depend on the other",
    });
  });
}
