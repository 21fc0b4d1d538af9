/** Which jobs may start, against a plain model of the rule, over random graphs and random changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createReadiness,
  indexJobs,
  standingOn,
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

/** `pools`: by job id, and read at every offer, since a job's candidate changes. */
function scene(jobs: readonly PlanJob[], pools: ReadonlyMap<string, string> = new Map()) {
  const state = { jobs: Object.fromEntries(jobs.map((one) => [one.id, job()])) } as unknown as State;
  const index = indexJobs(jobs);
  const readiness = createReadiness(
    index,
    () => state,
    (one) => pools.get(one.id) ?? "",
  );
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

  it("skips jobs whose pool is full and keeps them for later", () => {
    const pools = new Map([
      ["a", "full"],
      ["b", "full"],
      ["c", "free"],
    ]);
    const { readiness } = scene([plan("a", 0, []), plan("b", 1, []), plan("c", 2, [])], pools);
    const free = (pool: string): boolean => pool === "free";
    expect(readiness.canTake(free)).toBe(true);
    expect(readiness.take(free)?.id).toBe("c");
    expect(readiness.canTake(free)).toBe(false);
    expect(readiness.take(free)).toBeNull();
    expect(readiness.size).toBe(2);
    expect(readiness.take(() => true)?.id).toBe("a");
    expect(readiness.take(() => true)?.id).toBe("b");
    expect(readiness.take(() => true)).toBeNull();
  });

  it("offers a job again in the pool of its next candidate", () => {
    const pools = new Map([["a", "first"]]);
    const { readiness, set } = scene([plan("a", 0, [])], pools);
    pools.set("a", "second");
    set("a", { status: "queued" });
    expect(readiness.take((pool) => pool === "first")).toBeNull();
    expect(readiness.take((pool) => pool === "second")?.id).toBe("a");
    expect(readiness.take(() => true)).toBeNull();
  });

  it("asks for room once a pool, however many jobs wait in it", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => plan(`j${i}`, i, []));
    const { readiness } = scene(many, new Map(many.map((one, i) => [one.id, `pool${i % 3}`])));
    const asked: string[] = [];
    const full = (pool: string): boolean => {
      asked.push(pool);
      return false;
    };
    expect(readiness.take(full)).toBeNull();
    expect(asked.sort()).toEqual(["pool0", "pool1", "pool2"]);
  });

  it("takes, of all pools with room, the first in plan order, and each job once", () => {
    const scenes = fc.record({
      pools: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 25 }),
      rooms: fc.array(fc.subarray([0, 1, 2, 3]), { maxLength: 30 }),
    });
    fc.assert(
      fc.property(scenes, ({ pools, rooms }) => {
        const jobs = pools.map((_, i) => plan(`j${i}`, i, []));
        const { readiness } = scene(jobs, new Map(pools.map((pool, i) => [`j${i}`, String(pool)])));
        const waiting = pools.map((pool, i) => ({ id: `j${i}`, pool }));
        for (const open of rooms) {
          const at = waiting.findIndex((one) => open.includes(one.pool));
          const expected = at === -1 ? null : (waiting.splice(at, 1)[0]?.id ?? null);
          expect(readiness.take((pool) => open.includes(Number(pool)))?.id ?? null).toBe(expected);
          expect(readiness.size).toBe(waiting.length);
        }
      }),
      { seed: 12, numRuns: 300 },
    );
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

  it("finds what stands on any of several jobs, and of these only what stands on another", () => {
    expect([...standingOn(index, ["b", "c"])]).toEqual(["d"]);
    expect([...standingOn(index, ["a", "b"])]).toEqual(["b", "c", "d"]);
    expect([...standingOn(index, [])]).toEqual([]);
  });

  it("says of any graph what a look at each job's dependencies says", () => {
    const graphs = fc.integer({ min: 1, max: 10 }).chain((n) => {
      const ids = Array.from({ length: n }, (_, i) => `j${i}`);
      return fc.record({
        edges: fc.tuple(...ids.map((_, i) => fc.subarray(ids.slice(0, i)))),
        on: fc.subarray(ids),
      });
    });
    fc.assert(
      fc.property(graphs, ({ edges, on }) => {
        const any = indexJobs(edges.map((dependsOn, i) => plan(`j${i}`, i, dependsOn)));
        const found = [...any.byId.keys()].filter((id) =>
          transitiveDependencies(any, id).some((one) => on.includes(one)),
        );
        expect([...standingOn(any, on)].sort()).toEqual(found.sort());
      }),
      { seed: 13, numRuns: 300 },
    );
  });

  it("finds all that stand above, in plan order", () => {
    expect(transitiveDependencies(index, "d")).toEqual(["a", "b", "c"]);
  });
});
