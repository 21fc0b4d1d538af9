/** SIGKILL at moments that a seed chooses: of the coordinator, again and again while it resumes, and with all that it started. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../state/simulation/random.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { type Life, violations } from "./harness/invariants.ts";
import { createLane, killNow, type Lane, type LaneJob, UNTIL_OPEN } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { WAITING } from "./harness/scenes.ts";
import { LANES } from "./harness/sweep.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const LONG = { timeout: SOAK ? 6 * 3_600_000 : 900_000 };
/** The first of the seeds; another one by ORCHESTRATE_SEED shows a failure again, which prints its own. */
const SEED = Number(process.env["ORCHESTRATE_SEED"] ?? 1);

/** How many kills at any time; a soak by piece may say. */
const KILLS = Number(process.env["ORCHESTRATE_KILLS"] ?? (SOAK ? 1_000 : 40));

/** Most of a point is waiting for jobs that sleep: alone on a machine, twice as many lanes keep its processors busy. */
const AT_ONCE = SOAK ? 2 * LANES : LANES;

let built: BuiltPayload;
const lanes: Lane[] = [];

beforeAll(async () => {
  built = await builtPayload();
});

afterAll(() => {
  for (const lane of lanes) lane.remove();
  built.remove();
});

async function laneOf(jobs: readonly LaneJob[], concurrency = 3): Promise<Lane> {
  const lane = await createLane({ main: built.main, jobs, concurrency });
  lanes.push(lane);
  return lane;
}

/** Three layers of four; the length of each job differs, so that kills meet every mixture of running and done. */
const TWELVE_JOBS: readonly LaneJob[] = Array.from({ length: 12 }, (_, i) => ({
  id: `job${i}`,
  after: i < 4 ? [] : [`job${i - 4}`, `job${4 * Math.floor((i - 4) / 4) + ((i + 1) % 4)}`],
  seconds: [0.02, 0.2, 0.05, 0.4][i % 4] as number,
}));

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a coordinator and kills it after `ms`, or sees it end before. */
async function lifeOf(lane: Lane, o: { resume: boolean; killAfterMs: number | null }): Promise<Life> {
  const coordinator = lane.coordinate({ resume: o.resume });
  if (o.killAfterMs !== null) void pause(o.killAfterMs).then(() => killNow(coordinator.pid));
  return liveOnce(lane, coordinator);
}

/** How long an undisturbed run takes here and now. */
async function cleanMs(lane: Lane): Promise<number> {
  lane.reset();
  const from = performance.now();
  const life = await lifeOf(lane, { resume: false, killAfterMs: null });
  expect(violations(historyOf({ lane, finished: WAITING }, [life]))).toEqual([]);
  return performance.now() - from;
}

/** Runs `one` for each seed, several lanes at a time; each failure says how to see it again. */
async function forSeeds(o: {
  jobs: readonly LaneJob[];
  count: number;
  name: string;
  one: (lane: Lane, random: ReturnType<typeof seeded>, wholeMs: number) => Promise<string[]>;
}): Promise<void> {
  const failures: string[] = [];
  let next = SEED;
  const work = async (): Promise<void> => {
    const lane = await laneOf(o.jobs);
    const wholeMs = await cleanMs(lane);
    while (next < SEED + o.count && failures.length < 5) {
      const seed = next++;
      const broken = await o.one(lane, seeded(seed), wholeMs);
      if (seed % 100 === 0) console.log(`${o.name}: up to seed ${seed}, ${failures.length} failures`);
      if (broken.length > 0)
        failures.push(
          [
            `seed ${seed}:`,
            ...broken,
            `  ORCHESTRATE_SEED=${seed} npx vitest run scripts/tests/crash/random-kill.test.ts -t "${o.name}"`,
          ].join("\n  "),
        );
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, o.count) }, work));
  expect(failures.join("\n")).toBe("");
}

describe("SIGKILL", () => {
  it("of the coordinator at any time loses nothing, doubles nothing, leaves nothing", LONG, async () => {
    await forSeeds({
      jobs: TWELVE_JOBS,
      count: KILLS,
      name: "at any time",
      async one(lane, random, wholeMs) {
        lane.reset();
        const first = await lifeOf(lane, { resume: false, killAfterMs: random.next() * wholeMs * 1.1 });
        const second = await lifeOf(lane, { resume: true, killAfterMs: null });
        return violations(historyOf({ lane, finished: WAITING }, [first, second]));
      },
    });
  });

  it("of every coordinator that resumes, up to ten times, ends in a run that is through", LONG, async () => {
    await forSeeds({
      jobs: TWELVE_JOBS,
      count: SOAK ? 200 : 3,
      name: "up to ten times",
      async one(lane, random, wholeMs) {
        lane.reset();
        const lives: Life[] = [];
        const crashes = 3 + random.int(8);
        for (let i = 0; i < crashes; i += 1)
          lives.push(await lifeOf(lane, { resume: i > 0, killAfterMs: random.next() * wholeMs * 0.6 }));
        lives.push(await lifeOf(lane, { resume: true, killAfterMs: null }));
        return violations(historyOf({ lane, finished: WAITING }, lives)).filter(
          (broken) => !isResumeLimit(lives, broken),
        );
      },
    });
  });

  it("of the coordinator and everything it started at once is resumed", LONG, async () => {
    await forSeeds({
      jobs: TWELVE_JOBS,
      count: SOAK ? 100 : 3,
      name: "everything it started",
      async one(lane, random, wholeMs) {
        lane.reset();
        const coordinator = lane.coordinate();
        void pause(random.next() * wholeMs).then(() => {
          killNow(coordinator.pid);
          for (const pid of lane.survivors()) killNow(pid);
        });
        const first = await liveOnce(lane, coordinator);
        const second = await lifeOf(lane, { resume: true, killAfterMs: null });
        return violations(historyOf({ lane, finished: WAITING }, [first, second]));
      },
    });
  });

  it("of a job's processes alone fails that job by name; the rest goes on", LONG, async () => {
    const lane = await laneOf([
      { id: "shot", after: [], seconds: 0, script: UNTIL_OPEN },
      { id: "below", after: ["shot"], seconds: 0 },
      { id: "beside", after: [], seconds: 0.05 },
    ]);
    lane.reset();
    const coordinator = lane.coordinate();
    const { pid } = await lane.said("S", "shot");
    process.kill(-pid, "SIGKILL");
    const life = await liveOnce(lane, coordinator);
    expect(life.exit).toMatchObject({ code: 0, signal: null });
    if (typeof life.state === "string") throw new Error(life.state);
    const { shot, below, beside } = life.state.jobs;
    expect([shot?.status, shot?.attemptRecords[0]?.failureClass, shot?.attemptRecords[0]?.signal]).toEqual([
      "blocked",
      "RUNTIME_CRASH",
      "SIGKILL",
    ]);
    expect([below?.status, below?.block?.code, beside?.status]).toEqual([
      "blocked",
      "dependency-failed",
      "success",
    ]);
    expect(lane.survivors()).toEqual([]);
  });
});

/** A job that was cut off more than three times is blocked, not started for ever: then the run cannot be through. */
function isResumeLimit(lives: readonly Life[], broken: string): boolean {
  const { state } = lives.at(-1) as Life;
  if (typeof state === "string") return false;
  const blocked = Object.values(state.jobs).some((job) => job.block?.code === "resume-limit");
  return blocked && /^(?:the last coordinator finishes|exit 0 only)/.test(broken);
}
