/** How a run stands when its coordinator stops, and what it leaves for people: report, metrics, trace. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { REOPENABLE_BLOCKS, type State } from "../core/runtime.ts";
import { metricsOf, writeMetrics } from "../evidence/metrics.ts";
import { isoTime } from "../host/clock.ts";
import { errorCode, replaceFile } from "../host/files.ts";
import { renderReport } from "../prove/report.ts";
import { renderReportHtml } from "../prove/report-html.ts";
import { keptBeside } from "./kept-beside.ts";
import { nextActions } from "./next-actions.ts";
import type { Session } from "./session.ts";
import { traceReport, traceRunEnd } from "./trace-points.ts";

export type EndKind = "idle" | "interrupted";

/** Status and reason of the run once its coordinator stops. */
function endStatus(state: State, end: EndKind): { status: State["status"]; reason: string | null } {
  if (end === "interrupted") return { status: "interrupted", reason: "stopped by a signal" };
  const jobs = Object.values(state.jobs);
  if (jobs.every((job) => job.outcome === "accepted")) return { status: "accepted", reason: null };
  // Cancelled work waits for nothing but for what a harness still has to stop.
  const stopping = jobs.some((job) => job.status === "queued" || job.status === "running");
  if (state.cancelRequested && !stopping) return { status: "cancelled", reason: "cancelled by the user" };
  const waits = jobs.find((job) => isWaiting(job));
  if (waits !== undefined)
    return {
      status: "waiting",
      reason: waits.block?.code ?? waits.outcomeBlock?.code ?? "native work is in the harness's hands",
    };
  return { status: "ended", reason: null };
}

function isWaiting(job: State["jobs"][string]): boolean {
  if (job.status === "queued" || job.status === "running") return true;
  if (job.block !== null && job.block.code in REOPENABLE_BLOCKS) return true;
  return job.outcomeBlock !== null && job.outcomeBlock.code in REOPENABLE_BLOCKS;
}

export async function recordEnd(s: Session, end: EndKind): Promise<void> {
  const { status, reason } = endStatus(s.store.state, end);
  const settled = status === "accepted" || status === "ended" || status === "cancelled";
  await s.commit([
    {
      type: "run",
      patch: {
        status,
        reason,
        endedAt: settled ? isoTime(s.clock.now()) : null,
        mock: s.store.state.mock || usedMock(s),
        events: eventTotals(s),
      },
    },
  ]);
  await s.store.snapshot();
  traceRunEnd(s);
}

/** Recorded, so that any later report says the same without reading what many coordinators observed. */
function eventTotals(s: Session): NonNullable<State["events"]> | null {
  const before = s.store.state.events;
  if (before === null) return null;
  s.events.flush();
  const { written, dropped, unknown } = s.events.status();
  return {
    written: (before?.written ?? 0) + written,
    dropped: (before?.dropped ?? 0) + dropped,
    unknown: (before?.unknown ?? 0) + unknown,
  };
}

const usedMock = (s: Session): boolean =>
  Object.values(s.store.state.jobs).some((job) =>
    job.attemptRecords.some((attempt) => attempt.runtime === "mock"),
  );

/** A report exists at every pause and end. A failure to write it is the caller's to report: the state is safe already. */
export async function writeReports(s: Session): Promise<void> {
  await writeMetricsOrSay(s);
  const trace = s.trace.status();
  const script = s.self.at(-1) ?? "orchestrate.mjs";
  const { actions, omitted } = nextActions({
    graph: s.graph,
    state: s.store.state,
    runDir: s.runDir,
    script,
    coordinatorAlive: false,
  });
  const input = {
    graph: s.graph,
    state: s.store.state,
    inventory: s.inventory,
    runDir: s.runDir,
    script,
    next: actions,
    nextOmitted: omitted,
    kept: keptBeside(s.runDir, s.graph),
    trace,
    now: s.clock.now(),
  };
  const markdown = renderReport(input);
  replaceFile(join(s.runDir, RUN_FILES.report), markdown);
  replaceFile(join(s.runDir, RUN_FILES.reportHtml), await renderReportHtml(input));
  traceReport(s, Buffer.byteLength(markdown));
}

/** Metrics are evidence, not state: a run goes on without them and says that they are missing. */
async function writeMetricsOrSay(s: Session): Promise<void> {
  try {
    writeMetrics(join(s.runDir, RUN_FILES.metrics), metricsOf({ graph: s.graph, state: s.store.state }));
  } catch (error) {
    const note = `${RUN_FILES.metrics} could not be written (${errorCode(error) ?? String(error)}), so the evidence of this run is incomplete.`;
    await s.commit([{ type: "run", patch: {}, note }]);
  }
}
