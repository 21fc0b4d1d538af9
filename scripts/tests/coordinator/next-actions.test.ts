import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  arbiterFiles,
  exitCodeFor,
  isActionDue,
  isAnythingDue,
  mayBeDue,
  type NextActions,
  nativeFiles,
  nextActions,
} from "../../src/coordinator/next-actions.ts";
import validateOutput from "../../src/core/generated/output.validate.js";
import type { Job, State } from "../../src/core/runtime.ts";
import {
  AT,
  arbiterOf,
  attemptOf,
  candidate,
  cpuMs,
  graphOf,
  jobOf,
  planJob,
  sha,
  stateOf,
} from "../prove/sample-run.ts";

const runDir = "/repo/plans/reports/my run";
const script = "/skill dir/scripts/orchestrate.mjs";
const internal = planJob("a", {
  agent: "researcher",
  route: { ...planJob("a").route, chain: [candidate({ runtime: "internal", kind: "internal" })] },
});
const native = (over: Parameters<typeof attemptOf>[0]) =>
  attemptOf({
    runtime: "internal",
    status: "queued",
    startedAt: null,
    endedAt: null,
    settlement: null,
    ...over,
  });
const next = (
  jobs: Readonly<Record<string, Job>>,
  over: Partial<State> = {},
  plans = [internal],
  coordinatorAlive = true,
): NextActions =>
  nextActions({ graph: graphOf(plans), state: stateOf(jobs, over), runDir, script, coordinatorAlive });
const ids = (found: NextActions): string[] => found.actions.map((action) => action.id);
const queued = jobOf([], { status: "queued" });
const running = jobOf([attemptOf({ status: "running" })], { status: "running" });

describe("work for the harness", () => {
  it("is dispatched with its brief, its folder and the place for its answer", () => {
    const job = jobOf([native({ modelRequested: "opus" })], { status: "queued", worktree: "/wt/a" });
    const plan = { ...internal, cwd: "/repo/packages/api" };
    expect(next({ a: job }, {}, [plan])).toEqual({
      actions: [
        {
          id: "dispatch_native:a:1",
          action: "dispatch_native",
          jobId: "a",
          attempt: 1,
          reason:
            "Start a subagent for `a` with the text of promptFile, run the command with its handle, and save its final message to resultFile.",
          argv: ["native", "start", runDir, "--job", "a", "--attempt", "1", "--handle", "<handle>"],
          shell:
            "node '/skill dir/scripts/orchestrate.mjs' native start '/repo/plans/reports/my run' --job a --attempt 1 --handle '<handle>'",
          promptFile: `${runDir}/a/prompt.md`,
          resultFile: `${runDir}/a/native-answer-1.md`,
          cwd: "/wt/a/packages/api",
          agent: "researcher",
          model: "opus",
          tools: ["read", "search"],
          deadline: "2026-03-02T10:00:00.000Z",
        },
      ],
      omitted: 0,
    });
  });

  it("is recorded once it runs, until timeout and grace are over", () => {
    const job = jobOf([native({ status: "running", phase: "working", startedAt: AT })], {
      status: "running",
    });
    const [action] = next({ a: job }).actions;
    expect(action).toMatchObject({
      id: "record_native:a:1",
      argv: [
        "native",
        "finish",
        runDir,
        "--job",
        "a",
        "--attempt",
        "1",
        "--result",
        nativeFiles(runDir, "a", 1).resultFile,
      ],
      deadline: "2026-03-01T10:20:00.000Z",
    });
    expect(action?.choices?.map((choice) => choice.argv)).toEqual([
      [
        "native",
        "fail",
        runDir,
        "--job",
        "a",
        "--attempt",
        "1",
        "--class",
        "<class>",
        "--message",
        "<what happened>",
      ],
    ]);
  });

  it("is stopped and confirmed when the run or the job is cancelled", () => {
    const stopping = jobOf([native({ status: "running", phase: "stopping", nativeHandle: "agent-7" })], {
      status: "running",
    });
    expect(next({ a: stopping }).actions[0]).toMatchObject({
      id: "cancel_native:a:1",
      reason: "Stop the subagent of `a` (agent-7), then confirm with the command.",
      argv: ["native", "cancelled", runDir, "--job", "a", "--attempt", "1"],
    });
    const job = jobOf([native({ status: "running", phase: "working" })], { status: "running" });
    expect(ids(next({ a: job }, { cancelRequested: true }))).toEqual(["cancel_native:a:1"]);
  });

  it("is not asked for while its answer is being verified", () => {
    const job = jobOf([native({ status: "running", phase: "verifying" })], { status: "running" });
    expect(ids(next({ a: job }))).toEqual(["wait"]);
  });

  it("lists at most ten actions and counts the rest", () => {
    const plans = Array.from({ length: 14 }, (_, i) => ({ ...internal, id: `j${i}` }));
    const found = next(Object.fromEntries(plans.map((plan) => [plan.id, jobOf([native({})])])), {}, plans);
    expect(found.actions).toHaveLength(10);
    expect(found.omitted).toBe(4);
  });
});

describe("blocks that an action lifts", () => {
  const blocked = (code: string, scope?: string): Job =>
    jobOf([], {
      status: "blocked",
      outcome: "blocked",
      block: { code, detail: "because.", ...(scope === undefined ? {} : { scope }) },
    });
  const waiting = { status: "waiting" as const };

  it("asks the user for an approval of exactly the recorded scope", () => {
    const [action] = next({ a: blocked("needs-approval", sha("5")) }, waiting).actions;
    expect(action).toMatchObject({
      id: "request_approval:a:555555555555",
      action: "request_approval",
      reason:
        "Ask the user, who alone may decide, and run the choice that they made; the command only shows the request again. because.",
      argv: ["explain", runDir, "a"],
    });
    expect(action?.choices?.map(({ label, argv }) => [label, argv])).toEqual([
      [
        "only after the user said yes: approve exactly this",
        ["approve", runDir, "--job", "a", "--scope", sha("5")],
      ],
      ["only after the user said no: deny it", ["deny", runDir, "--job", "a", "--scope", sha("5")]],
    ]);
  });

  it("asks for a merge of conflicting dependencies", () => {
    expect(next({ a: blocked("dependency-conflict") }, waiting).actions[0]).toMatchObject({
      id: "resolve_conflict:a",
      argv: ["resume", runDir, "--retry", "a", "--base", "<commit>"],
    });
  });

  it("asks for a runtime to be set up", () => {
    expect(next({ a: blocked("needs-onboarding") }, waiting).actions[0]).toMatchObject({
      id: "onboard_runtime:a:internal",
      argv: ["onboard", "internal", "--run", runDir],
      choices: [{ argv: ["onboard", "internal", "--apply", "--run", runDir] }, { argv: ["resume", runDir] }],
    });
  });

  it.each(["quota", "no-harness"])("offers one resume for %s, however many jobs wait", (code) => {
    const plans = [internal, { ...internal, id: "b" }];
    expect(ids(next({ a: blocked(code), b: blocked(code) }, waiting, plans))).toEqual(["resume"]);
  });

  it("tells with a resume what each job waits for", () => {
    const plans = ["a", "b", "c", "d"].map((id) => ({ ...internal, id }));
    const jobs = Object.fromEntries(plans.map(({ id }) => [id, blocked("needs-arbiter")]));
    // Words of an arbiter may end without a sign; what follows is a sentence of its own nevertheless.
    const block = { code: "arbiter-blocked", detail: "`arbiter-1` could not decide: it differs" };
    jobs["b"] = jobOf([], { status: "blocked", outcome: "blocked", block });
    expect(next(jobs, waiting, plans).actions).toMatchObject([
      {
        id: "resume",
        reason:
          "Blocked work goes on once what it waits for is there; this looks again. `a` (needs-arbiter): because. `b` (arbiter-blocked): `arbiter-1` could not decide: it differs. `c` (needs-arbiter): because. And 1 more.",
      },
    ]);
  });

  it("offers nothing for a final block but the report", () => {
    expect(ids(next({ a: blocked("no-git") }, { status: "ended" }))).toEqual(["read_report"]);
  });
});

describe("work that needs an arbiter", () => {
  const done = jobOf([attemptOf()], {
    outcomeBlock: { code: "needs-arbiter", detail: "x" },
    outcome: "blocked",
  });
  const call = arbiterOf({
    attempts: [{ jobId: "a", attempt: 1, treeSha256: sha("b"), verdict: null, reasons: [] }],
  });
  const at = (over: Partial<typeof call>, job = done): string[] =>
    ids(next({ a: job }, { status: "waiting", arbiters: [{ ...call, ...over }] }));

  it("is offered with its brief and the place for the verdict", () => {
    const found = next({ a: done }, { status: "waiting", arbiters: [call] });
    expect(found.actions).toHaveLength(1);
    expect(found.actions[0]).toMatchObject({
      id: "arbitrate_native:arbiter-1",
      action: "arbitrate_native",
      reason:
        "1 finished job waits for an independent verdict. Give the text of promptFile to a new read-only subagent that did none of this work, save its answer to resultFile, and run the command with its handle.",
      argv: [
        "verdict",
        runDir,
        "--file",
        arbiterFiles(runDir, "arbiter-1").resultFile,
        "--handle",
        "<handle>",
      ],
      promptFile: `${runDir}/arbiter-1/prompt.md`,
      tools: ["read", "search"],
    });
  });

  it("is asked about again by resume once its call is closed", () => {
    for (const status of ["answered", "failed", "superseded"] as const)
      expect(at({ status })).toEqual(["resume"]);
    for (const code of ["arbiter-blocked", "not-independent"])
      expect(at({ status: "answered" }, { ...done, outcomeBlock: { code, detail: "x" } })).toEqual([
        "resume",
      ]);
  });

  it("is not offered to a harness while the coordinator asks an arbiter itself", () => {
    expect(
      ids(next({ a: jobOf([attemptOf()]) }, { arbiters: [{ ...call, via: "mock", status: "running" }] })),
    ).toEqual(["wait"]);
  });

  it("goes on being offered beside running work", () => {
    const plans = [internal, planJob("b")];
    expect(ids(next({ a: done, b: running }, { arbiters: [call] }, plans))).toEqual([
      "arbitrate_native:arbiter-1",
    ]);
  });
});

describe("when nothing is due", () => {
  it("waits for running work", () => {
    const found = next({ a: running });
    expect(ids(found)).toEqual(["wait"]);
    expect(found.actions[0]).toMatchObject({
      reason: "1 job is running; nothing is due.",
      argv: ["wait", runDir, "--for", "action", "--timeout", "9m"],
    });
  });

  it("resumes an interrupted run, and one whose coordinator is gone", () => {
    expect(ids(next({ a: queued }, { status: "interrupted" }))).toEqual(["resume"]);
    expect(ids(next({ a: running }, {}, [internal], false))).toEqual(["resume"]);
    expect(ids(next({ a: queued }, { status: "waiting" }))).toEqual(["resume"]);
  });

  it.each(["accepted", "ended", "cancelled"] as const)(
    "offers only the report of a run that is %s",
    (status) => {
      expect(ids(next({ a: jobOf([attemptOf({ acceptance: "accepted" })]) }, { status }))).toEqual([
        "read_report",
      ]);
    },
  );
});

describe("exit codes", () => {
  const code = (status: State["status"], jobs: Readonly<Record<string, Job>> = { a: queued }): number => {
    const state = stateOf(jobs, { status });
    return exitCodeFor({ state, actions: next(jobs, { status }).actions });
  };

  it("are 0 accepted, 1 settled with faults, 3 not settled, 130 interrupted", () => {
    expect(code("accepted")).toBe(0);
    expect(code("ended")).toBe(1);
    expect(code("cancelled")).toBe(1);
    expect(code("running", { a: running })).toBe(3);
    expect(code("waiting")).toBe(3);
    expect(code("interrupted")).toBe(130);
  });

  it("count an action as due unless the run goes on or is over", () => {
    const due = (action: string): boolean =>
      isActionDue([{ id: "x", action, reason: "", argv: [], shell: "" } as never]);
    expect(["wait", "read_report", "confirm_egress", "fetch_benchmark"].map(due)).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(
      [
        "dispatch_native",
        "record_native",
        "cancel_native",
        "request_approval",
        "onboard_runtime",
        "arbitrate_native",
        "resolve_conflict",
        "resume",
      ].every(due),
    ).toBe(true);
  });
});

describe("any state", () => {
  const attempt = fc.record({
    runtime: fc.constantFrom("internal", "claude"),
    status: fc.constantFrom("queued", "running", "success", "failed", "blocked" as const),
    phase: fc.constantFrom(null, "working", "stopping", "verifying" as const),
  });
  const block = fc.option(
    fc.record({
      code: fc.constantFrom(
        "needs-approval",
        "needs-arbiter",
        "quota",
        "no-harness",
        "dependency-conflict",
        "denied",
        "constructor",
      ),
      detail: fc.string(),
      scope: fc.constant(sha("5")),
    }),
    { nil: null },
  );
  const job = fc.tuple(fc.array(attempt, { maxLength: 2 }), block).map(([attempts, held]) =>
    jobOf(
      attempts.map((one, index) => attemptOf({ ...one, attempt: index + 1 })),
      { block: held, status: attempts.at(-1)?.status === "running" ? "running" : "queued" },
    ),
  );
  const status = fc.constantFrom<State["status"]>(
    "preparing",
    "running",
    "waiting",
    "accepted",
    "ended",
    "cancelled",
    "interrupted",
  );

  it("gives at least one action, unique stable ids and a document that the output schema accepts", () => {
    const plans = ["a", "b", "c"].map((id) => ({ ...internal, id }));
    fc.assert(
      fc.property(fc.tuple(job, job, job), status, fc.boolean(), ([a, b, c], at, alive) => {
        const found = next({ a, b, c }, { status: at }, plans, alive);
        expect(next({ a, b, c }, { status: at }, plans, alive)).toEqual(found);
        expect(found.actions.length).toBeGreaterThan(0);
        expect(found.actions.length).toBeLessThanOrEqual(10);
        expect(new Set(ids(found)).size).toBe(found.actions.length);
        const envelope = {
          schemaVersion: 1,
          command: "next",
          ok: true,
          exitCode: 0,
          data: null,
          diagnostics: [],
          next: found.actions,
          nextOmitted: found.omitted,
        };
        expect(validateOutput(envelope), JSON.stringify(validateOutput.errors)).toBe(true);
        const quiet = found.actions.filter(
          (action) => action.action === "wait" || action.action === "read_report",
        );
        expect(quiet.length === 0 || found.actions.length === 1).toBe(true);
      }),
      { seed: 20_260_301, numRuns: 1_000 },
    );
  });

  it("has something due exactly when one of its actions is, and in a run that goes on only with a job that may be", () => {
    const plans = ["a", "b"].map((id) => ({ ...internal, id }));
    let due = 0;
    fc.assert(
      fc.property(fc.tuple(job, job), status, fc.boolean(), ([a, b], at, alive) => {
        const input = {
          graph: graphOf(plans),
          state: stateOf({ a, b }, { status: at }),
          runDir,
          script,
          coordinatorAlive: alive,
        };
        const found = isAnythingDue(input);
        expect(found).toBe(isActionDue(nextActions(input).actions));
        const may = [a, b].some((one) => mayBeDue(internal, one));
        if (found && at === "running" && alive) {
          due += 1;
          expect(may).toBe(true);
        }
      }),
      { seed: 20_260_302, numRuns: 1_000 },
    );
    expect(due).toBeGreaterThan(20);
    expect(mayBeDue(internal, running)).toBe(false);
    expect(mayBeDue(internal, queued)).toBe(false);
    expect(mayBeDue(internal, jobOf([native({})]))).toBe(true);
  });

  it("is answered in time for ten thousand jobs", () => {
    const plans = Array.from({ length: 10_000 }, (_, i) => ({ ...internal, id: `j${i}` }));
    const jobs = Object.fromEntries(plans.map((plan) => [plan.id, jobOf([native({})])]));
    expect(cpuMs(() => expect(next(jobs, {}, plans).omitted).toBe(9_990))).toBeLessThan(2_000);
  });
});
