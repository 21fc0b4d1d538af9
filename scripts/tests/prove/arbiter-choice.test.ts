import { describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { type ArbiterChoiceInput, chooseArbiters, type Producer } from "../../src/prove/arbiter-choice.ts";
import { AT } from "./sample-run.ts";

function runtime(id: string, family: string | null, over: Partial<RuntimeRecord> = {}): RuntimeRecord {
  const verified = { evidence: "verified" as const };
  return {
    id,
    role: "agent",
    kind: "cli",
    state: "available",
    reason: null,
    binary: `/bin/${id}`,
    binaryReal: `/bin/${id}`,
    version: "1.0.0",
    authenticated: true,
    authSource: "subscription",
    gateway: false,
    hostOS: "linux",
    provider: family,
    models: null,
    modelAliases: [],
    family,
    agents: null,
    headless: true,
    capability: "C3",
    capabilitySource: "adapter-default",
    familySource: "adapter-default",
    vendorBound: true,
    cwdControl: "enforced",
    approval: { value: "scoped", ...verified },
    toolGating: { value: "granular", ...verified },
    writeBoundary: { value: "enforced", ...verified },
    isolation: { value: "none", ...verified },
    bypassAbsent: { value: true, ...verified },
    timeout: { value: "external", ...verified },
    capture: { value: "structured", ...verified },
    nativeBudget: false,
    externalTimeout: true,
    resume: "verified",
    fork: "unsupported",
    steer: "unsupported",
    structuredOutput: true,
    effortLevels: [],
    flags: {},
    evidence: [],
    probedAt: AT,
    reused: false,
    notes: [],
    classifier_hint: null,
    ...over,
  };
}

const work = (jobId: string, over: Partial<Producer> = {}): Producer => ({
  jobId,
  attempt: 1,
  runtime: "claude",
  family: "anthropic",
  agent: true,
  riskTier: "R1",
  ...over,
});
const claude = runtime("claude", "anthropic");
const codex = runtime("codex", "openai");
const choose = (
  producers: readonly Producer[],
  records: readonly RuntimeRecord[],
  over: Partial<ArbiterChoiceInput> = {},
) =>
  chooseArbiters({
    producers,
    inventory: { schemaVersion: 1, probedAt: AT, hostOS: "linux", records: [...records] },
    pins: [],
    failed: new Set(),
    nativeFamily: null,
    ...over,
  });
const calls = (...input: Parameters<typeof choose>): string[] => {
  const choice = choose(...input);
  return [
    ...choice.calls.map(
      (call) =>
        `${call.rule}:${call.runtime ?? call.via}:${call.independence}:${call.attempts.map((one) => one.jobId).join("+")}`,
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
    const sameFamily = runtime("other", "anthropic");
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
    expect(calls([work("a", { riskTier: "R3" })], [claude], { nativeFamily: "google" })).toEqual([
      "a:native:independent:a",
    ]);
    expect(calls([work("a")], [], { nativeFamily: "anthropic" })).toEqual([
      "c:native:not-independent-substituted:a",
    ]);
  });

  it("claims no independence from a producer whose family is unknown", () => {
    expect(calls([work("a", { family: null })], [codex])).toEqual(["c:codex:not-independent-substituted:a"]);
    expect(calls([work("a")], [runtime("x", null)])).toEqual(["c:x:not-independent-substituted:a"]);
  });

  it("lets any C3 judge the work of plain programs, also beside that of agents", () => {
    const program = work("p", { runtime: "shell", family: null, agent: false });
    expect(calls([program], [claude])).toEqual(["a:claude:independent:p"]);
    expect(calls([work("a"), program], [codex])).toEqual(["a:codex:independent:a+p"]);
  });

  it("gives mock work to the mock arbiter, and never other work", () => {
    const mock = runtime("mock", "mock-b");
    const played = work("m", { runtime: "mock", family: "mock-a" });
    expect(calls([played], [claude, mock])).toEqual(["mock:mock:independent:m"]);
    expect(calls([played, work("a")], [mock, codex])).toEqual([
      "mock:mock:independent:m",
      "a:codex:independent:a",
    ]);
    expect(choose([work("a")], [mock]).rejected).toEqual([{ runtime: "mock", codes: ["mock-arbiter"] }]);
    expect(calls([work("m", { runtime: "mock", family: "mock-b" })], [mock])).toEqual([
      "mock:mock:not-independent-substituted:m",
    ]);
  });

  it("prefers pinned runtimes in their order, and takes no other", () => {
    const gemini = runtime("gemini", "google");
    expect(calls([work("a")], [codex, gemini], { pins: ["gemini", "codex"] })).toEqual([
      "a:gemini:independent:a",
    ]);
    expect(choose([work("a")], [codex, gemini], { pins: ["gemini"] }).rejected).toEqual([
      { runtime: "codex", codes: ["pin-mismatch"] },
    ]);
    expect(calls([work("a")], [claude, codex], { pins: ["claude"] })).toEqual([
      "c:claude:not-independent-substituted:a",
    ]);
  });

  it("moves on from runtimes that failed to answer", () => {
    expect(calls([work("a")], [claude, codex], { failed: new Set(["codex"]) })).toEqual([
      "c:claude:not-independent-substituted:a",
    ]);
  });

  it("does not trust a substitute whose tools are withheld by word only", () => {
    const attested = runtime("claude", "anthropic", {
      toolGating: { value: "coarse", evidence: "attested" },
    });
    expect(calls([work("a")], [attested])).toEqual(["c:native:not-independent-substituted:a"]);
  });

  it("names every reason why a runtime may not judge", () => {
    const record = runtime("weak", "x", {
      state: "unavailable",
      authenticated: false,
      role: "program",
      capability: "C2",
      toolGating: { value: "none", evidence: "verified" },
    });
    const deaf = runtime("deaf", "y", { capture: { value: "text", evidence: "unverified" } });
    expect(choose([work("a")], [record, deaf]).rejected).toEqual([
      {
        runtime: "weak",
        codes: ["not-live", "not-authenticated", "not-an-agent", "below-capability", "below-controls"],
      },
      { runtime: "deaf", codes: ["capture-below-text"] },
    ]);
  });
});
