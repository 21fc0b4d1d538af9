import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RISK_TIERS } from "../../src/core/tiers.ts";
import { effectiveIsolation, type IsolationWish, worktreeProblem } from "../../src/plan/isolation.ts";
import { buildJobGraph, type JobGraph } from "../../src/plan/job-graph.ts";
import { property } from "./plan-support.ts";

const graphOf = (...nodes: [string, ...string[]][]): JobGraph =>
  buildJobGraph(nodes.map(([id, ...dependsOn]) => ({ id, dependsOn }))).graph as JobGraph;

const reader: IsolationWish = {
  riskTier: "R0",
  writer: false,
  parallel: false,
  isolation: "none",
  origin: "built-in",
  raise: null,
  possible: true,
};
const writer: IsolationWish = { ...reader, riskTier: "R1", writer: true };
const isolated: IsolationWish = { ...writer, isolation: "worktree", origin: "spec" };
const alone = (wish: IsolationWish): string => {
  const [one] = effectiveIsolation(graphOf(["a"]), [wish]);
  return `${one?.isolation} ${one?.origin}`;
};
const chain = (...wishes: IsolationWish[]): string[] => {
  const ids = wishes.map((_, at): [string, ...string[]] => (at === 0 ? ["j0"] : [`j${at}`, `j${at - 1}`]));
  return effectiveIsolation(graphOf(...ids), wishes).map((one) => `${one.isolation} ${one.origin}`);
};

describe("a job by itself", () => {
  it.each([
    ["what the spec says", reader, "none built-in"],
    ["what the defaults say", { ...writer, origin: "defaults" }, "none defaults"],
    ["a worktree that the spec asks for", isolated, "worktree spec"],
    [
      "a worktree for a parallel writer",
      { ...writer, riskTier: "R2", parallel: true },
      "worktree policy:parallel",
    ],
    ["a worktree for a writer at R2", { ...writer, riskTier: "R2" }, "worktree policy:r2"],
    [
      "a worktree for a writer at R3 without a repository",
      { ...writer, riskTier: "R3", possible: false },
      "worktree policy:r2",
    ],
    [
      "a worktree for a reader at R2 where one can be made",
      { ...reader, riskTier: "R2" },
      "worktree policy:r2",
    ],
    [
      "none for a reader at R2 where none can be made",
      { ...reader, riskTier: "R2", possible: false },
      "none built-in",
    ],
    [
      "a worktree that its candidates ask for",
      { ...writer, raise: "unverified" },
      "worktree policy:unverified",
    ],
    [
      "a worktree against auto-approval",
      { ...writer, raise: "auto-approval" },
      "worktree policy:auto-approval",
    ],
  ] as [string, IsolationWish, string][])("gets %s", (_what, wish, expected) => {
    expect(alone(wish)).toBe(expected);
  });
});

describe("dependencies", () => {
  it("isolate everything below an isolated writer", () => {
    expect(chain(isolated, reader, writer)).toEqual([
      "worktree spec",
      "worktree policy:dependency",
      "worktree policy:dependency",
    ]);
  });

  it("isolate every writer above an isolated job, and leave readers there alone", () => {
    expect(chain(writer, reader, { ...reader, isolation: "worktree", origin: "spec" })).toEqual([
      "worktree policy:dependency",
      "worktree policy:dependency",
      "worktree spec",
    ]);
    expect(chain(reader, { ...reader, isolation: "worktree", origin: "spec" })).toEqual([
      "none built-in",
      "worktree spec",
    ]);
  });

  it("do not spread from an isolated reader downwards", () => {
    expect(chain({ ...reader, isolation: "worktree", origin: "spec" }, writer)).toEqual([
      "worktree spec",
      "none built-in",
    ]);
  });

  it("spread along every zigzag", () => {
    const graph = graphOf(["a"], ["b"], ["c"], ["x", "a", "b"], ["y", "b", "c"]);
    const wishes = graph.ids.map((id) => (id === "a" ? isolated : "bc".includes(id) ? writer : reader));
    expect(effectiveIsolation(graph, wishes).every((one) => one.isolation === "worktree")).toBe(true);
  });

  it("leave unrelated jobs alone", () => {
    const graph = graphOf(["a"], ["b"]);
    expect(effectiveIsolation(graph, [isolated, writer])[1]).toEqual({
      isolation: "none",
      origin: "built-in",
    });
  });
});

const anyWish: fc.Arbitrary<IsolationWish> = fc.record({
  riskTier: fc.constantFrom(...RISK_TIERS),
  writer: fc.boolean(),
  parallel: fc.constant(false),
  isolation: fc.constantFrom("none" as const, "none" as const, "worktree" as const),
  origin: fc.constant("spec" as const),
  raise: fc.constantFrom(null, null, null, "auto-approval" as const),
  possible: fc.boolean(),
});
const anyGraph = fc
  .array(fc.array(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 })
  .map((rows) =>
    graphOf(
      ...rows.map((row, at): [string, ...string[]] => [
        `n${String(at).padStart(2, "0")}`,
        ...new Set(row.filter((from) => from < at).map((from) => `n${String(from).padStart(2, "0")}`)),
      ]),
    ),
  );
const wishes = fc.array(anyWish, { minLength: 12, maxLength: 12 });

describe("effective isolation", () => {
  it("is closed: nobody shares a checkout below an isolated writer or as a writer above an isolated job", () => {
    fc.assert(
      fc.property(anyGraph, wishes, (graph, all) => {
        const mine = graph.ids.map((_, at) => all[at] as IsolationWish);
        const found = effectiveIsolation(graph, mine);
        const above = (at: number): number[] =>
          (graph.dependencies[at] as number[]).flatMap((from) => [from, ...above(from)]);
        const own = (at: number): boolean => found[at]?.isolation === "worktree";
        graph.ids.forEach((_, at) => {
          for (const from of above(at)) {
            if (own(from) && mine[from]?.writer) expect(own(at)).toBe(true);
            if (own(at) && mine[from]?.writer) expect(own(from)).toBe(true);
          }
        });
      }),
      property(300),
    );
  });

  it("never shrinks when a job asks for more", () => {
    fc.assert(
      fc.property(anyGraph, wishes, fc.nat(11), (graph, all, index) => {
        const mine = graph.ids.map((_, at) => all[at] as IsolationWish);
        const at = index % mine.length;
        const more = mine.map((wish, i) => (i === at ? { ...wish, isolation: "worktree" as const } : wish));
        const before = effectiveIsolation(graph, mine);
        effectiveIsolation(graph, more).forEach((one, i) => {
          if (before[i]?.isolation === "worktree") expect(one.isolation).toBe("worktree");
        });
      }),
      property(200),
    );
  });
});

describe("where no worktree can be made", () => {
  it("the command that changes it is told", () => {
    expect(worktreeProblem("/my work", null)).toEqual({
      code: "no-git",
      detail:
        "needs its own worktree, but `/my work` is in no git repository; run: git -C '/my work' init && git -C '/my work' add -A && git -C '/my work' commit -m \"Base\"",
    });
    expect(worktreeProblem("/repo/a", { topLevel: "/repo", baseCommit: null })).toEqual({
      code: "no-base-commit",
      detail:
        'needs its own worktree, but `/repo` has no commit to start from; run: git -C /repo add -A && git -C /repo commit --allow-empty -m "Base"',
    });
    expect(worktreeProblem("/repo", { topLevel: "/repo", baseCommit: "1" })).toBeNull();
  });
});
