/** Puts the report together: head, notices, facts and sections, the same for Markdown and HTML. */
import type { State } from "../core/runtime.ts";
import { factsOfRun, type RunFacts } from "./report-facts.ts";
import type { ReportInput } from "./report-input.ts";
import {
  type Block,
  code,
  type Inline,
  idList,
  notice,
  type ReportModel,
  strong,
  type Tone,
  text,
  time,
} from "./report-model.ts";
import { credentialsLine, planeLine } from "./report-plane.ts";
import {
  acceptanceSection,
  faultsSection,
  openQuestionsSection,
  questionsSection,
  type SectionInput,
} from "./report-sections.ts";
import {
  benchmarksInline,
  changesSection,
  costSection,
  evidenceSection,
  onboardingSection,
  sessionsSection,
  traceInline,
} from "./report-sections-evidence.ts";
import { detailsSection, jobsSection } from "./report-sections-jobs.ts";
import { dueSection, reproduceSection } from "./report-sections-next.ts";
import { plural } from "./report-text.ts";

const STATUS_WORDS: Readonly<Record<State["status"], { readonly words: string; readonly tone: Tone }>> = {
  preparing: { words: "The run is being prepared; this is a snapshot.", tone: "waiting" },
  running: { words: "The run goes on; this is a snapshot.", tone: "waiting" },
  waiting: { words: "Nothing runs: the run waits for an action.", tone: "waiting" },
  accepted: { words: "Every job was verified and accepted.", tone: "good" },
  ended: { words: "The run is settled, and not every job was accepted.", tone: "bad" },
  cancelled: { words: "The run was cancelled.", tone: "bad" },
  interrupted: { words: "The run stopped before its end and can be resumed.", tone: "bad" },
};

export function buildReport(input: ReportInput): ReportModel {
  const { graph, state } = input;
  const facts = factsOfRun(graph, state);
  const status = STATUS_WORDS[state.status];
  const sections: SectionInput = { graph, state, inventory: input.inventory, facts, runDir: input.runDir };
  const mock = facts.mock === "none" ? "" : facts.mock === "all" ? " (mock run)" : " (partly mock)";
  return {
    title: [text(`Run ${state.status}${mock}: `), text(graph.name, 120)],
    statusTone: status.tone,
    notices: notices(input, facts, status),
    facts: keyFacts(input, facts),
    sections: [
      dueSection(input.next ?? null, input.nextOmitted ?? 0),
      jobsSection(sections),
      acceptanceSection(sections),
      faultsSection(sections),
      changesSection({
        ...sections,
        script: input.script,
        kept: input.kept ?? { integrations: [], reversePatches: {} },
      }),
      questionsSection(sections),
      openQuestionsSection(sections),
      detailsSection(sections),
      costSection(sections),
      evidenceSection({ ...sections, trace: input.trace }),
      onboardingSection(sections),
      sessionsSection(sections),
      reproduceSection({ ...sections, script: input.script }),
    ],
  };
}

function notices(
  { state }: ReportInput,
  facts: RunFacts,
  status: { readonly words: string; readonly tone: Tone },
): Block[] {
  const found: Block[] = [
    notice(status.tone, text(status.words), text(state.reason === null ? "" : ` (${state.reason})`)),
  ];
  if (facts.mock !== "none")
    found.push(
      notice(
        "waiting",
        strong(facts.mock === "all" ? "Mock run." : "Partly mock."),
        text(
          facts.mock === "all"
            ? " The built-in mock runtime played all of this work from a script. No model took part, and nothing here says anything about real work."
            : " The built-in mock runtime played some of this work from a script. What it did says nothing about real work.",
        ),
      ),
    );
  if (facts.undecided.length > 0)
    found.push(
      notice(
        "waiting",
        strong("Needs an arbiter."),
        text(
          ` ${plural(facts.undecided.length, "job")} finished, but no independent arbiter has accepted the work: `,
        ),
        ...idList(facts.undecided.map(({ plan }) => plan.id)),
        text("."),
      ),
    );
  return found;
}

function keyFacts(input: ReportInput, facts: RunFacts): ReportModel["facts"] {
  const { graph, state, runDir } = input;
  const { status, outcome } = facts;
  const row = (label: string, ...value: Inline): { label: string; value: Inline } => ({ label, value });
  return [
    row("Run", code(state.runId)),
    row("Spec", ...(graph.specPath === null ? [text("given inline")] : [code(graph.specPath)])),
    row("Outcome wanted", text(graph.outcome ?? "not stated", 500)),
    row("Directory", code(runDir)),
    row(
      "Started",
      time(state.createdAt),
      ...(state.endedAt === null ? [] : [text(", settled "), time(state.endedAt)]),
      text(", reported "),
      time(new Date(input.now).toISOString()),
    ),
    row("Harness", text(state.harness.name), text(state.harness.subagents ? ", dispatches subagents" : "")),
    row(
      "Jobs",
      text(
        `${status.success} success, ${status.failed} failed, ${status.blocked} blocked, ${status.running} running, ${status.queued} queued, ${status.interrupted} interrupted`,
      ),
    ),
    row(
      "Outcomes",
      text(
        `${outcome.accepted} accepted, ${outcome.rejected} rejected, ${outcome.failed} failed, ${outcome.blocked} blocked, ${outcome.pending} pending`,
      ),
    ),
    row("Accepted without C3", text(`${facts.acceptedWithoutC3} of ${facts.jobs.length}`)),
    row("Checks", text(`${facts.checks.passed} of ${facts.checks.total} passed`)),
    row("Decision plane", text(planeLine(state))),
    row("Credentials", text(credentialsLine(state))),
    row("Benchmarks", ...benchmarksInline({ facts })),
    row("Trace", ...traceInline(input.trace)),
  ];
}
