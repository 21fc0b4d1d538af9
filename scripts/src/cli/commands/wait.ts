import { EXIT } from "../../core/exit-codes.ts";
import { parseDuration } from "../../plan/duration.ts";
import { failure, flagText, type Handler } from "../context.ts";
import { attachAndReport, openRun, standing } from "../run-access.ts";

const UNTIL = { action: "due", change: "changed", settled: "settled" } as const;

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const timeout = flagText(parsed, "timeout");
  const parsedTimeout = timeout === undefined ? null : parseDuration(timeout);
  if (parsedTimeout !== null && !parsedTimeout.ok)
    return failure(EXIT.usage, [
      { severity: "error", code: "bad-duration", message: `--timeout: ${parsedTimeout.error}` },
    ]);
  const until = UNTIL[(flagText(parsed, "for") ?? "action") as keyof typeof UNTIL];
  // Nobody advances the run: there is nothing to wait for, only what `next[]` says.
  if (!run.value.coordinatorAlive)
    return standing(ctx, run.value, {
      end:
        run.value.state.status === "running" || run.value.state.status === "preparing"
          ? "coordinator-gone"
          : "due",
      coordinatorExit: null,
      coordinator: null,
    });
  return attachAndReport(ctx, {
    view: run.value,
    until,
    timeoutMs: parsedTimeout === null ? null : parsedTimeout.value,
    coordinator: null,
  });
};
