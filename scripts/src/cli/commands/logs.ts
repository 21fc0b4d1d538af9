import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RunView } from "../../coordinator/view.ts";
import { isCoordinated } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { JOB_FILES } from "../../core/layout.ts";
import { followRun } from "../../state/follow.ts";
import {
  type CommandContext,
  type CommandResult,
  failure,
  flagInteger,
  flagOn,
  flagText,
  type Handler,
} from "../context.ts";
import { openRun, summaryOf } from "../run-access.ts";

const DEFAULT_LINES = 200;
const STREAMS = ["stdout", "stderr"] as const;
const TAIL_MAX_BYTES = 1_048_576;

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, flagText(parsed, "run"));
  if (!run.ok) return run.error;
  const job = parsed.args[0];
  if (job !== undefined && run.value.state.jobs[job] === undefined && !isArbiter(run.value, job))
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "unknown-job",
        message: `\`${run.value.state.runId}\` has no job \`${job}\`; it has ${Object.keys(
          run.value.state.jobs,
        )
          .slice(0, 20)
          .map((id) => `\`${id}\``)
          .join(", ")}.`,
      },
    ]);
  const ids = job === undefined ? run.value.graph.jobs.map((j) => j.id) : [job];
  const lines = flagInteger(parsed, "lines") ?? DEFAULT_LINES;
  if (flagOn(parsed, "follow")) return follow(ctx, run.value, { ids, lines });
  const logs = ids.flatMap((id) =>
    STREAMS.map((stream) => ({ job: id, stream, text: tail(fileOf(run.value.runDir, id, stream), lines) })),
  );
  const shown = logs.filter((log) => log.text !== "");
  return {
    exitCode: EXIT.done,
    data: { ...summaryOf(run.value), logs: shown },
    text: shown.map((log) => `== ${log.job} ${log.stream}\n${log.text}`).join("\n"),
    diagnostics:
      shown.length === 0
        ? [{ severity: "info", code: "no-output", message: "Nothing was captured yet." }]
        : [],
    next: [],
  };
};

const isArbiter = (view: RunView, id: string): boolean =>
  view.state.arbiters.some((arbiter) => arbiter.arbiterId === id);
const fileOf = (runDir: string, job: string, stream: (typeof STREAMS)[number]): string =>
  join(runDir, job, JOB_FILES[stream]);

function tail(path: string, lines: number): string {
  if (!existsSync(path)) return "";
  const size = statSync(path).size;
  const from = Math.max(0, size - TAIL_MAX_BYTES);
  return readFrom(path, from).trimEnd().split("\n").slice(-lines).join("\n");
}

function readFrom(path: string, from: number): string {
  const fd = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(statSync(path).size - from, TAIL_MAX_BYTES)));
    const read = readSync(fd, buffer, 0, buffer.length, from);
    return buffer.subarray(0, read).toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** Prints what is appended until nobody coordinates the run any more. */
async function follow(
  ctx: CommandContext,
  view: RunView,
  o: { ids: readonly string[]; lines: number },
): Promise<CommandResult> {
  const offsets = new Map<string, number>();
  const follower = followRun(view.runDir);
  const print = (job: string, stream: string, text: string): void => {
    for (const line of text.split("\n").filter((part) => part !== ""))
      if (ctx.out.json) ctx.out.jsonLine({ job, stream, line });
      else ctx.out.line(`${job} ${stream === "stdout" ? "|" : "!"} ${line}`);
  };
  try {
    for (;;) {
      const alive = isCoordinated(view.runDir);
      for (const id of o.ids)
        for (const stream of STREAMS) {
          const path = fileOf(view.runDir, id, stream);
          if (!existsSync(path)) continue;
          const size = statSync(path).size;
          const from = offsets.get(path) ?? Math.max(0, size - 16_384);
          // A new attempt starts a new file.
          const start = size < from ? 0 : from;
          if (size > start) print(id, stream, readFrom(path, start));
          offsets.set(path, size);
        }
      if (!alive || ctx.out.closed) break;
      await follower.changed(300);
      follower.poll();
    }
  } finally {
    follower.close();
  }
  return { exitCode: EXIT.done, data: null, text: "", diagnostics: [], next: [] };
}
