/** report.html: one self-contained file, no script, no network. */
import type { ReportInput } from "./report.ts";

/** Async: the HTML and layout libraries load only when it is called. */
export async function renderReportHtml(_input: ReportInput): Promise<string> {
  throw new Error("not written yet");
}
