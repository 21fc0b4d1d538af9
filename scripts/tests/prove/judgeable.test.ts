/** Which finished work waits for a verdict, and which of it is judged in one call. */
import { describe, expect, it } from "vitest";
import { judgeableTogether, pendingArbitration } from "../../src/prove/judgeable.ts";
import { attemptOf, graphOf, jobOf, planJob, stateOf } from "./sample-run.ts";

const graph = graphOf([planJob("a"), planJob("b", { dependsOn: ["a"] })]);
const state = stateOf({ a: jobOf([attemptOf()]), b: jobOf([attemptOf()]) });

describe("what waits for a verdict", () => {
  it("is finished work that nobody decided about, in topological order", () => {
    const mixed = stateOf({
      a: jobOf([attemptOf({ status: "failed" }), attemptOf({ attempt: 2 })]),
      b: jobOf([attemptOf()]),
    });
    expect(pendingArbitration(graph, mixed)).toEqual([
      { jobId: "a", attempt: 2 },
      { jobId: "b", attempt: 1 },
    ]);
    const settled = stateOf({
      a: jobOf([attemptOf({ acceptance: "accepted" })]),
      b: jobOf([attemptOf({ status: "running" })]),
    });
    expect(pendingArbitration(graph, settled)).toEqual([]);
    expect(
      pendingArbitration(graph, stateOf({ a: jobOf([attemptOf()], { reopenedAt: 2 }), b: jobOf([]) })),
    ).toEqual([]);
    expect(pendingArbitration(graph, state, (id) => id === "b")).toEqual([{ jobId: "b", attempt: 1 }]);
  });

  it("is judged in one call only with all it stands on", () => {
    const wide = graphOf([
      planJob("a"),
      planJob("b", { dependsOn: ["a"] }),
      planJob("c", { dependsOn: ["b"] }),
      planJob("d"),
    ]);
    const all = ["a", "b", "c", "d"];
    const done = stateOf(Object.fromEntries(all.map((id) => [id, jobOf([attemptOf()])])));
    const ids = (wanted: readonly string[], at = done): string[] =>
      judgeableTogether(
        wanted.map((jobId) => ({ jobId, attempt: 1 })),
        wide,
        at,
      ).map((ref) => ref.jobId);
    expect(ids(all)).toEqual(all);
    expect(ids(["b", "c", "d"])).toEqual(["d"]);
    expect(ids(["a", "c"])).toEqual(["a"]);
    const accepted = stateOf({ ...done.jobs, a: jobOf([attemptOf({ acceptance: "accepted" })]) });
    expect(ids(["b", "c", "d"], accepted)).toEqual(["b", "c", "d"]);
  });
});
