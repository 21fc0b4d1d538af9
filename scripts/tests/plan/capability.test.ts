import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAPABILITY_TIERS, capabilityAtLeast } from "../../src/core/tiers.ts";
import {
  capabilityOf,
  type DeclaredClaim,
  matchesModel,
  type PolicyEntry,
  type PolicyLayer,
  policyLine,
  policyMatches,
  providerOf,
  rateRecord,
} from "../../src/plan/capability.ts";
import {
  anyRecord,
  declaredAgent,
  internalRecord,
  mockRecord,
  program,
  property,
  record,
} from "./plan-support.ts";

const home = (...entries: PolicyEntry[]): PolicyLayer => ({
  source: "home",
  file: "~/.orchestrate/policy.yaml",
  confirmed: true,
  entries,
});
const project = (...entries: PolicyEntry[]): PolicyLayer => ({
  source: "project",
  file: ".orchestrate/policy.yaml",
  confirmed: false,
  entries,
});
const plain = { model: null, effort: null } as const;

describe("without a word of the operator", () => {
  it("a vendor-bound CLI is C3 of its vendor's family", () => {
    expect(capabilityOf({ record: record({ id: "claude" }), ...plain }, [])).toEqual({
      capability: "C3",
      capabilitySource: "adapter-default",
      provider: "claude-vendor",
      family: "claude-vendor",
      familySource: "adapter-default",
      costDimension: null,
      ignored: [],
    });
  });

  it.each([
    ["behind a gateway", { gateway: true }],
    ["not logged in", { authenticated: false as const }],
    ["not live", { state: "unverified" as const }],
  ])("a vendor-bound CLI %s is C2 of unknown family", (_what, change) => {
    expect(capabilityOf({ record: record({ id: "claude", ...change }), ...plain }, [])).toMatchObject({
      capability: "C2",
      family: null,
      familySource: "unknown",
    });
  });

  it("a CLI whose login nobody can ask about still counts as its vendor's", () => {
    const one = record({ id: "gemini", authenticated: "unverified" });
    expect(capabilityOf({ record: one, ...plain }, []).capability).toBe("C3");
  });

  it("any other agent is C2, of the family of its model's provider", () => {
    const one = declaredAgent({ id: "opencode", provider: "stale" });
    expect(capabilityOf({ record: one, model: "anthropic/big", effort: null }, [])).toMatchObject({
      capability: "C2",
      provider: "anthropic",
      family: "anthropic",
      familySource: "adapter-default",
    });
  });

  it("a provider that passes requests on says nothing about the family", () => {
    const one = declaredAgent({ id: "opencode" });
    expect(capabilityOf({ record: one, model: "openrouter/anthropic/big", effort: null }, [])).toMatchObject({
      provider: "openrouter",
      family: null,
      familySource: "unknown",
    });
    const rerouted = declaredAgent({ id: "opencode", gateway: true });
    expect(capabilityOf({ record: rerouted, model: "anthropic/big", effort: null }, []).family).toBeNull();
  });

  it("in-session work is C3, of the family of a known harness", () => {
    expect(capabilityOf({ record: internalRecord(), ...plain }, [])).toMatchObject({
      capability: "C3",
      capabilitySource: "harness",
      family: "anthropic",
      familySource: "harness",
    });
    const unknown = internalRecord({ vendorBound: false });
    expect(capabilityOf({ record: unknown, ...plain }, []).family).toBeNull();
  });

  it("a program is C2 at most and has no family", () => {
    expect(capabilityOf({ record: program({ id: "shell" }), ...plain }, [])).toMatchObject({
      capability: "C2",
      family: null,
    });
  });

  it("the script player's models are its families", () => {
    expect(capabilityOf({ record: mockRecord(), ...plain }, []).family).toBe("mock-a");
    expect(capabilityOf({ record: mockRecord(), model: "mock-b", effort: null }, []).family).toBe("mock-b");
  });
});

describe("the operator's policy", () => {
  const open = declaredAgent({ id: "opencode", models: ["anthropic/big"] });

  it("of the home raises a tier and names a family", () => {
    const layers = [home({ runtime: "opencode", capability: "C3", family: "anthropic" })];
    expect(capabilityOf({ record: open, ...plain }, layers)).toMatchObject({
      capability: "C3",
      capabilitySource: "policy",
      family: "anthropic",
      familySource: "policy",
      ignored: [],
    });
  });

  it("of a project lowers a tier, whoever raised it", () => {
    const layers = [
      project({ runtime: "opencode", capability: "C1" }),
      home({ runtime: "opencode", capability: "C3" }),
    ];
    expect(capabilityOf({ record: open, ...plain }, layers)).toMatchObject({
      capability: "C1",
      capabilitySource: "policy",
    });
  });

  it("of a project neither raises a tier nor names a family, and says so", () => {
    const layers = [project({ runtime: "opencode", capability: "C3", family: "anthropic" })];
    expect(capabilityOf({ record: open, ...plain }, layers)).toMatchObject({
      capability: "C2",
      capabilitySource: "adapter-default",
      family: null,
      ignored: [
        "`.orchestrate/policy.yaml` claims C3: counts once the user confirmed the file",
        "`.orchestrate/policy.yaml` claims family `anthropic`: counts once the user confirmed the file",
      ],
    });
  });

  it("of a project that the user confirmed counts like the user's own, and before it", () => {
    const confirmed = {
      ...project({ runtime: "opencode", capability: "C3", family: "acme" }),
      confirmed: true,
    };
    const layers = [confirmed, home({ runtime: "opencode", capability: "C1", family: "home" })];
    expect(capabilityOf({ record: open, ...plain }, layers)).toMatchObject({
      capability: "C3",
      family: "acme",
    });
  });

  it("takes the first entry of a file that says something", () => {
    const layers = [
      home(
        { runtime: "opencode", family: "first" },
        { runtime: "opencode", capability: "C3", family: "second" },
        { runtime: "opencode", capability: "C1" },
      ),
    ];
    expect(capabilityOf({ record: open, ...plain }, layers)).toMatchObject({
      capability: "C3",
      family: "first",
    });
  });

  it("never makes a program able to judge, and gives it no family", () => {
    const layers = [home({ runtime: "shell", capability: "C3", family: "x" })];
    expect(capabilityOf({ record: program({ id: "shell" }), ...plain }, layers)).toMatchObject({
      capability: "C2",
      family: null,
    });
  });

  it("tells the dimension of costs", () => {
    const layers = [home({ runtime: "opencode", cost_dimension: "quotaBurn" })];
    expect(capabilityOf({ record: open, ...plain }, layers).costDimension).toBe("quotaBurn");
  });

  it("matches runtime, provider, model and effort, each when given", () => {
    const identity = { record: open, model: "anthropic/big", effort: "high", provider: "anthropic" } as const;
    expect(policyMatches({ runtime: "opencode" }, identity)).toBe(true);
    expect(policyMatches({ runtime: "other" }, identity)).toBe(false);
    expect(policyMatches({ runtime: "opencode", provider: "anthropic" }, identity)).toBe(true);
    expect(policyMatches({ runtime: "opencode", provider: "openai" }, identity)).toBe(false);
    expect(policyMatches({ runtime: "opencode", effort: "high" }, identity)).toBe(true);
    expect(policyMatches({ runtime: "opencode", effort: "low" }, identity)).toBe(false);
    expect(policyMatches({ runtime: "opencode", model: "*big" }, identity)).toBe(true);
    expect(policyMatches({ runtime: "opencode", model: "*small" }, identity)).toBe(false);
  });

  it("asks for a known model when an entry speaks of some models only", () => {
    const identity = { record: open, ...plain, provider: null };
    expect(policyMatches({ runtime: "opencode", model: "anthropic/*" }, identity)).toBe(false);
    expect(policyMatches({ runtime: "opencode", model: "*" }, identity)).toBe(true);
  });

  it("of project files never raises anything above what it is without them", () => {
    const entry: fc.Arbitrary<PolicyEntry> = fc
      .record(
        { capability: fc.constantFrom(...CAPABILITY_TIERS), family: fc.constantFrom("x", "y") },
        { requiredKeys: [] },
      )
      .map((said) => ({ runtime: "any", ...said }));
    fc.assert(
      fc.property(anyRecord("any"), fc.array(entry), fc.array(entry), (one, theirs, mine) => {
        const without = capabilityOf({ record: one, ...plain }, [home(...mine)]);
        const withThem = capabilityOf({ record: one, ...plain }, [home(...mine), project(...theirs)]);
        expect(capabilityAtLeast(without.capability, withThem.capability)).toBe(true);
        expect(withThem.family).toBe(without.family);
      }),
      property(300),
    );
  });
});

describe("what a declared runtime claims of itself", () => {
  const claim = (o: Partial<DeclaredClaim>): DeclaredClaim => ({
    id: "mine",
    source: "project",
    confirmed: false,
    capability: "C3",
    family: "acme",
    ...o,
  });
  const mine = declaredAgent({ id: "mine" });

  it("counts from the home or once confirmed", () => {
    for (const trusted of [claim({ source: "home" }), claim({ confirmed: true })])
      expect(capabilityOf({ record: mine, ...plain }, [], trusted)).toMatchObject({
        capability: "C3",
        capabilitySource: "adapter-default",
        family: "acme",
      });
  });

  it("from a project may only lower", () => {
    expect(capabilityOf({ record: mine, ...plain }, [], claim({}))).toMatchObject({
      capability: "C2",
      family: null,
      ignored: [
        "runtimes.yaml entry `mine` claims C3: counts once the user confirmed the file",
        "runtimes.yaml entry `mine` claims family `acme`: counts once the user confirmed the file",
      ],
    });
    expect(
      capabilityOf({ record: mine, ...plain }, [], claim({ capability: "C1", family: null })).capability,
    ).toBe("C1");
  });

  it("of a program lowers and never raises", () => {
    const shell = program({ id: "shell" });
    expect(capabilityOf({ record: shell, ...plain }, [], claim({ capability: "C1" })).capability).toBe("C1");
    expect(capabilityOf({ record: shell, ...plain }, [], claim({ source: "home" })).capability).toBe("C2");
  });
});

describe("the line that would lift a block", () => {
  it("is an entry for exactly this candidate", () => {
    const open = declaredAgent({ id: "opencode" });
    expect(policyLine({ record: open, ...plain }, "C3")).toBe("- {runtime: opencode, capability: C3}");
    expect(policyLine({ record: open, model: "anthropic/big: x", effort: null }, "C3")).toBe(
      '- {runtime: opencode, provider: anthropic, model: "anthropic/big: x", capability: C3}',
    );
  });

  it("lifts it when it is added to the home policy", () => {
    const open = declaredAgent({ id: "opencode" });
    const layers = [
      home({ runtime: "opencode", provider: "anthropic", model: "anthropic/big", capability: "C3" }),
    ];
    expect(capabilityOf({ record: open, model: "anthropic/big", effort: null }, layers).capability).toBe(
      "C3",
    );
  });
});

describe("model patterns", () => {
  it.each([
    ["a", "a", true],
    ["a", "b", false],
    ["abc", "*", true],
    ["", "*", true],
    ["abc", "a*", true],
    ["abc", "*c", true],
    ["abc", "a*c", true],
    ["ac", "a*c", true],
    ["ab", "a*c", false],
    ["x/abc", "*/a*", true],
    ["aa", "aa*aa", false],
    ["aaaa", "aa*aa", true],
    ["a.c", "a?c", false],
    ["abXbc", "ab*b*c", true],
    ["abc", "ab*b*c", false],
  ])("%j against %j is %s", (model, pattern, expected) => {
    expect(matchesModel(model, pattern)).toBe(expected);
  });

  it("agree with a regular expression made from the pattern", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), maxLength: 6 });
    fc.assert(
      fc.property(text, pattern, (model, glob) => {
        const expected = new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(model);
        expect(matchesModel(model, glob)).toBe(expected);
      }),
      property(500),
    );
  });
});

it("reads the provider from the model only for CLIs of several providers", () => {
  expect(providerOf({ record: record({ id: "claude" }), model: "x/y", effort: null })).toBe("claude-vendor");
  expect(providerOf({ record: declaredAgent({ id: "pi" }), model: "x/y", effort: null })).toBe("x");
  expect(providerOf({ record: declaredAgent({ id: "pi" }), model: "/y", effort: null })).toBeNull();
});

it("rates an inventory record the way routing does, and the rating changes nothing of it", () => {
  const layers = [home({ runtime: "claude", capability: "C2" })];
  const one = record({ id: "claude" });
  const rating = rateRecord(one, layers);
  expect(rating).toEqual({
    capability: "C2",
    capabilitySource: "policy",
    family: "claude-vendor",
    familySource: "adapter-default",
  });
  expect(rateRecord({ ...one, ...rating }, layers)).toEqual(rating);
});
