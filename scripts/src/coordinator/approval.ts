/** What must hold right before a dispatch: a route that can carry the job, and the user's approval of exactly this scope. */
import canonicalize from "canonicalize";
import type { PlanJob } from "../core/runtime.ts";
import { RISK_TIERS } from "../core/tiers.ts";
import { isoTime } from "../host/clock.ts";
import { sha256 } from "../host/files.ts";
import { checkControls } from "../plan/controls.ts";
import type { JournalRecord } from "../state/records.ts";
import { fixedBriefSha256 } from "./briefing.ts";
import { runDeclaredCommand } from "./run-command.ts";
import { jobState, type Session } from "./session.ts";
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
  const scope = approvalScope(s, job);
  const decided = s.store.state.approvals.filter((a) => a.jobId === job.id && a.scope === scope).at(-1);
  if (decided?.decision === "approved") return null;
  if (decided?.decision === "denied")
    return block(job.id, { code: "denied", detail: `The user denied this scope (${decided.at}).` });
  const preview = await runPreview(s, job, scope);
  if (preview !== null && !preview.ok) return block(job.id, { code: "preview-failed", detail: preview.text });
  if (external && s.graph.flags.yes) {
    await s.commit([
      {
        type: "approval",
        approval: {
          id: `flag-${job.id}-${scope.slice(0, 12)}`,
          scope,
          jobId: job.id,
          words: approvalWords(job),
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
              ? approvalWords(job)
              : `${approvalWords(job)}; the preview printed: ${preview.text}`,
          scope,
        },
      },
    },
  ];
}

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
  const run = await runDeclaredCommand(s, {
    argv: [command.command, ...command.args],
    cwd: command.cwd ?? job.cwd,
    timeoutMs: command.timeoutMs,
    label: `preview-${scope.slice(0, 12)}`,
    jobId: job.id,
    attempt: jobState(s, job.id).attempts + 1,
    maxOutputBytes: job.maxOutputBytes,
  });
  const printed = (run.stdoutTail.trim() || run.stderrTail.trim() || "nothing").slice(-PREVIEW_SHOWN);
  if (run.exitCode === 0 && run.spawnError === null) return { ok: true, text: printed };
  const how =
    run.spawnError !== null
      ? `could not be run (${run.spawnError})`
      : run.timedOut
        ? "ran out of time"
        : `ended with ${run.exitCode ?? run.signal}`;
  return {
    ok: false,
    text: `The preview \`${[command.command, ...command.args].join(" ")}\` ${how}: ${printed}`,
  };
}

const block = (jobId: string, value: { code: string; detail: string }): JournalRecord[] => [
  { type: "job", jobId, patch: { block: value } },
];

/** SHA-256 of everything that the approval covers; any change of it asks again. */
function approvalScope(s: Session, job: PlanJob): string {
  const candidate = job.route.chain[jobState(s, job.id).candidateIndex];
  const covered = {
    runId: s.runId,
    jobId: job.id,
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
    briefSha256: fixedBriefSha256(s, job),
    dependencies: job.dependsOn.map((id) => jobState(s, id).attemptRecords.at(-1)?.treeSha256 ?? null),
    runtime: candidate?.runtime ?? null,
    model: candidate?.model ?? null,
  };
  return sha256(canonicalize(covered) ?? "");
}

/** The scope in words, for the person who decides. */
export function approvalWords(job: PlanJob): string {
  const candidate = job.route.chain[0];
  const command = job.invocation === null ? null : [job.invocation.command, ...job.invocation.args].join(" ");
  return [
    `\`${job.id}\` (${job.effect}, ${job.riskTier}) in \`${job.cwd}\` by \`${candidate?.runtime ?? "?"}\`${candidate?.model ? ` with model \`${candidate.model}\`` : ""}`,
    command === null ? null : `runs \`${command}\``,
    job.ownedPaths.length > 0 ? `may write ${job.ownedPaths.map((p) => `\`${p}\``).join(", ")}` : null,
    job.preview === null ? null : `preview: ${planText(job.preview)}`,
    job.rollback === null ? null : `rollback: ${planText(job.rollback)}`,
  ]
    .filter((part) => part !== null)
    .join("; ");
}

function planText(text: NonNullable<PlanJob["preview"]>): string {
  return text.kind === "text" ? text.text : `\`${[text.command.command, ...text.command.args].join(" ")}\``;
}
