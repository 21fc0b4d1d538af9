/** Policy code is held by its tests: every small change of it is noticed, by the record, or measured now where it changed. */
import { describe, expect, it } from "vitest";
import { measure } from "../../dev/mutation/measure.ts";
import { LEAST_SCORE, LEFT_OUT } from "../../dev/mutation/policy.ts";
import {
  changedFiles,
  entryOf,
  modules,
  policyFiles,
  readRecord,
  testsOf,
} from "../../dev/mutation/record.ts";

/** More than that takes minutes: who changes so much measures it and commits the record. */
const AT_ONCE = 5;

describe("mutants of policy code", () => {
  it("are made of every module that decides; what is left out is there and left out once", () => {
    const left = Object.values(LEFT_OUT).flat();
    expect(left.filter((name) => !modules().includes(name))).toEqual([]);
    expect(new Set(left).size).toBe(left.length);
    expect(Object.keys(readRecord()).filter((file) => !policyFiles().includes(file))).toEqual([]);
  });

  it(`are noticed in at least ${LEAST_SCORE} of 100 cases, module by module`, () => {
    const below = Object.entries(readRecord()).filter(([, entry]) => entry.score < LEAST_SCORE);
    expect(below.map(([file, { score }]) => `${file}: ${score}`)).toEqual([]);
  });

  it("are tried now for what changed since the record", async () => {
    const changed = changedFiles(readRecord());
    expect(
      changed.length > AT_ONCE ? changed : [],
      "too many policy modules changed to measure here: run `npm run mutation -- --changed` and commit mutation/record.json",
    ).toEqual([]);
    if (changed.length === 0) return;
    const entries = [...(await measure(changed, [...new Set(changed.flatMap(testsOf))]))].map(
      ([file, found]) => [file, entryOf(found)] as const,
    );
    for (const [file, { score, survivors }] of entries)
      expect(score, `${file}\n${survivors.join("\n")}`).toBeGreaterThanOrEqual(LEAST_SCORE);
  }, 600_000);
});
