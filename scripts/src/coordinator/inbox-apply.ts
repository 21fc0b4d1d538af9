/** Commands that arrived in the inbox, applied one after another; each gets an answer, and the same command twice the same one. */

import { SUPERVISION } from "../core/policy.ts";
import type { Job, PlanJob } from "../core/runtime.ts";
import { REOPENABLE_BLOCKS } from "../core/runtime.ts";
import { sentence } from "../core/sentence.ts";
import { isoTime } from "../host/clock.ts";
import type { RoundOutcome } from "../prove/accept.ts";
import type { InboxCommand } from "../state/inbox.ts";
import type { JournalRecord } from "../state/records.ts";
import { approvalWords } from "./approval.ts";
import { decidedScope, deniedText } from "./decided-scope.ts";
import { endRejected } from "./dependents.ts";
import {
  cancelNative,
  contentText,
  failNative,
  finishNative,
  keepLateResult,
  startNative,
  stopNative,
} from "./native.ts";
import { onboardingRecord } from "./onboarding-record.ts";
import { transitiveDependents } from "./readiness.ts";
import type { Scheduler } from "./scheduler.ts";
import { jobState, type Session } from "./session.ts";
import { applyNativeVerdict } from "./verdicts.ts";

export interface CommandAnswer {
  readonly ok: boolean;
  readonly code: string;
  /** One sentence for a person. */
  readonly message: string;
}

const done = (message: string): CommandAnswer => ({ ok: true, code: "applied", message });
const refuse = (code: string, message: string): CommandAnswer => ({ ok: false, code, message });

export async function applyCommand(
  s: Session,
  scheduler: Scheduler,
  command: InboxCommand,
): Promise<CommandAnswer> {
  if (command.kind === "cancel") return cancel(s, scheduler, command);
  if (command.kind === "verdict") return verdict(s, scheduler, command);
  if (command.kind === "onboarded") return recordOnboarding(s, command);
  const job = s.index.byId.get(command.jobId);
  if (job === undefined) return refuse("unknown-job", `This run has no job \`${command.jobId}\`.`);
  switch (command.kind) {
    case "native-start":
    case "native-finish":
    case "native-fail":
    case "native-cancelled":
      return native(s, scheduler, job, command);
    case "approve":
    case "deny":
      return decideApproval(s, scheduler, job, command);
    case "retry":
      return retry(s, scheduler, job, command.base);
  }
}

type NativeCommand = Extract<
  InboxCommand,
  { kind: "native-start" | "native-finish" | "native-fail" | "native-cancelled" }
>;

async function native(
  s: Session,
  scheduler: Scheduler,
  job: PlanJob,
  command: NativeCommand,
): Promise<CommandAnswer> {
  const attempt = jobState(s, job.id).attemptRecords.find((a) => a.attempt === command.attempt);
  if (attempt === undefined)
    return refuse("unknown-attempt", `\`${job.id}\` has no attempt ${command.attempt}.`);
  if (s.adapters.get(attempt.runtime)?.kind !== "internal")
    return refuse(
      "not-native",
      `Attempt ${command.attempt} of \`${job.id}\` runs on \`${attempt.runtime}\`, not in the harness.`,
    );
  const open = attempt.status === "queued" || attempt.status === "running";
  if (!open) {
    if (command.kind !== "native-finish")
      return refuse(
        "attempt-closed",
        `Attempt ${command.attempt} of \`${job.id}\` is ${attempt.status} already.`,
      );
    const { text } = contentText(command.result, job.maxOutputBytes);
    const kept = keepLateResult(s, job.id, text);
    return refuse(
      "attempt-closed",
      `Attempt ${command.attempt} of \`${job.id}\` is ${attempt.status} already; the late result is kept in \`${kept}\` and not used.`,
    );
  }
  switch (command.kind) {
    case "native-start":
      if (attempt.status === "running")
        return done(`Attempt ${command.attempt} of \`${job.id}\` was running already.`);
      await startNative(s, job, command.attempt, command.handle);
      return done(`Attempt ${command.attempt} of \`${job.id}\` runs in the harness.`);
    case "native-finish": {
      const content = contentText(command.result, job.maxOutputBytes);
      await finishNative(s, job, {
        ordinal: command.attempt,
        text: content.text,
        truncated: content.truncated || command.result.truncated,
        usage: command.usage,
      });
      break;
    }
    case "native-fail":
      await failNative(s, job, {
        ordinal: command.attempt,
        failureClass: command.failureClass,
        message: command.message,
      });
      break;
    case "native-cancelled":
      await cancelNative(s, job, command.attempt);
      break;
  }
  await scheduler.changed(job.id);
  const now = jobState(s, job.id);
  return done(`\`${job.id}\` is ${now.status}${now.reason === null ? "" : ` (${now.reason})`}.`);
}

async function decideApproval(
  s: Session,
  scheduler: Scheduler,
  job: PlanJob,
  command: Extract<InboxCommand, { kind: "approve" | "deny" }>,
): Promise<CommandAnswer> {
  const decision = command.kind === "approve" ? "approved" : "denied";
  const decided = decidedScope({
    jobId: job.id,
    block: jobState(s, job.id).block,
    approvals: s.store.state.approvals,
    scope: command.scope,
    decision,
  });
  if (decided !== null) return decided;
  const at = isoTime(s.clock.now());
  await s.commit([
    {
      type: "approval",
      approval: {
        id: `${command.kind}-${job.id}-${command.scope.slice(0, 12)}`,
        scope: command.scope,
        jobId: job.id,
        words: approvalWords(s, job),
        actor: command.actor,
        via: "command",
        at,
        note: command.note === null ? null : s.redact(command.note),
        decision,
        attested: command.attested,
      },
    },
    {
      type: "job",
      jobId: job.id,
      patch: {
        block: decision === "approved" ? null : { code: "denied", detail: deniedText(job.id, at) },
      },
    },
  ]);
  await scheduler.changed(job.id);
  return done(
    decision === "approved"
      ? `\`${job.id}\` may run with exactly this scope.`
      : `\`${job.id}\` is blocked: denied. ${deniedText(job.id, at)}`,
  );
}

/** For the record alone: what is here now is looked at by `resume`. */
async function recordOnboarding(
  s: Session,
  command: Extract<InboxCommand, { kind: "onboarded" }>,
): Promise<CommandAnswer> {
  const { kind, ...facts } = command;
  await s.commit([onboardingRecord(s, { ...facts, via: "command" })]);
  return done(`The setup of \`${command.runtime}\` is on record: ${command.result}.`);
}

/** A finally ended job runs again because the user says so; what was blocked only because of it is reopened. */
async function retry(
  s: Session,
  scheduler: Scheduler,
  job: PlanJob,
  base: string | null,
): Promise<CommandAnswer> {
  const state = jobState(s, job.id);
  if (job.route.chain.length === 0)
    return refuse(
      "no-route",
      `\`${job.id}\` has no route: ${job.route.blocked?.detail ?? "no candidate"}. \`resume --retry ${job.id}\` looks again when nothing coordinates the run.`,
    );
  const problem = retryProblem(state);
  if (problem !== null) return refuse("not-retryable", `\`${job.id}\` ${problem}`);
  if (state.userRetries >= SUPERVISION.userRetriesMax)
    return refuse("retry-limit", `\`${job.id}\` was retried ${state.userRetries} times; that is the limit.`);
  const records: JournalRecord[] = [
    {
      type: "job",
      jobId: job.id,
      patch: {
        block: null,
        outcomeBlock: null,
        notBefore: null,
        candidateIndex: 0,
        promotions: 0,
        retriesUsed: 0,
        resumes: 0,
        reopenedAt: state.attempts,
        userRetries: state.userRetries + 1,
        pendingAttempt: { relation: "user-retry", reason: "asked by the user" },
        ...(base === null ? {} : { baseOverride: base }),
      },
    },
  ];
  for (const id of transitiveDependents(s.index, job.id)) {
    const below = jobState(s, id);
    const code = below.block?.code;
    if (code === "dependency-failed" || code === "dependency-rejected")
      records.push({ type: "job", jobId: id, patch: { block: null } });
    else if (below.status === "success")
      records.push({
        type: "job",
        jobId: id,
        patch: {
          outcomeBlock: null,
          reopenedAt: below.attempts,
          pendingAttempt: { relation: "resume", reason: `\`${job.id}\` runs again` },
        },
      });
  }
  if (s.store.state.cancelRequested) records.push({ type: "run", patch: { cancelRequested: false } });
  await s.commit(records);
  for (const record of records) if (record.type === "job") await scheduler.changed(record.jobId);
  return done(`\`${job.id}\` runs again.`);
}

function retryProblem(state: Job): string | null {
  if (state.outcome === "rejected" || state.status === "failed") return null;
  if (state.status === "blocked") {
    const code = state.block?.code ?? "";
    if (code === "dependency-failed" || code === "dependency-rejected")
      return "is blocked by a job above it: retry that one.";
    if (
      code in REOPENABLE_BLOCKS &&
      code !== "dependency-conflict" &&
      code !== "quota" &&
      code !== "no-harness"
    )
      return `waits for ${code}: answer that action instead.`;
    return null;
  }
  return `is ${state.status}: only failed, rejected and finally blocked jobs run again.`;
}

async function cancel(
  s: Session,
  scheduler: Scheduler,
  command: Extract<InboxCommand, { kind: "cancel" }>,
): Promise<CommandAnswer> {
  const ids = command.jobId === null ? [...s.index.byId.keys()] : [command.jobId];
  if (command.jobId !== null && !s.index.byId.has(command.jobId))
    return refuse("unknown-job", `This run has no job \`${command.jobId}\`.`);
  if (command.jobId === null) await s.commit([{ type: "run", patch: { cancelRequested: true } }]);
  for (const id of ids) s.cancelledJobs.add(id);
  await Promise.all(ids.map((id) => scheduler.end(id, command.hard ? "hard" : "graceful")));
  const records: JournalRecord[] = ids
    .filter((id) => isOpen(jobState(s, id)) && !s.nativeOpen.has(id))
    .map((id) => ({
      type: "job",
      jobId: id,
      patch: { block: { code: "cancelled", detail: "Cancelled before it started." } },
    }));
  if (records.length > 0) await s.commit(records);
  for (const id of ids) {
    if (s.nativeOpen.has(id)) await stopNative(s, id);
    await scheduler.changed(id);
  }
  const held = ids.filter((id) => s.nativeOpen.has(id));
  return done(
    held.length === 0
      ? command.jobId === null
        ? "Cancelled; every process of the run is gone."
        : `\`${command.jobId}\` is cancelled; every process of it is gone.`
      : `Cancelled, but the harness still has to stop ${held.map((id) => `\`${id}\``).join(", ")} and say so with \`native cancelled\`.`,
  );
}

const isOpen = (job: Job): boolean =>
  job.status === "queued" ||
  job.status === "interrupted" ||
  (job.block !== null && job.block.code in REOPENABLE_BLOCKS);

async function verdict(
  s: Session,
  scheduler: Scheduler,
  command: Extract<InboxCommand, { kind: "verdict" }>,
): Promise<CommandAnswer> {
  const applied = await applyNativeVerdict(s, {
    text: JSON.stringify(command.verdict),
    handle: command.handle,
  });
  if (!applied.ok) return refuse(applied.error.code, applied.error.detail);
  for (const outcome of applied.value.outcomes) await scheduler.changed(outcome.jobId);
  await endRejected(s, scheduler, applied.value.rejectedDependents);
  const count = (acceptance: string): number =>
    applied.value.outcomes.filter((o) => o.acceptance === acceptance).length;
  const blocked = applied.value.outcomes.filter((o) => o.outcomeBlock !== null).length;
  return done(
    [
      `Verdict recorded: ${count("accepted")} accepted, ${count("rejected")} rejected, ${blocked} blocked.`,
      ...notAccepted(s, applied.value.outcomes),
    ].join(" "),
  );
}

/** Jobs whose reason an answer tells. */
const REASONS_SHOWN = 5;

function notAccepted(s: Session, outcomes: RoundOutcome["outcomes"]): string[] {
  const open = outcomes.filter((outcome) => outcome.acceptance !== "accepted");
  const told = open.slice(0, REASONS_SHOWN).map(({ jobId, acceptance, reason, outcomeBlock, reasons }) => {
    const code = outcomeBlock?.code ?? reason ?? acceptance;
    const why = outcomeBlock?.detail ?? reasons[0] ?? "no reason given";
    return sentence(`\`${jobId}\` ${code}: ${s.redact(why)}`);
  });
  return open.length > told.length ? [...told, `And ${open.length - told.length} more.`] : told;
}
