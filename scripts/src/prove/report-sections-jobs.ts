/** The sections of the report on the single jobs: one table of all, and an entry for each. */
import type { Candidate } from "../core/runtime.ts";
import { MOCK_RUNTIME } from "./current-attempt.ts";
import { FLAG_WORDS } from "./flag-words.ts";
import type { JobFacts, RunFacts } from "./report-facts.ts";
import {
  type Block,
  code,
  type Inline,
  joined,
  paragraph,
  rich,
  type Section,
  strong,
  text,
} from "./report-model.ts";
import {
  boundedTable,
  REPORT_LIMITS,
  type SectionInput,
  statusBadge,
  verdictInline,
} from "./report-sections.ts";
import { plural } from "./report-text.ts";

/** Faults first when not all can be shown, else plan order. */
function byUrgency(facts: RunFacts, limit: number): readonly JobFacts[] {
  if (facts.jobs.length <= limit) return facts.jobs;
  const faults = new Set(facts.faults);
  const undecided = new Set(facts.undecided);
  const rank = (job: JobFacts): number => (faults.has(job) ? 0 : undecided.has(job) ? 1 : 2);
  return [...facts.jobs].sort((a, b) => rank(a) - rank(b)).slice(0, limit);
}

export function jobsSection({ facts, graph }: SectionInput): Section {
  const rows = byUrgency(facts, REPORT_LIMITS.tableRows).map(jobRow);
  return {
    id: "jobs",
    title: "Jobs",
    blocks: [
      ...boundedTable({
        head: ["Job", "Status", "Outcome", "Risk", "Done by", "Attempts", "Checks", "Verdict"],
        rows,
        total: facts.jobs.length,
        what: "jobs",
        where: "state.json",
      }),
      ...(graph.criticalPath.length > 1
        ? [
            paragraph(
              text("Critical path: "),
              ...joined(
                graph.criticalPath.slice(0, 20).map((id) => [code(id)]),
                " → ",
              ),
            ),
          ]
        : []),
    ],
  };
}

function jobRow(facts: JobFacts): readonly Inline[] {
  const { plan, job, attempt } = facts;
  const failed = attempt?.checks.filter((check) => !check.ok).length ?? 0;
  const total = attempt?.checks.length ?? 0;
  return [
    [code(plan.id)],
    statusBadge(job.status),
    statusBadge(job.outcome),
    [text(attempt?.riskTier ?? plan.riskTier)],
    doneBy(facts),
    [text(job.attemptRecords.length)],
    [text(total === 0 ? "none" : failed === 0 ? `${total} passed` : `${failed} of ${total} failed`)],
    verdictInline(facts),
  ];
}

function doneBy({ plan, attempt }: JobFacts): Inline {
  if (attempt === null) {
    const first = plan.route.chain[0];
    return first === undefined ? [text("no route")] : [text("planned: "), code(first.runtime)];
  }
  if (attempt.runtime === MOCK_RUNTIME) return [strong("mock"), text(", no model")];
  const model = attempt.model ?? attempt.modelRequested;
  const mismatch = attempt.flags.includes("model-mismatch") ? [text(" (not the requested model)")] : [];
  const promoted = attempt.relation === "promotion" ? [text(" (promoted)")] : [];
  return [
    code(attempt.runtime),
    ...(model === null ? [text(", model unknown")] : [text(", "), code(model)]),
    ...mismatch,
    ...promoted,
  ];
}

export function detailsSection({ facts }: SectionInput): Section {
  const chosen = byUrgency(facts, REPORT_LIMITS.details).filter(
    ({ attempt, job }) => attempt !== null || job.block !== null,
  );
  const left = facts.jobs.length - chosen.length;
  return {
    id: "details",
    title: "Each job",
    blocks: [
      ...chosen.flatMap(jobDetails),
      ...(left > 0
        ? [
            paragraph(
              text(`${plural(left, "job")} without an entry here: `),
              code("state.json"),
              text(", or "),
              code("explain RUN JOB"),
              text("."),
            ),
          ]
        : []),
    ],
  };
}

function jobDetails(facts: JobFacts): Block[] {
  const { plan, job, attempt } = facts;
  const items: Inline[] = [
    [text("Asked: "), text(plan.expectedOutput, 400)],
    [
      text("Risk "),
      strong(attempt?.riskTier ?? plan.riskTier),
      text(" from "),
      ...joined(plan.tierDerivation.slice(0, 10).map((step) => [code(step)])),
      text("; capability "),
      strong(plan.capabilityFloor),
      text(" from "),
      ...joined(plan.capabilityDerivation.slice(0, 10).map((step) => [code(step)])),
    ],
    [text("Route: "), ...routeInline(plan.route.chain), ...routeWhy(facts)],
    ...job.attemptRecords.slice(-5).map(attemptLine),
  ];
  if (attempt !== null && attempt.artifacts.length > 0)
    items.push([
      text("Artifacts: "),
      ...joined(
        attempt.artifacts
          .slice(0, 8)
          .map((artifact) => [
            code(artifact.path),
            text(` (${artifact.bytes} bytes, ${artifact.sha256.slice(0, 12)})`),
          ]),
      ),
      ...more(attempt.artifacts.length - 8),
    ]);
  for (const check of attempt?.checks.filter((one) => !one.ok).slice(0, 8) ?? [])
    items.push([text("Check failed: "), code(check.id), text(": "), ...rich(check.detail, 400)]);
  if (attempt !== null && attempt.flags.length > 0)
    items.push([
      text("Flagged: "),
      ...joined(
        attempt.flags.map((flag) => [code(flag), text(` (${FLAG_WORDS[flag]})`)]),
        "; ",
      ),
    ]);
  if (attempt !== null && attempt.c3EscalationReason.length > 0)
    items.push([
      text("Sent to an arbiter because of "),
      ...joined(attempt.c3EscalationReason.slice(0, 12).map((reason) => [code(reason)])),
    ]);
  items.push([text("Verdict: "), ...verdictInline(facts)]);
  return [
    {
      kind: "entry",
      heading: [
        code(plan.id),
        text(": "),
        ...statusBadge(job.status),
        text(", outcome "),
        ...statusBadge(job.outcome),
      ],
      items,
    },
  ];
}

const more = (count: number): Inline => (count > 0 ? [text(` and ${count} more`)] : []);

function routeInline(chain: readonly Candidate[]): Inline {
  if (chain.length === 0) return [text("no candidate")];
  return joined(
    chain
      .slice(0, 6)
      .map((member) => [
        code(member.runtime),
        ...(member.model === null ? [] : [text(" "), code(member.model)]),
      ]),
    ", then ",
  );
}

function routeWhy({ plan }: JobFacts): Inline {
  const { route } = plan;
  return [
    ...(route.runtimeFrom === null ? [] : [text(" (from "), code(route.runtimeFrom), text(")")]),
    ...(route.pinned ? [text("; pinned by the spec")] : []),
    ...(route.why.length === 0 ? [] : [text("; "), text(route.why.slice(0, 6).join("; "), 400)]),
    ...(route.runnerUp === null
      ? []
      : [
          text("; runner-up "),
          code(route.runnerUp),
          ...(route.margin === null ? [] : [text(" by "), code(route.margin)]),
        ]),
    ...(route.rejected.length === 0
      ? []
      : [
          text("; rejected: "),
          ...joined(
            route.rejected
              .slice(0, 8)
              .map((reject) => [code(reject.runtime), text(` (${reject.codes.slice(0, 4).join(", ")})`)]),
          ),
        ]),
  ];
}

function attemptLine(attempt: JobFacts["job"]["attemptRecords"][number]): Inline {
  const seconds = attempt.wallMs === null ? "time unknown" : `${(attempt.wallMs / 1000).toFixed(1)} s`;
  return [
    text(`Attempt ${attempt.attempt} (${attempt.relation}`),
    ...(attempt.relationReason === undefined ? [] : [text(": "), ...rich(attempt.relationReason, 400)]),
    text(`): ${attempt.status} on `),
    code(attempt.runtime),
    text(
      `, ${seconds}, exit ${attempt.exitCode ?? (attempt.signal === null ? "none" : `by ${attempt.signal}`)}`,
    ),
    ...(attempt.failureClass === null ? [] : [text(", "), code(attempt.failureClass)]),
    ...(attempt.settlement === "unsettled" ? [text(", end not proven")] : []),
    ...(attempt.detail === null ? [] : [text(": "), ...rich(attempt.detail, 400)]),
  ];
}
