/** Renders the report again from what is recorded; the run itself is not touched. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { traceStatusOf } from "../evidence/trace.ts";
import { replaceFile } from "../host/files.ts";
import { renderReport } from "../prove/report.ts";
import { renderReportHtml } from "../prove/report-html.ts";
import { readInventory } from "./inventory-file.ts";
import { keptBeside } from "./kept-beside.ts";
import type { RunView } from "./view.ts";

export async function rewriteReport(o: { view: RunView; script: string; now: number }): Promise<void> {
  const { view } = o;
  const inventory = readInventory(view.runDir);
  const input = {
    graph: view.graph,
    state: view.state,
    inventory: inventory.ok ? inventory.value : null,
    runDir: view.runDir,
    script: o.script,
    kept: keptBeside(view.runDir, view.graph),
    trace: traceStatusOf(join(view.runDir, RUN_FILES.trace), { open: view.coordinatorAlive }),
    now: o.now,
    next: view.actions,
    nextOmitted: view.omitted,
  };
  replaceFile(join(view.runDir, RUN_FILES.report), renderReport(input));
  replaceFile(join(view.runDir, RUN_FILES.reportHtml), await renderReportHtml(input));
}
