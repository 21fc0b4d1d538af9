import type { RunView } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { Attempt } from "../../core/runtime.ts";
import type { CommandResult, Handler } from "../context.ts";
import { openRun, summaryOf } from "../run-access.ts";

/** More lines than these are counted; state.json has them all. */
const MAX_LINES = 60;

export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  return run.ok ? statusResult(run.value) : run.error;
};

function statusResult(view: RunView): CommandResult {
  const ids = view.graph.jobs.map((job) => job.id);
  const shown = ids.slice(0, MAX_LINES);
  const rows = shown.map((id) => rowOf(view, id));
  const rest = ids.length - shown.length;
  const head = `${view.state.runId}: ${view.state.status}${view.state.reason === null ? "" : ` (${view.state.reason})`}${view.coordinatorAlive ? ", coordinated now" : ""}${view.state.mock ? ", MOCK work inside" : ""}`;
  return {
    exitCode: EXIT.done,
    data: {
      ...summaryOf(view),
      coordinatorAlive: view.coordinatorAlive,
      list: rows,
      ...(rest > 0 ? { omittedJobs: rest } : {}),
      notes: view.state.notes.slice(-5),
      onboarding: view.state.onboarding ?? [],
    },
    text: [
      head,
      ...(view.state.onboarding ?? []).map(
        (one) =>
          `  set up: ${one.runtime} ${one.result}${one.version === null ? "" : ` ${one.version}`}${one.undo === null ? "" : `; undo: ${one.undo}`}`,
      ),
      ...rows.map(lineOf),
      ...(rest > 0 ? [`… and ${rest} more; all of them are in ${view.runDir}/state.json`] : []),
    ].join("\n"),
    diagnostics: view.repairs.map((repair) => ({ severity: "warning", code: "torn-tail", message: repair })),
    next: view.actions,
  };
}

interface Again {
  readonly attempt: number;
  readonly relation: Attempt["relation"];
  /** Who had the attempt before it, and who has it now. */
  readonly from: string | null;
  readonly to: string | null;
  /** What ended the attempt before it: its class, or its status where no class says it. */
  readonly trigger: string | null;
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly runtime: string | null;
  readonly attempts: number;
  /** Every further attempt: a retry and a promotion are never silent. */
  readonly again: readonly Again[];
  readonly notBefore: string | null;
}

function rowOf(view: RunView, id: string): Row {
  const job = view.state.jobs[id];
  return {
    id,
    status: job?.status ?? "queued",
    outcome: job?.outcome ?? "pending",
    reason: job?.reason ?? null,
    runtime: job?.runtime ?? null,
    attempts: job?.attempts ?? 0,
    again: againOf(job?.attemptRecords ?? []),
    // Who was stopped while it waited does not wait any more.
    notBefore: job?.status === "queued" ? job.notBefore : null,
  };
}

const againOf = (attempts: readonly Attempt[]): Again[] =>
  attempts.slice(1).map((one, at) => {
    const before = attempts[at] as Attempt;
    return {
      attempt: one.attempt,
      relation: one.relation,
      from: before.runtime,
      to: one.runtime,
      trigger: one.promotionTrigger ?? before.failureClass ?? before.status,
    };
  });

/** Steps in a line; all of them are in the JSON. */
const STEPS_SHOWN = 4;

function againText(again: readonly Again[]): string {
  const steps = again
    .slice(-STEPS_SHOWN)
    .map(({ relation, from, to, trigger }) =>
      relation === "promotion"
        ? `promoted from ${from} to ${to} after ${trigger}`
        : `${relation} after ${trigger}`,
    );
  const before = again.length > STEPS_SHOWN ? "…, " : "";
  return again.length === 0 ? "" : `  attempt ${again.length + 1}: ${before}${steps.join(", ")}`;
}

const lineOf = (row: Row): string =>
  `  ${row.id}  ${row.status}${row.status === row.outcome ? "" : `, ${row.outcome}`}${row.reason === null ? "" : ` (${row.reason})`}${row.runtime === null ? "" : `  ${row.runtime}`}${againText(row.again)}${row.notBefore === null ? "" : `  not before ${row.notBefore}`}`;
