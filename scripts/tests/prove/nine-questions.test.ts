import { describe, expect, it } from "vitest";
import type { Approval } from "../../src/core/generated/state.ts";
import type { Inventory, RuntimeRecord } from "../../src/core/runtime.ts";
import { nineQuestions } from "../../src/prove/nine-questions.ts";
import { AT, arbiterOf, attemptOf, candidate, graphOf, jobOf, planJob, sha, stateOf } from "./sample-run.ts";

const answers = (
  graph: ReturnType<typeof graphOf>,
  state: ReturnType<typeof stateOf>,
  inventory: Inventory | null = null,
): Record<string, string> =>
  Object.fromEntries(
    nineQuestions({ graph, state, inventory }).map((one) => [
      one.id,
      `${one.answer.map((span) => span.text).join("")} [${one.tone}; ${one.answeredBy}]`,
    ]),
  );
const one = graphOf([planJob("a")]);
const judged = (reasons: readonly string[]): Parameters<typeof stateOf>[1] => ({
  arbiters: [
    arbiterOf({
      status: "answered",
      attempts: [{ jobId: "a", attempt: 1, treeSha256: null, verdict: "blocked", reasons: [...reasons] }],
    }),
  ],
});

describe("the nine questions", () => {
  it("are these, and three of them force a C3 verdict", () => {
    const asked = nineQuestions({ graph: one, state: stateOf({ a: jobOf([]) }), inventory: null });
    expect(asked.map((question) => question.id)).toEqual([
      "artifacts",
      "failures",
      "contradictions",
      "checks",
      "claims",
      "floors",
      "availability",
      "destructive",
      "open-questions",
    ]);
    expect(asked.filter((question) => question.forcesC3).map((question) => question.id)).toEqual([
      "contradictions",
      "destructive",
      "open-questions",
    ]);
  });

  it("are not answered favourably before anything was done", () => {
    const found = answers(one, stateOf({ a: jobOf([]) }));
    expect(found["artifacts"]).toBe(
      "No job has finished with a deliverable. [waiting; the coordinator's own checks]",
    );
    expect(found["checks"]).toBe("No check was recorded. [waiting; the coordinator's own checks]");
    expect(found["claims"]).toBe(
      "No finished work waits for a judgment, and none was judged. [waiting; nobody yet]",
    );
    expect(found["availability"]).toBe("No runtime was used. [good; nobody yet]");
  });

  it("count what failed, was refused and stayed uncertain", () => {
    const state = stateOf({
      a: jobOf(
        [attemptOf({ status: "blocked", failureClass: "SANDBOX", timedOut: true, settlement: "unsettled" })],
        {
          status: "blocked",
        },
      ),
    });
    expect(answers(one, state)["failures"]).toBe(
      "0 failed, 1 blocked, 1 timed out, 1 refused permission, 1 of uncertain end. [bad; the coordinator's own checks]",
    );
  });

  it("take contradictions and unsupported claims from the arbiter by name", () => {
    const found = answers(
      one,
      stateOf(
        { a: jobOf([attemptOf()]) },
        judged(["contradiction: x", "unsupported claim: y", "open question: z"]),
      ),
    );
    expect(found["contradictions"]).toBe(
      "Yes, in the work of a. [bad; the coordinator's own checks; between jobs arbiter-1]",
    );
    expect(found["claims"]).toBe("No: unsupported claims in the work of a. [bad; arbiter-1]");
    expect(found["open-questions"]).toBe(
      "1 question, from a: listed below. [waiting; the coordinator's own checks; arbiter-1]",
    );
    expect(
      answers(one, stateOf({ a: jobOf([attemptOf({ acceptance: "accepted" })]) }, judged(["fine"])))[
        "claims"
      ],
    ).toBe("No unsupported claim was found. [good; arbiter-1]");
  });

  it("tell of work that other work contradicts", () => {
    const escalated = jobOf([attemptOf({ c3EscalationReason: ["contradiction", "no-signals"] })]);
    expect(answers(one, stateOf({ a: escalated }))["contradictions"]).toBe(
      "Yes, in the work of a. [bad; the coordinator's own checks, within each job only]",
    );
  });

  it("ignore what a superseded call said", () => {
    const state = stateOf(
      { a: jobOf([attemptOf()]) },
      {
        arbiters: [
          arbiterOf({
            status: "superseded",
            attempts: [
              { jobId: "a", attempt: 1, treeSha256: null, verdict: null, reasons: ["contradiction: x"] },
            ],
          }),
        ],
      },
    );
    expect(answers(one, state)["contradictions"]).toContain("None within a job");
  });

  it("see work below its capability floor", () => {
    const graph = graphOf([
      planJob("a", {
        capabilityFloor: "C3",
        route: { ...planJob("a").route, chain: [candidate({ capability: "C2" })] },
      }),
    ]);
    expect(answers(graph, stateOf({ a: jobOf([attemptOf()]) }))["floors"]).toBe(
      "No: below the floor ran a. [bad; routing and the safety gate]",
    );
  });

  it("ask of each used runtime whether this run established it", () => {
    const inventory = (state: RuntimeRecord["state"]): Inventory => ({
      schemaVersion: 1,
      probedAt: AT,
      hostOS: "linux",
      records: [{ id: "claude", state } as RuntimeRecord],
    });
    const state = stateOf({ a: jobOf([attemptOf()]) });
    expect(answers(one, state, inventory("available"))["availability"]).toBe(
      "Yes, for claude. [good; the live inventory of this run]",
    );
    expect(answers(one, state, inventory("unverified"))["availability"]).toBe(
      "Not for claude. [waiting; the live inventory of this run]",
    );
  });

  it("want an approval and a way back for destructive work", () => {
    const graph = graphOf([
      planJob("a", { riskTier: "R3", rollback: { kind: "text", text: "restore the snapshot" } }),
    ]);
    const approval: Approval = {
      id: "x",
      scope: sha("5"),
      jobId: "a",
      words: "w",
      actor: "user",
      via: "command",
      at: AT,
      note: null,
      decision: "approved",
      attested: false,
    };
    expect(answers(graph, stateOf({ a: jobOf([]) }, { approvals: [approval] }))["destructive"]).toBe(
      "1 of 1 such job approved; each has a rollback plan. [good; whoever approved, as recorded in the approvals]",
    );
    const bare = graphOf([planJob("a", { riskTier: "R3" })]);
    expect(
      answers(bare, stateOf({ a: jobOf([]) }, { approvals: [{ ...approval, decision: "denied" }] }))[
        "destructive"
      ],
    ).toBe(
      "0 of 1 such job approved; no rollback plan for a. [bad; whoever approved, as recorded in the approvals]",
    );
  });
});
