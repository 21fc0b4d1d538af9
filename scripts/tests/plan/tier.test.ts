import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CAPABILITY_TIERS,
  capabilityAtLeast,
  EFFECTS,
  RISK_TIERS,
  riskAtLeast,
  TASKS,
} from "../../src/core/tiers.ts";
import {
  deriveTier,
  hasWildcard,
  isWriter,
  literalPrefix,
  ownsWholeTree,
  raiseFloors,
  recordedTier,
  type TierAttributes,
} from "../../src/plan/tier.ts";
import { property } from "./plan-support.ts";

const scout: TierAttributes = {
  task: "scout",
  effect: "observe",
  effectSource: "task",
  destructive: false,
  importance: "normal",
  untrusted: false,
  ownedPaths: [],
  hasVerification: false,
  hasInvocation: false,
  hasShellTool: false,
  credentials: [],
};
const implement: TierAttributes = {
  ...scout,
  task: "implement",
  effect: "scoped-write",
  ownedPaths: ["src/a/**"],
};
const never = (): boolean => {
  throw new Error("nobody should ask how many files match");
};
const alone = { parallelWriter: false, broad: () => false };
const derive = (job: TierAttributes, place: Partial<Parameters<typeof deriveTier>[1]> = {}) =>
  deriveTier(job, { ...alone, ...place });

describe("risk", () => {
  it.each([
    ["scout", {}, "R0", ["task:scout→R0"]],
    ["architecture", { task: "architecture" }, "R0", ["task:architecture→R0"]],
    ["review", { task: "review" }, "R0", ["task:review→R0"]],
    ["audit", { task: "audit" }, "R0", ["task:audit→R0"]],
    ["security", { task: "security" }, "R0", ["task:security→R0"]],
    ["test as a design", { task: "test" }, "R0", ["task:test→R0"]],
    ["test with verification", { task: "test", hasVerification: true }, "R1", ["task:test→R1"]],
    ["test with an invocation", { task: "test", hasInvocation: true }, "R1", ["task:test→R1"]],
    ["test with a shell", { task: "test", hasShellTool: true }, "R1", ["task:test→R1"]],
    [
      "test with own paths",
      { task: "test", effect: "scoped-write", ownedPaths: ["tests/**"] },
      "R1",
      ["task:test→R1"],
    ],
    ["docs as a report", { task: "docs" }, "R0", ["task:docs→R0"]],
    [
      "docs with own paths",
      { task: "docs", effect: "scoped-write", ownedPaths: ["docs/**"] },
      "R1",
      ["task:docs→R1"],
    ],
    [
      "mechanical",
      { task: "mechanical", effect: "scoped-write", ownedPaths: ["src/**"] },
      "R1",
      ["task:mechanical→R1"],
    ],
    [
      "review with fixes",
      { task: "review", effect: "scoped-write", effectSource: "declared", ownedPaths: ["src/**"] },
      "R1",
      ["task:review→R0", "effect:scoped-write→R1"],
    ],
    ["untrusted input", { untrusted: true }, "R2", ["task:scout→R0", "untrusted→R2"]],
    [
      "no task and no effect",
      { task: null, effectSource: "none", ownedPaths: ["src/**"] },
      "R2",
      ["no-task-or-effect→R2"],
    ],
    ["an effect without a task", { task: null, effectSource: "declared" }, "R0", ["effect:observe→R0"]],
    [
      "a credential",
      { credentials: ["DEPLOY_TOKEN"] },
      "R3",
      ["task:scout→R0", "credential:DEPLOY_TOKEN→R3"],
    ],
  ] as [string, Partial<TierAttributes>, string, string[]][])("of %s", (_what, change, tier, derivation) => {
    const derived = derive({ ...scout, ...change });
    expect(derived.riskTier).toBe(tier);
    expect(derived.tierDerivation).toEqual(derivation);
  });

  it.each([
    ["plain", {}, "R1", ["task:implement→R1"]],
    ["important", { importance: "high" }, "R2", ["task:implement→R1", "high-importance→R2"]],
    [
      "high-impact",
      { effect: "high-impact-write", effectSource: "declared" },
      "R2",
      ["task:implement→R1", "effect:high-impact-write→R2"],
    ],
    [
      "destructive",
      { effect: "external-destructive", effectSource: "destructive", destructive: true },
      "R3",
      ["task:implement→R1", "destructive→R3"],
    ],
    ["without own paths", { ownedPaths: [] }, "R2", ["task:implement→R1", "no-owned-paths→R2"]],
    [
      "over the whole tree",
      { ownedPaths: ["src/**", "**"] },
      "R2",
      ["task:implement→R1", "owns-whole-tree→R2"],
    ],
  ] as [string, Partial<TierAttributes>, string, string[]][])(
    "of %s implementing",
    (_what, change, tier, derivation) => {
      const derived = derive({ ...implement, ...change });
      expect(derived.riskTier).toBe(tier);
      expect(derived.tierDerivation).toEqual(derivation);
    },
  );

  it("of a parallel writer is R2, and a reader is never one", () => {
    expect(derive(implement, { parallelWriter: true }).tierDerivation).toEqual([
      "task:implement→R1",
      "parallel-writer→R2",
    ]);
    expect(derive(scout, { parallelWriter: true }).riskTier).toBe("R0");
  });

  it("of broad ownership is R2, and counting is asked only while it can matter", () => {
    expect(derive(implement, { broad: () => true }).tierDerivation).toEqual([
      "task:implement→R1",
      "broad-ownership→R2",
    ]);
    expect(derive({ ...implement, untrusted: true }, { broad: never }).riskTier).toBe("R2");
    expect(derive(scout, { broad: never }).riskTier).toBe("R0");
  });

  it("counts an effect that is more than its task, whoever gave it", () => {
    expect(derive({ ...implement, effect: "high-impact-write" }).tierDerivation).toEqual([
      "task:implement→R1",
      "effect:high-impact-write→R2",
    ]);
    expect(derive({ ...scout, task: null }).tierDerivation).toEqual(["no-task-or-effect→R2"]);
  });

  it("takes only implementing for important enough to be R2", () => {
    expect(derive({ ...scout, importance: "high" }).riskTier).toBe("R0");
  });

  it("judges ownership of work that says that it writes, not of work that runs checks", () => {
    expect(derive({ ...scout, task: "test", hasVerification: true }).riskTier).toBe("R1");
    expect(
      derive({ ...implement, effect: "observe", effectSource: "declared", ownedPaths: [] }).riskTier,
    ).toBe("R1");
  });
});

describe("capability", () => {
  it("has a floor for each task", () => {
    const floors = Object.fromEntries(
      TASKS.map((task) => [task, derive({ ...scout, task }).capabilityFloor]),
    );
    expect(floors).toEqual({
      scout: "C1",
      docs: "C1",
      mechanical: "C1",
      implement: "C2",
      test: "C2",
      architecture: "C3",
      review: "C3",
      audit: "C3",
      security: "C3",
    });
  });

  it("is C3 for important implementing, and only for that", () => {
    expect(derive({ ...implement, importance: "high" })).toMatchObject({
      capabilityFloor: "C3",
      capabilityDerivation: ["task:implement→C2", "high-importance→C3"],
    });
    expect(derive({ ...scout, importance: "high" }).capabilityFloor).toBe("C1");
  });

  it("is C2 without a task", () => {
    expect(derive({ ...scout, task: null, effectSource: "declared" })).toMatchObject({
      capabilityFloor: "C2",
      capabilityDerivation: ["no-task→C2"],
    });
  });
});

describe("writers", () => {
  it("are all that change files, whose task does, or that say nothing", () => {
    expect(isWriter(scout)).toBe(false);
    expect(isWriter({ ...scout, untrusted: true })).toBe(false);
    expect(isWriter({ ...scout, effect: "scoped-write" })).toBe(true);
    expect(isWriter({ ...scout, task: "mechanical" })).toBe(true);
    expect(isWriter({ ...scout, task: "test", hasVerification: true })).toBe(true);
    expect(isWriter({ ...scout, task: null, effectSource: "none" })).toBe(true);
  });
});

const anyAttributes: fc.Arbitrary<TierAttributes> = fc.record({
  task: fc.constantFrom(null, ...TASKS),
  effect: fc.constantFrom(...EFFECTS),
  effectSource: fc.constantFrom("declared", "task"),
  destructive: fc.boolean(),
  importance: fc.constantFrom("normal", "high"),
  untrusted: fc.boolean(),
  ownedPaths: fc.subarray(["src/**", "**", "docs/a.md"]),
  hasVerification: fc.boolean(),
  hasInvocation: fc.boolean(),
  hasShellTool: fc.boolean(),
  credentials: fc.subarray(["A_TOKEN"]),
}) as fc.Arbitrary<TierAttributes>;

describe("derivation", () => {
  it("never lowers a tier when a risk is added", () => {
    const raises: ((job: TierAttributes) => TierAttributes)[] = [
      (job) => ({ ...job, destructive: true }),
      (job) => ({ ...job, importance: "high" }),
      (job) => ({ ...job, untrusted: true }),
      (job) => ({ ...job, hasVerification: true }),
      (job) => ({ ...job, hasInvocation: true }),
      (job) => ({ ...job, hasShellTool: true }),
      (job) => ({ ...job, credentials: [...job.credentials, "B_TOKEN"] }),
      (job) => ({ ...job, ownedPaths: [...job.ownedPaths, "**"] }),
      (job) => ({
        ...job,
        effectSource: "declared",
        effect: EFFECTS[Math.min(EFFECTS.indexOf(job.effect) + 1, 3)] as TierAttributes["effect"],
      }),
    ];
    fc.assert(
      fc.property(
        anyAttributes,
        fc.constantFrom(...raises),
        fc.boolean(),
        fc.boolean(),
        (job, raise, parallelWriter, broad) => {
          const place = { parallelWriter, broad: () => broad };
          const [before, after] = [deriveTier(job, place), deriveTier(raise(job), place)];
          // Owning paths for the first time is no added risk: it replaces owning everything.
          if (job.ownedPaths.length === 0 && raise(job).ownedPaths.length > 0) return;
          expect(riskAtLeast(after.riskTier, before.riskTier)).toBe(true);
          expect(capabilityAtLeast(after.capabilityFloor, before.capabilityFloor)).toBe(true);
        },
      ),
      property(500),
    );
  });

  it("records a reason for the tier it arrives at, and none above it", () => {
    fc.assert(
      fc.property(anyAttributes, (job) => {
        const { riskTier, tierDerivation } = derive(job);
        const tiers = tierDerivation.map((reason) => reason.slice(-2));
        expect(tierDerivation.length).toBeGreaterThan(0);
        expect(tiers).toContain(riskTier);
        expect(tiers.every((tier) => riskAtLeast(riskTier, tier as "R0"))).toBe(true);
      }),
      property(300),
    );
  });
});

describe("recorded tiers", () => {
  it("count as written, and as R2 when they cannot be read, never below what is declared", () => {
    expect(recordedTier("R0", "R3")).toBe("R0");
    expect(recordedTier(undefined, "R0")).toBe("R2");
    expect(recordedTier("R9", "R1")).toBe("R2");
    expect(recordedTier(null, "R3")).toBe("R3");
  });
});

describe("proposed targets", () => {
  it("raise by their distance and are discarded when they are lower", () => {
    expect(raiseFloors({ riskTier: "R1", capabilityFloor: "C2" }, { risk: "R3", capability: "C1" })).toEqual({
      riskTier: "R3",
      riskFloorDelta: 2,
      capabilityFloor: "C2",
      capabilityFloorDelta: 0,
      discarded: 1,
    });
    expect(raiseFloors({ riskTier: "R1", capabilityFloor: "C2" }, { risk: null, capability: "C3" })).toEqual({
      riskTier: "R1",
      riskFloorDelta: 0,
      capabilityFloor: "C3",
      capabilityFloorDelta: 1,
      discarded: 0,
    });
  });

  it("never lower a floor", () => {
    const risk = fc.constantFrom(...RISK_TIERS);
    const capability = fc.constantFrom(...CAPABILITY_TIERS);
    fc.assert(
      fc.property(risk, capability, fc.option(risk), fc.option(capability), (r, c, tr, tc) => {
        const raised = raiseFloors({ riskTier: r, capabilityFloor: c }, { risk: tr, capability: tc });
        expect(riskAtLeast(raised.riskTier, r)).toBe(true);
        expect(capabilityAtLeast(raised.capabilityFloor, c)).toBe(true);
      }),
      property(200),
    );
  });
});

describe("globs", () => {
  it.each([
    ["src/a.ts", "src/a.ts", false],
    ["src/**", "src/", true],
    ["src/a*.ts", "src/a", true],
    ["{a,b}/x", "", true],
    ["@scope/x/**", "@scope/x/", true],
    ["@scope/x", "@scope/x", false],
    ["a@(b|c)/x", "a", true],
    ["a+b", "a+b", false],
    ["a/[bc]", "a/", true],
    ["a?", "a", true],
  ])("%s starts with %j", (glob, prefix, wild) => {
    expect(literalPrefix(glob)).toBe(prefix);
    expect(hasWildcard(glob)).toBe(wild);
  });

  it.each([
    ["**", true],
    ["*", true],
    ["*.md", true],
    ["./**", true],
    [".", true],
    ["./", true],
    ["{a,b}/**", true],
    ["src/**", false],
    ["src", false],
    ["a*", false],
  ])("%s owns the whole tree: %s", (glob, whole) => {
    expect(ownsWholeTree(glob)).toBe(whole);
  });
});
