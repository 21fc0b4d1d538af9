/** The last sections of the report: what is due, and how to do it again. */
import type { NextAction } from "../core/diagnostic.ts";
import { quoteShell } from "../core/shell-quote.ts";
import {
  type Block,
  code,
  commands,
  type Inline,
  list,
  paragraph,
  rich,
  type Section,
  text,
} from "./report-model.ts";
import type { SectionInput } from "./report-sections.ts";
import { plural } from "./report-text.ts";

/** `next` null: nobody asked, which is not the same as nothing. */
export function dueSection(next: readonly NextAction[] | null, omitted: number): Section {
  if (next === null)
    return {
      id: "due",
      title: "What is due",
      blocks: [paragraph(text("Ask with "), code("next RUN"), text("."))],
    };
  const due = next.filter((action) => action.action !== "read_report");
  if (due.length === 0) return { id: "due", title: "What is due", blocks: [paragraph(text("Nothing."))] };
  const blocks: Block[] = due.flatMap((action): Block[] => [
    paragraph(code(action.action), text(": "), ...rich(action.reason, 500)),
    ...actionFiles(action),
    commands([action.shell]),
  ]);
  if (omitted > 0) blocks.push(paragraph(text(`${omitted} more: run `), code("next"), text(".")));
  return { id: "due", title: "What is due", blocks };
}

function actionFiles(action: NextAction): Block[] {
  const items: Inline[] = [
    ...(action.promptFile === undefined ? [] : [[text("promptFile: "), code(action.promptFile, 400)]]),
    ...(action.resultFile === undefined ? [] : [[text("resultFile: "), code(action.resultFile, 400)]]),
  ];
  return items.length === 0 ? [] : [list(items)];
}

export function reproduceSection(input: SectionInput & { readonly script: string }): Section {
  const { graph, facts, runDir, script } = input;
  const line = (...argv: string[]): string =>
    ["node", script, ...argv].map((part) => quoteShell(part)).join(" ");
  // Only where a fault began: what stands above it is reopened with it.
  const roots = facts.faults.filter((one) => one.job.status === "failed" || one.job.outcome === "rejected");
  const failed = roots.slice(0, 3).map(({ plan }) => line("resume", runDir, "--retry", plan.id));
  const spec = graph.specPath === null ? [] : [line("run", graph.specPath)];
  return {
    id: "reproduce",
    title: "Reproduce",
    blocks: [
      commands([...spec, line("verify", runDir), line("report", runDir), ...failed]),
      paragraph(
        text("The exact command of each attempt is in "),
        code("<job>/command.txt"),
        text("; the spec as it was run in "),
        code("jobs.yaml"),
        text("."),
      ),
      ...(graph.repo?.baseCommit == null
        ? []
        : [
            paragraph(
              text("Base: "),
              code(graph.repo.baseRef),
              text(" at "),
              code(graph.repo.baseCommit),
              text(
                graph.repo.dirty === 0
                  ? "."
                  : `; ${plural(graph.repo.dirty, "path")} with uncommitted changes took no part in the worktrees.`,
              ),
            ),
          ]),
    ],
  };
}
