import { describe, expect, it } from "vitest";
import {
  boundReasons,
  type Independence,
  nativeIndependence,
  outcomesAfterVerdict,
  type RoundOutcome,
} from "../../src/prove/accept.ts";
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
