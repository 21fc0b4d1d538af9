import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { runFixture } from "../processes.ts";
import { simulate } from "./simulate.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const SEEDS = Number(process.env["ORCHESTRATE_SEEDS"] ?? (SOAK ? 1_000_000 : 2_000));
/** Seeds a process: few enough that a failure is told soon, enough that starting it costs nothing. */
const CHUNK = 5_000;
/** Schedules beyond those that found a fault once: a follower left behind, two lines mixed by a
 * power loss, a line lost before a later one. */
const CORPUS = [3149, 3493, 3953, 4324, 9756, 59_335, 104_962, 113_408, 204_776, 218_476, 226_940];
/** Set to one seed to run it alone. */
const only = process.env["ORCHESTRATE_SEED"];

const span = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);

const reproduce = (seed: number): string =>
  `seed ${seed}: ORCHESTRATE_SEED=${seed} npx vitest run scripts/tests/state/simulation`;

test("no crash, torn write, lost write or disk error loses or doubles a job, whatever the schedule", async () => {
  const seeds = only === undefined ? [...CORPUS, ...span(1, SOAK ? 0 : SEEDS)] : [Number(only)];
  let coordinators = 0;
  for (const seed of seeds) {
    const outcome = await simulate(seed);
    coordinators += outcome.coordinators;
    expect(outcome.violations, reproduce(seed)).toEqual([]);
  }
  if (only === undefined && !SOAK) expect(coordinators).toBeGreaterThan(2 * SEEDS);
}, 300_000);

if (SOAK && only === undefined)
  test(
    `the same for ${SEEDS} seeds, on every processor`,
    async () => {
      let next = 1;
      let coordinators = 0;
      let done = 0;
      const failures: string[] = [];
      const work = async (): Promise<void> => {
        while (next <= SEEDS && failures.length === 0) {
          const from = next;
          const to = Math.min(SEEDS + 1, from + CHUNK);
          next = to;
          const said = await runFixture("simulate-range.ts", [String(from), String(to)]);
          const found = JSON.parse(said) as {
            coordinators: number;
            failures: { seed: number; violations: string[] }[];
          };
          coordinators += found.coordinators;
          done += to - from;
          if (done % 50_000 === 0) console.log(`${done} of ${SEEDS} seeds, ${coordinators} coordinators`);
          failures.push(...found.failures.map((f) => [...f.violations, reproduce(f.seed)].join("\n")));
        }
      };
      await Promise.all(span(1, availableParallelism()).map(work));
      expect(failures.join("\n")).toBe("");
      expect(coordinators).toBeGreaterThan(2 * SEEDS);
    },
    24 * 3_600_000,
  );

test.each([
  ["late-intent", "effect before intent"],
  ["early-report", "acknowledged"],
  ["no-sync", "is lost"],
] as const)("the simulation finds the planted bug %s", async (bug, says) => {
  for (let seed = 1; seed <= 500; seed++) {
    const { violations } = await simulate(seed, bug);
    if (violations.some((violation) => violation.includes(says))) return;
  }
  throw new Error(`500 seeds did not find ${bug}`);
});
