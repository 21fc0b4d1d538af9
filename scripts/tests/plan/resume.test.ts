import { describe, expect, it } from "vitest";
import type { Attempt, Job, PlanJob } from "../../src/core/runtime.ts";
import { decideAfterInterruption, decideReuse } from "../../src/plan/resume.ts";
import { attempt, jobState, planJob } from "./plan-support.ts";

const decide = (
  o: { job?: Partial<PlanJob>; state?: Partial<Job>; attempt?: Partial<Attempt>; processGone?: boolean } = {},
) =>
  decideAfterInterruption({
    job: planJob(o.job),
    jobState: jobState(o.state),
    attempt: attempt({ status: "running", phase: "working", ...o.attempt }),
    processGone: o.processGone ?? true,
  });
const queued: Partial<Attempt> = { status: "queued", phase: null, startedAt: null, pid: null };
const intent: Partial<Attempt> = { status: "running", phase: "starting", startedAt: null, pid: null };

describe("an attempt that was cut off", () => {
  it("of a job that changes nothing starts again by itself", () => {
    expect(decide()).toEqual({
      action: "resume",
      reason: "observer",
      detail: "it changes no files, so it may start again",
    });
    expect(decide({ job: { riskTier: "R2" } }).action).toBe("resume");
  });

  it("of a writer in its own worktree starts again from nothing", () => {
    expect(decide({ job: { writer: true, isolation: "worktree", riskTier: "R2" } })).toMatchObject({
      action: "resume",
      reason: "isolated-writer",
    });
  });

  it("of a writer in the shared checkout waits for its user", () => {
    expect(decide({ job: { writer: true, riskTier: "R1" } })).toEqual({
      action: "block",
      reason: "interrupted-writer",
      detail:
        "it may have left half an edit in the shared checkout: look at it, then `resume --retry` this job",
    });
  });

  it("with external effects is never settled, isolated or not", () => {
    for (const job of [
      { riskTier: "R3" },
      { riskTier: "R3", writer: true, isolation: "worktree" },
      { effect: "external-destructive" },
    ] as Partial<PlanJob>[])
      expect(decide({ job })).toMatchObject({ action: "unsettled", reason: "external-effect" });
  });

  it("that had not started starts, whatever it would have done", () => {
    for (const job of [{ riskTier: "R3" }, { writer: true, riskTier: "R1" }] as Partial<PlanJob>[])
      expect(decide({ job, attempt: queued })).toEqual({
        action: "resume",
        reason: "never-started",
        detail: "it had not started",
      });
  });

  it("counts as started once its intent is on record, as its process may have been", () => {
    expect(decide({ job: { writer: true }, attempt: intent }).reason).toBe("interrupted-writer");
    expect(decide({ job: { riskTier: "R3" }, attempt: intent }).reason).toBe("external-effect");
    expect(decide({ job: { writer: true }, attempt: { ...queued, pid: 7 } }).reason).toBe(
      "interrupted-writer",
    );
    expect(
      decide({ job: { writer: true }, attempt: { ...queued, startedAt: "2026-01-01T00:00:00.000Z" } }).reason,
    ).toBe("interrupted-writer");
  });

  it("holds its place while its process cannot be proven gone", () => {
    expect(decide({ processGone: false, attempt: queued })).toMatchObject({
      action: "unsettled",
      reason: "process-not-gone",
    });
  });

  it("starts again three times at most", () => {
    expect(decide({ state: { resumes: 2 } }).action).toBe("resume");
    expect(decide({ state: { resumes: 3 } })).toEqual({
      action: "block",
      reason: "resume-limit",
      detail: "it was interrupted and started again 3 times, which is the limit",
    });
  });
});

describe("finished work", () => {
  const done = {
    baseCommit: "a".repeat(40),
    inputFingerprint: "1".repeat(64),
    artifacts: [{ path: "out.md", sha256: "2".repeat(64), bytes: 3 }],
  };
  const same = { ...done, artifacts: { "out.md": "2".repeat(64) } };

  it("counts on while base, inputs and outputs are the same", () => {
    expect(decideReuse({ attempt: done, now: same })).toEqual({ reuse: true, reasons: [] });
  });

  it("is told everything that changed", () => {
    expect(
      decideReuse({
        attempt: done,
        now: { baseCommit: null, inputFingerprint: null, artifacts: { "out.md": "3".repeat(64) } },
      }),
    ).toEqual({
      reuse: false,
      reasons: ["base commit was aaaaaaaaaaaa and is none", "its inputs changed", "`out.md` changed"],
    });
    expect(decideReuse({ attempt: done, now: { ...same, artifacts: {} } }).reasons).toEqual([
      "`out.md` is gone",
    ]);
  });
});
