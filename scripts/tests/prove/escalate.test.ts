import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ESCALATION_MATRIX,
  type EscalationFacts,
  escalationFacts,
  escalationReasons,
  type MicroSignals,
} from "../../src/prove/escalate.ts";
import { attemptOf, planJob } from "./sample-run.ts";

/** The one kind of attempt that may be accepted without a C3 call. */
const clear: EscalationFacts = {
  task: "scout",
  importance: "normal",
  effect: "observe",
  destructive: false,
  credentialed: false,
  writer: false,
  parallelWriter: false,
  untrusted: false,
  riskTier: "R0",
  riskFloorDelta: 0,
  settled: true,
  layerOnePassed: true,
  contradictions: false,
  openQuestions: false,
  checkEdited: false,
  reviewFinding: false,
  verdictOnOtherWork: false,
  setsApproval: false,
  emitsDispatch: false,
  mutatesOutside: false,
  fixture: "passed",
  calibration: "valid",
  threshold: 0.9,
  signals: {
    artifactMatchesExpectedOutput: 0.97,
    claimsSupportedByEvidence: 0.9,
    materiallyUnresolved: 0.1,
    wellFormed: true,
    lowConfidence: false,
  },
};
const signals = (over: Partial<MicroSignals>): Partial<EscalationFacts> => ({
  signals: { ...(clear.signals as MicroSignals), ...over },
});

/** For each clause the smallest change of the clear facts that makes it speak, and what else then speaks of necessity. */
const TRIGGERS: Readonly<
  Record<string, { readonly change: Partial<EscalationFacts>; readonly also?: readonly string[] }>
> = {
  "security-work": { change: { task: "security" } },
  "audit-work": { change: { task: "audit" } },
  "review-work": { change: { task: "review" } },
  "verdict-on-other-work": { change: { verdictOnOtherWork: true } },
  "architecture-work": { change: { task: "architecture" } },
  "high-importance-implementation": {
    change: { task: "implement", importance: "high" },
    also: ["importance-not-normal"],
  },
  "external-effect": { change: { effect: "external-destructive" } },
  "destructive-work": { change: { destructive: true } },
  "credentialed-work": { change: { credentialed: true } },
  "parallel-write": { change: { parallelWriter: true } },
  "untrusted-write": { change: { untrusted: true, writer: true } },
  "risk-floor-raised": { change: { riskFloorDelta: 1 } },
  "tier-r2": { change: { riskTier: "R2" } },
  "tier-r3": { change: { riskTier: "R3" } },
  contradiction: { change: { contradictions: true } },
  "open-question": { change: { openQuestions: true } },
  "check-edited": { change: { checkEdited: true } },
  "review-finding": { change: { reviewFinding: true } },
  "fixture-not-run": { change: { fixture: "not-run" } },
  "no-calibration": { change: { calibration: "missing" } },
  "invalid-calibration": { change: { calibration: "invalid" } },
  "expired-calibration": { change: { calibration: "expired" } },
  "malformed-signals": {
    change: signals({ claimsSupportedByEvidence: Number.NaN }),
    also: ["claims-signal"],
  },
  "low-confidence": { change: signals({ lowConfidence: true }) },
  "importance-not-normal": { change: { importance: "high" } },
  "not-settled": { change: { settled: false } },
  "layer-one-failed": { change: { layerOnePassed: false } },
  "fixture-failed": { change: { fixture: "failed" } },
  "no-signals": { change: { signals: null } },
  "not-well-formed": { change: signals({ wellFormed: false }) },
  "artifact-signal": { change: signals({ artifactMatchesExpectedOutput: 0.899 }) },
  "claims-signal": { change: signals({ claimsSupportedByEvidence: 0.899 }) },
  "unresolved-signal": { change: signals({ materiallyUnresolved: 0.9 }) },
  "sets-approval": { change: { setsApproval: true } },
  "emits-dispatch": { change: { emitsDispatch: true } },
  "mutates-outside": { change: { mutatesOutside: true } },
};
const ids = ESCALATION_MATRIX.map((clause) => clause.id);
const inOrder = (found: Iterable<string>): string[] => {
  const set = new Set(found);
  return ids.filter((id) => set.has(id));
};
const merge = (a: Partial<EscalationFacts>, b: Partial<EscalationFacts>): EscalationFacts => {
  const both = { ...clear, ...a, ...b };
  if (a.signals && b.signals) {
    const changed = Object.entries(a.signals).filter(
      ([key, value]) => !Object.is(value, clear.signals?.[key as keyof MicroSignals]),
    );
    return { ...both, signals: { ...b.signals, ...Object.fromEntries(changed) } as MicroSignals };
  }
  return both;
};

describe("the escalation matrix", () => {
  it("has unique ids and a trigger in this test for every clause", () => {
    expect(new Set(ids).size).toBe(ids.length);
    expect(inOrder(Object.keys(TRIGGERS))).toEqual(ids);
    expect(Object.keys(TRIGGERS)).toHaveLength(ids.length);
  });

  it("permits acceptance without C3 where every clause is satisfied", () => {
    expect(escalationReasons(clear)).toEqual([]);
    expect(
      escalationReasons({ ...clear, riskTier: "R1", task: "docs", effect: "scoped-write", writer: true }),
    ).toEqual([]);
  });

  it.each(ids)("escalates for %s alone", (id) => {
    const trigger = TRIGGERS[id];
    expect(escalationReasons({ ...clear, ...trigger?.change })).toEqual(
      inOrder([id, ...(trigger?.also ?? [])]),
    );
  });

  it("escalates for both of any two that can hold together", () => {
    let pairs = 0;
    for (const a of ids)
      for (const b of ids) {
        const first = TRIGGERS[a]?.change ?? {};
        const second = TRIGGERS[b]?.change ?? {};
        const clash = Object.keys(first).some((key) => key in second && key !== "signals");
        const nullSignals = first.signals === null || second.signals === null;
        const sameSignal =
          a !== b &&
          first.signals &&
          second.signals &&
          /claims|malformed/.test(a) &&
          /claims|malformed/.test(b);
        if (
          a === b ||
          clash ||
          sameSignal ||
          (nullSignals && first.signals !== undefined && second.signals !== undefined)
        )
          continue;
        pairs += 1;
        const reasons = escalationReasons(merge(first, second));
        expect(reasons, `${a} with ${b}`).toEqual(expect.arrayContaining([a, b]));
      }
    expect(pairs).toBeGreaterThan(900);
  });

  it("takes a signal of the wrong type as malformed, whatever the plane says beside it", () => {
    const malformed = (over: Partial<MicroSignals>) => escalationReasons({ ...clear, ...signals(over) });
    expect(malformed({ wellFormed: "true" })).toEqual(["malformed-signals", "not-well-formed"]);
    expect(malformed({ lowConfidence: 0 })).toEqual(["malformed-signals", "low-confidence"]);
    expect(malformed({ artifactMatchesExpectedOutput: "0.99" })).toEqual([
      "malformed-signals",
      "artifact-signal",
    ]);
    expect(malformed({ materiallyUnresolved: -0.1 })).toEqual(["malformed-signals", "unresolved-signal"]);
    expect(malformed({ materiallyUnresolved: 0, claimsSupportedByEvidence: 1 })).toEqual([]);
  });

  it("forces an implementation to C3 for its importance only where that is high", () => {
    expect(escalationReasons({ ...clear, task: "implement" })).toEqual([]);
    expect(escalationReasons({ ...clear, task: "docs", importance: "high" })).toEqual([
      "importance-not-normal",
    ]);
  });

  it("reads a tier that is missing or unreadable as R2", () => {
    for (const riskTier of [null, "", "r0", "R4", "R0 "])
      expect(escalationReasons({ ...clear, riskTier })).toEqual(["tier-r2"]);
  });

  it("reads a raised or unreadable risk delta as a raise", () => {
    for (const riskFloorDelta of [1, 2, -1, Number.NaN])
      expect(escalationReasons({ ...clear, riskFloorDelta })).toEqual(["risk-floor-raised"]);
  });

  it("lets no threshold below the policy's clear a signal", () => {
    for (const threshold of [0, 0.5, 0.899, null, Number.NaN, 1.1])
      expect(
        escalationReasons({
          ...clear,
          threshold,
          ...signals({
            artifactMatchesExpectedOutput: 1,
            claimsSupportedByEvidence: 1,
            materiallyUnresolved: 0,
          }),
        }),
      ).toEqual(["artifact-signal", "claims-signal", "unresolved-signal"]);
  });

  it("reads each signal in its direction, at its very edge", () => {
    expect(
      escalationReasons({
        ...clear,
        threshold: 0.95,
        ...signals({ claimsSupportedByEvidence: 0.95, materiallyUnresolved: 0.949 }),
      }),
    ).toEqual([]);
    expect(
      escalationReasons({
        ...clear,
        threshold: 0.95,
        ...signals({ claimsSupportedByEvidence: 0.949, materiallyUnresolved: 0.95 }),
      }),
    ).toEqual(["claims-signal", "unresolved-signal"]);
  });

  const anySignal = fc.oneof(
    fc.double(),
    fc.constantFrom<unknown>(
      0,
      1,
      0.9,
      -0,
      "1",
      "0.99",
      true,
      null,
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      [1],
      { valueOf: 1 },
    ),
  );
  const anySignals = fc.option(
    fc.record<MicroSignals>({
      artifactMatchesExpectedOutput: anySignal,
      claimsSupportedByEvidence: anySignal,
      materiallyUnresolved: anySignal,
      wellFormed: anySignal,
      lowConfidence: anySignal,
    }),
    { nil: null },
  );
  const anyFacts = fc
    .subarray(ids, { maxLength: 3 })
    .map(
      (chosen) =>
        Object.assign({}, clear, ...chosen.map((id) => TRIGGERS[id]?.change ?? {})) as EscalationFacts,
    );

  it("is never widened by a signal: what deterministic facts escalate, no answer of the plane brings back", () => {
    fc.assert(
      fc.property(anyFacts, anySignals, fc.double(), (facts, answer, threshold) => {
        const best = escalationReasons({
          ...facts,
          signals: clear.signals,
          calibration: "valid",
          threshold: 0.9,
        });
        const other = escalationReasons({ ...facts, signals: answer, threshold });
        expect(other).toEqual(expect.arrayContaining(best));
        expect(escalationReasons({ ...facts, signals: null })).toContain("no-signals");
      }),
      { seed: 20_260_301, numRuns: 2_000 },
    );
  });

  it("accepts only three real probabilities that clear", () => {
    fc.assert(
      fc.property(anySignals, (answer) => {
        if (escalationReasons({ ...clear, signals: answer }).length > 0) return;
        expect(answer).not.toBeNull();
        expect(answer?.artifactMatchesExpectedOutput).toBeGreaterThanOrEqual(0.9);
        expect(answer?.claimsSupportedByEvidence).toBeGreaterThanOrEqual(0.9);
        expect(answer?.materiallyUnresolved).toBeLessThan(0.9);
        expect([answer?.wellFormed, answer?.lowConfidence]).toEqual([true, false]);
      }),
      { seed: 20_260_301, numRuns: 2_000 },
    );
  });
});

describe("the facts of an attempt", () => {
  const reasons = (
    job: Parameters<typeof planJob>[1],
    attempt: Parameters<typeof attemptOf>[0] = {},
  ): string[] => escalationReasons(escalationFacts(planJob("a", job), attemptOf(attempt)));

  it("without a plane always lead to C3, and say so", () => {
    expect(reasons({})).toEqual(["no-calibration", "no-signals"]);
  });

  it("are read from job and record", () => {
    const plane = ["no-calibration", "no-signals"];
    expect(reasons({ task: "review" })).toEqual(["review-work", "verdict-on-other-work", ...plane]);
    expect(reasons({ untrusted: true, writer: true }, { riskTier: "R2" })).toEqual([
      "untrusted-write",
      "tier-r2",
      ...plane,
    ]);
    expect(reasons({ isolationOrigin: "policy:parallel" })).toEqual(["parallel-write", ...plane]);
    expect(reasons({}, { flags: ["check-edited", "trailing-question", "suspect"] })).toEqual([
      "contradiction",
      "open-question",
      "check-edited",
      ...plane,
    ]);
    expect(reasons({}, { question: "Shall I?" })).toEqual(["open-question", ...plane]);
    expect(reasons({}, { injectionFixture: "not-run" })).toEqual(["fixture-not-run", ...plane]);
    const check = (id: string, ok: boolean) => ({
      ...{ id, ok, detail: "", code: null, exitCode: null, wallMs: null },
    });
    const inside = ["no-calibration", "layer-one-failed", "no-signals"];
    expect(reasons({}, { checks: [check("owned-paths", false)] })).toEqual([...inside, "mutates-outside"]);
    expect(reasons({}, { checks: [check("final-text", false), check("owned-paths", true)] })).toEqual(inside);
    expect(reasons({}, { checks: [check("final-text", true)] })).toEqual(plane);
    expect(reasons({}, { settlement: "unsettled" })).toEqual(["no-calibration", "not-settled", "no-signals"]);
    expect(reasons({}, { status: "failed" })).toEqual(inside);
  });

  it("name work that is a verdict on other work by its task", () => {
    for (const task of ["review", "audit", "security"] as const)
      expect(reasons({ task })).toEqual(expect.arrayContaining([`${task}-work`, "verdict-on-other-work"]));
    expect(reasons({ task: "architecture" })).not.toContain("verdict-on-other-work");
  });

  it("read what raised the tier from the plan and from the attempt, by the beginning of a step", () => {
    const raised = (job: readonly string[], attempt: readonly string[]): string[] =>
      reasons({ tierDerivation: [...job] }, { tierDerivation: [...attempt] }).filter(
        (reason) => !reason.startsWith("no-"),
      );
    expect(raised(["default R0", "credential: R2"], [])).toEqual(["credentialed-work"]);
    expect(raised([], ["default R0", "parallel writer: R1"])).toEqual(["parallel-write"]);
    expect(raised(["not parallel", "no credential"], [])).toEqual([]);
  });

  it("hold what other jobs have to do with the work: a review that found fault, one that says the opposite", () => {
    const others = { findings: new Map([["a", ["review-1"]]]), disagreeing: new Set(["b"]) };
    const facts = ["a", "b", "c"].map((id) => escalationFacts(planJob(id), attemptOf({}), others));
    expect(facts.map((one) => [one.reviewFinding, one.contradictions])).toEqual([
      [true, false],
      [false, true],
      [false, false],
    ]);
    const alone = escalationFacts(planJob("a"), attemptOf({}));
    expect([alone.reviewFinding, alone.contradictions]).toEqual([false, false]);
  });
});
