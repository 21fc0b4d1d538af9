import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import validateEvent from "../../src/core/generated/event.validate.js";
import { openEventsLog } from "../../src/evidence/events-log.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "events-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (over: Partial<Parameters<typeof openEventsLog>[0]> = {}) =>
  openEventsLog({
    file: join(dir, "events.jsonl"),
    runId: "run-1",
    now: () => 1_772_359_200_000,
    redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    ...over,
  });
const read = () =>
  readFileSync(join(dir, "events.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const event = {
  kind: "tool",
  spanId: "s1",
  trust: "untrusted",
  provenance: "claude:stdout",
  payload: { tool: "edit", ok: "unknown", summary: "edited a file" },
} as const;

describe("the event log", () => {
  it("writes whole envelopes that its schema accepts", () => {
    const log = open();
    expect(log.append({ ...event, jobId: "a", attempt: 1, runtime: "claude" })).toBe(1);
    expect(log.append({ ...event, kind: "unknown", payload: {} })).toBe(2);
    log.close();
    expect(read().map((line) => validateEvent(line))).toEqual([true, true]);
    expect(read()[0]).toMatchObject({
      seq: 1,
      runId: "run-1",
      jobId: "a",
      phase: null,
      payload: event.payload,
    });
    expect(log.status()).toEqual({ written: 2, dropped: 0, unknown: 1, truncated: 0, fault: null });
  });

  it("redacts keys and values of the payload at every depth", () => {
    const log = open();
    log.append({ ...event, payload: { hunter2: ["x hunter2", { deep: "hunter2" }] } });
    log.close();
    expect(readFileSync(join(dir, "events.jsonl"), "utf8")).not.toContain("hunter2");
  });

  it("cuts long text without splitting a character and marks the line", () => {
    const log = open();
    log.append({ ...event, payload: { text: `${"a".repeat(1_999)}😀tail` } });
    log.close();
    expect(read()[0].payload.text).toBe(`${"a".repeat(1_999)}…`);
    expect(read()[0].truncated).toBe(true);
  });

  it("replaces a payload that no line can hold by its size", () => {
    const log = open();
    log.append({ ...event, payload: { list: Array.from({ length: 100 }, () => "x".repeat(1_500)) } });
    log.close();
    expect(read()[0].payload).toEqual({ omittedBytes: 150_310 });
    expect(log.status().truncated).toBe(1);
  });

  it("survives a payload that nests without end", () => {
    const deep: Record<string, unknown> = {};
    let at = deep;
    for (let i = 0; i < 20_000; i += 1) {
      at["in"] = {};
      at = at["in"] as Record<string, unknown>;
    }
    const log = open();
    log.append({ ...event, payload: deep });
    log.close();
    expect(read()[0].truncated).toBe(true);
  });

  it("continues its numbering and counts what the bounds dropped", () => {
    const first = open();
    first.append(event);
    first.close();
    const second = open({ limits: { maxRecords: 2, maxBytes: 1_000_000, rotateAtBytes: null } });
    expect([second.append(event), second.append(event), second.append(event)]).toEqual([2, 3, 4]);
    second.close();
    expect(second.status()).toMatchObject({ written: 2, dropped: 2, fault: "bounds" });
  });
});
