import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RETRY_LIMITS } from "../../src/core/policy.ts";
import { FAILURE_RULES, type FailureClass } from "../../src/core/runtime.ts";
import { ARBITER_TRIES, afterArbiterFailure } from "../../src/plan/arbiter-retry.ts";

type Input = Parameters<typeof afterArbiterFailure>[0];
const next = (failureClass: FailureClass, over: Partial<Input> = {}) =>
  afterArbiterFailure({
    failureClass,
    tries: 1,
    resetInMs: null,
    quotaWaitMs: 0,
    modelPinned: false,
    ...over,
  });
const CLASSES = Object.keys(FAILURE_RULES) as FailureClass[];

describe("an arbiter whose call failed", () => {
  it("is asked once more after a pause, and then another one, for what passes by itself", () => {
    expect(ARBITER_TRIES).toBe(2);
    for (const failureClass of ["RATE_LIMIT", "QUOTA", "NETWORK", "RUNTIME_CRASH"] as const) {
      expect(next(failureClass)).toEqual({ action: "retry", afterMs: 2_000 });
      expect(next(failureClass, { tries: 2 })).toEqual({ action: "next" });
    }
  });

  it("makes way at once where asking again cannot help", () => {
    expect(next("MODEL_UNAVAILABLE")).toEqual({ action: "next" });
  });

  it("is not replaced by another model where the spec names one", () => {
    expect(next("MODEL_UNAVAILABLE", { modelPinned: true })).toEqual({ action: "blocked" });
    expect(next("QUOTA", { modelPinned: true })).toEqual({ action: "retry", afterMs: 2_000 });
  });

  it("gave no usable verdict when its answer was the fault: nobody else is asked in its place", () => {
    for (const failureClass of CLASSES.filter((one) => FAILURE_RULES[one].group !== "infrastructure"))
      expect(next(failureClass), failureClass).toEqual({ action: "blocked" });
  });

  it("is waited for as long as a quota takes, with a margin, up to what the run may wait", () => {
    const { quotaFloorMs, quotaMarginMs } = RETRY_LIMITS;
    expect(next("QUOTA", { resetInMs: 10_000 })).toEqual({
      action: "retry",
      afterMs: 10_000 + quotaMarginMs,
    });
    expect(next("QUOTA", { resetInMs: quotaFloorMs })).toMatchObject({ action: "retry" });
    expect(next("QUOTA", { resetInMs: quotaFloorMs + 1 })).toEqual({ action: "next" });
    const longer = { quotaWaitMs: quotaFloorMs + 60_000 };
    expect(next("QUOTA", { ...longer, resetInMs: quotaFloorMs + 60_000 })).toMatchObject({
      action: "retry",
    });
    expect(next("QUOTA", { ...longer, resetInMs: quotaFloorMs + 60_001 })).toEqual({ action: "next" });
    expect(next("QUOTA", { resetInMs: 0 })).toEqual({
      action: "retry",
      afterMs: Math.max(2_000, quotaMarginMs),
    });
  });

  it("is never asked for ever, nor sooner than a quota opens", () => {
    const input = fc.record<Input>({
      failureClass: fc.constantFrom(...CLASSES),
      tries: fc.integer({ min: 1, max: 5 }),
      resetInMs: fc.option(fc.integer({ min: 0, max: 10_000_000 }), { nil: null }),
      quotaWaitMs: fc.integer({ min: 0, max: 10_000_000 }),
      modelPinned: fc.boolean(),
    });
    fc.assert(
      fc.property(input, (given) => {
        const step = afterArbiterFailure(given);
        if (step.action !== "retry") return;
        expect(given.tries).toBeLessThan(ARBITER_TRIES);
        expect(step.afterMs).toBeGreaterThanOrEqual(given.resetInMs ?? 0);
      }),
      { seed: 20_260_301, numRuns: 300 },
    );
  });
});
