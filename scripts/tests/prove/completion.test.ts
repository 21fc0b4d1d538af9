import { describe, expect, it } from "vitest";
import { COMPLETION_MAX_BYTES, completionBlock } from "../../src/prove/completion.ts";
import { arbiterOf, attemptOf, graphOf, jobOf, planJob, stateOf } from "./sample-run.ts";

describe("the completion block", () => {
  it("says all that a user is told at the end", () => {
    const state = stateOf(
      {
        a: jobOf(
          [
            attemptOf({
              acceptance: "accepted",
              checks: [{ id: "x", ok: true, detail: "", code: null, exitCode: 0, wallMs: 1 }],
            }),
          ],
          { outcome: "accepted" },
        ),
        b: jobOf([attemptOf({ question: "Shall I?" })]),
        c: jobOf([attemptOf({ status: "failed" })], { status: "failed", outcome: "failed" }),
        d: jobOf([], { status: "queued" }),
      },
      {
        status: "waiting",
        arbiters: [
          arbiterOf({ status: "answered", overall: "pass", independence: "not-independent-substituted" }),
        ],
      },
    );
    const graph = graphOf(["a", "b", "c", "d"].map((id) => planJob(id)));
    expect(completionBlock({ graph, state, runDir: "/repo/plans/reports/orchestrate-1" })).toBe(
      [
        "run: waiting",
        "spec: /repo/jobs.yaml",
        "report: /repo/plans/reports/orchestrate-1/report.md",
        "jobs: 2 success, 1 failed, 0 blocked, 1 not finished (4 in all); 1 accepted",
        "arbiter: pass by arbiter-1 (native, not-independent-substituted); 1 finished job waits for an independent verdict",
        "accepted without C3: 0 of 4",
        "decision plane: off (no classifier in this run)",
        "credentials: none looked for (decision plane off)",
        "checks: 1 of 1 passed",
        "open questions: 1, in the report",
        "",
      ].join("\n"),
    );
  });

  it("marks a mock run in its first line", () => {
    const state = stateOf({ a: jobOf([attemptOf({ runtime: "mock" })]) }, { status: "accepted", mock: true });
    expect(completionBlock({ graph: graphOf([planJob("a")]), state, runDir: "/r" }).split("\n")[0]).toBe(
      "run: accepted (mock run: no model did any of it)",
    );
  });

  it("stays within its bound and on its lines, however long or hostile a path is", () => {
    const path = `/${"é\u001b[31m\n# x/".repeat(400)}`;
    const plans = Array.from({ length: 9_999 }, (_, i) => planJob(`j${i}`));
    const state = stateOf(
      Object.fromEntries(plans.map((plan) => [plan.id, jobOf([attemptOf({ question: "?" })])])),
      {
        mock: true,
        status: "waiting",
        arbiters: [
          arbiterOf({ status: "answered", overall: "blocked", independence: "not-independent-substituted" }),
        ],
      },
    );
    const block = completionBlock({ graph: graphOf(plans, { specPath: path }), state, runDir: path });
    expect(Buffer.byteLength(block)).toBeLessThanOrEqual(COMPLETION_MAX_BYTES);
    expect(block.trimEnd().split("\n")).toHaveLength(10);
    expect(block).not.toContain("\u001b");
    expect(block).toMatch(/^report: .*…[^\n]*\/report\.md$/m);
  });

  it("names no report while the run goes on, since the file is not there or tells an older stand", () => {
    const running = stateOf({ a: jobOf([attemptOf()]) }, { status: "running" });
    const block = completionBlock({ graph: graphOf([planJob("a")]), state: running, runDir: "/run" });
    expect(block).toContain("report: not written yet: it is at each pause and at the end");
  });
});
