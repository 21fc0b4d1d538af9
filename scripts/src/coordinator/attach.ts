/** A client that watches a run until it is settled or something is due. The run does not depend on it. */
import type { Graph, PlanJob, State } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { ProcessIdentity } from "../host/identity.ts";
import { type Changes, followRun } from "../state/follow.ts";
import { lockOwner } from "../state/lock.ts";
import { isAnythingDue, mayBeDue } from "./next-actions.ts";
import { isCoordinated } from "./view.ts";

export type AttachEnd =
  | "due"
  | "settled"
  | "changed"
  | "timeout"
  | "coordinator-gone"
  | "interrupted"
  | "detached";

export interface AttachInput {
  readonly runDir: string;
  readonly graph: Graph;
  readonly script: string;
  readonly clock: Clock;
  /** `due` also ends when the run is settled; `changed` at the next change of any job. */
  readonly until: "due" | "settled" | "changed";
  readonly timeoutMs: number | null;
  /** The coordinator that we started, when we did: its end is known at once. */
  readonly coordinator: { readonly pid: number; readonly exited: Promise<unknown> } | null;
  readonly onState?: (state: State, changes: Changes | null) => void;
  /** Ends as `changed` as soon as it holds, however much goes on. */
  readonly enough?: (state: State) => boolean;
}

const POLL_MS = 250;
/** A run that changes all the time is looked at this often: what is due waits for somebody, its jobs want the processor. */
const REST_MS = 100;
/** Looking for what is due takes at most one part in so many of the client's time. */
const DUE_SHARE = 20;
/** Work that can start together is offered together: what is due is read only once the state has been still for a moment. */
const STILL_MS = 120;
const STILL_MAX_MS = 1_000;
/** With no process of the run left, the coordinator is about to record the pause and write the report: wait for that. */
const PAUSE_MAX_MS = 15_000;

export async function attach(o: AttachInput): Promise<AttachEnd> {
  const follower = followRun(o.runDir);
  const client = signalsOf(o);
  let gone = false;
  void o.coordinator?.exited.then(() => {
    gone = true;
    client.ring();
  });
  const deadline = o.timeoutMs === null ? null : o.clock.mono() + o.timeoutMs;
  const first = follower.state().seq;
  let seq = first;
  const due = dueLook(o);
  const rest = o.until === "changed" ? undefined : REST_MS;
  let dueSince: number | null = null;
  let lastChange = o.clock.mono();
  try {
    for (;;) {
      const alive = o.coordinator === null ? isCoordinated(o.runDir) : !gone;
      follower.poll();
      const state = follower.state();
      const changes = follower.changes();
      if (state.seq !== seq) lastChange = o.clock.mono();
      seq = state.seq;
      o.onState?.(state, changes);
      if (client.detached) return "detached";
      if (o.enough?.(state) === true) return "changed";
      if (!alive) return ended(state, client.interrupted);
      if (o.until === "changed" && state.seq !== first) return "changed";
      if (o.until === "due" && state.status === "running" && due(state, changes)) {
        const now = o.clock.mono();
        dueSince ??= now;
        const still = now - lastChange >= STILL_MS || now - dueSince >= STILL_MAX_MS;
        if (still && (hasProcess(o.graph, state) || now - dueSince >= PAUSE_MAX_MS)) return "due";
      } else dueSince = null;
      const left = deadline === null ? Number.POSITIVE_INFINITY : deadline - o.clock.mono();
      if (left <= 0) return "timeout";
      await Promise.race([
        follower.changed(Math.min(left, dueSince === null ? POLL_MS : STILL_MS), rest),
        client.rung(),
      ]);
    }
  } finally {
    client.close();
    follower.close();
  }
}

function ended(state: State, interrupted: boolean): AttachEnd {
  if (interrupted || state.status === "interrupted") return "interrupted";
  if (state.status === "waiting") return "due";
  return state.status === "accepted" || state.status === "ended" || state.status === "cancelled"
    ? "settled"
    : "coordinator-gone";
}

/** Some attempt runs in a process of the coordinator's own, so that it will not pause soon. */
function hasProcess(graph: Graph, state: State): boolean {
  return graph.jobs.some((job) => {
    const last = state.jobs[job.id]?.attemptRecords.at(-1);
    return last?.status === "running" && last.pid !== null;
  });
}

/**
 * Whether something is due. All jobs are gone through for that, so an answer stands until something moved that can change
 * it, and until the cost of the last look is made up for.
 */
function dueLook(o: AttachInput): (state: State, changes: Changes | null) => boolean {
  const plans = new Map(o.graph.jobs.map((job) => [job.id, job]));
  let answer = false;
  let stale = true;
  let notBefore = Number.NEGATIVE_INFINITY;
  return (state, changes) => {
    stale ||= changes === null || (answer && hasMoved(changes)) || mayMakeDue(plans, state, changes);
    const from = o.clock.mono();
    if (!stale || from < notBefore) return answer;
    stale = false;
    answer = isAnythingDue({
      graph: o.graph,
      state,
      runDir: o.runDir,
      script: o.script,
      coordinatorAlive: true,
    });
    const now = o.clock.mono();
    notBefore = now + (now - from) * DUE_SHARE;
    return answer;
  };
}

const hasMoved = (changes: Changes): boolean => changes.others || changes.jobs.size > 0;

const mayMakeDue = (plans: ReadonlyMap<string, PlanJob>, state: State, changes: Changes): boolean =>
  changes.others ||
  [...changes.jobs].some((id) => {
    const [plan, job] = [plans.get(id), state.jobs[id]];
    return plan !== undefined && job !== undefined && mayBeDue(plan, job);
  });

interface ClientSignals {
  readonly detached: boolean;
  readonly interrupted: boolean;
  ring(): void;
  rung(): Promise<void>;
  close(): void;
}

/** SIGINT is passed on (once: end and save, twice: kill); SIGTERM and SIGHUP end only the client. */
function signalsOf(o: AttachInput): ClientSignals {
  let detached = false;
  let interrupted = false;
  let wake: () => void = () => {};
  let bell = new Promise<void>((resolve) => (wake = resolve));
  const ring = (): void => {
    wake();
    bell = new Promise<void>((resolve) => (wake = resolve));
  };
  const onInterrupt = (): void => {
    interrupted = true;
    passOn(o.coordinator?.pid ?? null, lockOwner(o.runDir));
    ring();
  };
  const onDetach = (): void => {
    detached = true;
    ring();
  };
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onDetach);
  process.on("SIGHUP", onDetach);
  return {
    get detached() {
      return detached;
    },
    get interrupted() {
      return interrupted;
    },
    ring,
    rung: () => bell,
    close() {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", onDetach);
      process.off("SIGHUP", onDetach);
    },
  };
}

function passOn(started: number | null, owner: ProcessIdentity | null): void {
  const pid = started ?? owner?.pid ?? null;
  if (pid === null) return;
  try {
    process.kill(pid, "SIGINT");
  } catch {
    // It ended meanwhile: the loop sees that.
  }
}
