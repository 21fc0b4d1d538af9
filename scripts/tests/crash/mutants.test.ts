/** The harness is proved: each planted bug breaks the rule that is there for it, at a point where the tool itself breaks none. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import type { Fault } from "../support/fault-shim.ts";
import { contend } from "./harness/contend.ts";
import { type Life, violations } from "./harness/invariants.ts";
import { createLane, killNow, type Lane, UNTIL_OPEN } from "./harness/lane.ts";
import { MUTANTS, type Mutant, plant } from "./harness/mutants.ts";
import { orderFaults } from "./harness/order.ts";
import { crashPoint, historyOf, liveOnce } from "./harness/point.ts";
import { createScene, type SceneName, WAITING } from "./harness/scenes.ts";

const LONG = { timeout: 300_000 };

let built: BuiltPayload;

beforeAll(async () => {
  built = await builtPayload();
});

afterAll(() => built.remove());

type Probe = (main: string) => Promise<readonly string[]>;

/** The rules that a single point breaks. */
const at =
  (name: SceneName, ...faults: readonly Fault[]): Probe =>
  async (main) => {
    const scene = await createScene(name, main);
    const found: string[] = [];
    for (const fault of faults) found.push(...(await crashPoint(scene, fault)).violations);
    scene.lane.remove();
    return found;
  };

/** The order of what one undisturbed run writes, one job at a time. */
const order: Probe = async (main) => {
  const scene = await createScene("small", main, 1);
  await crashPoint(scene, { mode: "kill-before", at: 0 });
  const found = orderFaults(scene.lane.operations());
  scene.lane.remove();
  return found;
};

/** Two coordinators at once. */
const pair: Probe = async (main) => {
  const lane = await createLane({
    main,
    jobs: [{ id: "first", after: [], seconds: 0, script: UNTIL_OPEN }],
  });
  const found = await contend(lane, 2);
  lane.remove();
  return found;
};

/** A coordinator killed while its job works on, then a resume. */
const orphan: Probe = async (main) => {
  const lane = await createLane({
    main,
    jobs: [{ id: "first", after: [], seconds: 0, script: `[ "$attempt" -gt 1 ] || ${UNTIL_OPEN}` }],
  });
  lane.reset();
  const dead = lane.coordinate();
  await lane.said("S", "first");
  killNow(dead.pid);
  return judged(lane, [await liveOnce(lane, dead), await liveOnce(lane, lane.coordinate({ resume: true }))]);
};

/** A torn record, then a crash of the coordinator that found it. */
const tornTwice: Probe = async (main) => {
  const { lane } = await createScene("large", main);
  lane.reset();
  const torn: Fault = { mode: "torn", at: 2, only: "write:/journal.jsonl" };
  const again: Fault = { mode: "kill-after", at: 3, only: "fdatasync:/journal.jsonl" };
  const lives = [
    await liveOnce(lane, lane.coordinate({ fault: torn })),
    await liveOnce(lane, lane.coordinate({ resume: true, fault: again })),
    await liveOnce(lane, lane.coordinate({ resume: true })),
  ];
  return judged(lane, lives);
};

function judged(lane: Lane, lives: readonly Life[]): string[] {
  const found = violations(historyOf({ lane, finished: WAITING }, lives));
  lane.remove();
  return found;
}

const journal = (...numbers: number[]): Fault[] =>
  numbers.map((number) => ({ mode: "kill-after", at: number, only: "fdatasync:/journal.jsonl" }));

const CASES: readonly (readonly [Mutant, Probe, RegExp])[] = [
  [MUTANTS.unsynced, order, /^operation \d+: state\.json got its name before its content was synced$/],
  [
    MUTANTS.inPlace,
    at("small", { mode: "torn", at: 2, only: "write:/state.json" }),
    /^readable after each crash: .*damaged/,
  ],
  [
    MUTANTS.late,
    at("small", { mode: "kill-after", at: 1, only: "spawn:" }),
    /^no process without a durable intent: /,
  ],
  [
    MUTANTS.swallows,
    at("small", { mode: "eio", at: 4, only: "fsync:.tmp" }),
    /was swallowed$|^exit 0 only for a finished run: /,
  ],
  [MUTANTS.lockless, pair, /^a loser ended with 4/],
  [MUTANTS.forgetsOrphans, orphan, /^nothing stays alive: /],
  [MUTANTS.keepsTornTail, tornTwice, /^readable after each crash: .*is damaged/],
  [
    MUTANTS.forgetsLastRecord,
    at("large", ...journal(5, 6, 7)),
    /^success on disk is never run again: |^an attempt starts once: /,
  ],
];

describe.each(CASES.map(([mutant, probe, rule]) => ({ name: mutant.name, mutant, probe, rule })))(
  "a tool that $name",
  ({ mutant, probe, rule }) => {
    it("is found out", LONG, async () => {
      const planted = plant(built, mutant);
      const found = await probe(planted.main);
      planted.remove();
      expect(found).toContainEqual(expect.stringMatching(rule));
    });

    it("is found out for its bug alone: the tool as it is passes the same", LONG, async () => {
      expect(await probe(built.main)).toEqual([]);
    });
  },
);
