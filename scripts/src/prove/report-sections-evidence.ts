/** The sections of the report on what the work left behind and what the run stood on. */
import type { Onboarding } from "../core/generated/state.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { MOCK_RUNTIME } from "./current-attempt.ts";
import type { JobFacts } from "./report-facts.ts";
import type { KeptBeside, TraceSummary } from "./report-input.ts";
import {
  type Block,
  code,
  commands,
  type Inline,
  idList,
  joined,
  list,
  paragraph,
  rich,
  type Section,
  strong,
  table,
  text,
  time,
} from "./report-model.ts";
import { credentialsLine, planeLine } from "./report-plane.ts";
import { boundedList, boundedTable, REPORT_LIMITS, type SectionInput } from "./report-sections.ts";
import { plural } from "./report-text.ts";

/** Branches of accepted work that nobody has merged, what was merged, and edits that are in the checkout already. */
export function changesSection(
  input: SectionInput & { readonly script: string; readonly kept: KeptBeside },
): Section {
  const { facts } = input;
  const isolated = facts.jobs.filter(({ attempt, job }) => job.branch !== null && attempt?.commit != null);
  const blocks = [...branchBlocks(input, isolated), ...checkoutBlocks(input)];
  if (blocks.length === 0) blocks.push(paragraph(text("No job changed files of the workspace.")));
  return { id: "changes", title: "Changes awaiting integration", blocks };
}

type ChangesInput = Parameters<typeof changesSection>[0];

function branchBlocks(input: ChangesInput, isolated: readonly JobFacts[]): Block[] {
  if (isolated.length === 0) return [];
  const merged = new Map(input.kept.integrations.map((step) => [step.jobId, step]));
  const changed = isolated.filter(({ attempt }) => (attempt?.changedPaths.length ?? 0) > 0);
  const waiting = changed.filter(
    ({ plan, attempt }) => attempt?.acceptance === "accepted" && !merged.has(plan.id),
  );
  const command = (mode: string): string =>
    ["node", input.script, "integrate", input.runDir, mode].map((part) => quoteShell(part)).join(" ");
  const rows = changed.slice(0, REPORT_LIMITS.tableRows).map(({ plan, job, attempt }): readonly Inline[] => {
    const step = merged.get(plan.id);
    return [
      [code(plan.id)],
      step !== undefined
        ? [text("integrated in "), code(step.ref)]
        : [
            text(
              attempt?.acceptance === "accepted"
                ? "accepted, awaits integration"
                : `not accepted (${job.outcome})`,
            ),
          ],
      [code(job.branch ?? "")],
      [text(attempt?.diffStat ?? `${attempt?.changedPaths.length ?? 0} paths`)],
      [
        code(
          `git diff ${(attempt?.baseCommit ?? input.graph.repo?.baseCommit ?? "").slice(0, 12)} ${attempt?.commit?.slice(0, 12)}`,
        ),
      ],
    ];
  });
  return [
    paragraph(
      text(
        `${plural(isolated.length, "job")} worked in ${isolated.length === 1 ? "a worktree of its own" : "worktrees of their own"}, ${plural(changed.length, "branch", "branches")} with changes. A worktree keeps writers apart; it is no sandbox.`,
      ),
    ),
    ...(rows.length === 0
      ? []
      : boundedTable({
          head: ["Job", "State", "Branch", "Changes", "Look at it"],
          rows,
          total: changed.length,
          what: "branches",
          where: "state.json",
        })),
    ...(waiting.length === 0
      ? []
      : [
          paragraph(
            text("Accepted and not in your branch yet: "),
            ...idList(waiting.map(({ plan }) => plan.id)),
            text(". Integrating is a separate, reviewed step: look, then apply; it can be undone."),
          ),
          commands([command("--preview"), command("--apply")]),
        ]),
    ...input.kept.integrations
      .slice(-REPORT_LIMITS.listItems)
      .map((step) =>
        paragraph(
          code(step.jobId),
          text(" was integrated "),
          time(step.at),
          text(" in "),
          code(step.ref),
          text(` of `),
          code(step.repo),
          text(": "),
          code(`${step.from.slice(0, 12)}..${step.to.slice(0, 12)}`),
        ),
      ),
  ];
}

function checkoutBlocks({ facts, kept }: ChangesInput): Block[] {
  const shared = facts.jobs.filter(
    ({ attempt, job }) => job.worktree === null && (attempt?.changedPaths.length ?? 0) > 0,
  );
  if (shared.length === 0) return [];
  return [
    paragraph(
      strong("Already in your checkout:"),
      text(` ${plural(shared.length, "job")} wrote without a worktree, accepted or not.`),
    ),
    ...boundedList(
      shared.map(({ plan, job, attempt }): Inline => {
        const patch = kept.reversePatches[plan.id];
        return [
          code(plan.id),
          text(` (${job.outcome}): `),
          ...idList(attempt?.changedPaths ?? [], 8),
          ...(patch === undefined
            ? [text("; no patch takes this back")]
            : [text("; to take it back: "), code(`git apply ${quoteShell(patch)}`, 400)]),
        ];
      }),
      "jobs",
      "state.json",
    ),
  ];
}

interface Dimension {
  readonly label: string;
  readonly unit: "tokens" | "usd" | "quota";
  readonly key:
    | "inputTokens"
    | "outputTokens"
    | "cachedTokens"
    | "actualMarginalCostUsd"
    | "apiEquivalentCostUsd"
    | "quotaBurn";
}

const DIMENSIONS: readonly Dimension[] = [
  { label: "Input tokens", unit: "tokens", key: "inputTokens" },
  { label: "Output tokens", unit: "tokens", key: "outputTokens" },
  { label: "Cached tokens", unit: "tokens", key: "cachedTokens" },
  { label: "Actual marginal cost", unit: "usd", key: "actualMarginalCostUsd" },
  { label: "API-equivalent cost", unit: "usd", key: "apiEquivalentCostUsd" },
  { label: "Quota burned", unit: "quota", key: "quotaBurn" },
];

/** Each dimension by itself: they are never added together, and what nobody reported is unknown, not zero. */
export function costSection({ facts, state }: SectionInput): Section {
  const attempts = facts.jobs
    .flatMap(({ job }) => job.attemptRecords)
    .filter((attempt) => attempt.startedAt !== null && attempt.runtime !== MOCK_RUNTIME);
  const judges = state.arbiters.filter((arbiter) => arbiter.via === "cli");
  const calls = [...attempts, ...judges];
  const mock = facts.jobs
    .flatMap(({ job }) => job.attemptRecords)
    .filter((attempt) => attempt.runtime === MOCK_RUNTIME).length;
  const rows = DIMENSIONS.map(({ label, unit, key }): readonly Inline[] => {
    const known = calls.flatMap((call) => call.usage?.[key] ?? []);
    const unknown = calls.length - known.length;
    const sum = known.reduce((total, value) => total + value, 0);
    return [
      [text(label)],
      [
        text(
          known.length === 0
            ? "unknown"
            : `${known.length < calls.length ? "at least " : ""}${amount(sum, unit)}`,
        ),
      ],
      [text(`${unknown} of ${calls.length}`)],
    ];
  });
  return {
    id: "cost",
    title: "Cost and tokens",
    blocks: [
      ...(calls.length === 0
        ? [paragraph(text("No attempt by a real runtime was started."))]
        : [table(["Dimension", "Reported", "Attempts that did not report it"], rows)]),
      ...(judges.length === 0
        ? []
        : [paragraph(text(`${plural(judges.length, "call")} of arbiters are counted in.`))]),
      ...(mock === 0
        ? []
        : [paragraph(text(`${plural(mock, "mock attempt")} used no model and cost nothing.`))]),
    ],
  };
}

const amount = (value: number, unit: Dimension["unit"]): string =>
  unit === "usd" ? `$${value.toFixed(4)}` : unit === "tokens" ? value.toLocaleString("en-US") : String(value);

export function benchmarksInline({ facts }: Pick<SectionInput, "facts">): Inline {
  const used = facts.jobs.filter(({ attempt }) => attempt?.benchmarkRef != null).length;
  return [
    text(
      used === 0
        ? "no measured evidence took part in the ranking"
        : `measured evidence ranked the candidates of ${plural(used, "job")}`,
    ),
  ];
}

export function traceInline(trace: TraceSummary): Inline {
  if (trace.status === "absent")
    return [strong("absent"), text(`: no record of the decisions could be kept${reasonOf(trace)}`)];
  if (trace.status === "complete") return [strong("complete"), text(`, ${plural(trace.records, "record")}`)];
  const lost = trace.lost === null ? "an unknown number lost" : `${trace.lost} lost`;
  return [
    strong("partial"),
    text(`, ${plural(trace.records, "record")}, ${lost}${reasonOf(trace)}: this is no complete audit trail`),
  ];
}

const reasonOf = (trace: TraceSummary): string => (trace.reason === null ? "" : ` (${trace.reason})`);

/** What the last coordinator that stopped had recorded; one that is still at work, or died, counts only in its memory. */
function eventsLine({ status, events }: SectionInput["state"]): string {
  if (events === null) return "not counted, because a coordinator ended before it could record how many";
  if (status === "running" || status === "preparing") return "not counted until the run pauses or ends";
  if (events === undefined) return "not counted";
  return `${events.written} written, ${events.dropped} dropped, ${events.unknown} that no adapter could read`;
}

export function evidenceSection(input: SectionInput & { readonly trace: TraceSummary }): Section {
  const { inventory, state } = input;
  const records = inventory?.records ?? [];
  const items: Inline[] = [
    [text("Trace: "), ...traceInline(input.trace)],
    [text("Events: "), text(eventsLine(state))],
    [text("Decision plane: "), text(planeLine(state))],
    [text("Credentials: "), text(credentialsLine(state))],
    [text("Benchmarks: "), ...benchmarksInline(input)],
    ...state.notes
      .slice(0, REPORT_LIMITS.listItems)
      .map((note): Inline => [text("Note: "), ...rich(note, 500)]),
  ];
  const rows = records
    .slice(0, REPORT_LIMITS.tableRows)
    .map((record): readonly Inline[] => [
      record.id === MOCK_RUNTIME ? [strong("mock"), text(", no model")] : [code(record.id)],
      [text(record.state), text(record.reason === null ? "" : ` (${record.reason})`)],
      [text(record.version ?? "unknown")],
      [
        text(
          record.authenticated === true
            ? `yes, ${record.authSource}`
            : record.authenticated === false
              ? "no"
              : "not verified",
        ),
      ],
      [text(`${record.capability} (${record.capabilitySource})`)],
      [text(record.family ?? "unknown")],
    ]);
  const table_ =
    rows.length === 0
      ? [paragraph(text("No inventory was recorded."))]
      : [table(["Runtime", "State", "Version", "Logged in", "Capability", "Family"], rows)];
  return { id: "evidence", title: "What the run stood on", blocks: [list(items), ...table_] };
}

export function sessionsSection({ facts, state }: SectionInput): Section {
  const items = [
    ...facts.jobs.flatMap(({ plan, job }) =>
      job.attemptRecords.flatMap((attempt) => {
        const handles = [attempt.sessionHandle, attempt.nativeHandle].filter((handle) => handle !== null);
        return handles.length === 0
          ? []
          : [
              [
                code(plan.id),
                text(` attempt ${attempt.attempt}: `),
                ...joined(handles.map((handle) => [code(handle)])),
              ] as Inline,
            ];
      }),
    ),
    ...state.arbiters.flatMap((arbiter) =>
      arbiter.handle === null ? [] : [[code(arbiter.arbiterId), text(": "), code(arbiter.handle)] as Inline],
    ),
  ];
  return {
    id: "sessions",
    title: "Session handles",
    blocks:
      items.length === 0
        ? [paragraph(text("None was reported."))]
        : boundedList(items, "handles", "state.json"),
  };
}

/** What waits to be set up, and what was: by whom, how it ended, and what takes it back. */
export function onboardingSection({ state, facts }: SectionInput): Section {
  const due = facts.jobs
    .filter(({ job }) => job.block?.code === "needs-onboarding")
    .map(({ plan, job }): Inline => [code(plan.id), text(": "), ...rich(job.block?.detail ?? "", 400)]);
  const done = (state.onboarding ?? []).map(onboardingItem);
  return {
    id: "onboarding",
    title: "Runtimes to set up",
    blocks: [
      ...(due.length === 0 ? [paragraph(text("None is needed."))] : boundedList(due, "jobs", "state.json")),
      ...(done.length === 0 ? [] : [paragraph(text("Done for this run:"))]),
      ...(done.length === 0 ? [] : boundedList(done, "steps", "state.json")),
    ],
  };
}

const ONBOARDED: Readonly<Record<Onboarding["result"], string>> = {
  installed: "installed",
  "needs-login": "installed; its user has still to log in",
  "not-found-after": "installed, and not found after it",
  "install-failed": "the installation failed",
  found: "found here by a resume: set up by somebody else",
};

function onboardingItem(one: Onboarding): Inline {
  const who = one.via === "look" ? "" : `, by ${one.actor}${one.attested ? " (its word)" : ""}`;
  const jobs = one.jobs.length === 0 ? "" : `, for ${one.jobs.join(", ")}`;
  return [
    code(one.runtime),
    text(
      `: ${ONBOARDED[one.result]}${one.version === null ? "" : `, ${one.version}`}${who}, ${one.at}${jobs}`,
    ),
    ...(one.install === null ? [] : [text("; ran "), code(one.install)]),
    ...(one.undo === null ? [] : [text("; undo "), code(one.undo)]),
  ];
}
