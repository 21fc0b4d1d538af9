import { describe, expect, it } from "vitest";
import {
  boundReasons,
  cliIndependence,
  type Independence,
  isProgram,
  nativeIndependence,
  outcomesAfterVerdict,
  type RoundOutcome,
} from "../../src/prove/accept.ts";
import { currentAttempt } from "../../src/prove/current-attempt.ts";
import type { EffectiveVerdict, VerdictWord } from "../../src/prove/verdict.ts";
import { arbiterOf, attemptOf, candidate, graphOf, jobOf, planJob, sha, stateOf } from "./sample-run.ts";

const graph = graphOf([planJob("a"), planJob("b", { dependsOn: ["a"] }), planJob("c", { dependsOn: ["b"] })]);
const effective = (
  jobId: string,
  own: VerdictWord,
  over: Partial<EffectiveVerdict> = {},
): EffectiveVerdict => ({
  jobId,
  attempt: 1,
  own,
  verdict: own,
  sharedWith: null,
  reasons: [`${jobId} looked at`],
  ...over,
});
const round = (
  verdicts: readonly EffectiveVerdict[],
  over: {
    state?: ReturnType<typeof stateOf>;
    independence?: Independence;
    via?: "native" | "cli" | "mock";
  } = {},
): RoundOutcome =>
  outcomesAfterVerdict({
    graph,
    state:
      over.state ?? stateOf({ a: jobOf([attemptOf()]), b: jobOf([attemptOf()]), c: jobOf([attemptOf()]) }),
    arbiter: arbiterOf({ via: over.via ?? "native" }),
    effective: verdicts,
    independence: over.independence ?? "not-independent-substituted",
  });
const brief = (outcome: RoundOutcome): string[] =>
  outcome.outcomes.map((one) =>
    [one.jobId, one.acceptance, one.reason, one.outcomeBlock?.code].filter((part) => part != null).join(" "),
  );

describe("outcomes after a verdict", () => {
  it("accepts what passed and records who said so about which tree", () => {
    expect(round([effective("a", "pass")]).outcomes).toEqual([
      {
        jobId: "a",
        attempt: 1,
        acceptance: "accepted",
        c3Verdict: "pass",
        arbitration: {
          arbiterId: "arbiter-1",
          verdict: "pass",
          independence: "not-independent-substituted",
          bundleSha256: sha("e"),
          treeSha256: sha("b"),
        },
        reason: null,
        outcomeBlock: null,
        reasons: ["a looked at"],
      },
    ]);
  });

  it("holds up what was blocked, with the first reason", () => {
    const [one] = round([effective("a", "blocked")]).outcomes;
    expect(one?.acceptance).toBe("pending");
    expect(one?.outcomeBlock).toEqual({
      code: "arbiter-blocked",
      detail: "`arbiter-1` could not decide: a looked at",
    });
    expect(round([effective("a", "blocked", { reasons: [] })]).outcomes[0]?.outcomeBlock?.detail).toBe(
      "`arbiter-1` could not decide and gave no reason.",
    );
  });

  it("rejects failed work and all that stands on it, seen by the arbiter or not", () => {
    const outcome = round([
      effective("a", "fail"),
      effective("b", "pass", { verdict: "fail", sharedWith: "a" }),
    ]);
    expect(brief(outcome)).toEqual([
      "a rejected arbiter-rejected",
      "b rejected dependency-rejected",
      "c rejected dependency-rejected",
    ]);
    expect(outcome.outcomes[1]).toMatchObject({ c3Verdict: "pass" });
    expect(outcome.outcomes[2]).toMatchObject({
      c3Verdict: null,
      arbitration: null,
      reasons: ["it stands on `b`, whose work was rejected"],
    });
  });

  it("names unfinished dependents of rejected work, so that they are stopped", () => {
    const running = jobOf([attemptOf({ status: "running" })], { status: "running" });
    const state = stateOf({ a: jobOf([attemptOf()]), b: running, c: jobOf([]) });
    expect(round([effective("a", "fail")], { state }).rejectedDependents).toEqual([
      { jobId: "b", dependency: "a" },
      { jobId: "c", dependency: "b" },
    ]);
  });

  it("decides nothing on the word of an arbiter that is not independent", () => {
    for (const word of ["pass", "fail", "blocked"] as const)
      expect(brief(round([effective("a", word)], { independence: "not-independent" }))).toEqual([
        "a pending not-independent",
      ]);
  });

  it("does not accept R3 work, nor work above it, on an attested substitute", () => {
    const state = stateOf({ a: jobOf([attemptOf({ riskTier: "R3" })]), b: jobOf([attemptOf()]) });
    const both = [effective("a", "pass"), effective("b", "pass")];
    expect(brief(round(both, { state }))).toEqual(["a pending needs-arbiter", "b pending needs-arbiter"]);
    expect(brief(round(both, { state, via: "cli" }))).toEqual(["a accepted", "b accepted"]);
    expect(brief(round(both, { state, independence: "independent" }))).toEqual(["a accepted", "b accepted"]);
  });

  it("leaves attempts alone that were decided, replaced or reopened meanwhile", () => {
    const decided = stateOf({ a: jobOf([attemptOf({ acceptance: "accepted" })]) });
    const replaced = stateOf({ a: jobOf([attemptOf(), attemptOf({ attempt: 2 })]) });
    for (const state of [decided, replaced])
      expect(round([effective("a", "fail")], { state }).outcomes).toEqual([]);
  });

  it("bounds the reasons that state keeps", () => {
    const bounded = boundReasons(Array.from({ length: 30 }, () => "x".repeat(1_000)));
    expect(bounded).toHaveLength(21);
    expect(bounded[0]).toHaveLength(500);
    expect(bounded.at(-1)).toBe("and 10 more reasons");
  });
});

describe("the independence of a native answer", () => {
  const arbiter = arbiterOf({
    attempts: [{ jobId: "a", attempt: 1, treeSha256: null, verdict: null, reasons: [] }],
  });
  const state = stateOf(
    { a: jobOf([attemptOf({ nativeHandle: "Agent-7", sessionHandle: "sess-1" })]) },
    { arbiters: [arbiter, arbiterOf({ arbiterId: "arbiter-2", handle: "agent-8" })] },
  );
  const of = (
    handle: string | null,
    over: Partial<Parameters<typeof nativeIndependence>[0]> = {},
  ): Independence => nativeIndependence({ handle, arbiter, state, graph, ...over });

  it("needs a handle that is used nowhere else in the run", () => {
    for (const handle of [null, "", "  ", "<handle>", "agent-7", " AGENT-7 ", "sess-1", "agent-8"])
      expect(of(handle), String(handle)).toBe("not-independent");
    expect(of("agent-9")).toBe("not-independent-substituted");
  });

  it("is full only where the family is known and differs from every producer's", () => {
    const withFamily = (family: string | null): Partial<Parameters<typeof nativeIndependence>[0]> => ({
      arbiter: { ...arbiter, family },
    });
    expect(of("agent-9", withFamily("openai"))).toBe("independent");
    expect(of("agent-9", withFamily("anthropic"))).toBe("not-independent-substituted");
    const unknown = stateOf({ a: jobOf([attemptOf({ family: null })]) });
    expect(of("agent-9", { ...withFamily("openai"), state: unknown })).toBe("not-independent-substituted");
    const swapped = stateOf({ a: jobOf([attemptOf({ flags: ["model-mismatch"] })]) });
    expect(of("agent-9", { ...withFamily("openai"), state: swapped })).toBe("not-independent-substituted");
  });

  it("does not count plain programs as producers with a family", () => {
    const programs = graphOf([
      planJob("a", {
        route: { ...planJob("a").route, chain: [candidate({ runtime: "shell", kind: "program" })] },
      }),
    ]);
    const ran = stateOf({ a: jobOf([attemptOf({ runtime: "shell", family: null })]) });
    expect(of("agent-9", { arbiter: { ...arbiter, family: "openai" }, graph: programs, state: ran })).toBe(
      "independent",
    );
  });
});

describe("the independence of a CLI that was called", () => {
  const arbiter = arbiterOf({
    family: "openai",
    attempts: [{ jobId: "a", attempt: 1, treeSha256: null, verdict: null, reasons: [] }],
  });
  const state = stateOf(
    { a: jobOf([attemptOf({ sessionHandle: "Sess-1" })]) },
    { arbiters: [{ ...arbiter, handle: "mine" }, arbiterOf({ arbiterId: "arbiter-2", handle: "sess-2" })] },
  );
  const of = (over: Partial<Parameters<typeof cliIndependence>[0]> = {}): Independence =>
    cliIndependence({ arbiter, verified: true, handle: null, modelMismatch: false, state, graph, ...over });

  it("is full for another known family, whether its tools are proven withheld or not", () => {
    expect(of()).toBe("independent");
    expect(of({ verified: false })).toBe("independent");
    expect(of({ handle: "mine" })).toBe("independent");
    expect(of({ handle: "new" })).toBe("independent");
  });

  it("is none in a session that did other work of the run", () => {
    for (const handle of ["sess-1", " SESS-1", "sess-2"]) expect(of({ handle })).toBe("not-independent");
  });

  it("is a substitute's for the same or an unknown family, and only with tools proven withheld", () => {
    for (const family of ["anthropic", null]) {
      expect(of({ arbiter: { ...arbiter, family } })).toBe("not-independent-substituted");
      expect(of({ arbiter: { ...arbiter, family }, verified: false })).toBe("not-independent");
    }
  });

  it("does not follow from the plan when another model answered", () => {
    expect(of({ modelMismatch: true })).toBe("not-independent-substituted");
    expect(of({ modelMismatch: true, verified: false })).toBe("not-independent");
  });

  it("cannot be shown against work of an attempt that is not on record", () => {
    for (const ref of [
      { jobId: "a", attempt: 2 },
      { jobId: "gone", attempt: 1 },
    ]) {
      const attempts = [{ ...ref, treeSha256: null, verdict: null, reasons: [] }];
      expect(of({ arbiter: { ...arbiter, attempts } })).toBe("not-independent-substituted");
    }
  });

  it("is judged by the attempts that it was asked about, not by later ones", () => {
    const later = attemptOf({ attempt: 2, family: "openai" });
    const both = stateOf({ a: jobOf([attemptOf(), later]) });
    expect(of({ state: both })).toBe("independent");
    const second = { ...arbiter, attempts: [{ ...arbiter.attempts[0]!, attempt: 2 }] };
    expect(of({ state: both, arbiter: second })).toBe("not-independent-substituted");
  });
});

describe("what counts as a program's work", () => {
  const chain = [candidate({ runtime: "shell", kind: "program" }), candidate({ runtime: "claude" })];
  const job = planJob("a", { route: { ...planJob("a").route, chain } });

  it("is what the member of the chain that did it is", () => {
    expect([isProgram(job, "shell"), isProgram(job, "claude"), isProgram(job, "other")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(isProgram(undefined, "shell")).toBe(false);
  });
});

describe("the edges of an outcome", () => {
  it("tell in words why an answer decides nothing", () => {
    expect(
      round([effective("a", "pass")], { independence: "not-independent" }).outcomes[0]?.outcomeBlock,
    ).toEqual({
      code: "not-independent",
      detail:
        "`arbiter-1` answered without a handle of its own, or with one that did work in this run: an independent context must judge it.",
    });
    const external = stateOf({ a: jobOf([attemptOf({ riskTier: "R3" })]), b: jobOf([attemptOf()]) });
    const [first, second] = round([effective("a", "pass"), effective("b", "pass")], {
      state: external,
    }).outcomes;
    expect(first?.outcomeBlock?.detail).toBe(
      "R3 work needs an arbiter of another model family, or a substitute whose tools were verified; an in-session one is only attested.",
    );
    expect(second?.outcomeBlock).toEqual({
      code: "needs-arbiter",
      detail: "It stands on `a`, which is not accepted.",
    });
  });

  it("keep twenty reasons of five hundred characters whole, and cut no character in half", () => {
    expect(boundReasons(Array.from({ length: 20 }, () => "x".repeat(500)))).toEqual(
      Array.from({ length: 20 }, () => "x".repeat(500)),
    );
    const [cut] = boundReasons([`${"x".repeat(498)}😀${"y".repeat(20)}`]);
    expect(cut).toBe(`${"x".repeat(498)}…`);
    expect(boundReasons([`😀${"x".repeat(600)}`])[0]).toBe(`😀${"x".repeat(497)}…`);
  });

  it("keep what was rejected before, and a verdict's own rejection beside that of a dependency", () => {
    const before = stateOf({
      a: jobOf([attemptOf()]),
      b: jobOf([attemptOf({ acceptance: "rejected" })]),
      c: jobOf([attemptOf()]),
    });
    expect(brief(round([effective("a", "fail")], { state: before }))).toEqual([
      "a rejected arbiter-rejected",
      "c rejected dependency-rejected",
    ]);
    const own = round([effective("a", "fail"), effective("b", "fail")]).outcomes[1];
    expect([own?.reason, own?.reasons]).toEqual(["arbiter-rejected", ["b looked at"]]);
  });

  it("leave a verdict of its own kind alone above work that is undecided", () => {
    const outcome = round([effective("a", "blocked"), effective("b", "blocked"), effective("c", "pass")]);
    expect(outcome.outcomes.map((one) => one.outcomeBlock?.detail)).toEqual([
      "`arbiter-1` could not decide: a looked at",
      "`arbiter-1` could not decide: b looked at",
      "It stands on `b`, which is not accepted.",
    ]);
  });

  it("count an attempt only while it is newer than the last time its job was opened again", () => {
    const reopened = stateOf({ a: jobOf([attemptOf()], { reopenedAt: 1 }) });
    expect(round([effective("a", "fail")], { state: reopened }).outcomes).toEqual([]);
    expect(currentAttempt(reopened, "a")).toBeNull();
    expect(
      currentAttempt(stateOf({ a: jobOf([attemptOf({ attempt: 2 })], { reopenedAt: 1 }) }), "a")?.attempt,
    ).toBe(2);
    expect([currentAttempt(reopened, "gone"), currentAttempt(stateOf({ a: jobOf([]) }), "a")]).toEqual([
      null,
      null,
    ]);
  });
});
