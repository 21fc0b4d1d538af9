/** The sections of the report that tell how the work went: what is due, the jobs, their verdicts and their faults. */
import type { Graph, Inventory, State } from "../core/runtime.ts";
import { nineQuestions } from "./nine-questions.ts";
import { faultOf, isReopenable, type JobFacts, type RunFacts } from "./report-facts.ts";
import {
  type Block,
  badge,
  code,
  type Inline,
  idList,
  list,
  paragraph,
  rich,
  type Section,
  strong,
  subheading,
  type Tone,
  table,
  text,
} from "./report-model.ts";
import { plural } from "./report-text.ts";

export interface SectionInput {
  readonly graph: Graph;
  readonly state: State;
  readonly inventory: Inventory | null;
  readonly facts: RunFacts;
  readonly runDir: string;
}

/** Beyond these, a table says how many rows it leaves out and where they are. */
export const REPORT_LIMITS = { tableRows: 200, details: 40, listItems: 25 } as const;

/** The first rows, and a last sentence on the others. */
export function boundedTable(input: {
  readonly head: readonly string[];
  readonly rows: readonly (readonly Inline[])[];
  readonly total: number;
  readonly what: string;
  readonly where: string;
}): Block[] {
  const shown = input.rows.slice(0, REPORT_LIMITS.tableRows);
  const left = input.total - shown.length;
  const rest =
    left > 0
      ? [
          paragraph(
            text(`${left} more ${input.what} are not shown; all are in `),
            code(input.where),
            text("."),
          ),
        ]
      : [];
  return shown.length === 0 ? rest : [table(input.head, shown), ...rest];
}

const STATUS_TONE: Readonly<Record<string, Tone>> = {
  success: "good",
  accepted: "good",
  failed: "bad",
  rejected: "bad",
  blocked: "bad",
  interrupted: "bad",
  pending: "waiting",
  running: "waiting",
  queued: "neutral",
};

export const statusBadge = (word: string): Inline => [badge(word, STATUS_TONE[word] ?? "neutral")];

const INDEPENDENCE = {
  independent: "independent",
  "not-independent-substituted": "fresh-context substitute",
  "not-independent": "not independent",
} as const;

export function verdictInline({ attempt }: JobFacts): Inline {
  if (attempt === null || attempt.status !== "success") return [text("–")];
  if (attempt.acceptedWithoutC3) return [text("accepted without a C3 call")];
  const { arbitration } = attempt;
  if (arbitration === null)
    return [
      text(attempt.acceptance === "rejected" ? "rejected with its dependency" : "nobody has judged it"),
    ];
  const shared =
    arbitration.verdict === "pass" && attempt.acceptance === "rejected"
      ? ", rejected with its dependency"
      : "";
  return [
    text(`${arbitration.verdict} by `),
    code(arbitration.arbiterId),
    text(`, ${INDEPENDENCE[arbitration.independence]}${shared}`),
  ];
}

export function acceptanceSection({ facts, state }: SectionInput): Section {
  const { undecided } = facts;
  const blocks: Block[] = [
    paragraph(
      text("Accepted without a C3 call: "),
      strong(`${facts.acceptedWithoutC3} of ${facts.jobs.length}`),
      text("."),
    ),
  ];
  if (undecided.length > 0)
    blocks.push(
      paragraph(
        text(
          `${plural(undecided.length, "job")} finished and passed the coordinator's own checks, but no independent arbiter has accepted the work yet: `,
        ),
        ...idList(undecided.map(({ plan }) => plan.id)),
        text(". Until a verdict is handed in, treat it as unverified."),
      ),
    );
  const rows = state.arbiters.slice(-REPORT_LIMITS.tableRows).map((arbiter): readonly Inline[] => [
    [code(arbiter.arbiterId)],
    [text(arbiter.status)],
    arbiter.via === "mock"
      ? [strong("mock"), text(", no model")]
      : [
          text(arbiter.via),
          text(arbiter.runtime === null ? "" : " "),
          ...(arbiter.runtime === null ? [] : [code(arbiter.runtime)]),
        ],
    arbiter.independence === null ? [text("–")] : [text(INDEPENDENCE[arbiter.independence])],
    arbiter.overall === null
      ? [text("–")]
      : [badge(arbiter.overall, arbiter.overall === "pass" ? "good" : "bad")],
    idList(
      arbiter.attempts.map((one) => one.jobId),
      6,
    ),
  ]);
  if (rows.length > 0)
    blocks.push(table(["Arbiter", "Status", "Via", "Independence", "Overall", "Judged"], rows));
  else blocks.push(paragraph(text("No arbiter was asked.")));
  const reasons = state.arbiters.flatMap((arbiter) =>
    arbiter.attempts.flatMap((one) =>
      one.reasons
        .slice(0, 5)
        .map(
          (reason): Inline => [
            code(one.jobId),
            text(` (${one.verdict ?? "no verdict"}, `),
            code(arbiter.arbiterId),
            text("): "),
            ...rich(reason),
          ],
        ),
    ),
  );
  if (reasons.length > 0)
    blocks.push(subheading(text("Reasons")), ...boundedList(reasons, "reasons", "state.json"));
  return { id: "acceptance", title: "Acceptance", blocks };
}

export function boundedList(items: readonly Inline[], what: string, where: string): Block[] {
  const left = items.length - REPORT_LIMITS.listItems;
  if (left <= 0) return [list(items)];
  return [
    list(items.slice(0, REPORT_LIMITS.listItems)),
    paragraph(text(`${left} more ${what} are in `), code(where), text(".")),
  ];
}

function wayOn(code: string): string {
  if (isReopenable(code)) return "goes on once the action is taken";
  if (code.startsWith("dependency-")) return "final; reopens with its dependency";
  return "final; goes again with resume --retry";
}

export function faultsSection({ facts }: SectionInput): Section {
  const shown = facts.faults.slice(0, REPORT_LIMITS.tableRows);
  const rows = shown.map((one): readonly Inline[] => {
    const fault = faultOf(one);
    return [
      [code(one.plan.id)],
      statusBadge(one.job.outcome === "rejected" ? "rejected" : one.job.status),
      [code(fault?.code ?? "unknown")],
      rich(fault?.detail ?? "no reason was recorded", 600),
      [text(fault === null ? "unknown" : wayOn(fault.code))],
    ];
  });
  return {
    id: "faults",
    title: "Failures and blocks",
    blocks:
      rows.length === 0
        ? [paragraph(text("None."))]
        : boundedTable({
            head: ["Job", "State", "Boundary", "What happened", "From here"],
            rows,
            total: facts.faults.length,
            what: "jobs with a fault",
            where: "state.json",
          }),
  };
}

export function questionsSection(input: SectionInput): Section {
  const rows = nineQuestions(input).map((question, index): readonly Inline[] => [
    [text(index + 1)],
    [text(question.question), ...(question.forcesC3 ? [text(" An open answer forces a C3 verdict.")] : [])],
    [...question.answer],
    [text(question.answeredBy)],
  ]);
  return {
    id: "nine-questions",
    title: "Nine questions",
    blocks: [table(["", "Question", "Answer", "Answered by"], rows)],
  };
}

export function openQuestionsSection({ facts }: SectionInput): Section {
  const items = facts.questions.map(
    (question): Inline => [code(question.jobId), text(` (${question.by}): `), text(question.text, 600)],
  );
  return {
    id: "open-questions",
    title: "Open questions",
    blocks:
      items.length === 0
        ? [paragraph(text("None was raised."))]
        : boundedList(items, "questions", "state.json"),
  };
}
