/** A run of very many jobs, killed five times on its way: it ends, nothing is lost or doubled, and memory stays where it was. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../state/simulation/random.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { type Life, violations } from "./harness/invariants.ts";
import { type Coordinator, createLane, killNow, type Lane } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const JOBS = SOAK ? 10_000 : 1_000;
const KILLS = 5;
/** Of the coordinator at its largest: half of it is Node itself, and what the collector has not come to yet counts too. */
const RSS_MAX_MB = 160;
const LONG = { timeout: SOAK ? 3 * 3_600_000 : 600_000 };
const SEED = Number(process.env["ORCHESTRATE_SEED"] ?? 1);
const AGAIN = `ORCHESTRATE_SEED=${SEED}${SOAK ? " ORCHESTRATE_SOAK=1" : ""} npx vitest run scripts/tests/crash/endurance.test.ts`;

let built: BuiltPayload;
let lane: Lane;

beforeAll(async () => {
  built = await builtPayload();
  lane = await createLane({
    main: built.main,
    concurrency: 8,
    // A hundred at most may run at the same time, each after one a hundred before it.
    jobs: Array.from({ length: JOBS }, (_, i) => ({
      id: `job${i}`,
      after: i < 100 ? [] : [`job${i - 100}`],
      seconds: 0,
      script: ":",
    })),
  });
}, LONG.timeout);

afterAll(() => {
  lane.remove();
  built.remove();
});

/** An arbiter is given as many at a time as it can look at: the others wait for their turn. */
const MANY = { status: "waiting", outcome: null } as const;

interface Peak {
  rssMb: number;
  descriptors: number;
}

/** Looks at a process until it ends. */
async function watched(coordinator: Coordinator, peak: Peak, enough: () => boolean): Promise<Life> {
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${coordinator.pid}/status`, "utf8");
      peak.rssMb = Math.max(peak.rssMb, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024);
      peak.descriptors = Math.max(peak.descriptors, readdirSync(`/proc/${coordinator.pid}/fd`).length);
    } catch {
      // It ended by itself meanwhile.
    }
    if (enough()) killNow(coordinator.pid);
  }, 50);
  const life = await liveOnce(lane, coordinator);
  clearInterval(timer);
  return life;
}

describe(`a run of ${JOBS} jobs`, () => {
  it(
    `killed ${KILLS} times ends with every job run once more at most for each kill, in constant memory`,
    LONG,
    async () => {
      lane.reset();
      const random = seeded(SEED);
      const peak: Peak = { rssMb: 0, descriptors: 0 };
      const lives: Life[] = [];
      // Two lines a job, about this long.
      const whole = JOBS * 2 * "S job1000 1 10000 10000 ".length;
      const stops = Array.from({ length: KILLS }, () => random.next() * 0.9 * whole).sort((a, b) => a - b);
      for (const stop of stops)
        lives.push(
          await watched(lane.coordinate({ resume: lives.length > 0 }), peak, () => lane.progress() >= stop),
        );
      lives.push(await watched(lane.coordinate({ resume: true }), peak, () => false));
      expect(violations(historyOf({ lane, finished: MANY }, lives)).slice(0, 10), AGAIN).toEqual([]);
      expect(lives.filter((life) => life.exit.signal === "SIGKILL").length, AGAIN).toBe(KILLS);
      console.log(`${JOBS} jobs: ${peak.rssMb.toFixed(0)} MB at most, ${peak.descriptors} descriptors`);
      // Eight jobs at once, two pipes each, and what a process needs by itself.
      expect(peak.descriptors, AGAIN).toBeLessThan(100);
      expect(peak.rssMb, AGAIN).toBeLessThan(RSS_MAX_MB);
    },
  );
});
