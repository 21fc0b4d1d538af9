/** The effect-free command that is run before anybody is asked, and what it printed, in words for the person who decides. */
import { join } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";
import type { ApprovalPlace } from "./approval-place.ts";
import { placeJobInputs } from "./briefing.ts";
import { runDeclaredCommand } from "./run-command.ts";
import { jobDir, jobState, type Session } from "./session.ts";
import { setUpWorktree } from "./worktree-setup.ts";

export type PreviewEnd =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly block: { readonly code: string; readonly detail: string } };

/** Longest part of a preview that is shown with the request; all of it is in the job's `checks/`. */
const PREVIEW_SHOWN = 1_500;

/** In a place made like the job's own: set up like it first. Null: the job declares no preview command. */
export async function runPreview(
  s: Session,
  job: PlanJob,
  o: { readonly scope: string; readonly place: ApprovalPlace },
): Promise<PreviewEnd | null> {
  if (job.preview?.kind !== "command") return null;
  const { place } = o;
  const attempt = jobState(s, job.id).attempts + 1;
  if (place.commit !== null) {
    const setUp = await setUpWorktree(s, job, attempt, place);
    if (setUp !== null) return { ok: false, block: setUp };
    const inputs = await placeJobInputs(s, { cwd: place.cwd, inputs: job.inputs });
    if (!inputs.ok) return { ok: false, block: inputs.error };
  }
  const { command } = job.preview;
  const label = `preview-${o.scope.slice(0, 12)}`;
  const run = await runDeclaredCommand(s, {
    argv: [command.command, ...command.args],
    cwd: command.cwd === null ? place.cwd : place.folder(command.cwd),
    timeoutMs: command.timeoutMs,
    label,
    jobId: job.id,
    attempt,
    maxOutputBytes: job.maxOutputBytes,
  });
  const tail = run.stdoutTail.trim() || run.stderrTail.trim() || "nothing";
  const stream = run.stdoutTail.trim() === "" ? "stderr" : "stdout";
  const file = join(jobDir(s.runDir, job.id), "checks", `${label}.${stream}.txt`);
  // What is cut off is named: the first lines may be the ones that matter.
  const printed =
    tail.length <= PREVIEW_SHOWN
      ? tail
      : `(the last ${PREVIEW_SHOWN} characters; all of it is in \`${file}\`) … ${tail.slice(-PREVIEW_SHOWN)}`;
  if (run.exitCode === 0 && run.spawnError === null)
    return { ok: true, text: `the preview, run ${placeText(job, place)}, printed: ${printed}` };
  const how =
    run.spawnError !== null
      ? `could not be run (${run.spawnError})`
      : run.timedOut
        ? "ran out of time"
        : `ended with ${run.exitCode ?? run.signal}`;
  const argv = [command.command, ...command.args].map((part) => quoteShell(part)).join(" ");
  return {
    ok: false,
    block: {
      code: "preview-failed",
      detail: `The preview \`${argv}\`, run ${placeText(job, place)}, ${how}: ${printed}`,
    },
  };
}

/** What the person reads must say what it was a preview of. */
function placeText(job: PlanJob, place: ApprovalPlace): string {
  if (place.commit === null) return `in \`${place.cwd}\`, where the job will run`;
  const work =
    job.dependsOn.length === 0
      ? ""
      : ` with the work of ${job.dependsOn.map((id) => `\`${id}\``).join(", ")}`;
  return `in a worktree like the job's own (${place.commit.slice(0, 12)}${work}, without uncommitted changes)`;
}
