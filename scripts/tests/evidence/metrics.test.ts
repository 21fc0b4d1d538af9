import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import validateMetrics from "../../src/core/generated/metrics.validate.js";
import { metricsOf, writeMetrics } from "../../src/evidence/metrics.ts";
import { attemptOf, graphOf, jobOf, planJob, sha, stateOf } from "../prove/sample-run.ts";

const usage = {
  inputTokens: 10,
  outputTokens: null,
  cachedTokens: null,
  actualMarginalCostUsd: null,
  apiEquivalentCostUsd: 0.5,
  quotaBurn: null,
  source: "claude:result",
};

describe("metrics", () => {
  const graph = graphOf([planJob("a"), planJob("b")]);
  const state = stateOf({
    a: jobOf([
      attemptOf({ status: "failed", failureClass: "QUOTA" }),
      attemptOf({ attempt: 2, relation: "retry", status: "failed", failureClass: "QUOTA" }),
      attemptOf({
        attempt: 3,
        relation: "promotion",
        usage,
        c3Verdict: "pass",
        acceptance: "accepted",
        arbitration: {
          arbiterId: "arbiter-1",
          verdict: "pass",
          independence: "independent",
          bundleSha256: sha("e"),
          treeSha256: null,
        },
      }),
    ]),
    b: jobOf([attemptOf({ runtime: "mock", startedAt: null, wallMs: null })]),
  });

  it("has one schema-valid record per attempt, in plan order", () => {
    const records = [...metricsOf({ graph, state })];
    expect(records.map((record) => [record.jobId, record.attempt])).toEqual([
      ["a", 1],
      ["a", 2],
      ["a", 3],
      ["b", 1],
    ]);
    expect(records.map((record) => validateMetrics(record))).toEqual([true, true, true, true]);
    expect(records.map((record) => [record.retries, record.promotions])).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ]);
  });

  it("keeps unknown apart from zero and the cost dimensions apart from each other", () => {
    const record = [...metricsOf({ graph, state })][2];
    expect(record).toMatchObject({
      inputTokens: 10,
      outputTokens: null,
      actualMarginalCostUsd: null,
      apiEquivalentCostUsd: 0.5,
      quotaBurn: null,
      queueMs: 1_000,
      startUpMs: null,
      runMs: 60_000,
      verifyMs: null,
      acceptancePath: "c3",
      independence: "independent",
    });
  });

  it("compares only settled work of the model that was asked for", () => {
    const comparable = (over: Parameters<typeof attemptOf>[0]): unknown =>
      [...metricsOf({ graph, state: stateOf({ a: jobOf([attemptOf(over)]), b: jobOf([]) }) })][0]?.comparable;
    expect(comparable({})).toBe(true);
    expect(comparable({ flags: ["zero-work"] })).toBe(true);
    expect(comparable({ flags: ["zero-work", "model-mismatch"] })).toBe(false);
    expect(comparable({ settlement: "unsettled" })).toBe(false);
  });

  it("marks mock work as not comparable and its unknown times as unknown", () => {
    expect([...metricsOf({ graph, state })][3]).toMatchObject({
      mock: true,
      comparable: false,
      queueMs: null,
      runMs: null,
      inputTokens: null,
    });
  });

  it("replaces the file instead of adding a second record of an attempt", () => {
    const dir = mkdtempSync(join(tmpdir(), "metrics-"));
    const file = join(dir, "metrics.jsonl");
    writeMetrics(file, metricsOf({ graph, state }));
    writeMetrics(file, metricsOf({ graph, state }));
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(4);
    rmSync(dir, { recursive: true, force: true });
  });
});
