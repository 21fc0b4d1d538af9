/** Runs that are worth crashing, each prepared once and put back for every point. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readGraph } from "../../../src/coordinator/graph-file.ts";
import { nextActions } from "../../../src/coordinator/next-actions.ts";
import { POLICY } from "../../../src/core/policy.ts";
import type { State } from "../../../src/core/runtime.ts";
import { systemClock } from "../../../src/host/clock.ts";
import { REPO_LOCK_FILE } from "../../../src/host/repo-lock.ts";
import type { Verdict } from "../../../src/prove/verdict.ts";
import { submit } from "../../../src/state/inbox.ts";
import { acquireLock } from "../../../src/state/lock.ts";
import { openStore } from "../../../src/state/store.ts";
import { runGit } from "../../support/repo-at.ts";
import type { History } from "./invariants.ts";
import { createLane, type Lane, type LaneJob } from "./lane.ts";
import { entriesBelow } from "./tree.ts";

export const SCENES = ["small", "large", "verdict", "worktrees", "troubled"] as const;
/**
 * `small`: four jobs in two layers, state.json written whole at each step. `large`: the same with a state that is too
 * large for that, so each step is a journal line. `verdict`: the jobs are done and a verdict that accepts them waits in the inbox.
 * `worktrees`: each of the four writes and has a worktree of its own. `troubled`: one is shot and retried, one fails and
 * takes its dependent with it.
 */
export type SceneName = (typeof SCENES)[number];

export interface Scene {
  readonly name: SceneName;
  readonly lane: Lane;
  readonly finished: History["finished"];
}

const FOUR_JOBS: readonly LaneJob[] = [
  { id: "first", after: [], seconds: 0.02 },
  { id: "second", after: [], seconds: 0.05 },
  { id: "third", after: ["first", "second"], seconds: 0.02 },
  { id: "fourth", after: ["first", "second"], seconds: 0.02 },
];

/** Its file holds who wrote it, so that a lost or doubled change shows. */
const WRITING_JOBS: readonly LaneJob[] = FOUR_JOBS.map((job) => ({
  ...job,
  script: `mkdir -p ${job.id} && echo ${job.id} > ${job.id}/made`,
  fields: `effect: scoped-write, isolation: worktree, owned_paths: [${job.id}/**], outputs: [{ path: ${job.id}/made }], checks: [holds its name]`,
}));

const TROUBLED_JOBS: readonly LaneJob[] = [
  {
    id: "shot",
    after: [],
    seconds: 0,
    crashes: 1,
    script: '[ "$attempt" -gt 1 ] || kill -KILL $$',
    fields: "retry: { max_attempts: 3, backoff: 1s }",
  },
  { id: "fine", after: ["shot"], seconds: 0.02 },
  {
    id: "wrong",
    after: [],
    seconds: 0,
    script: "exit 3",
    ends: { status: "failed", outcome: "failed" },
  },
  { id: "under", after: ["wrong"], seconds: 0, ends: { status: "blocked", outcome: "blocked" } },
];

const JOBS: Readonly<Record<SceneName, readonly LaneJob[]>> = {
  small: FOUR_JOBS,
  large: FOUR_JOBS,
  verdict: FOUR_JOBS,
  worktrees: WRITING_JOBS,
  troubled: TROUBLED_JOBS,
};

/** Programs are judged by nobody here, so a run that is through waits for a verdict. */
export const WAITING: History["finished"] = { status: "waiting", outcome: "blocked" };
export const ACCEPTED: History["finished"] = { status: "accepted", outcome: "accepted" };

export async function createScene(name: SceneName, main: string, concurrency = 2): Promise<Scene> {
  const lane = await createLane({ main, jobs: JOBS[name], concurrency, git: name === "worktrees" });
  if (name === "large") await enlarge(lane);
  if (name === "verdict") await finishAndJudge(lane);
  lane.keep();
  return { name, lane, finished: name === "verdict" ? ACCEPTED : WAITING };
}

/** Writes a note that is longer than what is rewritten at each step. */
async function enlarge(lane: Lane): Promise<void> {
  const lock = acquireLock({ runDir: lane.runDir, clock: systemClock });
  if (!lock.ok) throw new Error(lock.error.reason);
  const store = await openStore({ runDir: lane.runDir, lock: lock.value, clock: systemClock });
  if (!store.ok) throw new Error(store.error.message);
  await store.value.commit([{ type: "run", patch: {}, note: "x".repeat(POLICY.STATE_INLINE_BYTES.value) }]);
  await store.value.close();
  lock.value.release();
}

async function finishAndJudge(lane: Lane): Promise<void> {
  const exit = await lane.coordinate().ended;
  if (exit.code !== 0) throw new Error(exit.stderr);
  await submit(lane.runDir, {
    kind: "verdict",
    verdict: acceptingVerdict(stateOf(lane)),
    handle: "reviewer-1",
  });
}

/** What an arbiter answers that finds everything in order. */
export function acceptingVerdict(state: State): Verdict {
  const arbiter = state.arbiters.at(-1);
  if (arbiter === undefined) throw new Error("nobody is asked for a verdict");
  return {
    schemaVersion: 1,
    nonce: arbiter.nonce,
    bundleSha256: arbiter.bundleSha256,
    overall: "pass",
    // The bundle of a run that has jobs names at least one.
    jobs: arbiter.attempts.map(({ jobId, attempt, treeSha256 }) => ({
      jobId,
      attempt,
      treeSha256,
      verdict: "pass",
      reasons: ["the output is what was asked for"],
      unsupportedClaims: [],
      contradictions: [],
      unresolved: [],
    })) as unknown as Verdict["jobs"],
  };
}

/** What each job committed is its own file, unchanged, in a commit that its branch still holds; nothing else was touched. */
export function workFaults(lane: Lane): string[] {
  if (!existsSync(join(lane.work, ".git"))) return [];
  const state = stateOf(lane);
  const faults = lane.jobs.flatMap(({ id }) => {
    const commit = state.jobs[id]?.attemptRecords.at(-1)?.commit ?? null;
    if (commit === null) return [`${id} has no commit`];
    const found = [
      runGit(lane.work, "show", `${commit}:${id}/made`),
      runGit(lane.work, "rev-parse", `${state.jobs[id]?.branch}`),
    ];
    return found[0] === id && found[1] === commit
      ? []
      : [`the work of ${id} is ${found.join(" at ")}, not ${commit}`];
  });
  const dirt = runGit(lane.work, "status", "--porcelain");
  const locks = entriesBelow(join(lane.work, ".git")).filter(
    (path) => path.endsWith(".lock") && !path.endsWith(REPO_LOCK_FILE),
  );
  return [
    ...faults,
    ...(dirt === "" ? [] : [`the checkout was touched: ${dirt}`]),
    ...locks.map((path) => `left: ${path}`),
  ];
}

export function stateOf(lane: Lane): State {
  const read = lane.read();
  if (!read.ok) throw new Error(read.error.message);
  return read.value.state;
}

/** Names of the actions that a client is told. */
export function dueActions(lane: Lane): string[] {
  const state = stateOf(lane);
  const graph = readGraph(lane.runDir, state.graphSha256);
  if (!graph.ok) throw new Error(graph.error.message);
  const script = join(lane.top, "orchestrate.mjs");
  return nextActions({
    graph: graph.value.graph,
    state,
    runDir: lane.runDir,
    script,
    coordinatorAlive: false,
  }).actions.map((action) => action.action);
}
