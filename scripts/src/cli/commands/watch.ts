import { createProgress } from "../../coordinator/progress.ts";
import { isCoordinated } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { followRun } from "../../state/follow.ts";
import type { Handler } from "../context.ts";
import { openRun } from "../run-access.ts";

/** One line per change until nobody coordinates the run any more; JSON lines with --json. */
export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const { runDir, graph } = run.value;
  const follower = followRun(runDir);
  const print = createProgress(graph, (line) =>
    ctx.out.json ? ctx.out.jsonLine({ runId: run.value.state.runId, line }) : ctx.out.line(line),
  );
  try {
    for (;;) {
      const alive = isCoordinated(runDir);
      follower.poll();
      print(follower.state(), follower.changes());
      if (!alive || ctx.out.closed) break;
      await follower.changed(500);
    }
    const { status, reason } = follower.state();
    const last = `${status}${reason === null ? "" : `: ${reason}`}`;
    if (ctx.out.json) ctx.out.jsonLine({ runId: run.value.state.runId, status, reason });
    else ctx.out.line(last);
  } finally {
    follower.close();
  }
  return { exitCode: EXIT.done, data: null, text: "", diagnostics: [], next: [] };
};
