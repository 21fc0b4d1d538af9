/** What must hold right before a dispatch: a route that can carry the job, and the user's approval of exactly this scope. */
import { join } from "node:path";
import canonicalize from "canonicalize";
import type { PlanJob } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { RISK_TIERS } from "../core/tiers.ts";
import { isoTime } from "../host/clock.ts";
import { sha256 } from "../host/files.ts";
import { checkControls } from "../plan/controls.ts";
import type { JournalRecord } from "../state/records.ts";
import { authorityText } from "./authority.ts";
import { fixedBriefSha256 } from "./briefing.ts";
import { scriptsOfScope } from "./check-scripts.ts";
import { runDeclaredCommand } from "./run-command.ts";
import { jobDir, jobState, type Session, worktreePath } from "./session.ts";
import { traceGate } from "./trace-points.ts";

/** Null: dispatch. Otherwise the records that block the job, with the reason. Either way the trace says what was met. */
export async function gateBeforeDispatch(s: Session, job: PlanJob): Promise<JournalRecord[] | null> {
  const records = await decide(s, job);
  const blocked = records?.find((record) => record.type === "job");
  const code = blocked?.type === "job" ? (blocked.patch.block?.code ?? null) : null;
  const runtime = job.route.chain[jobState(s, job.id).candidateIndex]?.runtime;
  const record = runtime === undefined ? undefined : s.records.get(runtime);
  traceGate(s, job, {
    outcome: records === null ? "passed" : code === "needs-approval" ? "needs-approval" : "blocked",
    controls:
      record === undefined
        ? []
        : checkControls(record, {
            riskTier: job.riskTier,
            writer: job.writer,
            worktree: job.isolation === "worktree",
            tools: job.tools.allowed,
          }),
    scope: blocked?.type === "job" ? (blocked.patch.block?.scope ?? null) : null,
    code,
  });
  return records;
}

async function decide(s: Session, job: PlanJob): Promise<JournalRecord[] | null> {
  const external = job.riskTier === RISK_TIERS[3];
  if (!external && job.approval !== "require") return null;
  const scope = await approvalScope(s, job);
  const decided = s.store.state.approvals.filter((a) => a.jobId === job.id && a.scope === scope).at(-1);
  if (decided?.decision === "approved") return null;
  if (decided?.decision === "denied")
    return block(job.id, { code: "denied", detail: `The user denied this scope (${decided.at}).` });
  const preview = await runPreview(s, job, scope);
  if (preview !== null && !preview.ok) return block(job.id, { code: "preview-failed", detail: preview.text });
  // The flag is the user's word for the spec as it was given to `run`, once: another attempt at an external effect needs a fresh one.
  if (external && s.graph.flags.yes && jobState(s, job.id).attempts === 0) {
    await s.commit([
      {
        type: "approval",
        approval: {
          id: `flag-${job.id}-${scope.slice(0, 12)}`,
          scope,
          jobId: job.id,
          words: approvalWords(s, job),
          actor: s.graph.harness.name,
          via: "flag",
          at: isoTime(s.clock.now()),
          note: null,
          decision: "approved",
          attested: true,
        },
      },
    ]);
    return null;
  }
  return [
    {
      type: "job",
      jobId: job.id,
      patch: {
        block: {
          code: "needs-approval",
          detail:
            preview === null
              ? approvalWords(s, job)
              : `${approvalWords(s, job)}; the preview${ranBeside(job)} printed: ${preview.text}`,
          scope,
        },
      },
    },
  ];
}

/** The job's own worktree is made after the approval: what differs there (uncommitted work, results of dependencies) is said. */
const ranBeside = (job: PlanJob): string =>
  job.isolation === "worktree"
    ? `, run in \`${job.cwd}\` as it is and not in the job's worktree${job.dependsOn.length === 0 ? "" : " with the work of its dependencies"},`
    : "";

/** Longest part of a preview that is shown with the request; all of it is in the job's `checks/`. */
const PREVIEW_SHOWN = 1_500;

/** Runs an effect-free preview command before anybody is asked. Null: there is none. */
async function runPreview(
  s: Session,
  job: PlanJob,
  scope: string,
): Promise<{ ok: boolean; text: string } | null> {
  if (job.preview === null || job.preview.kind !== "command") return null;
  const { command } = job.preview;
  const label = `preview-${scope.slice(0, 12)}`;
  const run = await runDeclaredCommand(s, {
    argv: [command.command, ...command.args],
    cwd: command.cwd ?? job.cwd,
    timeoutMs: command.timeoutMs,
    label,
    jobId: job.id,
    attempt: jobState(s, job.id).attempts + 1,
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
  if (run.exitCode === 0 && run.spawnError === null) return { ok: true, text: printed };
  const how =
    run.spawnError !== null
      ? `could not be run (${run.spawnError})`
      : run.timedOut
        ? "ran out of time"
        : `ended with ${run.exitCode ?? run.signal}`;
  return {
    ok: false,
    text: `The preview \`${shell([command.command, ...command.args])}\` ${how}: ${printed}`,
  };
}

const block = (jobId: string, value: { code: string; detail: string }): JournalRecord[] => [
  { type: "job", jobId, patch: { block: value } },
];

/** SHA-256 of everything that the approval covers; any change of it asks again. */
async function approvalScope(s: Session, job: PlanJob): Promise<string> {
  const candidate = job.route.chain[jobState(s, job.id).candidateIndex];
  const covered = {
    runId: s.runId,
    jobId: job.id,
    // Work with an effect outside is approved for one attempt: what ran once does not run again on the same word.
    attempt: job.riskTier === RISK_TIERS[3] ? jobState(s, job.id).attempts + 1 : null,
    effect: job.effect,
    cwd: job.cwd,
    baseCommit: s.graph.repo?.baseCommit ?? null,
    ownedPaths: job.ownedPaths,
    outputs: job.outputs,
    tools: job.tools,
    envAllow: job.invocation?.envAllow ?? [],
    invocation: job.invocation,
    preview: job.preview,
    rollback: job.rollback,
    verification: job.verification,
    scripts: await scriptsOfScope(job, job.repo ?? job.cwd),
    briefSha256: fixedBriefSha256(s, job),
    dependencies: job.dependsOn.map((id) => jobState(s, id).attemptRecords.at(-1)?.treeSha256 ?? null),
    runtime: candidate?.runtime ?? null,
    model: candidate?.model ?? null,
  };
  return sha256(canonicalize(covered) ?? "");
}

/** The scope in words, for the person who decides. */
export function approvalWords(s: Session, job: PlanJob): string {
  const candidate = job.route.chain[jobState(s, job.id).candidateIndex];
  const where =
    job.isolation === "worktree"
      ? `a worktree of its own (\`${worktreePath(s.runDir, job.id)}\`, from \`${job.repo ?? job.cwd}\`)`
      : `\`${job.cwd}\``;
  return [
    `\`${job.id}\` (${job.effect}, ${job.riskTier}) in ${where} by \`${candidate?.runtime ?? "?"}\`${candidate?.model ? ` with model \`${candidate.model}\`` : ""}`,
    job.invocation === null
      ? `does: ${clip(job.prompt ?? job.expectedOutput)}`
      : `runs \`${shell([job.invocation.command, ...job.invocation.args])}\``,
    job.ownedPaths.length > 0 ? `may write ${job.ownedPaths.map((p) => `\`${p}\``).join(", ")}` : null,
    (job.invocation?.envAllow.length ?? 0) > 0
      ? `is given ${job.invocation?.envAllow.map((name) => `\`${name}\``).join(", ")}`
      : null,
    job.preview === null ? null : `preview: ${planText(job.preview)}`,
    job.rollback === null ? null : `rollback, shown and never run by us: ${planText(job.rollback)}`,
    authorityText(s, job),
  ]
    .filter((part) => part !== null)
    .join("; ");
}

const clip = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
};

const shell = (argv: readonly string[]): string => argv.map((part) => quoteShell(part)).join(" ");

function planText(text: NonNullable<PlanJob["preview"]>): string {
  return text.kind === "text"
    ? clip(text.text)
    : `\`${shell([text.command.command, ...text.command.args])}\``;
}
