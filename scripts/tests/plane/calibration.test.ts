import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AuditedAttempt,
  type CalibrationRecord,
  calibrationState,
  isComparable,
  measure,
  SIGNALS,
  sameClassifier,
  signalsClear,
} from "../../src/plane/calibration.ts";

const classifier = { id: "c", version: "1", promptSchema: "p" };
const NOW = Date.parse("2026-01-10T00:00:00.000Z");
const DAY = 86_400_000;

const clear: NonNullable<AuditedAttempt["microArbiter"]> = {
  classifier,
  mode: "observing",
  status: "ok",
  artifactMatchesExpectedOutput: 0.9,
  claimsSupportedByEvidence: 0.9,
  materiallyUnresolved: 0.89,
  wellFormed: true,
  lowConfidence: false,
  decisionRef: "decisions.jsonl#0",
};

const arbitration = {
  arbiterId: "arbiter-1",
  verdict: "pass" as const,
  independence: "independent" as const,
  bundleSha256: "0".repeat(64),
  treeSha256: null,
};

const audited = (change: Partial<AuditedAttempt> = {}): AuditedAttempt => ({
  runtime: "sh",
  status: "success",
  settlement: "settled",
  riskTier: "R1",
  riskFloorDelta: 0,
  c3Verdict: "pass",
  arbitration,
  acceptedWithoutC3: false,
  microArbiter: clear,
  ...change,
});

describe("signals clear", () => {
  it("each in its direction, at the threshold exactly", () => {
    expect(signalsClear(clear, 0.9)).toBe(true);
    for (const change of [
      { artifactMatchesExpectedOutput: 0.8999 },
      { claimsSupportedByEvidence: 0.8999 },
      { materiallyUnresolved: 0.9 },
      { artifactMatchesExpectedOutput: null },
      { claimsSupportedByEvidence: null },
      { materiallyUnresolved: null },
      { artifactMatchesExpectedOutput: 1.1 },
      { claimsSupportedByEvidence: 1.1 },
      { materiallyUnresolved: -0.1 },
      { wellFormed: false },
      { wellFormed: null },
      { lowConfidence: true },
      { lowConfidence: null },
      { status: "malformed" as const },
      { status: "timeout" as const },
    ])
      expect({ change, clear: signalsClear({ ...clear, ...change }, 0.9) }).toEqual({ change, clear: false });
    expect(signalsClear({ ...clear, artifactMatchesExpectedOutput: 1, materiallyUnresolved: 0 }, 0.9)).toBe(
      true,
    );
  });
});

describe("a comparable attempt", () => {
  it("was audited by an independent C3 at R0 or R1, was not raised, and was not played by a script", () => {
    for (const change of [
      {},
      { riskTier: "R0" as const },
      { c3Verdict: "fail" as const },
      { arbitration: { ...arbitration, independence: "not-independent-substituted" as const } },
    ])
      expect({ change, is: isComparable(audited(change)) }).toEqual({ change, is: true });
    for (const change of [
      { runtime: "mock" },
      { status: "failed" as const },
      { settlement: "unsettled" as const },
      { riskTier: "R2" as const },
      { riskTier: "R3" as const },
      { riskFloorDelta: 1 },
      { acceptedWithoutC3: true },
      { c3Verdict: "blocked" as const },
      { c3Verdict: null },
      { arbitration: null },
      { arbitration: { ...arbitration, independence: "not-independent" as const } },
    ])
      expect({ change, is: isComparable(audited(change)) }).toEqual({ change, is: false });
  });
});

describe("measuring", () => {
  const of = (attempts: readonly AuditedAttempt[]): CalibrationRecord =>
    measure({ classifier, attempts, minimum: 30, now: NOW });

  it("counts attempts whose signals all cleared, and the share that C3 passed", () => {
    const record = of([
      audited(),
      audited({ c3Verdict: "fail" }),
      audited(),
      audited(),
      audited({ microArbiter: { ...clear, materiallyUnresolved: 0.95 }, c3Verdict: "fail" }),
      audited({ microArbiter: null }),
      audited({ riskTier: "R2" }),
    ]);
    expect(record).toEqual({
      classifier,
      threshold: 0.9,
      signals: [...SIGNALS],
      units: "probability in [0,1]",
      sampleCount: 4,
      minimum: 30,
      agreement: 0.75,
      measuredAt: "2026-01-10T00:00:00.000Z",
      expiresAt: "2026-02-09T00:00:00.000Z",
    });
  });

  it("never pools classifiers, versions or wordings", () => {
    for (const other of [{ id: "d" }, { version: "2" }, { promptSchema: "q" }]) {
      const foreign = { ...clear, classifier: { ...classifier, ...other } };
      expect(of([audited({ microArbiter: foreign }), audited()]).sampleCount).toBe(1);
      expect(sameClassifier(foreign.classifier, classifier)).toBe(false);
    }
    expect(sameClassifier({ ...classifier }, classifier)).toBe(true);
  });

  it("says nothing without samples", () => {
    expect(of([])).toMatchObject({ sampleCount: 0, agreement: 0 });
  });
});

describe("a calibration record is valid", () => {
  const record: CalibrationRecord = {
    classifier,
    threshold: 0.9,
    signals: [...SIGNALS],
    units: "probability in [0,1]",
    sampleCount: 30,
    minimum: 30,
    agreement: 0.95,
    measuredAt: "2026-01-10T00:00:00.000Z",
    expiresAt: "2026-02-09T00:00:00.000Z",
  };
  const state = (
    change: Partial<CalibrationRecord> | null = {},
    o: Partial<Parameters<typeof calibrationState>[0]> = {},
  ) =>
    calibrationState({
      record: change === null ? null : { ...record, ...change },
      classifier,
      specMinimum: 30,
      ownRecord: true,
      now: NOW + DAY,
      ...o,
    });

  it("only with every clause", () => {
    expect(state()).toEqual({ status: "valid", clause: null });
    expect(state(null)).toEqual({ status: "missing", clause: "no-record" });
    const cases: [string, ReturnType<typeof state>][] = [
      ["not-written-by-calibrate", state({}, { ownRecord: false })],
      ["other-classifier", state({ classifier: { ...classifier, id: "d" } })],
      ["other-classifier", state({ classifier: { ...classifier, version: "2" } })],
      ["other-classifier", state({ classifier: { ...classifier, promptSchema: "q" } })],
      ["minimum-not-set", state({}, { specMinimum: null })],
      ["minimum-not-set", state({}, { specMinimum: 29 })],
      ["too-few-samples", state({ sampleCount: 29 })],
      ["too-few-samples", state({ sampleCount: 0, minimum: 0 })],
      ["too-few-samples", state({ sampleCount: 39 }, { specMinimum: 40 })],
      ["too-few-samples", state({ sampleCount: 39, minimum: 40 })],
      ["agreement-too-low", state({ agreement: 0.9499 })],
      ["agreement-too-low", state({ agreement: Number.NaN })],
      ["agreement-too-low", state({ agreement: 1.01 })],
      ["threshold-too-low", state({ threshold: 0.8999 })],
      ["threshold-too-low", state({ threshold: 1.01 })],
      ...SIGNALS.map((signal): [string, ReturnType<typeof state>] => [
        "signals-missing",
        state({ signals: SIGNALS.filter((one) => one !== signal) }),
      ]),
      ["units-missing", state({ units: "" })],
    ];
    for (const [clause, found] of cases) expect(found).toEqual({ status: "invalid", clause });
    expect(
      state({ sampleCount: 40, minimum: 40, agreement: 1, threshold: 1 }, { specMinimum: 40 }).status,
    ).toBe("valid");
  });

  it("from its measurement until it expires, and never longer than policy allows", () => {
    const expired = { status: "expired", clause: "expired" };
    expect(state({}, { now: NOW }).status).toBe("valid");
    expect(state({}, { now: NOW - 1 })).toEqual(expired);
    expect(state({}, { now: NOW + 30 * DAY - 1 }).status).toBe("valid");
    expect(state({}, { now: NOW + 30 * DAY })).toEqual(expired);
    const forged = { expiresAt: "2099-01-01T00:00:00.000Z" };
    expect(state(forged, { now: NOW + 30 * DAY })).toEqual(expired);
    expect(state({ expiresAt: "2026-01-11T00:00:00.000Z" }, { now: NOW + DAY })).toEqual(expired);
    expect(state({ expiresAt: "soon" })).toEqual(expired);
    expect(state({ measuredAt: "then" })).toEqual(expired);
  });

  it("once, and only once, thirty audited outcomes agree", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), (passed, failed) => {
        const attempts = [
          ...Array.from({ length: passed }, () => audited()),
          ...Array.from({ length: failed }, () => audited({ c3Verdict: "fail" })),
        ];
        const measured = measure({ classifier, attempts, minimum: 30, now: NOW });
        const valid =
          calibrationState({ record: measured, classifier, specMinimum: 30, ownRecord: true, now: NOW })
            .status === "valid";
        expect(valid).toBe(passed + failed >= 30 && passed / (passed + failed) >= 0.95);
      }),
      { numRuns: 300 },
    );
  });
});
