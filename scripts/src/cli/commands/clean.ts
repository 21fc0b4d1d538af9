import { cleanRunDir } from "../../coordinator/clean-run.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { failure, flagOn, type Handler } from "../context.ts";
import { ownCommand } from "../own-command.ts";
import { openRun } from "../run-access.ts";

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  if (run.value.coordinatorAlive)
    return failure(EXIT.owned, [
      {
        severity: "error",
        code: "owned-elsewhere",
        message: "A coordinator advances this run: nothing is removed under it.",
        fix: ownCommand(ctx, "wait", run.value.runDir),
      },
    ]);
  const preview = flagOn(parsed, "dry-run");
  const cleaned = await cleanRunDir({ view: run.value, preview });
  return {
    exitCode: EXIT.done,
    data: { runId: run.value.state.runId, preview, worktrees: cleaned },
    text:
      cleaned.length === 0
        ? "This run has no worktrees."
        : cleaned
            .map(
              (c) =>
                `${c.jobId}: ${preview && c.action === "removed" ? "would be removed" : c.action}: ${c.reason}${c.snapshotRef === null ? "" : ` (kept as ${c.snapshotRef})`}`,
            )
            .join("\n"),
    diagnostics: [],
    next: [],
  };
};
