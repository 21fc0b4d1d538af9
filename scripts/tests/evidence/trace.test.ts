import { randomUUID } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  openTrace,
  parseTraceLine,
  spanIdOf,
  type TraceKind,
  type TracePayloads,
  traceIdOf,
  traceRef,
  traceStatusOf,
} from "../../src/evidence/trace.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "trace-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const RUN = "orchestrate-20260301-100000";
const open = (over: Partial<Parameters<typeof openTrace>[0]> = {}) =>
  openTrace({ file: join(dir, "trace.jsonl"), runId: RUN, now: () => 1_772_359_200_000, ...over });
const read = () => readFileSync(join(dir, "trace.jsonl"), "utf8").trimEnd().split("\n");

const SAMPLES: { [K in TraceKind]: TracePayloads[K] } = {
  "run.start": { jobs: 2, stages: 1, writers: 0, mock: false, resumed: false, harness: "claude-code" },
  "run.end": {
    status: "accepted",
    accepted: 2,
    rejected: 0,
    failed: 0,
    blocked: 0,
    pending: 0,
    acceptedWithoutC3: 0,
  },
  probe: {
    runtime: "codex",
    state: "available",
    reason: null,
    version: "0.40.0",
    authenticated: true,
    reused: false,
  },
  fetch: { source: "leaderboard", outcome: "timeout", bytes: null, records: 0, wallMs: 30_000 },
  route: {
    chosen: "codex",
    model: null,
    effort: "high",
    capabilityFloor: "C2",
    riskTier: "R1",
    pinned: false,
    runtimeFrom: null,
    chain: [
      {
        runtime: "codex",
        model: null,
        effort: "high",
        capability: "C2",
        capabilitySource: "policy",
        family: "openai",
        familySource: "adapter-default",
        independence: null,
        weaker: [],
      },
    ],
    chainOmitted: 1,
    runnerUp: "claude",
    margin: "cost",
    blocked: null,
    rejected: [{ runtime: "gemini", codes: ["not-live"] }],
    rejectedOmitted: 0,
  },
  decide: {
    decision: "watchdog",
    candidate: null,
    reason: "disabled",
    inputRef: null,
    egressAuthority: null,
    riskTier: "R0",
    scores: {},
    applied: false,
    outcomeRef: null,
  },
  gate: {
    riskTier: "R1",
    outcome: "passed",
    required: ["capture"],
    met: [{ control: "capture", evidence: "verified" }],
    missing: [],
    scope: null,
  },
  dispatch: {
    runtime: "codex",
    model: null,
    effort: null,
    relation: "first",
    isolation: "worktree",
    native: false,
    baseCommit: "c0ffee",
    promptSha256: "a".repeat(64),
    droppedEnv: ["CLAUDECODE"],
  },
  promote: { from: "codex", to: "claude", trigger: "QUOTA", promotions: 1, budget: 2, passedOver: [] },
  observe: {
    events: 3,
    bytes: 400,
    unknown: 0,
    truncated: false,
    firstEventMs: 20,
    endedBy: "self",
    exitCode: 0,
    signal: null,
    leaky: false,
    survivors: 0,
    status: "success",
    failureClass: null,
  },
  check: { check: "verification:1", ok: true, code: null, exitCode: 0, wallMs: 3 },
  verdict: {
    arbiter: "arbiter-1",
    via: "native",
    verdict: "pass",
    independence: "not-independent-substituted",
    acceptance: "accepted",
    bundleSha256: "e".repeat(64),
    treeSha256: null,
    reasons: 1,
    escalation: ["no-calibration"],
  },
  fail_safe: {
    code: "promotions-exhausted",
    failureClass: "QUOTA",
    chain: ["codex", "claude"],
    passedOver: [{ runtime: "gemini", model: null, code: "already-failed" }],
    dispatches: 3,
    ceiling: 9,
  },
  report: { status: "accepted", bytes: 4_000, traceStatus: "complete", lost: 0 },
};
const kinds = Object.keys(SAMPLES) as TraceKind[];

describe("the trace", () => {
  it("records each kind under one correlation identity", () => {
    const trace = open();
    for (const kind of kinds) trace.record({ kind, payload: SAMPLES[kind], jobId: "a", attempt: 2 });
    trace.close();
    expect(trace.status()).toEqual({ status: "complete", records: kinds.length, lost: 0, reason: null });
    const lines = read().map((line) => parseTraceLine(line));
    expect(lines.map((line) => line?.kind)).toEqual(kinds);
    expect(lines[0]).toEqual({
      ts: "2026-03-01T10:00:00.000Z",
      seq: 1,
      traceId: traceIdOf(RUN),
      correlationId: `${RUN}/a/2`,
      spanId: spanIdOf(RUN, "1"),
      parentSpanId: spanIdOf(RUN),
      relation: "child",
      kind: "run.start",
      payload: SAMPLES["run.start"],
    });
  });

  it.each(kinds)("closes the payload of %s both ways", (kind) => {
    const payload: Record<string, unknown> = { ...SAMPLES[kind] };
    const extra = open();
    extra.record({ kind, payload: { ...payload, note: "x" } as never });
    extra.close();
    expect(extra.status()).toEqual({ status: "absent", records: 0, lost: 1, reason: "malformed" });
    for (const key of Object.keys(payload)) {
      const { [key]: _gone, ...rest } = payload;
      const missing = open();
      missing.record({ kind, payload: rest as never });
      missing.close();
      expect(missing.status(), `${kind} without ${key}`).toMatchObject({ lost: 1, reason: "malformed" });
    }
  });

  it.each([
    ["route", "chain"],
    ["route", "rejected"],
    ["gate", "met"],
    ["fail_safe", "passedOver"],
  ] as const)("closes the entries of %s.%s both ways", (kind, list) => {
    const payload = SAMPLES[kind] as unknown as Record<string, readonly Record<string, unknown>[]>;
    const [entry] = payload[list] as [Record<string, unknown>];
    const recorded = (changed: Record<string, unknown>): string => {
      const trace = open({ file: join(dir, `${randomUUID()}.jsonl`) });
      trace.record({ kind, payload: { ...payload, [list]: [changed] } as never });
      trace.close();
      return trace.status().status;
    };
    expect(recorded(entry)).toBe("complete");
    expect(recorded({ ...entry, note: "x" })).toBe("absent");
    for (const key of Object.keys(entry)) {
      const { [key]: _gone, ...rest } = entry;
      expect([key, recorded(rest)]).toEqual([key, "absent"]);
    }
  });

  it("refuses free text where a reference belongs", () => {
    const trace = open();
    trace.record({ kind: "check", payload: { ...SAMPLES.check, check: "the tests all passed, trust me" } });
    trace.record({ kind: "check", payload: { ...SAMPLES.check, check: traceRef("the tests, trust me") } });
    trace.close();
    expect(trace.status()).toEqual({ status: "partial", records: 1, lost: 1, reason: "malformed" });
    expect(parseTraceLine(read()[0] ?? "")?.payload).toMatchObject({ check: "the_tests,_trust_me" });
  });

  it("says that it is absent when nothing could be written", () => {
    const trace = open({ file: join(dir, "no-such-folder", "trace.jsonl") });
    trace.record({ kind: "check", payload: SAMPLES.check });
    expect(trace.status()).toEqual({ status: "absent", records: 0, lost: 1, reason: "write-failed" });
    trace.close();
  });

  it("stops at its bounds and counts what it lost", () => {
    const trace = open({ limits: { maxRecords: 2, maxBytes: 100_000, rotateAtBytes: null } });
    for (let i = 0; i < 5; i += 1) trace.record({ kind: "check", payload: SAMPLES.check });
    trace.close();
    expect(trace.status()).toEqual({ status: "partial", records: 2, lost: 3, reason: "bounds" });
  });

  it("continues its numbering after an orderly pause and stays complete", () => {
    const first = open();
    first.record({ kind: "check", payload: SAMPLES.check });
    first.record({ kind: "report", payload: SAMPLES.report });
    first.close();
    const second = open();
    second.record({ kind: "check", payload: SAMPLES.check });
    second.close();
    expect(second.status()).toEqual({ status: "complete", records: 3, lost: 0, reason: null });
    expect(read().map((line) => parseTraceLine(line)?.seq)).toEqual([1, 2, 3]);
  });

  it("is partial with an unknown loss after a coordinator died", () => {
    const first = open();
    first.record({ kind: "check", payload: SAMPLES.check });
    first.close();
    appendFileSync(join(dir, "trace.jsonl"), '{"ts":');
    const second = open();
    second.record({ kind: "check", payload: SAMPLES.check });
    second.close();
    expect(second.status()).toEqual({ status: "partial", records: 2, lost: null, reason: "interrupted" });
  });

  it("tells the status of a stored trace without touching it", () => {
    const file = join(dir, "trace.jsonl");
    expect(traceStatusOf(file)).toEqual({ status: "absent", records: 0, lost: 0, reason: null });
    const trace = open();
    trace.record({ kind: "check", payload: SAMPLES.check });
    trace.flush();
    expect(traceStatusOf(file, { open: true })).toEqual({
      status: "complete",
      records: 1,
      lost: 0,
      reason: null,
    });
    expect(traceStatusOf(file)).toEqual({ status: "partial", records: 1, lost: null, reason: "interrupted" });
    trace.record({ kind: "report", payload: { ...SAMPLES.report, traceStatus: "partial", lost: 3 } });
    trace.close();
    expect(traceStatusOf(file)).toEqual({ status: "partial", records: 2, lost: 3, reason: "recorded" });
    appendFileSync(file, '{"torn":');
    const before = readFileSync(file);
    expect(traceStatusOf(file, { open: true })).toMatchObject({ status: "partial", reason: "interrupted" });
    expect(readFileSync(file)).toEqual(before);
  });

  it("reads an edited or foreign line as no record", () => {
    const lines = ["", "null", "[]", "{}", '{"kind":"check"}', "not json", '{"__proto__":1}'];
    expect(lines.map((line) => parseTraceLine(line))).toEqual(lines.map(() => null));
  });
});
