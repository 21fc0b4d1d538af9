import { describe, expect, it } from "vitest";
import { candidatesOf, needsName, type RouteJob, type RouteWorld } from "../../src/plan/candidates.ts";
import type { PolicyEntry } from "../../src/plan/capability.ts";
import { internalRecord, mockRecord, program, record, routeJobOf, world } from "./plan-support.ts";

const entry = (over: Partial<PolicyEntry>): PolicyEntry => ({ runtime: "alpha", ...over }) as PolicyEntry;
const layer = (...entries: PolicyEntry[]): RouteWorld["policy"] => [
  { source: "home", file: "p", confirmed: true, entries },
];

/** `model/effort` of each candidate, in order. */
function offered(
  one: ReturnType<typeof record>,
  job: Partial<RouteJob> = {},
  change: Partial<RouteWorld> = {},
): string[] {
  const all = world([one], change);
  return candidatesOf(one, routeJobOf(job), all).map(({ model, effort }) => `${model}/${effort}`);
}
const alpha = record({ id: "alpha" });
const listing = record({ id: "alpha", models: ["big-2", "big-1", "small"], modelAliases: ["big"] });

describe("the models of a runtime that are worth considering", () => {
  it("are its own choice, and what the operator's policy names among what it lists", () => {
    expect(offered(listing)).toEqual(["null/null"]);
    expect(offered(listing, {}, { policy: layer(entry({ model: "big*" })) })).toEqual([
      "null/null",
      "big/null",
      "big-1/null",
      "big-2/null",
    ]);
    const twice = layer(
      entry({ model: "small" }),
      entry({ model: "s*" }),
      entry({ runtime: "other", model: "big" }),
    );
    expect(offered(listing, {}, { policy: twice })).toEqual(["null/null", "small/null"]);
  });

  it("are no guess: a pattern names nothing where nobody lists models, and a bare star nothing anywhere", () => {
    const policy = layer(
      entry({ model: "big*" }),
      entry({ model: "exact" }),
      entry({ model: "*" }),
      entry({}),
    );
    expect(offered(alpha, {}, { policy })).toEqual(["null/null", "exact/null"]);
    expect(offered(listing, {}, { policy: layer(entry({ model: "*" }), entry({ model: "**" })) })).toEqual([
      "null/null",
    ]);
    expect(offered(listing, {}, { policy: layer(entry({ model: "*small" })) })).toEqual([
      "null/null",
      "small/null",
    ]);
  });

  it("are the pinned one alone, and none of a program, a harness or a runtime that is not live", () => {
    const policy = layer(entry({ model: "small" }));
    expect(offered(listing, { model: "big" }, { policy })).toEqual(["big/null"]);
    const shell = { ...program({ id: "alpha" }), effortLevels: alpha.effortLevels };
    expect(offered(shell, { model: "big", effort: "high" }, { policy })).toEqual(["null/null"]);
    expect(offered({ ...internalRecord(), id: "alpha", models: ["small"] }, {}, { policy })).toEqual([
      "null/null",
    ]);
    expect(offered({ ...listing, state: "unavailable" }, {}, { policy })).toEqual(["null/null"]);
  });

  it("of the script player differ for jobs and for the arbiter", () => {
    expect(offered(mockRecord())).toEqual(["mock-a/null"]);
    expect(offered(mockRecord(), { arbiter: true })).toEqual(["mock-b/null"]);
  });
});

describe("the effort of a candidate", () => {
  it("is the strongest that is offered for judgment, the named one, or none", () => {
    expect(offered({ ...alpha, effortLevels: ["high", "low"] }, { capabilityFloor: "C3" })).toEqual([
      "null/high",
    ]);
    expect(offered({ ...alpha, effortLevels: [] }, { capabilityFloor: "C3" })).toEqual(["null/null"]);
    expect(offered(alpha, { effort: "low" })).toEqual(["null/low"]);
    expect(offered(alpha)).toEqual(["null/null"]);
  });

  it("is raised to one that policy names only where the floor is not met without it", () => {
    const general = entry({ capability: "C1" });
    const policy = layer(
      entry({ effort: "high", capability: "C2" }),
      entry({ effort: "medium", capability: "C1" }),
      general,
    );
    expect(offered(alpha, { capabilityFloor: "C1" }, { policy })).toEqual(["null/null"]);
    expect(offered(alpha, { capabilityFloor: "C2" }, { policy })).toEqual(["null/high"]);
    const foreign = layer(general, entry({ runtime: "other", effort: "high", capability: "C2" }));
    expect(offered(alpha, { capabilityFloor: "C2" }, { policy: foreign })).toEqual(["null/null"]);
  });
});

it("only a spec that names them gets the script player, programs and classifiers", () => {
  const named = [
    alpha,
    internalRecord(),
    mockRecord(),
    program({ id: "sh" }),
    record({ id: "c", role: "classifier" }),
  ];
  expect(named.map((one) => needsName(one))).toEqual([false, false, true, true, true]);
});
