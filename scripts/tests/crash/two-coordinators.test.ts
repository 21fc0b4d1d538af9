/** One run folder, several coordinators at once: exactly one works, the others name it and change nothing. */
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/core/exit-codes.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { contend } from "./harness/contend.ts";
import { violations } from "./harness/invariants.ts";
import { createLane, killNow, type Lane, type LaneJob, UNTIL_OPEN } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { WAITING } from "./harness/scenes.ts";
import { treeDigest } from "./harness/tree.ts";
import { until } from "./harness/until.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const LONG = { timeout: SOAK ? 6 * 3_600_000 : 600_000 };

let built: BuiltPayload;
let lane: Lane;

/** The first job works until the others were refused, so that no contender can come too late to meet the owner. */
const JOBS: readonly LaneJob[] = [
  { id: "first", after: [], seconds: 0, script: UNTIL_OPEN },
  { id: "second", after: ["first"], seconds: 0 },
];

beforeAll(async () => {
  built = await builtPayload();
  lane = await createLane({ main: built.main, jobs: JOBS });
});

afterAll(() => {
  lane.remove();
  built.remove();
});

describe("two coordinators at once", () => {
  it("one runs all jobs, the other exits with 5 and names it", LONG, async () => {
    for (let pair = 0; pair < (SOAK ? 1_000 : 10); pair += 1)
      expect({ pair, broken: await contend(lane, 2) }).toEqual({ pair, broken: [] });
  });

  it("the same for groups of eight, whether they start or resume", LONG, async () => {
    for (let group = 0; group < (SOAK ? 100 : 1); group += 1)
      expect({ group, broken: await contend(lane, 8, (i) => i % 2 === 1) }).toEqual({ group, broken: [] });
  });

  it("the lock of a killed owner is taken by exactly one of two that find it", LONG, async () => {
    lane.reset();
    const dead = lane.coordinate();
    await lane.said("S", "first");
    killNow(dead.pid);
    const first = await liveOnce(lane, dead);
    const heirs = [lane.coordinate({ resume: true }), lane.coordinate({ resume: true })];
    const loser = await Promise.race(heirs.map(async (heir) => ({ heir, exit: await heir.ended })));
    expect(loser.exit.code).toBe(EXIT.owned);
    lane.open();
    const winner = heirs.find((heir) => heir !== loser.heir) as (typeof heirs)[0];
    expect(violations(historyOf({ lane, finished: WAITING }, [first, await liveOnce(lane, winner)]))).toEqual(
      [],
    );
  });

  it(
    "a stopped owner is not robbed: a second is refused and changes no byte, and the first goes on",
    LONG,
    async () => {
      for (let round = 0; round < (SOAK ? 100 : 1); round += 1) {
        lane.reset();
        const owner = lane.coordinate();
        await lane.said("S", "first");
        await until("the process is on record", () => {
          const read = lane.read();
          return read.ok && read.value.state.jobs["first"]?.attemptRecords[0]?.pid;
        });
        process.kill(owner.pid, "SIGSTOP");
        const before = treeDigest(lane.runDir);
        const second = await lane.coordinate({ resume: true }).ended;
        const client = await lane.client("resume", lane.runDir).ended;
        expect(treeDigest(lane.runDir)).toEqual(before);
        process.kill(owner.pid, "SIGCONT");
        expect([second.code, second.stderr.trim()]).toEqual([
          EXIT.owned,
          `The run is coordinated by process ${owner.pid} on \`${hostname()}\`.`,
        ]);
        expect(client.code).toBe(EXIT.owned);
        expect(client.stderr).toContain(`process ${owner.pid} on \`${hostname()}\``);
        lane.open();
        expect(violations(historyOf({ lane, finished: WAITING }, [await liveOnce(lane, owner)]))).toEqual([]);
      }
    },
  );
});
