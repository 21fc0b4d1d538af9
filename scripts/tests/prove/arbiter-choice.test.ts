import { describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import {
  type ArbiterCandidate,
  type ArbiterChoiceInput,
  arbiterCandidates,
  chooseArbiters,
  type Producer,
} from "../../src/prove/arbiter-choice.ts";
import { candidate } from "./sample-run.ts";

const arbiter = (runtime: string, family: string | null, verified = true): ArbiterCandidate => ({
  candidate: candidate({ runtime, family }),
  verified,
});

const work = (jobId: string, over: Partial<Producer> = {}): Producer => ({
  jobId,
  attempt: 1,
  runtime: "claude",
  family: "anthropic",
  agent: true,
  riskTier: "R1",
  ...over,
});
const claude = arbiter("claude", "anthropic");
const codex = arbiter("codex", "openai");
const NO_HARNESS = { live: false, family: null, pinned: false, last: false };
const harness = (family: string | null, over: object = {}) => ({
  native: { live: true, family, pinned: false, last: false, ...over },
});
const choose = (
  producers: readonly Producer[],
  candidates: readonly ArbiterCandidate[],
  over: Partial<ArbiterChoiceInput> = {},
) => chooseArbiters({ producers, candidates, failed: new Set(), native: NO_HARNESS, ...over });
const calls = (...input: Parameters<typeof choose>): string[] => {
  const choice = choose(...input);
  return [
    ...choice.calls.map(
      (call) =>
        `${call.rule}:${call.candidate?.runtime ?? call.via}:${call.independence}:${call.attempts.map((one) => one.jobId).join("+")}`,
    ),
    ...choice.uncovered.map((one) => `uncovered:${one.jobId}:${one.code}`),
  ];
};

describe("choosing an arbiter", () => {
  it("(a) takes one whose known family differs from every producer's", () => {
    expect(calls([work("a"), work("b")], [claude, codex])).toEqual(["a:codex:independent:a+b"]);
  });

  it("(b) takes one per producer family where none differs from all", () => {
    const mixed = [work("a"), work("b", { runtime: "codex", family: "openai" })];
    expect(calls(mixed, [claude, codex])).toEqual(["b:codex:independent:a", "b:claude:independent:b"]);
  });

  it("(c) falls to a fresh-context substitute: another runtime first, then the same one in a new session", () => {
    const sameFamily = arbiter("other", "anthropic");
    expect(calls([work("a")], [claude, sameFamily])).toEqual(["c:other:not-independent-substituted:a"]);
    expect(calls([work("a")], [claude])).toEqual(["c:claude:not-independent-substituted:a"]);
  });

  it("(c) ends with an in-session arbiter, which does not do at R3", () => {
    expect(calls([work("a"), work("b", { riskTier: "R3" })], [])).toEqual([
      "c:native:not-independent-substituted:a",
      "uncovered:b:needs-arbiter",
    ]);
  });

  it("calls an in-session arbiter independent where its family is known and differs", () => {
    expect(calls([work("a", { riskTier: "R3" })], [claude], harness("google"))).toEqual([
      "a:native:independent:a",
    ]);
    expect(calls([work("a")], [], harness("anthropic"))).toEqual(["c:native:not-independent-substituted:a"]);
  });

  it("claims no independence from a producer whose family is unknown", () => {
    expect(calls([work("a", { family: null })], [codex])).toEqual(["c:codex:not-independent-substituted:a"]);
    expect(calls([work("a")], [arbiter("x", null)])).toEqual(["c:x:not-independent-substituted:a"]);
  });

  it("lets any C3 judge the work of plain programs, also beside that of agents", () => {
    const program = work("p", { runtime: "shell", family: null, agent: false });
    expect(calls([program], [claude])).toEqual(["a:claude:independent:p"]);
    expect(calls([work("a"), program], [codex])).toEqual(["a:codex:independent:a+p"]);
  });

  it("gives mock work to the mock arbiter, and never other work", () => {
    const played = work("m", { runtime: "mock", family: "mock-a" });
    expect(calls([played], [claude])).toEqual(["mock:mock:independent:m"]);
    expect(calls([played, work("a")], [codex])).toEqual(["mock:mock:independent:m", "a:codex:independent:a"]);
    expect(calls([played, work("n", { runtime: "mock", family: null })], [])).toEqual([
      "mock:mock:not-independent-substituted:m+n",
    ]);
    expect(calls([work("m", { runtime: "mock", family: "mock-b" })], [])).toEqual([
      "mock:mock:not-independent-substituted:m",
    ]);
  });

  it("asks the harness before one arbiter per family, unless the spec names other arbiters", () => {
    const mixed = [work("a"), work("b", { runtime: "codex", family: "openai" })];
    expect(calls(mixed, [claude, codex], harness("google"))).toEqual(["a:native:independent:a+b"]);
    expect(calls(mixed, [claude, codex], harness("google", { last: true }))).toEqual([
      "b:codex:independent:a",
      "b:claude:independent:b",
    ]);
    expect(calls([work("a")], [], harness("google", { last: true }))).toEqual(["a:native:independent:a"]);
  });

  it("asks only the harness where the spec says `internal`", () => {
    expect(calls([work("a")], [codex], harness("anthropic", { pinned: true }))).toEqual([
      "c:native:not-independent-substituted:a",
    ]);
  });

  it("moves on from runtimes that failed to answer", () => {
    expect(calls([work("a")], [claude, codex], { failed: new Set(["codex  "]) })).toEqual([
      "c:claude:not-independent-substituted:a",
    ]);
  });

  it("does not trust a substitute whose tools are withheld by word only", () => {
    expect(calls([work("a")], [arbiter("claude", "anthropic", false)])).toEqual([
      "c:native:not-independent-substituted:a",
    ]);
    expect(calls([work("a", { family: "x" })], [arbiter("claude", "anthropic", false)])).toEqual([
      "a:claude:independent:a",
    ]);
  });
});

describe("candidates that can be called as arbiters", () => {
  const gated = (id: string, value: string, evidence: string): [string, RuntimeRecord] => [
    id,
    { id, toolGating: { value, evidence } } as RuntimeRecord,
  ];

  it("are CLIs of the route that this run knows, with what proves that their tools are withheld", () => {
    const records = new Map([
      gated("claude", "granular", "verified"),
      gated("codex", "coarse", "attested"),
      gated("mock", "granular", "verified"),
      gated("internal", "coarse", "attested"),
    ]);
    const chain = [
      candidate({ runtime: "codex" }),
      candidate({ runtime: "claude" }),
      candidate({ runtime: "gone" }),
      candidate({ runtime: "mock" }),
      candidate({ runtime: "internal", kind: "internal" }),
    ];
    expect(
      arbiterCandidates(chain, records).map((one) => `${one.candidate.runtime} ${one.verified}`),
    ).toEqual(["codex false", "claude true"]);
  });
});
