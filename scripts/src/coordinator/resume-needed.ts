/** Whether a coordinator would find anything to do in a finished run: decided from what is read anyway, without starting one. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import type { Job, PlanJob, State } from "../core/runtime.ts";
import type { RunView } from "./view.ts";

/**
 * False only when it is certain that a resume would change nothing: the run is settled and whole, nobody sent a
 * command, no other harness asks, and no finished job has a file, a commit or a check that could have changed since.
 */
export function isResumeNeeded(view: RunView, harness: State["harness"] | null): boolean {
  const { state, graph, runDir } = view;
  if (state.status !== "accepted" && state.status !== "ended" && state.status !== "cancelled") return true;
  if (view.coordinatorAlive || view.repairs.length > 0 || hasCommands(runDir)) return true;
  if (
    harness !== null &&
    (harness.name !== state.harness.name || harness.subagents !== state.harness.subagents)
  )
    return true;
  const reports = [RUN_FILES.report, RUN_FILES.reportHtml];
  if (reports.some((name) => !existsSync(join(runDir, name)))) return true;
  return graph.jobs.some((plan) => {
    const job = state.jobs[plan.id];
    return job === undefined || !isOver(job) || couldBeStale(plan, job);
  });
}

function hasCommands(runDir: string): boolean {
  try {
    return readdirSync(join(runDir, RUN_FILES.inbox)).some((name) => name.endsWith(".json"));
  } catch {
    return true;
  }
}

/** Neither looked at again by a resume nor waiting for anything. */
function isOver(job: Job): boolean {
  if (job.pendingAttempt !== null || job.outcomeBlock !== null) return false;
  if (job.status === "blocked") return job.block?.code === "dependency-failed";
  return job.block === null && (job.status === "success" || job.status === "failed");
}

/** Work that was made from files or left some: whether they are as recorded, the coordinator looks. */
function couldBeStale(plan: PlanJob, job: Job): boolean {
  const last = job.attemptRecords.at(-1);
  if (job.status !== "success" || last === undefined) return job.status === "success";
  return (
    plan.inputs.length > 0 ||
    plan.outputs.length > 0 ||
    plan.verification.length > 0 ||
    last.artifacts.length > 0 ||
    last.commit !== null ||
    job.worktree !== null
  );
}
