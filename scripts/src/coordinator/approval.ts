/** What must hold right before a dispatch: a route that can carry the job, and the user's approval of exactly this scope. */
import canonicalize from "canonicalize";
import type { PlanJob } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { RISK_TIERS } from "../core/tiers.ts";
import { isoTime } from "../host/clock.ts";
import { sha256 } from "../host/files.ts";
import { checkControls } from "../plan/controls.ts";
import type { JournalRecord } from "../state/records.ts";
import { type ApprovalPlace, placeOfAttempt, withApprovalPlace } from "./approval-place.ts";
import { authorityText } from "./authority.ts";
import { fixedBriefSha256 } from "./briefing.ts";
import { changedScope, type ScopeFile, scriptsOfScope } from "./check-scripts.ts";
import { deniedText } from "./decided-scope.ts";
import { runPreview } from "./preview.ts";
import { jobState, type Session, worktreePath } from "./session.ts";
import { traceGate } from "./trace-points.ts";
import { baseCommitOf, type Workplace } from "./workplace.ts";

export type Gate =
  /** Dispatch. `approved`: the files that the user's word covers, to be looked at once more before the start; null: no word was needed. */
  | { readonly pass: true; readonly approved: readonly ScopeFile[] | null }
  /** The records that block the job, with the reason. */
  | { readonly pass: false; readonly records: JournalRecord[] };

/** Either way the trace says what was met. */
export async function gateBeforeDispatch(s: Session, job: PlanJob): Promise<Gate> {
  const gate = await decide(s, job);
  const blocked = gate.pass ? undefined : gate.records.find((record) => record.type === "job");
  const code = blocked?.type === "job" ? (blocked.patch.block?.code ?? null) : null;
  const runtime = job.route.chain[jobState(s, job.id).candidateIndex]?.runtime;
  const record = runtime === undefined ? undefined : s.records.get(runtime);
  traceGate(s, job, {
    outcome: gate.pass ? "passed" : code === "needs-approval" ? "needs-approval" : "blocked",
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
  return gate;
}

async function decide(s: Session, job: PlanJob): Promise<Gate> {
  const external = job.riskTier === RISK_TIERS[3];
  if (!external && job.approval !== "require") return { pass: true, approved: null };
  const placed = await withApprovalPlace(s, job, (place) => decideIn(s, job, place));
  return placed.ok ? placed.value : block(job.id, placed.error);
}

async function decideIn(s: Session, job: PlanJob, place: ApprovalPlace): Promise<Gate> {
  const external = job.riskTier === RISK_TIERS[3];
  const scripts = await scriptsOfScope(s, job, place);
  const scope = approvalScope(s, job, { place, scripts });
  const decided = s.store.state.approvals.filter((a) => a.jobId === job.id && a.scope === scope).at(-1);
  if (decided?.decision === "approved") return { pass: true, approved: scripts };
  if (decided?.decision === "denied")
    return block(job.id, { code: "denied", detail: deniedText(job.id, decided.at) });
  const preview = await runPreview(s, job, { scope, place });
  if (preview !== null && !preview.ok) return block(job.id, preview.block);
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
    return { pass: true, approved: scripts };
  }
  return block(job.id, {
    code: "needs-approval",
    detail: preview === null ? approvalWords(s, job) : `${approvalWords(s, job)}; ${preview.text}`,
    scope,
  });
}

const block = (jobId: string, value: { code: string; detail: string; scope?: string }): Gate => ({
  pass: false,
  records: [{ type: "job", jobId, patch: { block: value } }],
});

/**
 * Right before the start, in the place where the job will work: a file that the user's word covers is what it was when the
 * word was looked up. Setting up a worktree takes minutes, and much can be written meanwhile. Null: all are the same.
 */
export async function changedSinceApproval(
  s: Session,
  job: PlanJob,
  o: { readonly approved: readonly ScopeFile[] | null; readonly place: Workplace },
): Promise<{ readonly code: string; readonly detail: string } | null> {
  if (o.approved === null) return null;
  const changed = changedScope(o.approved, await scriptsOfScope(s, job, placeOfAttempt(job, o.place)));
  if (changed.length === 0) return null;
  const names = changed.slice(0, 5).map((path) => `\`${path}\``);
  const more = changed.length > names.length ? ` and ${changed.length - names.length} more` : "";
  return {
    code: "approval-outdated",
    detail: `${names.join(", ")}${more}: changed between the approval and the start, so \`${job.id}\` was not started. \`resume --retry ${job.id}\` asks for approval of what is there now.`,
  };
}

/** SHA-256 of everything that the approval covers; any change of it asks again. */
function approvalScope(
  s: Session,
  job: PlanJob,
  { place, scripts }: { readonly place: ApprovalPlace; readonly scripts: readonly ScopeFile[] },
): string {
  const candidate = job.route.chain[jobState(s, job.id).candidateIndex];
  const covered = {
    runId: s.runId,
    jobId: job.id,
    // Work with an effect outside is approved for one attempt: what ran once does not run again on the same word.
    attempt: job.riskTier === RISK_TIERS[3] ? jobState(s, job.id).attempts + 1 : null,
    effect: job.effect,
    cwd: job.cwd,
    baseCommit: baseCommitOf(s, job),
    // Base and dependencies merged: what the worktree will start from.
    startCommit: place.commit,
    setup: place.commit === null ? [] : s.graph.worktreeSetup,
    ownedPaths: job.ownedPaths,
    outputs: job.outputs,
    tools: job.tools,
    envAllow: job.invocation?.envAllow ?? [],
    invocation: job.invocation,
    preview: job.preview,
    rollback: job.rollback,
    verification: job.verification,
    scripts,
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
    job.isolation === "worktree" && s.graph.worktreeSetup.length > 0
      ? `after ${s.graph.worktreeSetup.map(commandText).join(", ")}`
      : null,
    job.ownedPaths.length > 0 ? `may write ${job.ownedPaths.map((p) => `\`${p}\``).join(", ")}` : null,
    (job.invocation?.envAllow.length ?? 0) > 0
      ? `is given ${job.invocation?.envAllow.map((name) => `\`${name}\``).join(", ")}`
      : null,
    job.verification.length > 0 ? `checked by ${job.verification.map(commandText).join(", ")}` : null,
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

const commandText = ({
  command,
  args,
}: {
  readonly command: string;
  readonly args: readonly string[];
}): string => `\`${shell([command, ...args])}\``;

const shell = (argv: readonly string[]): string => argv.map((part) => quoteShell(part)).join(" ");

function planText(text: NonNullable<PlanJob["preview"]>): string {
  return text.kind === "text" ? clip(text.text) : commandText(text.command);
}
