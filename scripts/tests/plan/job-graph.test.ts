import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildJobGraph,
  compareIds,
  criticalPath,
  type GraphNode,
  type JobGraph,
  reachabilityAmong,
  stagesById,
  unorderedAmong,
} from "../../src/plan/job-graph.ts";
import { property } from "./plan-support.ts";

const node = (id: string, ...dependsOn: string[]): GraphNode => ({ id, dependsOn });

function graphOf(...nodes: GraphNode[]): JobGraph {
  const { graph, faults } = buildJobGraph(nodes);
  expect(faults).toEqual([]);
  return graph as JobGraph;
}

const diamond = [node("d", "b", "c"), node("c", "a"), node("b", "a"), node("a")];

describe("a job graph", () => {
  it("orders jobs by stage, then by id", () => {
    const graph = graphOf(...diamond, node("z"));
    expect(graph.ids).toEqual(["a", "z", "b", "c", "d"]);
    expect(stagesById(graph)).toEqual([["a", "z"], ["b", "c"], ["d"]]);
    expect(graph.dependencies).toEqual([[], [], [0], [0], [2, 3]]);
    expect(graph.dependents).toEqual([[2, 3], [], [4], [4], []]);
    expect(graph.position.get("c")).toBe(3);
  });

  it("puts a job below its deepest dependency", () => {
    expect(stagesById(graphOf(node("a"), node("b", "a"), node("c", "a", "b")))).toEqual([
      ["a"],
      ["b"],
      ["c"],
    ]);
  });

  it("counts a dependency that is named twice once", () => {
    expect(graphOf(node("a"), node("b", "a", "a")).dependencies).toEqual([[], [0]]);
    const apart = graphOf(node("a"), node("b"), node("c", "b", "a", "b", "a"));
    expect(apart.dependencies).toEqual([[], [], [0, 1]]);
    expect(apart.dependents).toEqual([[2], [2], []]);
  });

  it("lists dependencies in plan order, which is not that of their ids", () => {
    const graph = graphOf(node("a", "z"), node("z"), node("b", "y", "a"), node("y"));
    expect(graph.ids).toEqual(["y", "z", "a", "b"]);
    expect(graph.dependencies).toEqual([[], [], [1], [0, 2]]);
    expect(graph.dependents).toEqual([[3], [2], [3], []]);
    expect(graph.stage).toEqual([0, 0, 1, 2]);
  });

  it("orders ids by their characters' codes, whatever language the host speaks", () => {
    expect(graphOf(...["b", "B", "a", "10", "9", "a-b", "a_b", "aB"].map((id) => node(id))).ids).toEqual([
      "10",
      "9",
      "B",
      "a",
      "a-b",
      "aB",
      "a_b",
      "b",
    ]);
    expect([compareIds("a", "a"), compareIds("a", "b"), compareIds("b", "a")]).toEqual([0, -1, 1]);
  });

  it("of no jobs is empty", () => {
    const empty = graphOf();
    expect(empty.ids).toEqual([]);
    expect(stagesById(empty)).toEqual([]);
    expect(criticalPath(empty, () => 1)).toEqual({ ids: [], weight: 0 });
    expect(unorderedAmong(empty, () => true)).toEqual([]);
  });

  it("is the same whatever order the spec has", () => {
    fc.assert(
      fc.property(anyDag, fc.infiniteStream(fc.nat()), (nodes, numbers) => {
        const shuffled = nodes
          .map((one) => ({ one, key: numbers.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => ({ ...one, dependsOn: [...one.dependsOn].reverse() }));
        expect(buildJobGraph(shuffled)).toEqual(buildJobGraph(nodes));
      }),
      property(200),
    );
  });
});

describe("faults", () => {
  it("are unknown and own ids, with their place in the list", () => {
    expect(buildJobGraph([node("a", "b", "x"), node("b", "b")]).faults).toEqual([
      { kind: "unknown", id: "a", dependency: "x", at: 1 },
      { kind: "self", id: "b", at: 0 },
    ]);
  });

  it("are told by job, what is wrong with a name before a cycle", () => {
    const nodes = [
      node("m", "gone"),
      node("c", "d", "missing"),
      node("d", "c", "d"),
      node("a", "a"),
      node("b", "no"),
    ];
    expect(buildJobGraph(nodes)).toEqual({
      graph: null,
      faults: [
        { kind: "self", id: "a", at: 0 },
        { kind: "unknown", id: "b", dependency: "no", at: 0 },
        { kind: "unknown", id: "c", dependency: "missing", at: 1 },
        { kind: "cycle", id: "c", path: ["c", "d", "c"] },
        { kind: "self", id: "d", at: 1 },
        { kind: "unknown", id: "m", dependency: "gone", at: 0 },
      ],
    });
  });

  it("name the cycle with the smallest id first where two share a job, and then what it leaves", () => {
    // a and b wait for each other, c waits for both and b for c: without a and b no cycle is left.
    expect(buildJobGraph([node("b", "a", "c"), node("a", "b"), node("c", "a", "b")]).faults).toEqual([
      { kind: "cycle", id: "a", path: ["a", "b", "a"] },
    ]);
    const far = [node("a", "y"), node("x", "y"), node("y", "x"), node("b", "c"), node("c", "b", "x")];
    expect(buildJobGraph(far).faults).toEqual([
      { kind: "cycle", id: "b", path: ["b", "c", "b"] },
      { kind: "cycle", id: "x", path: ["x", "y", "x"] },
    ]);
  });

  it("are cycles, told from their smallest id on, along the dependencies", () => {
    expect(buildJobGraph([node("c", "a"), node("a", "b"), node("b", "c")])).toEqual({
      graph: null,
      faults: [{ kind: "cycle", id: "a", path: ["a", "b", "c", "a"] }],
    });
  });

  it("name the cycle only, neither what is above nor what is below it", () => {
    const nodes = [node("a"), node("b", "a", "c"), node("c", "b"), node("d", "c")];
    expect(buildJobGraph(nodes).faults).toEqual([{ kind: "cycle", id: "b", path: ["b", "c", "b"] }]);
  });

  it("name every cycle that shares no job with another", () => {
    const nodes = [node("a", "b"), node("b", "a"), node("x", "y"), node("y", "x"), node("m", "a", "y")];
    expect(buildJobGraph(nodes).faults).toEqual([
      { kind: "cycle", id: "a", path: ["a", "b", "a"] },
      { kind: "cycle", id: "x", path: ["x", "y", "x"] },
    ]);
  });

  it("list a bounded number of cycles", () => {
    const pairs = Array.from({ length: 80 }, (_, i) => [
      node(`a${i}`, `b${i}`),
      node(`b${i}`, `a${i}`),
    ]).flat();
    expect(buildJobGraph(pairs).faults).toHaveLength(50);
  });

  it("always name a real cycle when there is one", () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 16 });
    fc.assert(
      fc.property(edges, (pairs) => {
        const nodes = Array.from({ length: 8 }, (_, i) =>
          node(`n${i}`, ...pairs.filter(([from, to]) => from === i && to !== i).map(([, to]) => `n${to}`)),
        );
        const { graph, faults } = buildJobGraph(nodes);
        expect(graph === null).toBe(hasCycle(nodes));
        expect(faults.length > 0).toBe(hasCycle(nodes));
        for (const fault of faults) {
          if (fault.kind !== "cycle") throw new Error(`unexpected ${fault.kind}`);
          expect(fault.path.at(-1)).toBe(fault.path[0]);
          fault.path.slice(1).forEach((to, at) => {
            expect(nodes.find((one) => one.id === fault.path[at])?.dependsOn).toContain(to);
          });
          expect(new Set(fault.path).size).toBe(fault.path.length - 1);
        }
      }),
      property(300),
    );
  });
});

describe("the critical path", () => {
  it("is the heaviest chain, not the longest", () => {
    const graph = graphOf(node("a"), node("b", "a"), node("c", "b"), node("x"), node("y", "x"));
    const weights: Record<string, number> = { a: 1, b: 1, c: 1, x: 5, y: 5 };
    expect(criticalPath(graph, (at) => weights[graph.ids[at] as string] as number)).toEqual({
      ids: ["x", "y"],
      weight: 10,
    });
  });

  it("goes by plan order on a tie", () => {
    expect(criticalPath(graphOf(...diamond), () => 1).ids).toEqual(["a", "b", "d"]);
    expect(criticalPath(graphOf(node("a"), node("b")), () => 1)).toEqual({ ids: ["a"], weight: 1 });
    const twice = graphOf(node("a"), node("b"), node("c", "a", "b"), node("d", "c"));
    expect(criticalPath(twice, () => 2)).toEqual({ ids: ["a", "c", "d"], weight: 6 });
  });

  it("takes the heavier of two dependencies, wherever it stands", () => {
    const graph = graphOf(node("a"), node("b"), node("c"), node("d", "a", "b", "c"));
    for (const heavy of ["a", "b", "c"])
      expect(criticalPath(graph, (at) => (graph.ids[at] === heavy ? 5 : 1))).toEqual({
        ids: [heavy, "d"],
        weight: 6,
      });
  });

  it("weighs as much as the heaviest of all chains", () => {
    fc.assert(
      fc.property(anyDag, (nodes) => {
        const graph = graphOf(...nodes);
        const weight = (at: number): number => ((at * 7) % 5) + 1;
        const best = (at: number): number =>
          weight(at) + Math.max(0, ...(graph.dependencies[at] as number[]).map(best));
        const found = criticalPath(graph, weight);
        expect(found.weight).toBe(Math.max(...graph.ids.map((_, at) => best(at))));
        const sum = found.ids.reduce((total, id) => total + weight(graph.position.get(id) as number), 0);
        expect(sum).toBe(found.weight);
      }),
      property(150),
    );
  });
});

describe("which jobs no path orders", () => {
  it("are siblings, seen only among the marked", () => {
    const graph = graphOf(...diamond);
    expect(unorderedAmong(graph, () => true)).toEqual([false, true, true, false]);
    expect(unorderedAmong(graph, (at) => at !== 2)).toEqual([false, false, false, false]);
    const beside = graphOf(node("a"), node("b", "a"), node("x"));
    expect(beside.ids).toEqual(["a", "x", "b"]);
    expect(unorderedAmong(beside, () => true)).toEqual([true, true, true]);
    expect(unorderedAmong(beside, (at) => at !== 1)).toEqual([false, false, false]);
  });

  it("are not jobs that an unmarked job orders", () => {
    const graph = graphOf(node("a"), node("b", "a"), node("c", "b"));
    expect(unorderedAmong(graph, (at) => at !== 1)).toEqual([false, false, false]);
  });

  it("are exactly those with an unordered partner", () => {
    fc.assert(
      fc.property(anyDag, fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }), (nodes, flags) => {
        const graph = graphOf(...nodes);
        const marked = (at: number): boolean => flags[at] as boolean;
        const slow = slowReach(graph);
        const expected = graph.ids.map(
          (_, a) =>
            marked(a) && graph.ids.some((_other, b) => b !== a && marked(b) && !slow(a, b) && !slow(b, a)),
        );
        expect(unorderedAmong(graph, marked)).toEqual(expected);
      }),
      property(500),
    );
  });
});

describe("reachability among a few", () => {
  it("agrees with walking the graph", () => {
    fc.assert(
      fc.property(anyDag, fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }), (nodes, flags) => {
        const graph = graphOf(...nodes);
        const chosen = graph.ids.flatMap((_, at) => (flags[at] ? [at] : []));
        const reach = reachabilityAmong(graph, chosen);
        const slow = slowReach(graph);
        for (const a of chosen)
          for (const b of chosen) if (a !== b) expect(reach.ordered(a, b)).toBe(slow(a, b) || slow(b, a));
      }),
      property(300),
    );
  });

  it("holds for more jobs than a word has bits", () => {
    const chain = Array.from({ length: 100 }, (_, i) =>
      node(`n${String(i).padStart(3, "0")}`, ...(i === 0 ? [] : [`n${String(i - 1).padStart(3, "0")}`])),
    );
    const graph = graphOf(...chain, node("x"));
    const reach = reachabilityAmong(
      graph,
      graph.ids.map((_, at) => at),
    );
    const [first, last, lonely] = ["n000", "n099", "x"].map((id) => graph.position.get(id) as number);
    expect(reach.ordered(first as number, last as number)).toBe(true);
    expect(reach.ordered(last as number, first as number)).toBe(true);
    expect(reach.ordered(lonely as number, last as number)).toBe(false);
    const few = graph.ids.filter((id) => id > "n05").map((id) => graph.position.get(id) as number);
    const among = reachabilityAmong(graph, few.reverse());
    for (const a of few)
      for (const b of few)
        if (a !== b) expect([a, b, among.ordered(a, b)]).toEqual([a, b, a !== lonely && b !== lonely]);
  });
});

it("takes 10,000 jobs with 90,000 edges in a blink", () => {
  const layers = 100;
  const width = 100;
  const nodes: GraphNode[] = [];
  for (let layer = 0; layer < layers; layer += 1)
    for (let i = 0; i < width; i += 1)
      nodes.push(
        node(
          `l${layer}-${i}`,
          ...(layer === 0 ? [] : Array.from({ length: 9 }, (_, k) => `l${layer - 1}-${(i + k) % width}`)),
        ),
      );
  const before = process.cpuUsage();
  const graph = graphOf(...nodes);
  const parallel = unorderedAmong(graph, () => true);
  criticalPath(graph, () => 1);
  const cpu = process.cpuUsage(before);
  expect(parallel.every(Boolean)).toBe(true);
  expect((cpu.user + cpu.system) / 1000).toBeLessThan(3_000);
});

const anyDag: fc.Arbitrary<GraphNode[]> = fc
  .array(fc.array(fc.nat(13), { maxLength: 4 }), { minLength: 1, maxLength: 14 })
  .map((rows) =>
    rows.map((row, at) =>
      node(
        `n${(at * 5) % 17}`,
        ...new Set(row.filter((from) => from < at).map((from) => `n${(from * 5) % 17}`)),
      ),
    ),
  );

function slowReach(graph: JobGraph): (from: number, to: number) => boolean {
  const walk = (from: number, to: number): boolean =>
    (graph.dependents[from] as number[]).some((next) => next === to || walk(next, to));
  return walk;
}

function hasCycle(nodes: readonly GraphNode[]): boolean {
  const left = new Map(nodes.map((one) => [one.id, new Set(one.dependsOn)]));
  for (;;) {
    const free = [...left].filter(([, above]) => above.size === 0).map(([id]) => id);
    if (free.length === 0) return left.size > 0;
    for (const id of free) {
      left.delete(id);
      for (const above of left.values()) above.delete(id);
    }
  }
}
