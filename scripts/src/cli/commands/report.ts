import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rewriteReport } from "../../coordinator/rewrite-report.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { RUN_FILES } from "../../core/layout.ts";
import { flagText, type Handler } from "../context.ts";
import { scriptOf } from "../own-command.ts";
import { openRun, summaryOf } from "../run-access.ts";

/** A harness cuts long answers: the text is shown up to here, the file holds it all. */
const SHOWN_BYTES = 16_000;

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const format = flagText(parsed, "format") ?? "md";
  await rewriteReport({ view: run.value, script: scriptOf(ctx), now: ctx.clock.now() });
  const file = join(
    run.value.runDir,
    format === "html" ? RUN_FILES.reportHtml : format === "json" ? RUN_FILES.state : RUN_FILES.report,
  );
  const text = format === "md" ? readFileSync(file, "utf8") : "";
  const shown =
    text.length > SHOWN_BYTES ? `${text.slice(0, SHOWN_BYTES)}\n… cut here; all of it: ${file}` : text;
  return {
    exitCode: EXIT.done,
    data: {
      ...summaryOf(run.value),
      format,
      file,
      ...(format === "json" ? { jobs: run.value.state.jobs } : {}),
    },
    text: format === "md" ? shown : file,
    diagnostics: [],
    next: run.value.actions,
  };
};
