import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILURE_RULES, type FailureClass, type PlanJob } from "../../src/core/runtime.ts";
import { CAPABILITY_TIERS, RISK_TIERS } from "../../src/core/tiers.ts";
import { raiseFloors } from "../../src/plan/tier.ts";
import type { AnswerOf } from "../../src/plane/answer.ts";
import { type EgressGrant, egressId, egressWords } from "../../src/plane/egress.ts";
import { buildEnvelope } from "../../src/plane/envelope.ts";
import { type PreconditionFacts, planeOffReason } from "../../src/plane/preconditions.ts";
import { decisionRecord } from "../../src/plane/record.ts";
import { pairsToAsk, relationProposal } from "../../src/plane/relation.ts";
import { routerCouldRaise, routerTargets } from "../../src/plane/router.ts";
import { microMode } from "../../src/plane/sample.ts";
import { triageCouldHelp, triageDecision } from "../../src/plane/triage.ts";
import { watchdogDecision } from "../../src/plane/watchdog.ts";
import { CALM, sure } from "../support/plane.ts";

const watchdog = (action: string, p = 0.95): AnswerOf<"watchdog"> =>
  ({ ...CALM.watchdog, recommended_action: sure(action, p) }) as unknown as AnswerOf<"watchdog">;
const triage = (recovery: string, p = 0.95): AnswerOf<"triage"> =>
  ({ ...CALM.triage, recovery_class: sure(recovery, p) }) as unknown as AnswerOf<"triage">;

describe("the watchdog", () => {
  it("maps each recommendation by a fixed table, and never proposes to end a writer", () => {
    const table = ["continue", "steer", "retry", "fallback_runtime", "escalate", "abort"].map((action) => [
      action,
      watchdogDecision(watchdog(action), { writer: false }).proposal,
      watchdogDecision(watchdog(action), { writer: true }).proposal,
    ]);
    expect(table).toEqual([
      ["continue", null, null],
      ["steer", "look", "look"],
      ["retry", null, null],
      ["fallback_runtime", null, null],
      ["escalate", "ask-user", "ask-user"],
      ["abort", "end", "look"],
    ]);
  });

  it("says nothing on a weak signal", () => {
    expect(watchdogDecision(watchdog("abort", 0.89), { writer: false })).toEqual({
      proposal: null,
      lowConfidence: true,
    });
    expect(watchdogDecision(watchdog("abort", 0.9), { writer: false }).lowConfidence).toBe(false);
  });
});

describe("triage", () => {
  const of = (recovery: string, failureClass: FailureClass = "UNKNOWN", external = false) =>
    triageDecision(triage(recovery), { failureClass, external }).proposal;

  it("maps each recovery to a proposal", () => {
    expect(
      [
        "reprobe_runtime",
        "retry_same",
        "retry_with_changed_input",
        "fallback_runtime",
        "request_approval",
        "escalate_to_user",
        "block",
      ].map((recovery) => of(recovery)),
    ).toEqual(["look-again", "retry", "change-input", "other-runtime", "approve", "ask-user", null]);
    expect(triageDecision(triage("retry_same", 0.5), { failureClass: "UNKNOWN", external: false })).toEqual({
      proposal: null,
      lowConfidence: true,
    });
    expect(triageDecision(triage("block"), { failureClass: "UNKNOWN", external: false }).lowConfidence).toBe(
      false,
    );
  });

  it("proposes no repetition past a boundary or a failing check, nor of external work", () => {
    for (const failureClass of Object.keys(FAILURE_RULES) as FailureClass[]) {
      const never = ["PERMISSION", "SANDBOX", "AUTH", "BAD_FLAG", "TEST_FAILURE", "BAD_OUTPUT"].includes(
        failureClass,
      );
      expect([failureClass, of("retry_same", failureClass)]).toEqual([failureClass, never ? null : "retry"]);
      expect([failureClass, of("fallback_runtime", failureClass)]).toEqual([
        failureClass,
        never ? null : "other-runtime",
      ]);
      expect(of("escalate_to_user", failureClass)).toBe("ask-user");
    }
    expect(of("retry_same", "UNKNOWN", true)).toBe(null);
    expect(of("request_approval", "UNKNOWN", true)).toBe("approve");
  });

  it("is asked only when nothing follows by itself", () => {
    const all = ["retry", "wait", "promote", "block", "fail"] as const;
    expect(all.filter(triageCouldHelp)).toEqual(["block", "fail"]);
  });
});

describe("the router", () => {
  const answers = (capability: string, risk: string, p = 0.95): AnswerOf<"router"> =>
    ({
      ...CALM.router,
      target_capability: sure(capability, p),
      target_risk: sure(risk, p),
    }) as unknown as AnswerOf<"router">;

  it("can only raise a floor, on strong signals", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CAPABILITY_TIERS),
        fc.constantFrom(...RISK_TIERS),
        fc.constantFrom(...CAPABILITY_TIERS),
        fc.constantFrom(...RISK_TIERS),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (capabilityFloor, riskTier, capability, risk, p) => {
          const raised = raiseFloors(
            { capabilityFloor, riskTier },
            routerTargets(answers(capability, risk, p)),
          );
          const strong = p >= 0.9;
          const max = <T extends string>(a: T, b: T): T => (a > b ? a : b);
          expect(raised.capabilityFloor).toBe(strong ? max(capabilityFloor, capability) : capabilityFloor);
          expect(raised.riskTier).toBe(strong ? max(riskTier, risk) : riskTier);
          const lower = Number(capability < capabilityFloor) + Number(risk < riskTier);
          expect(raised.discarded).toBe(strong ? lower : 0);
        },
      ),
    );
  });

  it("is not asked where nothing is left to raise", () => {
    expect(routerCouldRaise({ capabilityFloor: "C3", riskTier: "R3" })).toBe(false);
    expect(routerCouldRaise({ capabilityFloor: "C2", riskTier: "R3" })).toBe(true);
    expect(routerCouldRaise({ capabilityFloor: "C3", riskTier: "R2" })).toBe(true);
  });
});

describe("the micro-arbiter is asked", () => {
  const mode = (o: Partial<Parameters<typeof microMode>[0]>) =>
    microMode({ otherwiseAcceptable: false, calibrationValid: false, othersSoFar: 0, shadowCalls: 0, ...o });

  it("about everything that lacks only its signals, deciding when calibrated and observing when not", () => {
    expect(mode({ otherwiseAcceptable: true, calibrationValid: true })).toBe("deciding");
    expect(mode({ otherwiseAcceptable: true })).toBe("observing");
  });

  it("about every tenth of the rest, five times a run at most, and never to decide", () => {
    const asked = Array.from({ length: 40 }, (_, at) => at).filter(
      (othersSoFar) => mode({ othersSoFar }) !== null,
    );
    expect(asked).toEqual([10, 20, 30]);
    expect(mode({ othersSoFar: 10, calibrationValid: true })).toBe("shadow");
    expect(mode({ othersSoFar: 10, shadowCalls: 4 })).toBe("shadow");
    expect(mode({ othersSoFar: 10, shadowCalls: 5 })).toBe(null);
  });
});

describe("preconditions", () => {
  const grant: EgressGrant = {
    id: "a".repeat(64),
    entry: { provider: "p", credential_source: "env", content_classes: ["trace"], scope: "run" },
    origin: "spec",
    status: "confirmed",
  };
  const facts: PreconditionFacts = {
    classifier: { id: "c", live: true, needsCredential: true },
    credentialSource: "env",
    grant,
    malformed: false,
  };

  it("all hold, or the first that does not is the reason", () => {
    expect(planeOffReason(facts)).toBe(null);
    expect(planeOffReason({ ...facts, classifier: null })).toBe("no-classifier");
    expect(planeOffReason({ ...facts, classifier: { id: "c", live: false, needsCredential: true } })).toBe(
      "classifier-unavailable",
    );
    expect(planeOffReason({ ...facts, grant: null })).toBe("no-egress");
    expect(planeOffReason({ ...facts, grant: { ...grant, status: "denied" } })).toBe("egress-denied");
    expect(planeOffReason({ ...facts, grant: { ...grant, status: "asked" } })).toBe("egress-unconfirmed");
    expect(planeOffReason({ ...facts, credentialSource: "absent" })).toBe("no-credential");
    expect(planeOffReason({ ...facts, credentialSource: "project-env" })).toBe("credential-source-differs");
    expect(planeOffReason({ ...facts, malformed: true })).toBe("malformed");
    const keyless = { id: "c", live: true, needsCredential: false };
    const absent = { ...grant, entry: { ...grant.entry, credential_source: "absent" } };
    expect(planeOffReason({ ...facts, classifier: keyless, credentialSource: "absent" })).toBe(
      "credential-source-differs",
    );
    expect(planeOffReason({ ...facts, classifier: keyless, credentialSource: "absent", grant: absent })).toBe(
      null,
    );
  });

  it("one leave covers exactly its provider, source, content, reach, spec and declared program", () => {
    const base = { entry: grant.entry, specSha256: "s", projectDeclaration: null };
    const ids = [
      base,
      { ...base, entry: { ...grant.entry, provider: "q" } },
      { ...base, entry: { ...grant.entry, credential_source: "absent" } },
      { ...base, entry: { ...grant.entry, content_classes: ["trace", "result"] as const } },
      { ...base, entry: { ...grant.entry, scope: "project" as const } },
      { ...base, specSha256: "t" },
      { ...base, projectDeclaration: "d" },
    ].map(egressId);
    expect(new Set(ids).size).toBe(ids.length);
    const order = (...content_classes: ("trace" | "result")[]) =>
      egressId({ ...base, entry: { ...grant.entry, content_classes } });
    expect(order("trace", "result")).toBe(order("result", "trace"));
    expect(ids[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("is asked in words", () => {
    expect(egressWords(grant.entry, "c")).toBe(
      "`c` may send trace to `p`, with the key from `env`, by runs of this spec",
    );
    expect(
      egressWords({ ...grant.entry, content_classes: ["prompt", "result", "trace"], scope: "project" }, "c"),
    ).toBe(
      "`c` may send prompt, result and trace to `p`, with the key from `env`, by runs and dry runs of this spec",
    );
    expect(egressWords({ ...grant.entry, content_classes: [] }, "c")).toContain("send nothing to");
  });
});

describe("an envelope", () => {
  const piece = (label: string, text: string, contentClass: "prompt" | "result" | "trace" = "trace") => ({
    label,
    text,
    contentClass,
    provenance: label === "facts" ? ("coordinator" as const) : ("job" as const),
  });
  const build = (pieces: ReturnType<typeof piece>[], allowed = ["trace" as const]) =>
    buildEnvelope({
      task: "watchdog",
      pieces,
      allowed: new Set(allowed),
      redact: (text) => text.replaceAll("KEY", "***"),
    });

  it("holds only content that the leave covers, redacted, with its origin", () => {
    const { text, ref } = build([
      piece("facts", "{}"),
      piece("tail", "a KEY"),
      piece("claims", "no", "result"),
    ]);
    const envelope = JSON.parse(text);
    expect(envelope).toMatchObject({ schemaVersion: 1, task: "watchdog", answerSchema: "plane-answer" });
    expect(envelope.state).toEqual([
      {
        label: "facts",
        provenance: "coordinator",
        trust: "trusted",
        contentClass: "trace",
        text: "{}",
        truncated: false,
      },
      {
        label: "tail",
        provenance: "job",
        trust: "untrusted",
        contentClass: "trace",
        text: "a ***",
        truncated: false,
      },
    ]);
    expect(ref).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(build([piece("facts", "{}")]).ref).not.toBe(ref);
    expect(build([]).text).toContain('"state":[]');
  });

  it("is bounded, whatever it is given, without half characters", () => {
    const { text } = build([piece("facts", "é".repeat(40_000)), piece("tail", "short")]);
    const [facts, tail] = JSON.parse(text).state;
    expect(facts.truncated).toBe(true);
    expect(Buffer.byteLength(facts.text)).toBe(12_288);
    expect(facts.text).not.toContain("\ufffd");
    expect(tail).toMatchObject({ text: "short", truncated: false });
    const odd = JSON.parse(build([piece("facts", `a${"é".repeat(40_000)}`)]).text).state[0];
    expect(odd.text.endsWith("é")).toBe(true);
    const exact = JSON.parse(build([piece("facts", "a".repeat(24_576))]).text).state[0];
    expect(exact.truncated).toBe(false);
    // What the work itself printed is shown as it is: only a half character at the cut is dropped.
    const broken = "a\ufffd\ufffd";
    expect(JSON.parse(build([piece("facts", broken)]).text).state[0]).toMatchObject({
      text: broken,
      truncated: false,
    });
    const cut = JSON.parse(build([piece("facts", `\ufffd${"é".repeat(40_000)}`)]).text).state[0];
    expect(cut.text.startsWith("\ufffdé")).toBe(true);
  });
});

describe("a decision record", () => {
  const input: Parameters<typeof decisionRecord>[0] = {
    runId: "r",
    jobId: "a",
    attempt: 1,
    spanId: "0123456789abcdef",
    decision: "watchdog",
    candidate: "c",
    reason: "ok",
    inputRef: "sha256:0",
    egressAuthority: "egress:0",
    scores: { is_stalled: 0.5 },
    applied: false,
    outcomeRef: null,
  };

  it("has the fields of the contract and nothing else", () => {
    expect(decisionRecord({ ...input, text: "no" } as never)).toEqual({ ...input, riskTier: "R0" });
  });

  it("is not stored with text in it", () => {
    expect(decisionRecord({ ...input, outcomeRef: "some words" })).toBe(null);
    expect(decisionRecord({ ...input, scores: { a: "b" } } as never)).toBe(null);
    expect(decisionRecord({ ...input, reason: "because" } as never)).toBe(null);
  });
});

describe("graph relations", () => {
  const job = (id: string, more: Partial<PlanJob> = {}) =>
    ({
      id,
      task: "scout",
      effect: "observe",
      riskTier: "R0",
      agent: null,
      skill: null,
      isolation: "none",
      authority: null,
      dependsOn: [],
      modelPinned: null,
      effortPinned: null,
      session: null,
      invocation: null,
      requested: { runtime: null, fallbackRuntime: [] },
      ...more,
    }) as unknown as PlanJob;
  const pairs = (...jobs: PlanJob[]) => pairsToAsk(jobs, 10).pairs;

  it("are asked about pairs that could be merged or ordered, and no others", () => {
    expect(pairs(job("a"), job("b"))).toEqual([["a", "b"]]);
    expect(
      pairs(job("a"), job("b", { requested: { runtime: "<verified-cli-runtime>", fallbackRuntime: [] } })),
    ).toHaveLength(1);
    for (const more of [
      { riskTier: "R1" },
      { effect: "scoped-write" },
      { agent: "x" },
      { skill: "x" },
      { isolation: "worktree" },
      { authority: "x" },
      { modelPinned: "m" },
      { effortPinned: "low" },
      { session: { fromJob: "a", mode: "fork" } },
      { invocation: { command: "x", args: [], stdin: "none", envAllow: [] } },
      { requested: { runtime: "claude", fallbackRuntime: [] } },
      { task: "review" },
      { task: "audit" },
      { task: "security" },
      { dependsOn: ["a"] },
    ] as Partial<PlanJob>[]) {
      expect({ more, pairs: pairs(job("a"), job("b", more)) }).toEqual({ more, pairs: [] });
    }
    expect(pairs(job("a", { riskTier: "R3" }), job("b", { riskTier: "R3" }))).toEqual([]);
    expect(
      pairs(job("a"), job("b", { dependsOn: ["a"], riskTier: "R1" }), job("c", { dependsOn: ["b"] })),
    ).toEqual([]);
    expect(pairs(job("a"), job("b", { requested: undefined } as never))).toHaveLength(1);
  });

  it("are bounded, and what is left out is counted", () => {
    const jobs = ["a", "b", "c", "d"].map((id) => job(id));
    expect(pairsToAsk(jobs, 2)).toEqual({
      pairs: [
        ["a", "b"],
        ["a", "c"],
      ],
      omitted: 4,
    });
  });

  it("are proposed on strong signals only", () => {
    const answers = (p: number) =>
      ({ relation: sure("overlapping", p) }) as unknown as AnswerOf<"graph_relation">;
    expect(relationProposal(["a", "b"], answers(0.9))).toEqual({
      first: "a",
      second: "b",
      relation: "overlapping",
      probability: 0.9,
    });
    expect(relationProposal(["a", "b"], answers(0.8))).toBe(null);
  });
});
