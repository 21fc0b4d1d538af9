/** Which change of status is legal: the tables that the code, the diagram and the tests all read. */
import type { AttemptStatus, RunStatus } from "./records.ts";

export interface Edge<S extends string> {
  readonly from: S;
  readonly to: S;
  /** When it is taken; the text of the documented table. */
  readonly why: string;
}

/** A status that names itself as target takes patches that repeat it; every other repetition is a bug (ended twice). */
export const ATTEMPT_EDGES = [
  { from: "queued", to: "running", why: "its intent is durable and the process or native job may start" },
  { from: "queued", to: "failed", why: "it could not be prepared" },
  {
    from: "queued",
    to: "blocked",
    why: "never dispatched, cancelled, or a boundary stopped it before the start",
  },
  { from: "queued", to: "interrupted", why: "the coordinator stopped before the start" },
  { from: "running", to: "running", why: "its phase changed" },
  { from: "running", to: "success", why: "settled and layer 1 passed" },
  { from: "running", to: "failed", why: "settled with a failure, or layer 1 failed" },
  { from: "running", to: "timed_out", why: "its deadline or its silence limit passed" },
  {
    from: "running",
    to: "blocked",
    why: "permission, sandbox, auth or flags stopped it, or it was cancelled",
  },
  {
    from: "running",
    to: "interrupted",
    why: "the coordinator stopped or died and the process is proven gone",
  },
  { from: "running", to: "unsettled", why: "nobody can prove that it ended" },
  { from: "unsettled", to: "unsettled", why: "more became known, its end did not" },
  {
    from: "unsettled",
    to: "failed",
    why: "the settlement bound passed, or it was proven gone after a failure",
  },
  { from: "unsettled", to: "timed_out", why: "proven gone after its deadline" },
  { from: "unsettled", to: "blocked", why: "proven gone after a cancel" },
  { from: "unsettled", to: "interrupted", why: "proven gone after the coordinator stopped or died" },
  { from: "interrupted", to: "failed", why: "reconcile found that it must not run again by itself" },
  { from: "interrupted", to: "blocked", why: "reconcile found that it must not run again by itself" },
  { from: "success", to: "failed", why: "the union of unaccepted work failed, before anything was accepted" },
] as const satisfies readonly Edge<AttemptStatus>[];

export const RUN_EDGES = [
  { from: "preparing", to: "running", why: "a coordinator took it over" },
  { from: "preparing", to: "waiting", why: "nothing can start before somebody acts" },
  { from: "preparing", to: "ended", why: "every job was blocked before dispatch" },
  { from: "preparing", to: "cancelled", why: "cancelled before the first dispatch" },
  { from: "preparing", to: "interrupted", why: "the coordinator stopped or died" },
  { from: "running", to: "waiting", why: "nothing runs, an action is due" },
  { from: "running", to: "accepted", why: "every job is accepted" },
  { from: "running", to: "ended", why: "settled, not every job is accepted" },
  { from: "running", to: "cancelled", why: "a confirmed cancel of the run" },
  { from: "running", to: "interrupted", why: "the coordinator stopped or died" },
  { from: "waiting", to: "running", why: "an action made work possible" },
  { from: "waiting", to: "accepted", why: "the last verdict arrived" },
  { from: "waiting", to: "ended", why: "the last action settled it" },
  { from: "waiting", to: "cancelled", why: "a confirmed cancel of the run" },
  { from: "waiting", to: "interrupted", why: "the coordinator stopped or died" },
  { from: "interrupted", to: "running", why: "resumed" },
  { from: "interrupted", to: "waiting", why: "resumed, and an action is due" },
  { from: "interrupted", to: "accepted", why: "resumed, and everything was accepted already" },
  { from: "interrupted", to: "ended", why: "resumed, and nothing is left to do" },
  { from: "interrupted", to: "cancelled", why: "a confirmed cancel of the run" },
  { from: "accepted", to: "running", why: "resumed, and accepted work no longer holds" },
  { from: "accepted", to: "waiting", why: "resumed, and accepted work needs a new verdict" },
  { from: "ended", to: "running", why: "a job was reopened" },
  { from: "ended", to: "waiting", why: "a job was reopened, and an action is due" },
  { from: "cancelled", to: "running", why: "a job was reopened" },
  { from: "cancelled", to: "waiting", why: "a job was reopened, and an action is due" },
] as const satisfies readonly Edge<RunStatus>[];

/** An attempt that may still have a process, a native job or an open intent: no other of its job may start beside it. */
export const OPEN_ATTEMPT: ReadonlySet<AttemptStatus> = new Set(["queued", "running", "unsettled"]);

const index = (edges: readonly Edge<string>[]): ReadonlySet<string> =>
  new Set(edges.map((edge) => `${edge.from}>${edge.to}`));
const attemptEdges = index(ATTEMPT_EDGES);
const runEdges = index(RUN_EDGES);

export const attemptMay = (from: AttemptStatus, to: AttemptStatus): boolean =>
  attemptEdges.has(`${from}>${to}`);

/** A run that keeps its status changes nothing, which is always legal. */
export const runMay = (from: RunStatus, to: RunStatus): boolean =>
  from === to || runEdges.has(`${from}>${to}`);
