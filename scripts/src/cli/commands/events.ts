import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../core/exit-codes.ts";
import type { OrchestrateEvent } from "../../core/generated/event.ts";
import { RUN_FILES } from "../../core/layout.ts";
import { flagInteger, flagText, type Handler } from "../context.ts";
import { openRun } from "../run-access.ts";

const DEFAULT_LIMIT = 100;
/** A harness cuts long answers: a page ends here even below its limit. */
const PAGE_MAX_BYTES = 24_000;

/** A page over the logs of all supervisors of the run, in order; the cursor counts events, not one supervisor's `seq`. */
export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const after = flagInteger(parsed, "after") ?? 0;
  const limit = flagInteger(parsed, "limit") ?? DEFAULT_LIMIT;
  const job = flagText(parsed, "job");
  const page: { cursor: number; event: OrchestrateEvent }[] = [];
  let cursor = after;
  let bytes = 0;
  let more = false;
  for (const [at, line] of eventLines(run.value.runDir).entries()) {
    const position = at + 1;
    if (position <= after) continue;
    const event = parse(line);
    if (event === null || (job !== undefined && event.jobId !== job)) {
      if (!more) cursor = position;
      continue;
    }
    if (page.length >= limit || bytes + line.length > PAGE_MAX_BYTES) {
      more = true;
      break;
    }
    page.push({ cursor: position, event });
    bytes += line.length;
    cursor = position;
  }
  if (ctx.out.json) {
    for (const entry of page) ctx.out.jsonLine({ cursor: entry.cursor, ...entry.event });
    ctx.out.jsonLine({ cursor, has_more: more });
    return { exitCode: EXIT.done, data: null, text: "", diagnostics: [], next: [] };
  }
  const lines = page.map(
    ({ cursor: at, event }) =>
      `${at} ${event.ts} ${event.jobId ?? "-"}#${event.attempt ?? "-"} ${event.kind} ${JSON.stringify(event.payload)}`,
  );
  return {
    exitCode: EXIT.done,
    data: null,
    text: [...lines, more ? `… more: events --after ${cursor}` : `(end; cursor ${cursor})`].join("\n"),
    diagnostics: [],
    next: [],
  };
};

function eventLines(runDir: string): string[] {
  const dir = join(runDir, RUN_FILES.supervisor);
  return readdirSync(dir)
    .sort()
    .map((id) => join(dir, id, RUN_FILES.events))
    .filter((path) => existsSync(path))
    .flatMap((path) => readFileSync(path, "utf8").split("\n"))
    .filter((line) => line !== "");
}

/** A torn last line of a coordinator that died is no event. */
function parse(line: string): OrchestrateEvent | null {
  try {
    return JSON.parse(line) as OrchestrateEvent;
  } catch {
    return null;
  }
}
