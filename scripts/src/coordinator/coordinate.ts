/** The coordinator: the one process that holds a run's lock and advances it until nothing runs and nothing can start. */
import { watch } from "node:fs";
import { join } from "node:path";
import { EXIT, type ExitCode } from "../core/exit-codes.ts";
import { RUN_FILES } from "../core/layout.ts";
import { type Job, type PlanJob, REOPENABLE_BLOCKS, type State } from "../core/runtime.ts";
import { RISK_TIERS } from "../core/tiers.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { answerCommand, pendingCommands } from "../state/inbox.ts";
import { acquireLock } from "../state/lock.ts";
import type { JournalRecord } from "../state/records.ts";
import { openStore } from "../state/store.ts";
import { type Arbitrator, createArbitrator } from "./arbitration.ts";
import { blockDependents, endRejected } from "./dependents.ts";
import { recordEnd, writeReports } from "./finish.ts";
import { applyCommand } from "./inbox-apply.ts";
import { removeLeftovers } from "./leftovers.ts";
import { expireNative } from "./native.ts";
import { foundSince } from "./onboarding-record.ts";
import { type MutableSession, openSession } from "./open-session.ts";
import { acceptWithoutC3 } from "./plane-accept.ts";
import { transitiveDependencies } from "./readiness.ts";
import { dropUnfinishedArbiters, reconcile } from "./reconcile.ts";
import { revalidate } from "./revalidate.ts";
import { createScheduler, type Scheduler } from "./scheduler.ts";
import { removeScratches } from "./scratch.ts";
import { jobState, type Session } from "./session.ts";
import { traceStart } from "./trace-points.ts";
import { createWake, type Wake } from "./wake.ts";

export interface CoordinateInput {
  readonly runDir: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly self: readonly string[];
  /** `resume` asks again about work whose arbiter gave no usable verdict, and looks again at what was blocked for now. */
  readonly resume: boolean;
  /** Who resumes; null keeps the harness that the run knew. */
  readonly harness: State["harness"] | null;
  readonly log: (line: string) => void;
}

export async function coordinate(o: CoordinateInput): Promise<ExitCode> {
  const lock = acquireLock({ runDir: o.runDir, clock: o.clock });
  if (!lock.ok) {
    o.log(lock.error.reason);
    return lock.error.code === "io" ? EXIT.environment : EXIT.owned;
  }
  try {
    const opened = await openStore({ runDir: o.runDir, lock: lock.value, clock: o.clock });
    if (!opened.ok) {
      o.log(`${opened.error.message} ${opened.error.hint ?? ""}`.trim());
      return EXIT.environment;
    }
    const session = await openSession(o, opened.value);
    if (!session.ok) {
      o.log(session.error);
      return EXIT.environment;
    }
    return await advance(o, session.value);
  } catch (error) {
    o.log(stopText(error));
    return EXIT.environment;
  } finally {
    lock.value.release();
  }
}

const stopText = (error: unknown): string =>
  `The coordinator stops: ${error instanceof Error ? error.message : String(error)}`;

async function advance(o: CoordinateInput, s: MutableSession): Promise<ExitCode> {
  const wake = createWake();
  const signals = listen(s, wake);
  try {
    await start(s, o);
    const scheduler = createScheduler(s, wake);
    signals.scheduler = scheduler;
    const arbitrator = createArbitrator(s, {
      wake,
      ended: async ({ changed, rejectedDependents }) => {
        for (const jobId of changed) await scheduler.changed(jobId);
        await endRejected(s, scheduler, rejectedDependents);
      },
    });
    signals.arbitrator = arbitrator;
    const stopWatching = watchInbox(s.runDir, wake);
    try {
      await loop(s, { o, scheduler, arbitrator, wake, signals });
    } finally {
      stopWatching();
    }
    if (s.fault !== null) throw s.fault;
    await recordEnd(s, signals.received === null ? "idle" : "interrupted");
    await writeReports(s);
  } catch (error) {
    o.log(stopText(error));
    signals.scheduler?.stop("hard");
    signals.arbitrator?.stop("hard");
    await signals.scheduler?.drained();
    await signals.arbitrator?.drained();
    return EXIT.environment;
  } finally {
    s.events.close();
    s.trace.close();
    s.plane.close();
    signals.close();
    await s.store.close().catch(() => undefined);
  }
  return signals.received === "SIGINT"
    ? EXIT.interrupted
    : signals.received === "SIGTERM"
      ? EXIT.detached
      : EXIT.done;
}

/** Records that this coordinator took over, and settles what an earlier one left. */
async function start(s: MutableSession, o: CoordinateInput): Promise<void> {
  removeLeftovers(s.runDir);
  const first = s.store.state.status === "preparing";
  const settled = s.store.state.status === "accepted" || s.store.state.status === "cancelled";
  const records: JournalRecord[] = [
    {
      type: "run",
      patch: {
        supervisorRunId: s.supervisorRunId,
        ...(eventsUncounted(s.store.state) ? { events: null } : {}),
        ...(settled ? {} : { status: "running", reason: null, endedAt: null }),
      },
    },
  ];
  for (const job of s.graph.jobs) {
    const state = jobState(s, job.id);
    if (first && job.route.blocked !== null)
      records.push({ type: "job", jobId: job.id, patch: { block: job.route.blocked } });
    else if (o.resume) records.push(...lookedAgain(s, job, state));
  }
  if (o.resume) records.unshift(...foundSince(s, new Set(s.refreshed?.rerouted)));
  await s.commit(records);
  await traceStart(s, !first, s.refreshed === null ? null : new Set(s.refreshed.rerouted));
  for (const job of s.graph.jobs) {
    const below = blockDependents(s, job.id);
    if (below.length > 0) await s.commit(below);
  }
  await removeScratches(s);
  await reconcile(s);
  await s.plane.refresh();
  await dropUnfinishedArbiters(s);
  if (!o.resume) return;
  const stale = await revalidate(s);
  if (stale.length > 0)
    await s.commit([...stale, { type: "run", patch: { status: "running", reason: null, endedAt: null } }]);
}

/** An earlier coordinator died before it could add what it observed, or was of a version that did not. */
const eventsUncounted = ({ status, events }: Session["store"]["state"]): boolean =>
  status === "running" || (status !== "preparing" && events === undefined);

/** What a resume lifts by itself: a quota, and the blocks of jobs that have a route now. */
function lookedAgain(s: MutableSession, job: PlanJob, state: Job): JournalRecord[] {
  const changed = s.refreshed?.authChanged.find((one) => one.jobId === job.id);
  if (changed !== undefined && state.status === "queued")
    return [
      {
        type: "job",
        jobId: job.id,
        patch: { block: { code: "auth-source-changed", detail: changed.detail } },
      },
    ];
  const code = state.block?.code;
  if (code === undefined) return [];
  if (code === "quota" || s.refreshed?.rerouted.includes(job.id) === true) {
    const pendingAttempt =
      state.attempts === 0 ? null : { relation: "resume" as const, reason: `${code} was looked at again` };
    return [{ type: "job", jobId: job.id, patch: { block: null, pendingAttempt } }];
  }
  if (
    job.route.blocked !== null &&
    job.route.blocked.code !== "dependency-failed" &&
    code in REOPENABLE_BLOCKS &&
    state.attempts === 0 &&
    job.route.blocked.detail !== state.block?.detail
  )
    return [{ type: "job", jobId: job.id, patch: { block: job.route.blocked } }];
  return [];
}

interface Loop {
  readonly o: CoordinateInput;
  readonly scheduler: Scheduler;
  readonly arbitrator: Arbitrator;
  readonly wake: Wake;
  readonly signals: Signals;
}

async function loop(s: MutableSession, l: Loop): Promise<void> {
  const { scheduler, arbitrator } = l;
  let askAgain = l.o.resume;
  const external = s.graph.jobs.filter((job) => job.riskTier === RISK_TIERS[3]);
  for (;;) {
    for (const jobId of await expireNative(s)) await scheduler.changed(jobId);
    await applyInbox(s, l);
    if (s.fault !== null || s.store.failed !== null) {
      scheduler.stop("hard");
      arbitrator.stop("hard");
      await scheduler.drained();
      await arbitrator.drained();
      throw s.fault ?? s.store.failed ?? new Error("the state could not be written");
    }
    if (l.signals.received !== null) {
      await scheduler.drained();
      await arbitrator.drained();
      return;
    }
    await scheduler.pump();
    const idle = scheduler.idle() && pendingCommands(s.runDir).length === 0;
    if (!arbitrator.busy && !s.store.state.cancelRequested) {
      const only = idle && s.nativeOpen.size === 0 ? null : beforeExternalWork(s, external);
      if (only === null && (await acceptWithoutC3(s))) {
        for (const id of s.index.byId.keys()) await scheduler.changed(id);
        continue;
      }
      const asked =
        only?.size === 0 ? false : arbitrator.begin({ askAgain: askAgain && only === null, only });
      if (asked && only === null) askAgain = false;
    }
    if (idle && !arbitrator.busy) return;
    await l.wake.wait();
  }
}

/** All that external work stands on, where nothing but acceptance keeps it from starting. */
function beforeExternalWork(s: Session, external: readonly PlanJob[]): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const job of external) {
    const state = jobState(s, job.id);
    const below = job.dependsOn.map((id) => jobState(s, id));
    const waits = state.status === "queued" && below.some((one) => one.outcome !== "accepted");
    if (waits && below.every((one) => one.status === "success"))
      for (const id of transitiveDependencies(s.index, job.id)) wanted.add(id);
  }
  return wanted;
}

async function applyInbox(s: Session, l: Loop): Promise<void> {
  for (const pending of pendingCommands(s.runDir)) {
    if (pending.command.kind === "cancel" && pending.command.jobId === null) {
      l.arbitrator.stop(pending.command.hard ? "hard" : "graceful");
      await l.arbitrator.drained();
    }
    const answer = await applyCommand(s, l.scheduler, pending.command);
    await l.scheduler.pump();
    answerCommand(s.runDir, pending.id, answer);
  }
}

function watchInbox(runDir: string, wake: Wake): () => void {
  // inotify may be exhausted; the timer alone keeps the promise, only later.
  const timer = setInterval(() => {
    if (pendingCommands(runDir).length > 0) wake.ring();
  }, 500);
  let stop = (): void => {};
  try {
    const watcher = watch(join(runDir, RUN_FILES.inbox), () => wake.ring());
    watcher.on("error", () => watcher.close());
    stop = () => watcher.close();
  } catch {
    stop = () => {};
  }
  return () => {
    clearInterval(timer);
    stop();
  };
}

interface Signals {
  received: NodeJS.Signals | null;
  scheduler: Scheduler | null;
  arbitrator: Arbitrator | null;
  close(): void;
}

/** Once: end the jobs, save, leave the run resumable. Twice: kill at once. */
function listen(s: MutableSession, wake: Wake): Signals {
  const signals: Signals = { received: null, scheduler: null, arbitrator: null, close: () => {} };
  const onSignal = (signal: NodeJS.Signals): void => {
    const hard = signals.received !== null;
    signals.received ??= signal;
    signals.scheduler?.stop(hard ? "hard" : "graceful");
    signals.arbitrator?.stop(hard ? "hard" : "graceful");
    if (hard) for (const end of s.hardStops) end();
    wake.ring();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  // The terminal may go away; the run does not.
  const ignore = (): void => {};
  process.on("SIGHUP", ignore);
  signals.close = () => {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
    process.off("SIGHUP", ignore);
  };
  return signals;
}
