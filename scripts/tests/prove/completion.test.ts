import { describe, expect, it } from "vitest";
import { COMPLETION_MAX_BYTES, completionBlock } from "../../src/prove/completion.ts";
import { arbiterOf, attemptOf, graphOf, jobOf, planJob, stateOf } from "./sample-run.ts";

const judged = (jobId: string): Arbiter["attempts"][number] => ({
  jobId,
  attempt: 1,
  treeSha256: null,
  verdict: "pass",
  reasons: [],
});

const answeredBy = (arbiterId: string, jobIds: readonly string[], over: Partial<Arbiter>): Arbiter =>
  arbiterOf({
    arbiterId,
    status: "answered",
    overall: "pass",
    independence: "independent",
    attempts: jobIds.map(judged),
    ...over,
  });

type Arbiter = ReturnType<typeof arbiterOf>;

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
        arbiters: [answeredBy("arbiter-1", ["a"], { independence: "not-independent-substituted" })],
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

  it("names everybody whose word counts, and says where a pass did not accept the work", () => {
    const accepted = (): ReturnType<typeof jobOf> =>
      jobOf([attemptOf({ acceptance: "accepted" })], { outcome: "accepted" });
    const arbiters = [
      answeredBy("arbiter-1", ["a", "b"], { overall: "fail" }),
      answeredBy("arbiter-2", ["a", "b"], { independence: "not-independent-substituted" }),
      answeredBy("arbiter-3", ["c"], { via: "mock" }),
      arbiterOf({ arbiterId: "arbiter-4", status: "offered", attempts: [judged("c")] }),
    ];
    const lineOf = (ids: readonly string[], over: Parameters<typeof stateOf>[1]): string | undefined => {
      const jobs = Object.fromEntries(ids.map((id) => [id, id === "d" ? jobOf([attemptOf()]) : accepted()]));
      const graph = graphOf(ids.map((id) => planJob(id)));
      const block = completionBlock({ graph, state: stateOf(jobs, over), runDir: "/r" });
      return block.split("\n").find((line) => line.startsWith("arbiter: "));
    };
    expect(lineOf(["a", "b", "c"], { status: "accepted", arbiters })).toBe(
      "arbiter: pass by arbiter-2 (native, not-independent-substituted) for 2 jobs; pass by arbiter-3 (mock, independent) for 1 job",
    );
    expect(lineOf(["a", "d"], { arbiters: [answeredBy("arbiter-1", ["a", "d"], {})] })).toMatch(
      /^arbiter: pass by arbiter-1 \(native, independent\), yet 1 not accepted/,
    );
    const many = ["a", "b", "c", "e", "f"];
    const each = many.map((id, n) => answeredBy(`arbiter-${n + 1}`, [id], {}));
    expect(lineOf(many, { arbiters: each })).toBe(
      "arbiter: pass by arbiter-1 (native, independent) for 1 job; pass by arbiter-2 (native, independent) for 1 job; pass by arbiter-3 (native, independent) for 1 job; 2 more in the report",
    );
    expect(lineOf(["a"], { arbiters: [] })).toBe("arbiter: nobody has judged");
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
          ...Array.from({ length: 9 }, (_, i) =>
            answeredBy(`arbiter-${i + 990}`, [`j${i}`], {
              overall: "blocked",
              independence: "not-independent-substituted",
            }),
          ),
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
