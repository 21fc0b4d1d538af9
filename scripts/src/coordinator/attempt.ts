/** One attempt of a CLI runtime, from intent to verdict-ready record. Every effect is preceded by the record that announces it. */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Attempt, Candidate, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import { ensureDir, writePrivate } from "../host/files.ts";
import type { ProcessIdentity } from "../host/identity.ts";
import type { Fingerprint } from "../run/changes.ts";
import type { RepoMarks } from "../run/repo-marks.ts";
import { type SuperviseResult, superviseProcess } from "../run/supervise.ts";
import type { Adapter, ExitFacts, ObservedState, Settlement, StartPlan } from "../runtimes/adapter.ts";
import { ownUsage, planSession, recordSession } from "./agent-sessions.ts";
import { changedSinceApproval } from "./approval.ts";
import { blankAttempt } from "./blank.ts";
import { type Briefing, deliversBrief, makeBriefing } from "./briefing.ts";
import { type CancelSlot, cancelSlot } from "./cancel-slot.ts";
import { archiveCapture } from "./capture-files.ts";
import type { ScopeFile } from "./check-scripts.ts";
import { childEnvFor } from "./child-env-for.ts";
import { renderCommand } from "./command-text.ts";
import { eventWriter } from "./event-writer.ts";
import { endWithBlock, endWithFailure } from "./failure.ts";
import { judgeAttempt } from "./judge.ts";
import type { Startup } from "./look-again.ts";
import { watchAttempt } from "./plane-watch.ts";
import { marksOf, noteMoves } from "./repo-moves.ts";
import type { LiveAttempt } from "./scheduler.ts";
import { attemptMarker, jobDir, jobFile, jobState, type Session, supervisorScratch } from "./session.ts";
import { traceDispatch, traceEnd } from "./trace-points.ts";
import { baseCommitOf, makeWorkplace, type Workplace } from "./workplace.ts";
import { setUpWorktree } from "./worktree-setup.ts";

export async function runAttempt(
  s: Session,
  job: PlanJob,
  { approved, onLive }: { approved: readonly ScopeFile[] | null; onLive: (handle: LiveAttempt) => void },
): Promise<void> {
  const state = jobState(s, job.id);
  const ordinal = state.attemptRecords.length + 1;
  const candidate = job.route.chain[state.candidateIndex] as Candidate;
  const adapter = s.adapters.get(candidate.runtime);
  const record = s.records.get(candidate.runtime);
  const cancelled = cancelSlot();
  onLive({ jobId: job.id, cancel: cancelled.set });

  archiveCapture(s.runDir, job.id, ordinal - 1);
  await s.commit([
    { type: "attempt-open", jobId: job.id, attempt: openedAttempt(s, job, candidate, ordinal) },
    { type: "job", jobId: job.id, patch: { pendingAttempt: null, notBefore: null, detail: null } },
  ]);
  if (adapter === undefined || record === undefined)
    return endWithFailure(s, job, ordinal, {
      failureClass: "RUNTIME_CRASH",
      detail: `The runtime \`${candidate.runtime}\` is not in this run's inventory any more.`,
    });

  const prepared = await prepare(s, { job, ordinal, agent: adapter.agent });
  if (!prepared.ok) return endWithBlock(s, job, ordinal, prepared.block);
  const { place, briefing, before, marks } = prepared;
  const outdated = await changedSinceApproval(s, job, { approved, place });
  if (outdated !== null) return endWithBlock(s, job, ordinal, outdated);
  const session = planSession(s, job, { adapter, place });
  if (!session.ok) return endWithBlock(s, job, ordinal, session.error);
  const startWith = (known: RuntimeRecord) =>
    adapter.start({
      job,
      attempt: ordinal,
      candidate,
      record: known,
      cwd: place.cwd,
      prompt: briefing.text,
      promptFile: jobFile(s.runDir, job.id, "prompt"),
      scratch: supervisorScratch(s, job.id, ordinal),
      self: s.self,
      worktree: place.worktree !== null,
      resumeSession: session.value.resume,
      keepSession: session.value.keep,
      sessionDir: session.value.store,
    });
  const planned = startWith(record);
  const startup: Startup = {
    argv: planned.ok ? planned.value.argv : null,
    again: (known) => {
      const next = startWith(known);
      return next.ok ? next.value.argv : null;
    },
  };
  if (!planned.ok) {
    if (planned.error.code === "session-unsupported") return endWithBlock(s, job, ordinal, planned.error);
    return endWithFailure(s, job, ordinal, {
      failureClass: "BAD_FLAG",
      detail: `${planned.error.code}: ${planned.error.detail}`,
      startup,
    });
  }

  traceDispatch(s, job, {
    attempt: ordinal,
    candidate,
    native: false,
    promptSha256: briefing.sha256,
    droppedEnv: [],
  });
  const execution = await execute(s, {
    job,
    ordinal,
    adapter,
    place,
    plan: planned.value,
    binary: record.binary,
    cancelled,
  });
  rmSync(supervisorScratch(s, job.id, ordinal), { recursive: true, force: true });
  const peers = s.observation.leave(job);
  if (s.store.failed !== null) return;
  await noteMoves(s, job, { ordinal, place, before: marks });
  const { result, observed, settlement, exit, firstEventMs } = execution;
  const seen = {
    firstEventMs,
    attempt: ordinal,
    events: observed.events,
    unknown: observed.unknownLines,
    bytes: result.stdout.bytes + result.stderr.bytes,
    endedBy: result.endedBy,
  };
  recordSession(s, job, { attempt: ordinal, adapter, place, plan: session.value, observed });
  if (result.captureError !== null) return s.fail(new CaptureFault(result.captureError));
  if (result.endedBy === "cancel") {
    await endCancelled(s, job, ordinal, result);
    return traceEnd(s, job, seen);
  }
  await judgeAttempt(s, {
    job,
    ordinal,
    adapter,
    place,
    briefing,
    before,
    observed,
    settlement,
    peers,
    exit,
    patch: exitPatch(s, result),
    treeGone: result.treeGone,
    stdoutTruncated: result.stdout.truncated,
    usage: ownUsage(adapter, session.value, observed.usage),
    startup,
  });
  traceEnd(s, job, seen);
}

/** What a job printed could not be written: nothing may build on a capture with holes, so the coordinator stops. */
class CaptureFault extends Error {
  constructor(fault: { readonly path: string; readonly code: string }) {
    super(
      `cannot write \`${fault.path}\`: ${fault.code}. The run is resumable once there is room or permission.`,
    );
    this.name = "CaptureFault";
  }
}

/** A user's cancel ends the job; an interruption of the whole run leaves it to be resumed. */
async function endCancelled(
  s: Session,
  job: PlanJob,
  ordinal: number,
  result: SuperviseResult,
): Promise<void> {
  const patch = exitPatch(s, result);
  if (s.cancelledJobs.has(job.id))
    return endWithBlock(
      s,
      job,
      ordinal,
      {
        code: "cancelled",
        detail: result.treeGone
          ? "Cancelled; every process of it is gone."
          : "Cancelled, but a process of it may still be alive.",
      },
      patch,
    );
  await s.commit([
    {
      type: "attempt",
      jobId: job.id,
      attempt: ordinal,
      patch: {
        ...patch,
        status: "interrupted",
        phase: null,
        reason: "interrupted",
        settlement: result.treeGone ? "settled" : "unsettled",
      },
    },
  ]);
}

/** Everything before the process: the place, the inputs, the brief, and what the place looked like before. */
async function prepare(
  s: Session,
  o: { job: PlanJob; ordinal: number; agent: boolean },
): Promise<
  | { ok: true; place: Workplace; briefing: Briefing; before: Fingerprint; marks: RepoMarks | null }
  | { ok: false; block: { code: string; detail: string } }
> {
  const { job, ordinal } = o;
  const place = await makeWorkplace(s, job, ordinal);
  if (!place.ok) return { ok: false, block: place.error };
  if (place.value.worktree !== null) {
    await s.commit([
      {
        type: "job",
        jobId: job.id,
        patch: {
          worktree: place.value.worktree.path,
          branch: place.value.worktree.branch,
          baseCommit: place.value.baseCommit,
        },
      },
      { type: "attempt", jobId: job.id, attempt: ordinal, patch: { baseCommit: place.value.baseCommit } },
      ...place.value.notes.map((note) => ({ type: "run" as const, patch: {}, note: `${job.id}: ${note}` })),
    ]);
    const setUp = await setUpWorktree(s, job, ordinal, place.value);
    if (setUp !== null) return { ok: false, block: setUp };
  }
  const briefing = await makeBriefing(s, job, place.value);
  if (!briefing.ok) return { ok: false, block: briefing.error };
  ensureDir(jobDir(s.runDir, job.id));
  if (deliversBrief(job, o.agent)) writePrivate(jobFile(s.runDir, job.id, "prompt"), briefing.value.text);
  s.observation.enter(job, place.value.root);
  const [before, marks] = await Promise.all([s.observation.measure(place.value), marksOf(place.value)]);
  if ((before.kind === "too-large" || before.kind === "unreadable") && job.writer)
    return {
      ok: false,
      block: {
        code: "no-diff-evidence",
        detail:
          before.kind === "too-large"
            ? `\`${place.value.root}\` has no git and is too large to measure, so a writer's changes could not be checked. Run it in a git repository.`
            : `git cannot read the state of \`${place.value.root}\`, so a writer's changes could not be checked. See \`git status\` there.`,
      },
    };
  return { ok: true, place: place.value, briefing: briefing.value, before, marks };
}

interface Execution {
  readonly result: SuperviseResult;
  readonly observed: ObservedState;
  readonly settlement: Settlement;
  readonly exit: ExitFacts;
  readonly firstEventMs: number | null;
}

async function execute(
  s: Session,
  o: {
    job: PlanJob;
    ordinal: number;
    adapter: Adapter;
    place: Workplace;
    plan: StartPlan;
    binary: string | null;
    cancelled: CancelSlot;
  },
): Promise<Execution> {
  const { job, ordinal, adapter, place, plan } = o;
  const marker = attemptMarker(s.runDir, job.id, ordinal);
  const scratch = supervisorScratch(s, job.id, ordinal);
  for (const file of plan.files) {
    const path = resolve(scratch, file.path);
    ensureDir(dirname(path));
    writePrivate(path, file.content);
  }
  ensureDir(jobDir(s.runDir, job.id));
  writePrivate(
    jobFile(s.runDir, job.id, "command"),
    renderCommand(s, { argv: plan.argv, cwd: place.cwd, stdin: plan.stdin !== null }),
  );
  let observed = adapter.initial();
  let startedAt: number | null = null;
  let firstEventMs: number | null = null;
  const events = eventWriter(s, { job, attempt: ordinal, runtime: adapter.id });
  events.lifecycle("queued", "starting");
  const watch = watchAttempt(s, job, ordinal);
  const supervised = superviseProcess({
    argv: plan.argv,
    cwd: place.cwd,
    env: childEnvFor(s, { adapter, job, plan, marker }),
    stdin: plan.stdin,
    marker,
    timeoutMs: job.timeoutMs,
    stallAfterMs: job.stallAfterMs,
    stdoutPath: jobFile(s.runDir, job.id, "stdout"),
    stderrPath: jobFile(s.runDir, job.id, "stderr"),
    maxOutputBytes: job.maxOutputBytes,
    secretValues: s.secretValues,
    clock: s.clock,
    onStart: (identity) => {
      startedAt = s.clock.mono();
      return s.commit([
        { type: "attempt", jobId: job.id, attempt: ordinal, patch: startedPatch(s, identity) },
      ]);
    },
    onLine: (line) => {
      watch.saw(line);
      const step = adapter.observe(observed, line);
      if (step.state.events > observed.events && startedAt !== null)
        firstEventMs ??= Math.round(s.clock.mono() - startedAt);
      observed = step.state;
      for (const event of step.events) events.adapter(event, observed);
    },
  });
  o.cancelled.connect((mode) => supervised.cancel(mode));
  const result = await supervised.done;
  watch.stop();
  const exit: ExitFacts = {
    exitCode: result.exitCode,
    signal: result.signal,
    endedBy: result.endedBy,
    spawnError: result.spawnError,
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    stdoutBytes: result.stdout.bytes,
    now: s.clock.now(),
  };
  const settlement = adapter.settle(observed, exit);
  events.lifecycle("working", settlement.ok ? "settled" : "failed");
  return { result, observed, settlement, exit, firstEventMs };
}

function openedAttempt(s: Session, job: PlanJob, candidate: Candidate, ordinal: number): Attempt {
  const state = jobState(s, job.id);
  const last = state.attemptRecords.at(-1);
  const relation = state.pendingAttempt?.relation ?? (ordinal === 1 ? "first" : "resume");
  return blankAttempt({
    attempt: ordinal,
    relation,
    ...(state.pendingAttempt === null ? {} : { relationReason: state.pendingAttempt.reason }),
    runtime: candidate.runtime,
    provider: candidate.provider,
    modelRequested: candidate.model,
    family: candidate.family,
    effortLevel: candidate.effort,
    effortRaw: candidate.effort,
    status: "running",
    phase: "starting",
    createdAt: isoTime(s.clock.now()),
    tierDerivation: [...job.tierDerivation],
    riskTier: job.riskTier,
    capabilityFloorDelta: job.capabilityFloorDelta ?? 0,
    riskFloorDelta: job.riskFloorDelta ?? 0,
    baseCommit: baseCommitOf(s, job),
    supervisorRunId: s.supervisorRunId,
    promotionOf: relation === "promotion" ? (last?.attempt ?? null) : null,
    promotionTrigger: relation === "promotion" ? (last?.failureClass ?? null) : null,
  });
}

const startedPatch = (s: Session, identity: ProcessIdentity): Partial<Attempt> => ({
  phase: "working",
  startedAt: isoTime(s.clock.now()),
  pid: identity.pid,
  processStartTime: identity.startTime,
  bootId: identity.bootId,
});

/** Facts of the exit, the same for every way an attempt can end. */
function exitPatch(s: Session, result: SuperviseResult): Partial<Attempt> {
  return {
    endedAt: isoTime(s.clock.now()),
    wallMs: Math.round(result.wallMs),
    exitCode: result.exitCode,
    signal: result.signal,
    timedOut: result.endedBy === "timeout" || result.endedBy === "stall",
    flags: [...result.flags],
  };
}
