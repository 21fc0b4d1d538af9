/** A plan as text for people and agents, as a mermaid diagram and as DOT. Short first: everything else is in the JSON. */
import type { Candidate, PlanJob } from "../core/generated/graph.ts";
import { quoteShell } from "../core/shell-quote.ts";
import type { PlanGraph } from "./build-plan.ts";
import type { GateReport } from "./gate.ts";
import { candidateName } from "./route-words.ts";

/** Jobs with equal lines are told together, and at most this many lines of a kind are. */
const LINES_SHOWN = 40;

/** One line per job below its stage, then what would run, who would see content, and the bounds. */
export function planText(graph: PlanGraph, gate: GateReport): string {
  const lines = [
    `${graph.name}: ${count(graph.jobs.length, "job")} in ${count(graph.stages.length, "stage")}, ${graph.concurrency} at once, at most ${count(graph.dispatchCeiling, "attempt")}`,
    `critical path ${duration(pathLength(graph))}: ${clip(graph.criticalPath.join(" → "), 200)}`,
    ...graph.stages.flatMap((ids, stage) => [`stage ${stage + 1}`, ...capped(stageLines(graph, ids))]),
    `judged by: ${arbiterText(graph)}`,
    ...section("would execute", gate.commands.map(commandText)),
    ...section("content goes to", gate.providers.map(providerText)),
    ...section(
      "declared runtimes",
      gate.declaredIn.map((one) => `${one.runtime}: ${one.path} (sha256 ${one.sha256.slice(0, 12)})`),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** One job with everything that was decided about it and why: each effective value with its origin, each reject. */
export function jobText(job: PlanJob, gate: GateReport): string {
  const own = gate.jobs.find((one) => one.id === job.id);
  const { route } = job;
  const lines = [
    `${job.id}: ${job.riskTier} (${job.tierDerivation.join(", ")}), ${job.capabilityFloor} (${job.capabilityDerivation.join(", ")})`,
    ...valuesByOrigin(job),
    ...(route.blocked === null ? [] : [`  blocked: ${route.blocked.code}: ${route.blocked.detail}`]),
    ...route.chain.map((member, at) => `  ${at === 0 ? "runs on" : "then"} ${candidateText(member)}`),
    ...(route.why.length === 0 ? [] : [`  because: ${route.why.join("; ")}`]),
    ...(route.runnerUp === null ? [] : [`  runner-up: ${route.runnerUp} (${route.margin})`]),
    ...route.rejected.map((one) => `  not ${one.runtime}: ${one.codes.join(", ")} (${one.detail})`),
    ...(own?.controls ?? []).map(
      (check) =>
        `  ${check.met ? "has" : "MISSING"} ${check.concern} ${check.needs} ${check.evidenceNeeded}: ${check.has} ${check.evidence}, ${BY[check.by]}`,
    ),
    ...(own?.approval == null
      ? []
      : [`  waits for approval: ${own.approval === "r3" ? "R3 always does" : "the spec asks for it"}`]),
  ];
  return `${lines.join("\n")}\n`;
}

export function planMermaid(graph: PlanGraph): string {
  const name = new Map(graph.jobs.map((job, at) => [job.id, `j${at}`]));
  const lines = graph.jobs.flatMap((job) => [
    `  ${name.get(job.id)}["${mermaidText(job.id)}<br/>${mermaidText(nodeText(job))}"]`,
    ...job.dependsOn.map((id) => `  ${name.get(id)} --> ${name.get(job.id)}`),
  ]);
  return `flowchart LR\n${lines.join("\n")}\n`;
}

export function planDot(graph: PlanGraph): string {
  const quote = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const lines = graph.jobs.flatMap((job) => [
    `  ${quote(job.id)} [label=${quote(`${job.id}\n${nodeText(job)}`).replaceAll("\n", "\\n")}];`,
    ...job.dependsOn.map((id) => `  ${quote(id)} -> ${quote(job.id)};`),
  ]);
  return `digraph plan {\n  rankdir=LR;\n  node [shape=box];\n${lines.join("\n")}\n}\n`;
}

/** `1h30m`, `90s`, `250ms`: the way specs write durations. */
export function duration(ms: number): string {
  if (ms === 0) return "0s";
  const parts: [number, string][] = [
    [Math.floor(ms / 3_600_000), "h"],
    [Math.floor((ms % 3_600_000) / 60_000), "m"],
    [Math.floor((ms % 60_000) / 1000), "s"],
    [ms % 1000, "ms"],
  ];
  return parts
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value}${unit}`)
    .join("");
}

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`;

const capped = (lines: readonly string[]): string[] =>
  lines.length <= LINES_SHOWN
    ? [...lines]
    : [...lines.slice(0, LINES_SHOWN), `  … and ${lines.length - LINES_SHOWN} more lines`];

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...capped(lines.map((line) => `  ${line}`))];

function pathLength(graph: PlanGraph): number {
  const timeouts = new Map(graph.jobs.map((job) => [job.id, job.timeoutMs]));
  return graph.criticalPath.reduce((sum, id) => sum + (timeouts.get(id) ?? 0), 0);
}

/** Jobs of a stage that read the same but for their ids share a line. */
function stageLines(graph: PlanGraph, ids: readonly string[]): string[] {
  const byId = new Map(graph.jobs.map((job) => [job.id, job]));
  const groups = new Map<string, string[]>();
  for (const id of ids) {
    const text = jobLine(byId.get(id) as PlanJob);
    groups.set(text, [...(groups.get(text) ?? []), id]);
  }
  return [...groups].map(([text, group]) =>
    group.length <= 3
      ? `  ${group.join(", ")}: ${text}`
      : `  ${group.slice(0, 2).join(", ")} and ${group.length - 2} more: ${text}`,
  );
}

function jobLine(job: PlanJob): string {
  const after = job.dependsOn.length === 0 ? "" : `, after ${clip(job.dependsOn.join(", "), 60)}`;
  const own = job.isolation === "worktree" ? `, worktree (${job.isolationOrigin})` : "";
  const ask = job.riskTier === "R3" || job.approval === "require" ? ", asks first" : "";
  const body = `${job.riskTier} ${job.capabilityFloor} (${job.tierDerivation.join(", ")})${own}${ask}, ${duration(job.timeoutMs)}${after}`;
  const { blocked, chain, runnerUp, margin } = job.route;
  if (blocked !== null) return `BLOCKED ${blocked.code}: ${blocked.detail} | ${body}`;
  const [lead, ...rest] = chain;
  const next = rest.length === 0 || runnerUp === null ? "" : `, then ${runnerUp} (${margin})`;
  return `${lead === undefined ? "nobody" : leadText(lead)}${next} | ${body}`;
}

const leadText = (lead: Candidate): string =>
  `${candidateName(lead)}${lead.effort === null ? "" : ` ${lead.effort}`}`;

function candidateText(member: Candidate): string {
  const family =
    member.family === null ? "family unknown" : `family ${member.family} (${member.familySource})`;
  const weaker =
    member.weaker.length === 0 ? "" : `, can never take over: weaker in ${member.weaker.join(", ")}`;
  const independent = member.independence === null ? "" : `, ${member.independence}`;
  return `${leadText(member)}: ${member.capability} (${member.capabilitySource}), ${member.kind === "program" ? "program" : family}${independent}${weaker}`;
}

/** Who provides a control. */
const BY: Readonly<Record<GateReport["jobs"][number]["controls"][number]["by"], string>> = {
  candidate: "by the runtime itself",
  worktree: "by its own worktree",
  argv: "as a program that can run nothing but its declared argv",
  afterwards: "measured after the fact",
};

const ORIGINS = ["spec", "defaults", "policy", "inventory", "built-in"];

/** Each effective value behind whoever gave it. */
function valuesByOrigin(job: PlanJob): string[] {
  const values = valuesOf(job);
  return ORIGINS.flatMap((origin) => {
    const own = values.filter(([field]) => (job.origins[field] ?? "built-in") === origin);
    return own.length === 0
      ? []
      : [`  from ${origin}: ${own.map(([field, value]) => `${field}: ${value}`).join("; ")}`];
  });
}

function valuesOf(job: PlanJob): [string, string][] {
  const lead = job.route.chain[0];
  const { runtimeFrom, pinned } = job.route;
  const runtime = lead?.runtime ?? (pinned ? (job.requested?.runtime ?? "none") : "none");
  const list = (values: readonly string[]): string => (values.length === 0 ? "none" : values.join(", "));
  return [
    ["runtime", runtimeFrom === null ? runtime : `${runtime} for ${runtimeFrom}`],
    ["model", lead?.model ?? "the runtime's own"],
    ["effort", lead?.effort ?? "the runtime's own"],
    ["effect", job.effect],
    ["timeout", duration(job.timeoutMs)],
    [
      "isolation",
      `${job.isolation}${job.isolationOrigin.startsWith("policy") ? ` (${job.isolationOrigin})` : ""}`,
    ],
    ["owned_paths", list(job.ownedPaths)],
    ["allowed_tools", list(job.tools.allowed)],
    ["approval", job.approval],
    ["retry.max_attempts", String(job.retry.maxAttempts)],
    ["retry.backoff", duration(job.retry.backoffMs)],
    ["fallback.maxPromotions", String(job.maxPromotions)],
    ["max_output_bytes", String(job.maxOutputBytes)],
  ];
}

function arbiterText(graph: PlanGraph): string {
  const { chain, blocked } = graph.arbiter.route;
  const [lead] = chain;
  if (lead === undefined) return blocked?.detail ?? "nobody";
  return `${candidateName(lead)}${lead.independence === null ? "" : ` (${lead.independence})`}`;
}

const commandText = (command: GateReport["commands"][number]): string =>
  `${command.kind} [${clip(command.jobs.join(", "), 60)}]: ${clip(command.argv.map(quoteShell).join(" "), 200)}`;

const providerText = (one: GateReport["providers"][number]): string =>
  `${one.provider ?? "a provider it does not name"}, through ${one.runtime} (${one.role}): ${clip(one.jobs.join(", "), 60)}`;

const nodeText = (job: PlanJob): string => {
  const lead = job.route.chain[0];
  const who = job.route.blocked === null && lead !== undefined ? candidateName(lead) : "blocked";
  return `${job.riskTier} ${job.capabilityFloor} ${who}`;
};

const mermaidText = (text: string): string => text.replaceAll('"', "#quot;").replaceAll("<", "#lt;");
