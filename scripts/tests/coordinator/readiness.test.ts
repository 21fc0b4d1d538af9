/** Which jobs may start, against a plain model of the rule, over random graphs and random changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createReadiness,
  indexJobs,
  transitiveDependencies,
  transitiveDependents,
} from "../../src/coordinator/readiness.ts";
import type { Job, PlanJob, State } from "../../src/core/runtime.ts";

const plan = (
  id: string,
  index: number,
  dependsOn: string[],
  riskTier: PlanJob["riskTier"] = "R0",
): PlanJob => ({ id, index, dependsOn, riskTier }) as PlanJob;

const job = (o: Partial<Job> = {}): Job =>
  ({ status: "queued", outcome: "pending", notBefore: null, attemptRecords: [], ...o }) as Job;

function scene(jobs: readonly PlanJob[]) {
  const state = { jobs: Object.fromEntries(jobs.map((one) => [one.id, job()])) } as unknown as State;
  const index = indexJobs(jobs);
  const readiness = createReadiness(index, () => state);
  const set = (id: string, change: Partial<Job>): void => {
    state.jobs[id] = { ...(state.jobs[id] as Job), ...change };
    readiness.changed(id);
  };
  const takeAll = (): string[] => {
    const taken: string[] = [];
    for (let one = readiness.take(() => true); one !== null; one = readiness.take(() => true))
      taken.push(one.id);
    return taken;
  };
  return { state, readiness, set, takeAll, index };
}

describe("readiness", () => {
  it("offers jobs without open dependencies, in plan order", () => {
    const { takeAll, set } = scene([plan("a", 0, []), plan("b", 1, []), plan("c", 2, ["a", "b"])]);
    expect(takeAll()).toEqual(["a", "b"]);
    set("a", { status: "success" });
    expect(takeAll()).toEqual([]);
    set("b", { status: "success" });
    expect(takeAll()).toEqual(["c"]);
  });

  it("starts external work only on accepted work", () => {
    const { takeAll, set } = scene([plan("a", 0, []), plan("deploy", 1, ["a"], "R3")]);
    takeAll();
    set("a", { status: "success" });
    expect(takeAll()).toEqual([]);
    set("a", { status: "success", outcome: "accepted" });
    expect(takeAll()).toEqual(["deploy"]);
  });

  it("takes a job back when a dependency is rejected or runs again", () => {
    const { takeAll, set } = scene([plan("a", 0, []), plan("b", 1, ["a"])]);
    takeAll();
    set("a", { status: "success" });
    set("a", { status: "success", outcome: "rejected" });
    expect(takeAll()).toEqual([]);
  });

  it("holds back what waits for a time or is in a harness's hands", () => {
    const { takeAll, set } = scene([plan("a", 0, []), plan("b", 1, [])]);
    set("a", { notBefore: "2026-01-01T00:00:00.000Z" });
    set("b", { attemptRecords: [{ status: "queued" }] as Job["attemptRecords"] });
    expect(takeAll()).toEqual([]);
    set("a", { notBefore: null });
    expect(takeAll()).toEqual(["a"]);
  });

  it("skips a job that has no slot and keeps it for later", () => {
    const { readiness } = scene([plan("a", 0, []), plan("b", 1, [])]);
    expect(readiness.take((one) => one.id === "b")?.id).toBe("b");
    expect(readiness.take(() => true)?.id).toBe("a");
    expect(readiness.take(() => true)).toBeNull();
  });

  it("always offers exactly what a plain reading of the rule offers", () => {
    const graph = fc.integer({ min: 1, max: 12 }).chain((n) =>
      fc.record({
        jobs: fc.tuple(
          ...Array.from({ length: n }, (_, i) => fc.subarray(Array.from({ length: i }, (_, k) => `j${k}`))),
        ),
        changes: fc.array(
          fc.record({
            at: fc.nat({ max: n - 1 }),
            to: fc.constantFrom("queued", "running", "success", "accepted", "rejected", "failed"),
          }),
          { maxLength: 30 },
        ),
      }),
    );
    fc.assert(
      fc.property(graph, ({ jobs, changes }) => {
        const plans = jobs.map((dependsOn, i) => plan(`j${i}`, i, dependsOn));
        const { state, set, takeAll } = scene(plans);
        const offered = new Set(takeAll());
        for (const { at, to } of changes) {
          const id = `j${at}`;
          offered.delete(id);
          const status = to === "accepted" || to === "rejected" ? "success" : to;
          set(id, {
            status: status as Job["status"],
            outcome: to === "accepted" || to === "rejected" ? to : "pending",
          });
          for (const taken of takeAll()) offered.add(taken);
        }
        const may = plans.filter(
          (one) =>
            state.jobs[one.id]?.status === "queued" &&
            one.dependsOn.every(
              (d) => state.jobs[d]?.status === "success" && state.jobs[d]?.outcome !== "rejected",
            ),
        );
        for (const one of may) expect(offered.has(one.id)).toBe(true);
      }),
      { seed: 11, numRuns: 300 },
    );
  });
});

describe("the graph's closures", () => {
  const index = indexJobs([
    plan("a", 0, []),
    plan("b", 1, ["a"]),
    plan("c", 2, ["a"]),
    plan("d", 3, ["b", "c"]),
  ]);

  it("finds all that stand below, each once", () => {
    expect(transitiveDependents(index, "a")).toEqual(["b", "c", "d"]);
  });

  it("finds all that stand above, in plan order", () => {
    expect(transitiveDependencies(index, "d")).toEqual(["a", "b", "c"]);
  });
});
