import type { RunView } from "../../coordinator/view.ts";
import { isCoordinated } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { followRun } from "../../state/follow.ts";
import { unknownJob } from "../answer.ts";
import {
  type CommandContext,
  type CommandResult,
  flagInteger,
  flagOn,
  flagText,
  type Handler,
} from "../context.ts";
import { GrowingFile, hasOutput, logFile, STREAMS, tailOf } from "../log-files.ts";
import { openRun, summaryOf } from "../run-access.ts";

const DEFAULT_LINES = 200;
/** A harness cuts long answers: without `--lines`, all tails together end here. */
const ANSWER_MAX_BYTES = 24_000;
const FOLLOW_BACKLOG_BYTES = 16_384;

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, flagText(parsed, "run"));
  if (!run.ok) return run.error;
  const job = parsed.args[0];
  const arbiters = run.value.state.arbiters.map((arbiter) => arbiter.arbiterId);
  if (job !== undefined && !arbiters.includes(job)) {
    const unknown = unknownJob(run.value, job);
    if (unknown !== null) return unknown;
  }
  const ids = job === undefined ? [...run.value.graph.jobs.map((j) => j.id), ...arbiters] : [job];
  if (flagOn(parsed, "follow")) return follow(ctx, run.value, ids);
  return tails(run.value, ids, flagInteger(parsed, "lines"));
};

function tails(view: RunView, ids: readonly string[], wanted: number | undefined): CommandResult {
  const files = ids
    .flatMap((job) => STREAMS.map((stream) => ({ job, stream, path: logFile(view.runDir, job, stream) })))
    .filter((file) => hasOutput(file.path));
  const share = Math.max(200, Math.floor(ANSWER_MAX_BYTES / Math.max(1, files.length)));
  const shown = files.slice(0, Math.floor(ANSWER_MAX_BYTES / share)).flatMap((file) => {
    const tail = tailOf(file.path, {
      lines: wanted ?? DEFAULT_LINES,
      maxBytes: wanted === undefined ? share : Number.POSITIVE_INFINITY,
    });
    return tail === null ? [] : [{ ...file, ...tail }];
  });
  const rest = files.length - shown.length;
  return {
    exitCode: EXIT.done,
    data: { ...summaryOf(view), logs: shown, ...(rest > 0 ? { omittedStreams: rest } : {}) },
    text: [
      ...shown.map(
        (log) =>
          `== ${log.job} ${log.stream}${log.omittedBytes === 0 ? "" : ` (${log.omittedBytes} bytes before this are in ${log.path})`}\n${log.text}`,
      ),
      ...(rest > 0 ? [`… and ${rest} more streams: name a job.`] : []),
    ].join("\n"),
    diagnostics:
      shown.length === 0
        ? [{ severity: "info", code: "no-output", message: "Nothing was captured yet." }]
        : [],
    next: [],
  };
}

/** Prints what is appended, line by line, until nobody coordinates the run any more. */
async function follow(ctx: CommandContext, view: RunView, ids: readonly string[]): Promise<CommandResult> {
  const files = ids.flatMap((job) =>
    STREAMS.map((stream) => ({
      job,
      stream,
      file: new GrowingFile(logFile(view.runDir, job, stream), FOLLOW_BACKLOG_BYTES),
    })),
  );
  const print = (job: string, stream: string, lines: readonly string[]): void => {
    for (const line of lines)
      if (ctx.out.json) ctx.out.jsonLine({ job, stream, line });
      else ctx.out.line(`${job} ${stream === "stdout" ? "|" : "!"} ${line}`);
  };
  const follower = followRun(view.runDir);
  try {
    for (;;) {
      const alive = isCoordinated(view.runDir);
      for (const { job, stream, file } of files) print(job, stream, file.read());
      if (!alive || ctx.out.closed) break;
      await follower.changed(300);
      follower.poll();
    }
    for (const { job, stream, file } of files) print(job, stream, file.rest());
  } finally {
    follower.close();
  }
  return { exitCode: EXIT.done, data: null, text: "", diagnostics: [], next: [] };
}
