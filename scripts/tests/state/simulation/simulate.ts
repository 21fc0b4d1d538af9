/** One seed: a random graph, a random schedule, a few faults, resumes until the run ends; returns what was violated. */
import { type Follower, followRun } from "../../../src/state/follow.ts";
import { createRun, readRun } from "../../../src/state/store.ts";
import { blankState } from "../support.ts";
import { type Bug, type End, SimCoordinator, type SimOptions } from "./coordinator.ts";
import { CrashDisk, type Fault, type FaultPlan } from "./crash-disk.ts";
import { type Random, seeded } from "./random.ts";
import { type SimJob, World } from "./world.ts";

const RUN = "/run";
const FAULTS: readonly Fault[] = ["kill-before", "kill-after", "torn", "EIO", "ENOSPC", "EACCES"];

export interface Outcome {
  readonly violations: readonly string[];
  readonly coordinators: number;
  readonly faults: number;
}

export async function simulate(seed: number, bug?: Bug): Promise<Outcome> {
  const random = seeded(seed);
  const world = new World(random, graph(random), seed % 16 === 0);
  const disk = new CrashDisk();
  const ports = {
    inlineBytes: random.pick([0, 9_000, 1e9]),
    journalFloorBytes: random.pick([0, 3_000, 1e9]),
    nextTurn: (task: () => void) => world.time.later(0, task),
  };
  const slots = 1 + random.int(3);
  const faults = random.int(5);
  const setup = disk.process({ plan: null, later: (task) => task(), onGone() {} });
  const initial = blankState(world.jobs.map((job) => job.id));
  createRun({ runDir: RUN, initial, disk: setup });
  world.remember(initial);
  const watch = watcher(world, setup);
  let paused: { release(): void } | null = null;
  for (let n = 1; ; n++) {
    const faulty = n <= faults;
    const session = coordinator({ world, disk, n, ports, slots, bug, faulty });
    void session.start();
    const end = await untilEnd(world, session, watch, () => {
      paused?.release();
      paused = null;
    });
    if (end === "hang") world.violation("nothing is left to happen and the run has not ended");
    if (end === "ended" || world.violations.length > 0) {
      if (world.violations.length === 0) checkEnd(world, disk);
      return { violations: world.violations, coordinators: n, faults };
    }
    if (end === "paused") paused = session;
    else if (end === "gone" && random.chance(0.5)) losePower(world, disk);
    recover(world, disk);
  }
}

function graph(random: Random): SimJob[] {
  return Array.from({ length: 2 + random.int(5) }, (_, i) => ({
    id: random.chance(0.1) && i === 0 ? "constructor" : `j${i}`,
    deps: [],
    failures: random.chance(0.2) ? 1 : 0,
  })).map((job, i, all) => ({
    ...job,
    deps: all.slice(0, i).flatMap((other) => (random.chance(0.3) ? [other.id] : [])),
  }));
}

interface Session {
  start(): Promise<void>;
  readonly ended: Promise<End | "gone" | "paused">;
  release(): void;
}

/** A process: its disk view, killed or stopped at an operation of its plan. */
function coordinator(o: {
  world: World;
  disk: CrashDisk;
  n: number;
  ports: SimOptions["ports"];
  slots: number;
  bug: Bug | undefined;
  faulty: boolean;
}): Session {
  const { world } = o;
  const { random } = world;
  const at = 1 + random.int(random.chance(0.5) ? 12 : 90);
  const pauses = o.faulty && random.chance(0.15);
  const plan: FaultPlan | null = o.faulty && !pauses ? { at, fault: random.pick(FAULTS) } : null;
  let leave!: (how: "gone" | "paused") => void;
  const left = new Promise<"gone" | "paused">((resolve) => {
    leave = resolve;
  });
  let stopped = false;
  let held: (() => void)[] | null = null;
  const later = (task: () => void): void => {
    if (pauses && !stopped && view.operations >= at) {
      stopped = true;
      held = [];
      for (const process of world.processes) process.onExit = null;
      leave("paused");
    }
    if (held !== null) held.push(task);
    else world.time.later(random.int(4), task);
  };
  const view = o.disk.process({
    plan,
    later,
    lies: o.bug === "no-sync",
    onGone: () => {
      for (const process of world.processes) process.onExit = null;
      leave("gone");
    },
    onWrite(path) {
      if (world.lockHolder !== o.n && (path.endsWith("/state.json") || path.endsWith("/journal.jsonl")))
        world.violation(`coordinator ${o.n} changed ${path} after it had lost the lock`);
    },
  });
  const session = new SimCoordinator({
    world,
    id: o.n,
    runDir: RUN,
    disk: view,
    ports: { ...o.ports, nextTurn: later },
    slots: o.slots,
    bug: o.bug,
  });
  return {
    start: () => session.start(),
    ended: Promise.race([session.ended, left]),
    release() {
      const tasks = held ?? [];
      held = null;
      for (const task of tasks) world.time.later(random.int(30), task);
    },
  };
}

async function untilEnd(
  world: World,
  session: Session,
  watch: () => void,
  started: () => void,
): Promise<End | "gone" | "paused" | "hang"> {
  let end: End | "gone" | "paused" | null = null;
  void session.ended.then((how) => {
    end = how;
  });
  const wake = world.random.int(10);
  for (let steps = 0; ; steps++) {
    if (steps === wake) started();
    const more = await world.time.step();
    if (world.random.chance(0.2)) watch();
    if (end !== null) return end;
    if (world.violations.length > 0) return "gone";
    if (!more || steps > 20_000) return "hang";
  }
}

function losePower(world: World, disk: CrashDisk): void {
  world.powerLosses += 1;
  for (const process of world.processes) world.kill(process);
  disk.losePower(world.random);
}

function recover(world: World, disk: CrashDisk): void {
  const found = readRun(RUN, disk.process({ plan: null, later() {}, onGone() {} }));
  if (found.ok) world.checkRecovered(found.value.state);
  else world.violation(`a run that only crashed cannot be read: ${found.error.message}`);
}

/** A reader that stays: what it sees must always be a state that was written. */
function watcher(world: World, disk: Parameters<typeof readRun>[1]): () => void {
  let follower: Follower | null = null;
  let losses = 0;
  let seq = 0;
  return () => {
    if (losses !== world.powerLosses) follower = null;
    losses = world.powerLosses;
    try {
      seq = follower === null ? 0 : seq;
      follower ??= followRun(RUN, disk);
      follower.poll();
    } catch (error) {
      world.violation(`the follower is refused: ${String(error)}`);
      return;
    }
    const state = follower.state();
    world.checkRead(state, "the follower");
    if (state.seq < seq) world.violation(`the follower went back from ${seq} to ${state.seq}`);
    seq = state.seq;
  };
}

function checkEnd(world: World, disk: CrashDisk): void {
  const view = disk.process({ plan: null, later() {}, onGone() {} });
  const found = readRun(RUN, view);
  if (!found.ok) {
    world.violation(`the ended run cannot be read: ${found.error.message}`);
    return;
  }
  world.checkRecovered(found.value.state);
  if (found.value.repairs.length > 0)
    world.violation(`an ended run wants repair: ${found.value.repairs.join("; ")}`);
  if ((view.read(`${RUN}/journal.jsonl`)?.length ?? -1) !== 0) world.violation("an ended run has a journal");
  for (const { id } of world.jobs) {
    if (found.value.state.jobs[id]?.outcome !== "accepted")
      world.violation(`${id} ended ${found.value.state.jobs[id]?.status}, not accepted`);
    if (world.alive(id) !== undefined) world.violation(`${id} has a process after the end`);
  }
}
