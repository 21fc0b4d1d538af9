import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RISK_TIERS, riskAtLeast } from "../../src/core/tiers.ts";
import {
  CONCERNS,
  CONTROL_ORDERS,
  checkControls,
  controlLevel,
  controlStrength,
  effectiveControls,
  isolationRaise,
  minimumControls,
  provenReadOnly,
  weakerConcerns,
} from "../../src/plan/controls.ts";
import { anyRecord, declaredAgent, internalRecord, program, property, record } from "./plan-support.ts";

const writer = { riskTier: "R1", writer: true, worktree: false, tools: ["read", "edit"] } as const;

describe("the orders of controls", () => {
  it("are these, strong to weak", () => {
    expect(CONTROL_ORDERS).toEqual({
      approval: ["per-operation", "scoped", "auto", "none"],
      toolGating: ["granular", "coarse", "none"],
      writeBoundary: ["enforced", "worktree", "prompt-only", "none"],
      isolation: ["container", "os-sandbox", "worktree", "prompt-only", "none"],
      timeout: ["native+external", "external", "accounting"],
      bypass: ["absent", "present"],
      capture: ["structured", "text"],
    });
  });

  it("puts every value above the next weaker one, however well that is proven", () => {
    for (const concern of CONCERNS) {
      const order = CONTROL_ORDERS[concern];
      order.slice(1).forEach((weaker, i) => {
        const stronger = order[i] as string;
        expect(
          controlLevel(concern, { value: stronger, evidence: "attested" }),
          `${concern}: ${stronger} over ${weaker}`,
        ).toBeGreaterThan(controlLevel(concern, { value: weaker, evidence: "verified" }));
      });
    }
  });

  it("puts verified above attested of the same value", () => {
    expect(controlLevel("isolation", { value: "worktree", evidence: "verified" })).toBe(
      controlLevel("isolation", { value: "worktree", evidence: "attested" }) + 1,
    );
  });

  it("puts unverified below everything, whether the value or its evidence says so", () => {
    expect(controlLevel("isolation", { value: "unverified", evidence: "attested" })).toBe(0);
    expect(controlLevel("isolation", { value: "container", evidence: "unverified" })).toBe(0);
    expect(controlLevel("isolation", { value: "none", evidence: "attested" })).toBeGreaterThan(0);
  });
});

describe("the minimum of a tier", () => {
  it("grows with the tier", () => {
    expect(Object.fromEntries(minimumControls("R0"))).toEqual({
      timeout: "accounting",
      capture: "text",
      toolGating: "coarse",
    });
    expect(Object.fromEntries(minimumControls("R3"))).toEqual({
      timeout: "external",
      capture: "text",
      toolGating: "coarse",
      bypass: "absent",
      writeBoundary: "worktree",
      isolation: "worktree",
      approval: "scoped",
    });
  });

  it("never asks less of a higher tier", () => {
    for (const [at, tier] of RISK_TIERS.entries())
      for (const lower of RISK_TIERS.slice(0, at))
        for (const [concern, value] of minimumControls(lower)) {
          const higher = minimumControls(tier).get(concern) as string;
          const order = CONTROL_ORDERS[concern];
          expect(order.indexOf(higher), `${concern} at ${tier}`).toBeLessThanOrEqual(order.indexOf(value));
        }
  });
});

describe("checking a candidate against a tier", () => {
  const unmet = (...args: Parameters<typeof checkControls>): string[] =>
    checkControls(...args)
      .filter((check) => !check.met)
      .map((check) => check.concern);

  it("accepts attested evidence at R0 and R1 and asks for verified at R2 and R3", () => {
    const agent = declaredAgent({ id: "agent" });
    expect(unmet(agent, { ...writer, riskTier: "R0" })).toEqual([]);
    expect(unmet(agent, { ...writer, riskTier: "R1" })).toEqual([]);
    expect(unmet(agent, { ...writer, riskTier: "R2", worktree: true })).toEqual([
      "toolGating",
      "bypass",
      "capture",
    ]);
  });

  it("counts our own worktree as verified isolation and write boundary", () => {
    const agent = record({ id: "agent" });
    expect(unmet(agent, { ...writer, riskTier: "R2" })).toEqual(["writeBoundary", "isolation"]);
    expect(unmet(agent, { ...writer, riskTier: "R2", worktree: true })).toEqual([]);
  });

  it("keeps a sandbox that is stronger than our worktree", () => {
    const boxed = record({ id: "boxed", isolation: { value: "os-sandbox", evidence: "verified" } });
    expect(effectiveControls(boxed, { riskTier: "R2", worktree: true }).isolation).toEqual({
      value: "os-sandbox",
      evidence: "verified",
      by: "candidate",
    });
  });

  it("shows the control that meets the demand, and the strongest where none does", () => {
    const claimed = record({ id: "x", writeBoundary: { value: "enforced", evidence: "attested" } });
    const boundary = (worktree: boolean) =>
      checkControls(claimed, { ...writer, riskTier: "R2", worktree }).find(
        (c) => c.concern === "writeBoundary",
      );
    expect(boundary(true)).toEqual({
      concern: "writeBoundary",
      needs: "worktree",
      evidenceNeeded: "verified",
      has: "worktree",
      evidence: "verified",
      by: "worktree",
      met: true,
    });
    expect(boundary(false)).toMatchObject({
      has: "enforced",
      evidence: "attested",
      by: "candidate",
      met: false,
    });
  });

  it("takes an unverified value for unverified, whatever evidence stands beside it", () => {
    const odd = record({ id: "x", toolGating: { value: "unverified", evidence: "attested" } });
    expect(checkControls(odd, { ...writer, riskTier: "R0" })[0]).toMatchObject({
      concern: "toolGating",
      evidence: "unverified",
      met: false,
    });
  });

  it("says what a program owes to its argv", () => {
    const checks = checkControls(program({ id: "shell" }), { ...writer, riskTier: "R3", worktree: true });
    expect(checks.filter(({ by }) => by === "argv").map(({ concern }) => concern)).toEqual([
      "approval",
      "toolGating",
      "bypass",
    ]);
  });

  it("asks R3 for scoped approval", () => {
    const auto = record({ id: "auto", approval: { value: "auto", evidence: "verified" } });
    expect(unmet(auto, { ...writer, riskTier: "R2", worktree: true })).toEqual([]);
    expect(unmet(auto, { ...writer, riskTier: "R3", worktree: true })).toEqual(["approval"]);
  });

  it("takes a program's declared argv as verified gating, approval and absence of a bypass", () => {
    const shell = program({
      id: "shell",
      approval: { value: "none", evidence: "attested" },
      toolGating: { value: "none", evidence: "attested" },
      bypassAbsent: { value: false, evidence: "unverified" },
    });
    expect(unmet(shell, { ...writer, riskTier: "R3", worktree: true })).toEqual([]);
  });

  it("lets in-session work and programs prove the write boundary afterwards, below R2 only", () => {
    for (const one of [internalRecord(), program({ id: "shell" })]) {
      expect(unmet(one, { ...writer, riskTier: "R1" })).toEqual([]);
      const check = checkControls(one, { ...writer, riskTier: "R1" }).find(
        (c) => c.concern === "writeBoundary",
      );
      expect(check?.by).toBe("afterwards");
      expect(unmet(one, { ...writer, riskTier: "R2" })).toContain("writeBoundary");
    }
  });

  it("never lets prompt-only isolation carry R2 or R3", () => {
    fc.assert(
      fc.property(anyRecord("any"), fc.constantFrom("R2" as const, "R3" as const), (one, riskTier) => {
        const prompt = {
          ...one,
          isolation: { value: "prompt-only" as const, evidence: "verified" as const },
        };
        expect(unmet(prompt, { ...writer, riskTier })).toContain("isolation");
      }),
      property(100),
    );
  });

  it("never meets a higher tier where it fails a lower one", () => {
    fc.assert(
      fc.property(anyRecord("any"), fc.boolean(), (one, worktree) => {
        const fails = RISK_TIERS.map((riskTier) => unmet(one, { ...writer, riskTier, worktree }).length > 0);
        fails.slice(1).forEach((failsHigher, at) => {
          if (fails[at]) expect(failsHigher).toBe(true);
        });
      }),
      property(300),
    );
  });
});

describe("isolation that a candidate asks for", () => {
  it("is R2 for a writer whose boundary nobody verified", () => {
    const open = declaredAgent({
      id: "open",
      writeBoundary: { value: "unverified", evidence: "unverified" },
    });
    expect(isolationRaise(open, writer)).toBe("unverified");
    expect(isolationRaise(open, { ...writer, worktree: true })).toBeNull();
    expect(isolationRaise(open, { ...writer, writer: false })).toBeNull();
  });

  it("is a worktree for a writer that approves everything itself", () => {
    for (const value of ["auto", "none"] as const) {
      const auto = record({ id: "auto", approval: { value, evidence: "verified" } });
      expect(isolationRaise(auto, writer)).toBe("auto-approval");
      expect(isolationRaise(auto, { ...writer, worktree: true })).toBeNull();
      expect(isolationRaise(auto, { ...writer, writer: false })).toBeNull();
    }
  });

  it("is a worktree for a writer that nothing but words holds back", () => {
    for (const value of ["prompt-only", "none"] as const) {
      const loose = record({ id: "loose", writeBoundary: { value, evidence: "verified" } });
      expect(isolationRaise(loose, writer)).toBe("write-boundary");
      expect(isolationRaise(loose, { ...writer, worktree: true })).toBeNull();
      expect(isolationRaise(loose, { ...writer, writer: false })).toBeNull();
    }
  });

  it("is nothing where an enforced boundary fences it or changes are measured afterwards", () => {
    const fenced = record({
      id: "fenced",
      approval: { value: "auto", evidence: "verified" },
      writeBoundary: { value: "enforced", evidence: "verified" },
    });
    expect(isolationRaise(fenced, writer)).toBeNull();
    expect(isolationRaise(internalRecord(), writer)).toBeNull();
    expect(isolationRaise(program({ id: "shell" }), writer)).toBeNull();
    const asks = record({ id: "asks", writeBoundary: { value: "worktree", evidence: "attested" } });
    expect(isolationRaise(asks, writer)).toBeNull();
  });
});

describe("comparing two candidates", () => {
  const strength = (one: Parameters<typeof controlStrength>[0], worktree = false): number[] =>
    controlStrength(one, { ...writer, worktree });

  it("names every concern on which one is weaker, and makes no trade-offs", () => {
    const strong = record({ id: "strong" });
    const weak = record({
      id: "weak",
      isolation: { value: "container", evidence: "verified" },
      capture: { value: "text", evidence: "verified" },
      timeout: { value: "accounting", evidence: "verified" },
    });
    expect(weakerConcerns(strength(weak), strength(strong))).toEqual(["timeout", "capture"]);
    expect(weakerConcerns(strength(strong), strength(strong))).toEqual([]);
  });

  it("counts the job's worktree on both sides", () => {
    const sandboxed = record({ id: "a", isolation: { value: "worktree", evidence: "verified" } });
    const plain = record({ id: "b", isolation: { value: "none", evidence: "verified" } });
    expect(weakerConcerns(strength(plain), strength(sandboxed))).toEqual(["isolation"]);
    expect(weakerConcerns(strength(plain, true), strength(sandboxed, true))).toEqual([]);
  });

  it("takes an enforced sandbox that covers the tools for granular gating and scoped approval", () => {
    const granular = record({ id: "granular" });
    const boxed = record({
      id: "boxed",
      isolation: { value: "os-sandbox", evidence: "verified" },
      toolGating: { value: "coarse", evidence: "verified" },
      approval: { value: "none", evidence: "verified" },
    });
    const withTools = (tools: readonly string[]): readonly string[] =>
      weakerConcerns(
        controlStrength(boxed, { ...writer, tools }),
        controlStrength(granular, { ...writer, tools }),
      );
    expect(withTools(["read", "edit", "shell", "shell(npm test)"])).toEqual([]);
    expect(withTools(["read", "web"])).toEqual(["approval", "toolGating"]);
    expect(withTools(["mcp(x)"])).toEqual(["approval", "toolGating"]);
    expect(withTools(["overwrite"])).toEqual(["approval", "toolGating"]);
    expect(withTools(["reader"])).toEqual(["approval", "toolGating"]);
    expect(withTools(["myshell(x)"])).toEqual(["approval", "toolGating"]);
    const contained = { ...boxed, isolation: { value: "container", evidence: "verified" } as const };
    expect(weakerConcerns(strength(contained), strength(granular))).toEqual([]);
    for (const value of ["worktree", "prompt-only", "none"] as const) {
      const bare = { ...boxed, isolation: { value, evidence: "verified" } as const };
      expect(weakerConcerns(strength(bare), strength(granular))).toEqual(
        value === "none" ? ["approval", "toolGating", "isolation"] : ["approval", "toolGating"],
      );
    }
    const unproven = { ...boxed, isolation: { value: "os-sandbox", evidence: "unverified" } as const };
    expect(weakerConcerns(strength(unproven), strength(granular))).toEqual([
      "approval",
      "toolGating",
      "isolation",
    ]);
  });

  it("is a partial order: what is no weaker than two in turn is no weaker than the first", () => {
    fc.assert(
      fc.property(anyRecord("a"), anyRecord("b"), anyRecord("c"), fc.boolean(), (a, b, c, worktree) => {
        const [x, y, z] = [a, b, c].map((one) => strength(one, worktree)) as [number[], number[], number[]];
        if (weakerConcerns(y, x).length === 0 && weakerConcerns(z, y).length === 0)
          expect(weakerConcerns(z, x)).toEqual([]);
      }),
      property(300),
    );
  });

  it("has a level for each concern", () => {
    expect(strength(record({ id: "a" }))).toHaveLength(CONCERNS.length);
  });
});

describe("proof that a candidate can be held to reading", () => {
  it("is verified tool gating of any kind but none", () => {
    const gated = (value: "granular" | "coarse" | "none", evidence: "verified" | "attested"): boolean =>
      provenReadOnly(record({ id: "a", toolGating: { value, evidence } }));
    expect(gated("granular", "verified")).toBe(true);
    expect(gated("coarse", "verified")).toBe(true);
    expect(gated("none", "verified")).toBe(false);
    expect(gated("granular", "attested")).toBe(false);
  });
});

it("asks verified evidence exactly from R2 on", () => {
  for (const riskTier of RISK_TIERS)
    for (const check of checkControls(record({ id: "a" }), { ...writer, riskTier }))
      expect(check.evidenceNeeded).toBe(riskAtLeast(riskTier, "R2") ? "verified" : "attested");
});
