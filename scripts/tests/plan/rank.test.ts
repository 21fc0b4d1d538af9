import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { candidatesOf, type Outcome, type RouteJob, type RouteWorld } from "../../src/plan/candidates.ts";
import type { PolicyEntry } from "../../src/plan/capability.ts";
import { independenceOf, RANK_RULES, rank } from "../../src/plan/rank.ts";
import {
  anyInventory,
  anyRouteJob,
  declaredAgent,
  internalRecord,
  property,
  record,
  routeJobOf,
  world,
} from "./plan-support.ts";

/** Ids in their order, and what decided between the first two. */
function ranked(
  records: readonly RuntimeRecord[],
  job: Partial<RouteJob> = {},
  change: Partial<RouteWorld> = {},
): { ids: string[]; by: string } {
  const all = world(records, change);
  const asked = routeJobOf(job);
  const { order, decidedBy } = rank(
    records.flatMap((one) => candidatesOf(one, asked, all)),
    asked,
    all,
  );
  const [first, second] = order;
  return {
    ids: order.map(({ candidate }) => [candidate.record.id, candidate.model].filter(Boolean).join(" ")),
    by: first === undefined || second === undefined ? "" : decidedBy(first, second),
  };
}

const home = (...entries: PolicyEntry[]): Partial<RouteWorld> => ({
  policy: [{ source: "home", file: "policy.yaml", confirmed: true, entries }],
});
const outcomes = (table: Record<string, Partial<Outcome>>): Partial<RouteWorld> => ({
  outcomes: ({ record: { id } }) => {
    const found = table[id];
    return found === undefined ? null : { quality: null, cost: null, durationSeconds: null, ...found };
  },
});
const [a, b] = [record({ id: "a" }), record({ id: "b" })];

describe("rules, each alone", () => {
  it("prefer in-session work when asked to, for jobs that name nothing", () => {
    const both = [a, internalRecord()];
    const job = { capabilityFloor: "C3" } as const;
    expect(ranked(both, job, { preferInternal: true })).toEqual({
      ids: ["internal", "a"],
      by: "internal-preference: in-session before CLI",
    });
    expect(ranked(both, job).ids).toEqual(["a", "internal"]);
    expect(
      ranked(both, { ...job, runtime: "<verified-judgment-runtime>" }, { preferInternal: true }).ids,
    ).toEqual(["a", "internal"]);
  });

  it("prefer the lowest capability for work that needs none", () => {
    const modest = declaredAgent({ id: "z" });
    expect(ranked([a, modest], { capabilityFloor: "C2" })).toEqual({
      ids: ["z", "a"],
      by: "lowest-capability: C2 before C3",
    });
    expect(ranked([a, modest], { capabilityFloor: "C3" }).ids).toEqual(["a", "z"]);
  });

  it("prefer a family that did none of the work under review, then another runtime", () => {
    const job = { task: "review", capabilityFloor: "C3" } as const;
    const above = (families: (string | null)[], runtimes: string[]): Partial<RouteJob> => ({
      ...job,
      upstream: { families, runtimes },
    });
    expect(ranked([a, b], above(["a-vendor"], ["a"]))).toEqual({
      ids: ["b", "a"],
      by: "independent-family: independent before fresh session",
    });
    const same = record({ id: "c", family: "a-vendor" });
    expect(ranked([a, same], above(["a-vendor"], ["a"]))).toEqual({
      ids: ["c", "a"],
      by: "other-runtime: another runtime before the same runtime",
    });
    expect(ranked([a, b], { ...above(["a-vendor"], ["a"]), task: "architecture" }).ids).toEqual(["a", "b"]);
  });

  it("prefer verified controls from R2 on", () => {
    const claimed = record({ id: "a", approval: { value: "scoped", evidence: "attested" } });
    const job = { capabilityFloor: "C3", worktree: true } as const;
    expect(ranked([claimed, b], { ...job, riskTier: "R2" })).toEqual({
      ids: ["b", "a"],
      by: "verified-controls: 7 verified before 6 verified",
    });
    expect(ranked([claimed, b], { ...job, riskTier: "R1" }).by).not.toMatch(/^verified/);
  });

  it("prefer quality in steps of 0.05, and something known", () => {
    const quality = (x: number, y: number) =>
      ranked([a, b], {}, outcomes({ a: { quality: x }, b: { quality: y } }));
    expect(quality(0.8, 0.86)).toEqual({ ids: ["b", "a"], by: "quality: 0.85 before 0.80" });
    expect(quality(0.81, 0.84).by).toMatch(/^id/);
    expect(quality(0.3, 0.15).ids).toEqual(["a", "b"]);
    expect(ranked([a, b], {}, outcomes({ b: { quality: 0.1 } }))).toEqual({
      ids: ["b", "a"],
      by: "quality: 0.10 before unknown",
    });
  });

  it("prefer low cost, only within one dimension", () => {
    const cost = (x: [string, number], y: [string, number]) =>
      ranked(
        [a, b],
        {},
        outcomes({
          a: { cost: { dimension: x[0], usd: x[1] } },
          b: { cost: { dimension: y[0], usd: y[1] } },
        }),
      );
    expect(cost(["usd", 2], ["usd", 1])).toEqual({ ids: ["b", "a"], by: "cost: $1 before $2" });
    expect(cost(["usd", 2], ["quota", 1]).by).toMatch(/^id/);
  });

  it("prefer short durations", () => {
    expect(ranked([a, b], {}, outcomes({ a: { durationSeconds: 9 }, b: { durationSeconds: 8 } }))).toEqual({
      ids: ["b", "a"],
      by: "duration: 8 s before 9 s",
    });
  });

  it("prefer strong controls, then the id", () => {
    const weak = record({ id: "a", capture: { value: "text", evidence: "verified" } });
    expect(ranked([weak, b]).ids).toEqual(["b", "a"]);
    expect(ranked([weak, b]).by).toMatch(/^control-strength: \d+ before \d+$/);
    expect(ranked([b, a])).toEqual({ ids: ["a", "b"], by: "id: a before b" });
  });
});

describe("rules in pairs", () => {
  const order = RANK_RULES.map((rule) => rule.id);

  it("come in the order of the contract", () => {
    expect(order).toEqual([
      "internal-preference",
      "lowest-capability",
      "independent-family",
      "other-runtime",
      "verified-controls",
      "quality",
      "cost",
      "duration",
      "control-strength",
      "id",
    ]);
  });

  it("capability before quality", () => {
    const modest = declaredAgent({ id: "z" });
    const world = outcomes({ a: { quality: 0.9 }, z: { quality: 0.1 } });
    expect(ranked([a, modest], {}, world).ids).toEqual(["z", "a"]);
  });

  it("independence before quality", () => {
    const world = outcomes({ a: { quality: 0.9 }, b: { quality: 0.1 } });
    const job = {
      task: "review",
      capabilityFloor: "C3",
      upstream: { families: ["a-vendor"], runtimes: [] },
    } as const;
    expect(ranked([a, b], job, world).ids).toEqual(["b", "a"]);
  });

  it("verified controls before quality, quality before cost, cost before duration", () => {
    const claimed = record({ id: "a", approval: { value: "scoped", evidence: "attested" } });
    const better = outcomes({ a: { quality: 0.9 }, b: { quality: 0.1 } });
    expect(
      ranked([claimed, b], { riskTier: "R2", worktree: true, capabilityFloor: "C3" }, better).ids,
    ).toEqual(["b", "a"]);
    const usd = (value: number) => ({ dimension: "usd", usd: value });
    expect(
      ranked([a, b], {}, outcomes({ a: { quality: 0.9, cost: usd(9) }, b: { quality: 0.1, cost: usd(1) } }))
        .ids,
    ).toEqual(["a", "b"]);
    expect(
      ranked(
        [a, b],
        {},
        outcomes({ a: { cost: usd(9), durationSeconds: 1 }, b: { cost: usd(1), durationSeconds: 9 } }),
      ).ids,
    ).toEqual(["b", "a"]);
  });

  it("in-session preference before everything", () => {
    const modest = declaredAgent({ id: "z" });
    expect(ranked([modest, internalRecord()], {}, { preferInternal: true }).ids).toEqual(["internal", "z"]);
  });
});

describe("candidates of one runtime", () => {
  const open = declaredAgent({ id: "open", models: ["x/big", "x/small"], effortLevels: ["low", "high"] });

  it("are its own choice and the live models that the operator names", () => {
    expect(ranked([open]).ids).toEqual(["open"]);
    expect(ranked([open], {}, home({ runtime: "open", model: "x/*", capability: "C2" })).ids).toEqual([
      "open",
      "open x/big",
      "open x/small",
    ]);
    expect(ranked([open], {}, home({ runtime: "open", model: "y/*", capability: "C3" })).ids).toEqual([
      "open",
    ]);
    expect(ranked([open], {}, home({ runtime: "open", model: "*", capability: "C3" })).ids).toEqual(["open"]);
  });

  it("without a list of models are those that the operator names in full", () => {
    expect(ranked([a], {}, home({ runtime: "a", model: "opus", capability: "C3" })).ids).toEqual([
      "a",
      "a opus",
    ]);
    expect(ranked([a], {}, home({ runtime: "a", model: "opus*", capability: "C3" })).ids).toEqual(["a"]);
  });

  it("keep to a pinned model", () => {
    expect(ranked([open], { model: "x/big" }, home({ runtime: "open", model: "x/small" })).ids).toEqual([
      "open x/big",
    ]);
  });

  const effort = (job: Partial<RouteJob>, change: Partial<RouteWorld> = {}): string | null => {
    const [first] = candidatesOf(open, routeJobOf(job), world([open], change));
    return first?.effort ?? null;
  };

  it("think hardest for judgment, at the strongest effort that is offered and enough", () => {
    expect(effort({ capabilityFloor: "C3" })).toBe("high");
    expect(effort({ capabilityFloor: "C2" })).toBeNull();
    expect(
      effort({ capabilityFloor: "C3" }, home({ runtime: "open", effort: "low", capability: "C3" })),
    ).toBe("low");
    expect(
      effort(
        { capabilityFloor: "C3" },
        home(
          { runtime: "open", effort: "low", capability: "C3" },
          { runtime: "open", effort: "high", capability: "C3" },
        ),
      ),
    ).toBe("high");
    expect(
      candidatesOf(record({ id: "x", effortLevels: [] }), routeJobOf({ capabilityFloor: "C3" }), world([]))[0]
        ?.effort,
    ).toBeNull();
  });

  it("take an effort that policy names when only that is enough", () => {
    const low = home(
      { runtime: "open", capability: "C1" },
      { runtime: "open", effort: "high", capability: "C2" },
    );
    expect(
      effort(
        { capabilityFloor: "C2" },
        home({ runtime: "open", effort: "high", capability: "C2" }, { runtime: "open", capability: "C1" }),
      ),
    ).toBe("high");
    expect(effort({ capabilityFloor: "C1" }, low)).toBeNull();
  });

  it("keep to a pinned effort", () => {
    expect(effort({ effort: "low", capabilityFloor: "C3" })).toBe("low");
  });
});

describe("independence", () => {
  const of = (family: string | null, families: (string | null)[]): string => {
    const one = record({ id: "x", family });
    const job = routeJobOf({ task: "review", upstream: { families, runtimes: [] } });
    return independenceOf(candidatesOf(one, job, world([one]))[0] as never, job);
  };

  it("takes a known family that no dependency has, and no dependency whose family is unknown", () => {
    expect(of("x", ["y"])).toBe("independent");
    expect(of("x", ["x", "y"])).toBe("not-independent-substituted");
    expect(of(null, ["y"])).toBe("not-independent-substituted");
    expect(of("x", ["y", null])).toBe("not-independent-substituted");
    expect(of(null, [])).toBe("independent");
  });
});

it("is total and does not depend on the order of its input", () => {
  fc.assert(
    fc.property(anyInventory, anyRouteJob, fc.boolean(), (records, job, preferInternal) => {
      const all = world(records, { preferInternal });
      const candidates = records.flatMap((one) => candidatesOf(one, job, all));
      const forward = rank(candidates, job, all).order.map((one) => one.candidate);
      const backward = rank([...candidates].reverse(), job, all).order.map((one) => one.candidate);
      expect(backward).toEqual(forward);
    }),
    property(200),
  );
});
