/** Signals at a client and at its coordinator, and readers that go away: the run ends as asked or goes on, never in between. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../src/core/exit-codes.ts";
import { SUPERVISION } from "../../src/core/policy.ts";
import type { State } from "../../src/core/runtime.ts";
import { lockOwner } from "../../src/state/lock.ts";
import { seeded } from "../state/simulation/random.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { createLane, killNow, type Lane, type LaneJob, UNTIL_OPEN } from "./harness/lane.ts";
import { stateOf } from "./harness/scenes.ts";
import { until } from "./harness/until.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const LONG = { timeout: SOAK ? 7_200_000 : 300_000 };
/** Moments of each signal. */
const TIMES = SOAK ? 20 : 1;
const SEED = Number(process.env["ORCHESTRATE_SEED"] ?? 1);

let built: BuiltPayload;
let lane: Lane;
let deaf: Lane;

beforeAll(async () => {
  built = await builtPayload();
  const after = { id: "second", after: ["first"], seconds: 0 };
  const jobs = (script: string) => [{ id: "first", after: [], seconds: 0, script }, after];
  lane = await createLane({ main: built.main, jobs: jobs(UNTIL_OPEN) });
  // On its first attempt it notes a SIGTERM and goes on; on its second it ends by itself.
  deaf = await createLane({
    main: built.main,
    jobs: jobs(
      `[ "$attempt" -gt 1 ] || { trap 'echo > "$top/asked"' TERM; echo > "$top/ready"; while :; do sleep 0.1; done; }`,
    ),
  });
});

afterAll(() => {
  for (const one of [lane, deaf]) one.remove();
  built.remove();
});

/** `run` makes the folder itself. */
beforeEach(() => {
  for (const one of [lane, deaf]) {
    one.reset();
    rmSync(one.runDir, { recursive: true });
    for (const note of ["asked", "ready"]) rmSync(join(one.top, note), { force: true });
  }
});

const runArguments = (one: Lane): string[] => ["run", "jobs.yaml", "--run-dir", one.runDir];

/** An attached client whose first job is at work, and the process that coordinates. */
async function attached(one: Lane) {
  const client = one.client(...runArguments(one));
  await one.said("S", "first");
  const owner = lockOwner(one.runDir)?.pid;
  if (owner === undefined) throw new Error("nobody coordinates");
  return { ...client, owner };
}

const isGone = (pid: number): boolean => !existsSync(`/proc/${pid}`);

/** Everything of the run is gone, and what is on disk says so. */
async function left(one: Lane, owner: number): Promise<State> {
  await until("the coordinator is gone", () => isGone(owner));
  expect(one.survivors()).toEqual([]);
  expect(readdirSync(one.runDir).filter((name) => /\.tmp$|^lock/.test(name))).toEqual([]);
  return stateOf(one);
}

async function finishes(one: Lane): Promise<void> {
  one.open();
  const resumed = await one.client("resume", one.runDir, "--json").ended;
  expect([resumed.code, JSON.parse(resumed.stdout).data.jobs]).toEqual([
    EXIT.actionDue,
    expect.objectContaining({ total: 2, success: 2 }),
  ]);
  expect(readFileSync(join(one.runDir, "report.md"), "utf8")).not.toBe("");
}

describe("SIGINT at an attached client", () => {
  it("once: the jobs are ended, the state is saved, exit 130, and resume goes on", LONG, async () => {
    const { child, ended, owner } = await attached(lane);
    child.kill("SIGINT");
    expect((await ended).code).toBe(EXIT.interrupted);
    const state = await left(lane, owner);
    expect([state.status, state.reason, state.jobs["first"]?.status]).toEqual([
      "interrupted",
      "stopped by a signal",
      "interrupted",
    ]);
    await finishes(lane);
  });

  it("twice: a job that does not listen is killed at once", LONG, async () => {
    const { child, ended, owner } = await attached(deaf);
    await until("the job listens to nobody", () => existsSync(join(deaf.top, "ready")));
    const from = performance.now();
    child.kill("SIGINT");
    await until("the job was asked to end", () => existsSync(join(deaf.top, "asked")));
    child.kill("SIGINT");
    expect((await ended).code).toBe(EXIT.interrupted);
    const state = await left(deaf, owner);
    expect([state.status, state.jobs["first"]?.attemptRecords[0]?.signal]).toEqual([
      "interrupted",
      "SIGKILL",
    ]);
    // The first one alone would leave it the whole grace of ten seconds.
    expect(performance.now() - from).toBeLessThan(9_500);
    await finishes(deaf);
  });
});

describe("a client that goes away", () => {
  it.each(["SIGTERM", "SIGHUP"] as const)(
    "by %s: exit 143, and the run goes on to its end",
    LONG,
    async (signal) => {
      const { child, ended, owner } = await attached(lane);
      child.kill(signal);
      expect((await ended).code).toBe(EXIT.detached);
      expect(isGone(owner)).toBe(false);
      await endsByItself(owner);
    },
  );

  it("by SIGKILL: the run goes on to its end", LONG, async () => {
    const { child, ended, owner } = await attached(lane);
    child.kill("SIGKILL");
    expect((await ended).signal).toBe("SIGKILL");
    expect(isGone(owner)).toBe(false);
    await endsByItself(owner);
  });

  it(
    "with the terminal: the group's SIGHUP does not reach the coordinator, and its own is ignored",
    LONG,
    async () => {
      const { child, ended, owner } = await attached(lane);
      process.kill(-(child.pid as number), "SIGHUP");
      process.kill(owner, "SIGHUP");
      expect((await ended).code).toBe(EXIT.detached);
      await endsByItself(owner);
    },
  );

  it(
    "because its reader did (`| head -1`): the client sees the run through, and so does the coordinator",
    LONG,
    async () => {
      const line = [process.execPath, built.main, ...runArguments(lane)].map((word) => `'${word}'`).join(" ");
      const [code, closed] = ["code", "closed"].map((name) => join(lane.top, name)) as [string, string];
      const client = `{ ${line} 2>&1; echo "exit $?" > '${code}'; }`;
      const reader = `{ head -1; exec 0<&-; echo > '${closed}'; }`;
      const piped = spawn("/bin/sh", ["-c", `${client} | ${reader}`], {
        cwd: lane.work,
        env: lane.env,
        stdio: "ignore",
      });
      await lane.said("S", "first");
      await until("nobody reads any more", () => existsSync(closed));
      lane.open();
      await new Promise((resolve) => piped.on("close", resolve));
      await until("the client ended", () => existsSync(code) && readFileSync(code, "utf8") !== "");
      expect(readFileSync(code, "utf8").trim()).toBe(`exit ${EXIT.actionDue}`);
      expect(stateOf(lane).status).toBe("waiting");
    },
  );
});

describe("SIGTERM at the coordinator", () => {
  it("ends the jobs, saves, exit 143 for its client too, and resume goes on", LONG, async () => {
    const { ended, owner } = await attached(lane);
    process.kill(owner, "SIGTERM");
    const client = await ended;
    expect(client.code).toBe(EXIT.detached);
    expect((await left(lane, owner)).status).toBe("interrupted");
    await finishes(lane);
  });
});

describe("a run whose coordinator was killed", () => {
  it("is cancelled by name: what was left running is ended, and no second attempt starts", LONG, async () => {
    const { ended, owner } = await attached(lane);
    killNow(owner);
    await ended;
    expect(lane.survivors()).not.toEqual([]);
    const status = await lane.client("status", lane.runDir, "--json").ended;
    expect(JSON.parse(status.stdout).next.map((n: { action: string }) => n.action)).toEqual(["resume"]);
    const cancelled = await lane.client("cancel", lane.runDir, "--json").ended;
    expect([cancelled.code, cancelled.stderr]).toEqual([EXIT.done, ""]);
    await until("nobody coordinates", () => lockOwner(lane.runDir) === null);
    const state = await left(lane, owner);
    expect([state.status, state.jobs["first"]?.attempts, state.jobs["second"]?.attempts]).toEqual([
      "cancelled",
      1,
      0,
    ]);
  });
});

describe("a signal at any time", () => {
  const jobs: readonly LaneJob[] = Array.from({ length: 6 }, (_, i) => ({
    id: `job${i}`,
    after: i < 3 ? [] : [`job${i - 3}`],
    seconds: [0.02, 0.2, 0.4][i % 3] as number,
  }));
  const cases = (["client", "coordinator"] as const).flatMap((whom) =>
    (["SIGINT", "SIGTERM", "SIGHUP", "SIGTSTP", "SIGSTOP"] as const).map((signal) => [signal, whom] as const),
  );

  it.each(cases)(
    "%s at the %s loses nothing, doubles nothing, leaves nothing",
    LONG,
    async (signal, whom) => {
      const many = await createLane({ main: built.main, jobs });
      try {
        for (let seed = SEED; seed < SEED + TIMES; seed += 1) {
          const random = seeded(seed);
          many.reset();
          rmSync(many.runDir, { recursive: true });
          const again = `ORCHESTRATE_SEED=${seed} npx vitest run scripts/tests/crash/signals.test.ts -t "${signal} at the ${whom}"`;
          const { child, ended } = many.client(...runArguments(many));
          await until("the run has begun", () => many.progress() > 0 || child.exitCode !== null);
          await pause(random.next() * 1_500);
          const pid = whom === "client" ? child.pid : lockOwner(many.runDir)?.pid;
          if (pid !== undefined) await strike(pid, signal);
          await ended;
          await until("nobody coordinates", () => lockOwner(many.runDir) === null);
          expect(many.survivors(), again).toEqual([]);
          const resumed = await many.client("resume", many.runDir, "--json").ended;
          expect([resumed.code, JSON.parse(resumed.stdout).data.jobs.success], again).toEqual([
            EXIT.actionDue,
            jobs.length,
          ]);
          const state = stateOf(many);
          const started = many.ledger().filter((line) => line.what === "S");
          for (const { id } of jobs) {
            const attempts = state.jobs[id]?.attemptRecords ?? [];
            const seen = started.filter((line) => line.job === id).map((line) => line.attempt);
            expect([id, new Set(seen).size], again).toEqual([id, seen.length]);
            expect(attempts.filter((one) => one.status === "success").length, again).toBe(1);
          }
          expect(
            readdirSync(many.runDir).filter((name) => /\.tmp$|^lock/.test(name)),
            again,
          ).toEqual([]);
        }
      } finally {
        many.remove();
      }
    },
  );

  it("a machine that sleeps longer than a job's timeout ends no job by it", LONG, async () => {
    const job = { id: "first", after: [], seconds: 0, script: UNTIL_OPEN, fields: "timeout: 8s" };
    const slept = await createLane({ main: built.main, jobs: [job] });
    try {
      slept.reset();
      const coordinator = slept.coordinate();
      const { pid } = await slept.said("S", "first");
      process.kill(coordinator.pid, "SIGSTOP");
      process.kill(-pid, "SIGSTOP");
      await pause(SUPERVISION.suspendJumpMs + 8_500);
      process.kill(-pid, "SIGCONT");
      process.kill(coordinator.pid, "SIGCONT");
      await pause(1_500);
      slept.open();
      expect(await coordinator.ended).toMatchObject({ code: 0, stderr: "" });
      const last = stateOf(slept).jobs["first"]?.attemptRecords.at(-1);
      expect([last?.status, last?.timedOut]).toEqual(["success", false]);
    } finally {
      slept.remove();
    }
  });
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A stop is followed by a continuation a while later. */
async function strike(pid: number, signal: NodeJS.Signals): Promise<void> {
  try {
    process.kill(pid, signal);
    if (signal !== "SIGTSTP" && signal !== "SIGSTOP") return;
    await pause(300);
    process.kill(pid, "SIGCONT");
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Opened and left alone, the run ends where it would have ended with its client. */
async function endsByItself(owner: number): Promise<void> {
  lane.open();
  const state = await left(lane, owner);
  expect([state.status, state.reason]).toEqual(["waiting", "needs-arbiter"]);
  const waited = await lane.client("wait", lane.runDir).ended;
  expect(waited.code).toBe(EXIT.actionDue);
}
