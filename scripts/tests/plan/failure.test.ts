import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Attempt,
  FAILURE_RULES,
  type FailureClass,
  type Job,
  type PlanJob,
} from "../../src/core/runtime.ts";
import { RETRY_CLASSES, RISK_TIERS } from "../../src/core/tiers.ts";
import {
  backoffMs,
  decideAfterFailure,
  dispatchBound,
  dispatchCeiling,
  type FailureDecision,
  type FailureInput,
  failureCode,
  PASSED_OVER_CODES,
} from "../../src/plan/failure.ts";
import { attempt, jobState, member, planJob, property } from "./plan-support.ts";

const NOW = Date.parse("2026-01-01T00:02:00.000Z");
const MINUTE = 60_000;
const classes = Object.keys(FAILURE_RULES) as FailureClass[];
const chain = [member({ runtime: "a" }), member({ runtime: "b" }), member({ runtime: "c" })];
const retrying = (maxAttempts: number): PlanJob["retry"] => ({
  maxAttempts,
  backoffMs: 2_000,
  classes: [...RETRY_CLASSES],
});

interface Setup extends Partial<Omit<FailureInput, "job" | "jobState" | "attempt">> {
  readonly job?: Partial<PlanJob>;
  readonly chain?: PlanJob["route"]["chain"];
  readonly state?: Partial<Job>;
  readonly attempt?: Partial<Attempt>;
  /** Attempts before the one that just failed. */
  readonly before?: readonly Partial<Attempt>[];
}

function decide(failureClass: FailureClass | null, o: Setup = {}): FailureDecision {
  const { job, chain: members, state, attempt: last, before, ...rest } = o;
  const earlier = (before ?? []).map((one, at) => attempt({ attempt: at + 1, ...one }));
  const ended = attempt({ failureClass, attempt: earlier.length + 1, ...last });
  return decideAfterFailure({
    job: planJob(job, members ?? chain),
    jobState: jobState({ attemptRecords: [...earlier, ended], ...state }),
    attempt: ended,
    now: NOW,
    quotaWaitMs: 0,
    ...rest,
  });
}
const action = (failureClass: FailureClass | null, o: Setup = {}): string => decide(failureClass, o).action;

describe("classes", () => {
  it.each(classes)("%s does what its rule allows and nothing else", (name) => {
    const rule = FAILURE_RULES[name];
    const ends = rule.endsAs === "blocked" ? "block" : "fail";
    expect(action(name, { job: { retry: retrying(2) } })).toBe(
      rule.retry ? "retry" : rule.promote ? "promote" : ends,
    );
    expect(action(name)).toBe(rule.promote ? "promote" : ends);
    expect(action(name, { chain: [member({ runtime: "a" })] })).toBe(ends);
  });

  it.each([
    ["PERMISSION", "permission"],
    ["SANDBOX", "sandbox"],
    ["AUTH", "auth"],
    ["BAD_FLAG", "bad-flag"],
  ] as [FailureClass, string][])("%s blocks with the exact boundary", (name, code) => {
    expect(decide(name, { attempt: { detail: "may not write `/etc`" } })).toEqual({
      action: "block",
      candidateIndex: 0,
      notBefore: null,
      reason: code,
      detail: `stopped at a boundary: ${name} (may not write \`/etc\`)`,
      passedOver: [],
    });
  });

  it("fail with the check that was not passed when nothing failed in the runtime", () => {
    expect(decide(null, { attempt: { reason: "owned-paths", detail: "changed `x`" } })).toEqual({
      action: "fail",
      candidateIndex: 0,
      notBefore: null,
      reason: "owned-paths",
      detail: "changed `x`",
      passedOver: [],
    });
    expect(decide(null)).toMatchObject({ reason: "failed", detail: "the work did not pass its checks" });
  });

  it("of content fail, told plainly", () => {
    expect(decide("STALLED", { attempt: { detail: "no event for 5m" } })).toMatchObject({
      action: "fail",
      reason: "stalled",
      detail: "ended with STALLED (no event for 5m)",
    });
  });

  it("have codes in kebab case", () => {
    expect(failureCode("RUNTIME_CRASH")).toBe("runtime-crash");
  });
});

describe("retry", () => {
  it("comes before promotion, on the same candidate, after a pause", () => {
    expect(decide("NETWORK", { job: { retry: retrying(2) } })).toEqual({
      action: "retry",
      candidateIndex: 0,
      notBefore: NOW + 2_000,
      reason: "network",
      detail: "attempt 1 of `a` ended with NETWORK; trying again",
      passedOver: [],
    });
  });

  it("ends with the attempts that the job allows", () => {
    const job = { retry: retrying(2) };
    expect(action("NETWORK", { job, before: [{}], attempt: { relation: "retry" } })).toBe("promote");
  });

  it("counts per candidate, in this round, without resumed attempts", () => {
    const job = { retry: retrying(2) };
    const promoted = { relation: "promotion", runtime: "b" } as const;
    expect(
      action("NETWORK", {
        job,
        before: [{}, { relation: "retry" }],
        attempt: promoted,
        state: { candidateIndex: 1 },
      }),
    ).toBe("retry");
    expect(action("NETWORK", { job, before: [{}], attempt: { relation: "resume" } })).toBe("retry");
    expect(
      action("NETWORK", {
        job,
        before: [{}, { relation: "retry" }],
        attempt: { relation: "user-retry" },
        state: { reopenedAt: 2 },
      }),
    ).toBe("retry");
    const retried = {
      job: { retry: retrying(2), maxPromotions: 0 },
      attempt: { relation: "retry" },
    } as const;
    expect(action("NETWORK", { ...retried, before: [{}] })).toBe("block");
    expect(action("NETWORK", { ...retried, before: [{}], state: { reopenedAt: 1 } })).toBe("retry");
    expect(
      action("NETWORK", { job, before: [{}, { relation: "retry" }], attempt: { relation: "resume" } }),
    ).toBe("promote");
  });

  it("is for the classes that the job lists", () => {
    const job = { retry: { ...retrying(3), classes: ["NETWORK" as const] } };
    expect(action("NETWORK", { job })).toBe("retry");
    expect(action("RUNTIME_CRASH", { job })).toBe("promote");
  });

  it("is pointless on a runtime that is gone", () => {
    const job = { retry: retrying(3) };
    expect(action("RUNTIME_CRASH", { job, liveCandidates: (id) => id !== "a" })).toBe("promote");
  });

  it("waits twice as long each time, at most a minute", () => {
    expect([0, 1, 2, 3, 4, 5, 6, 40].map((spent) => backoffMs(2_000, spent))).toEqual([
      2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
    const before = [{}, { relation: "retry" }] as const;
    expect(
      decide("NETWORK", { job: { retry: retrying(4) }, before, attempt: { relation: "retry" } }).notBefore,
    ).toBe(NOW + 8_000);
  });

  it("of a refused flag happens once, and only when a new probe reads differently", () => {
    expect(action("BAD_FLAG")).toBe("block");
    expect(decide("BAD_FLAG", { argvChanged: true })).toMatchObject({
      action: "retry",
      candidateIndex: 0,
      notBefore: null,
      reason: "bad-flag",
    });
    expect(
      action("BAD_FLAG", {
        argvChanged: true,
        before: [{ failureClass: "BAD_FLAG" }],
        attempt: { relation: "retry" },
      }),
    ).toBe("block");
    expect(action("BAD_FLAG", { argvChanged: true, job: { maxPromotions: 0 } })).toBe("block");
    expect(action("BAD_FLAG", { argvChanged: true, before: [{}], attempt: { relation: "retry" } })).toBe(
      "retry",
    );
    expect(decide("BAD_FLAG", { argvChanged: true }).detail).toBe(
      "the flags were probed again and read differently",
    );
  });
});

describe("a limit that opens again", () => {
  const opens = (ms: number): Partial<Attempt> => ({ resetAt: new Date(NOW + ms).toISOString() });
  const job = { retry: retrying(2) };

  it.each(["RATE_LIMIT", "QUOTA"] as const)("%s within a minute is waited for, with a margin", (name) => {
    expect(decide(name, { job, attempt: opens(MINUTE) })).toEqual({
      action: "wait",
      candidateIndex: 0,
      notBefore: NOW + MINUTE + 5_000,
      reason: "quota",
      detail: `attempt 1 of \`a\` ended with ${name}; waiting until 2026-01-01T00:03:05.000Z`,
      passedOver: [],
    });
  });

  it("further away than a minute and the allowed wait counts as used up", () => {
    expect(action("QUOTA", { job, attempt: opens(MINUTE + 1) })).toBe("promote");
    expect(action("QUOTA", { job, attempt: opens(MINUTE + 1), quotaWaitMs: MINUTE + 1 })).toBe("wait");
    expect(action("QUOTA", { job, attempt: opens(3 * MINUTE), quotaWaitMs: 2 * MINUTE })).toBe("promote");
  });

  it("is not waited for beyond the attempts that the job allows", () => {
    expect(action("QUOTA", { attempt: opens(10_000) })).toBe("promote");
  });

  it("never starts before the usual pause", () => {
    const slow = { retry: { ...retrying(2), backoffMs: 30_000 } };
    expect(decide("QUOTA", { job: slow, attempt: opens(1_000) }).notBefore).toBe(NOW + 30_000);
  });

  it("in the past is an ordinary retry", () => {
    expect(decide("QUOTA", { job, attempt: opens(-1) })).toMatchObject({
      action: "retry",
      notBefore: NOW + 2_000,
    });
  });

  it("at an unknown time is waited for as long as the run allows, and only when it does", () => {
    expect(decide("QUOTA", { job, quotaWaitMs: 10 * MINUTE })).toMatchObject({
      action: "wait",
      notBefore: NOW + 10 * MINUTE,
    });
    expect(decide("QUOTA", { job })).toMatchObject({ action: "retry", notBefore: NOW + 2_000 });
    expect(decide("RATE_LIMIT", { job, quotaWaitMs: 10 * MINUTE })).toMatchObject({ action: "retry" });
    expect(action("QUOTA", { job, quotaWaitMs: 10 * MINUTE, attempt: { resetAt: "soon" } })).toBe("wait");
  });

  it("blocks reopenably when nothing else is left", () => {
    const alone = [member({ runtime: "a" })];
    expect(decide("QUOTA", { chain: alone })).toMatchObject({ action: "block", reason: "quota" });
    expect(decide("RATE_LIMIT", { chain: alone, attempt: opens(MINUTE) })).toMatchObject({ reason: "quota" });
    expect(decide("RATE_LIMIT", { chain: alone })).toMatchObject({ reason: "rate-limit" });
    expect(decide("NETWORK", { chain: alone, attempt: opens(MINUTE) })).toMatchObject({ reason: "network" });
  });

  it("is told as an instant when the job stops for it, and by no other class", () => {
    const alone = { chain: [member({ runtime: "a" })], attempt: opens(10 * MINUTE) };
    for (const name of ["QUOTA", "RATE_LIMIT"] as const)
      expect(decide(name, alone).detail).toBe(
        `attempt 1 of \`a\`: ${name}; nothing else may be tried; the limit opens at 2026-01-01T00:12:00.000Z`,
      );
    for (const name of classes.filter((one) => one !== "QUOTA" && one !== "RATE_LIMIT"))
      expect(decide(name, alone).detail).not.toContain("opens at");
  });

  it("means nothing to other classes", () => {
    expect(decide("NETWORK", { job, attempt: opens(10 * MINUTE) }).action).toBe("retry");
  });
});

describe("promotion", () => {
  it("goes to the next member at once", () => {
    expect(decide("NETWORK")).toEqual({
      action: "promote",
      candidateIndex: 1,
      notBefore: null,
      reason: "network",
      detail: "attempt 1 of `a` ended with NETWORK; going on with `b`",
      passedOver: [],
    });
  });

  it("passes members that are weaker than the planned one", () => {
    const members = [
      member({ runtime: "a" }),
      member({ runtime: "b", weaker: ["capture"] }),
      member({ runtime: "c" }),
    ];
    expect(decide("NETWORK", { chain: members })).toMatchObject({
      action: "promote",
      candidateIndex: 2,
      passedOver: [{ runtime: "b", model: null, code: "weaker" }],
    });
  });

  it("names whom it passed over by one of a closed set of reasons, each of them seen", () => {
    const members = [
      member({ runtime: "a" }),
      member({ runtime: "b", weaker: ["capture"] }),
      member({ runtime: "a" }),
      member({ runtime: "c" }),
    ];
    const { passedOver } = decide("NETWORK", { chain: members, liveCandidates: (id) => id !== "c" });
    expect(passedOver.map((one) => one.code)).toEqual([...PASSED_OVER_CODES]);
    // A class that never promotes looks for nobody.
    expect(decide("BAD_OUTPUT", { chain: members }).passedOver).toEqual([]);
  });

  it("passes members that are weaker than the one that failed", () => {
    const strength = (isolation: number): number[] => [1, 1, 1, isolation, 1, 1, 1];
    const members = [
      member({ runtime: "a", strength: strength(1) }),
      member({ runtime: "b", strength: strength(5) }),
      member({ runtime: "c", strength: strength(3) }),
    ];
    const from = (candidateIndex: number): FailureDecision =>
      decide("NETWORK", {
        chain: members,
        before: candidateIndex === 0 ? [] : [{}],
        attempt: candidateIndex === 0 ? {} : { relation: "promotion", runtime: "b" },
        state: { candidateIndex },
      });
    expect(
      decide("NETWORK", { chain: [members[0] as never, member({ runtime: "b" })] }),
      "a member of unknown strength goes by what the plan says",
    ).toMatchObject({ candidateIndex: 1 });
    expect(from(0)).toMatchObject({ action: "promote", candidateIndex: 1 });
    expect(from(1)).toMatchObject({ action: "block" });
  });

  it("passes members that are not live now", () => {
    expect(decide("NETWORK", { liveCandidates: (id) => id !== "b" })).toMatchObject({ candidateIndex: 2 });
    expect(decide("NETWORK", { liveCandidates: (id) => id === "a" })).toMatchObject({
      action: "block",
      detail:
        "attempt 1 of `a`: NETWORK; nothing else may be tried; passed over `b` (not fit now), `c` (not fit now)",
      passedOver: [
        { runtime: "b", model: null, code: "not-fit-now" },
        { runtime: "c", model: null, code: "not-fit-now" },
      ],
    });
    // Asked for each member by itself: another model of the same runtime may still be there.
    const models = [member({ runtime: "a", model: "gone" }), member({ runtime: "a", model: "there" })];
    const failed = { chain: models, attempt: { runtime: "a", modelRequested: "gone" } };
    expect(
      decide("MODEL_UNAVAILABLE", { ...failed, liveCandidates: (_, one) => one?.model === "there" }),
    ).toMatchObject({ action: "promote", candidateIndex: 1 });
  });

  it("passes members that failed this job already, but not the same runtime with another model", () => {
    const members = [
      member({ runtime: "a" }),
      member({ runtime: "b" }),
      member({ runtime: "a" }),
      member({ runtime: "a", model: "other" }),
    ];
    expect(
      decide("NETWORK", {
        chain: members,
        before: [{ runtime: "a" }],
        attempt: { relation: "promotion", runtime: "b" },
        state: { candidateIndex: 1 },
      }),
    ).toMatchObject({
      action: "promote",
      candidateIndex: 3,
      detail: expect.stringContaining("`a other`"),
      passedOver: [{ runtime: "a", model: null, code: "already-failed" }],
    });
  });

  it("is bounded, and switched off by 0", () => {
    const last = { relation: "promotion", runtime: "b" } as const;
    const o = { before: [{}], attempt: last, state: { candidateIndex: 1 } };
    expect(action("NETWORK", { ...o, job: { maxPromotions: 2 } })).toBe("promote");
    expect(action("NETWORK", { ...o, job: { maxPromotions: 1 } })).toBe("block");
    // Attempts are left, promotions are not.
    const patient = { maxPromotions: 1, retry: { ...retrying(3), classes: [] } };
    expect(action("NETWORK", { job: patient })).toBe("promote");
    expect(action("NETWORK", { ...o, job: patient })).toBe("block");
    // Promotions are left, attempts are not.
    const spent = [{}, { relation: "user-retry" }, { relation: "user-retry" }] as const;
    const late = { before: spent, attempt: { relation: "user-retry" }, job: { maxPromotions: 2 } } as const;
    expect(action("NETWORK", late)).toBe("block");
    expect(action("NETWORK", { ...late, before: spent.slice(0, 1) })).toBe("promote");
    expect(action("NETWORK", { job: { maxPromotions: 0 } })).toBe("block");
  });

  it("never leaves the runtime of a session", () => {
    expect(action("NETWORK", { job: { session: { fromJob: "x", mode: "continue" } } })).toBe("block");
  });

  it("for a model that is gone only happens when the model is not pinned", () => {
    expect(decide("MODEL_UNAVAILABLE")).toMatchObject({ action: "promote" });
    expect(decide("MODEL_UNAVAILABLE", { job: { modelPinned: "x" } })).toMatchObject({
      action: "block",
      reason: "model-unavailable",
    });
    expect(action("NETWORK", { job: { modelPinned: "x" } })).toBe("promote");
  });

  it("exhausted blocks with the whole chain of triggers", () => {
    expect(
      decide("RUNTIME_CRASH", {
        before: [{ runtime: "a", failureClass: "NETWORK" }],
        attempt: { relation: "promotion", runtime: "c", detail: "signal 9" },
        state: { candidateIndex: 2 },
      }),
    ).toEqual({
      action: "block",
      candidateIndex: 2,
      notBefore: null,
      reason: "runtime-crash",
      detail:
        "attempt 1 of `a`: NETWORK; attempt 2 of `c`: RUNTIME_CRASH; nothing else may be tried (signal 9)",
      passedOver: [],
    });
  });
});

describe("hard stops", () => {
  const infrastructure = classes.filter(
    (name) => FAILURE_RULES[name].group === "infrastructure" || name === "BAD_FLAG",
  );
  const job = { retry: retrying(3) };

  it.each(infrastructure)("work at R3 that started is never repeated after %s", (name) => {
    for (const change of [{ riskTier: "R3" }, { effect: "external-destructive" }] as Partial<PlanJob>[])
      expect(
        decide(name, { job: { ...job, ...change }, argvChanged: true, attempt: { detail: "gone" } }),
      ).toEqual({
        action: "block",
        candidateIndex: 0,
        notBefore: null,
        reason: "external-effect",
        detail: `ended with ${name} (gone); work with external effects that started is never repeated: only \`resume --retry\` with a fresh approval runs it again`,
        passedOver: [],
      });
  });

  it("work at R3 that never started may be tried again", () => {
    const never = { startedAt: null, pid: null };
    expect(action("NETWORK", { job: { ...job, riskTier: "R3" }, attempt: never })).toBe("retry");
    expect(action("NETWORK", { job: { ...job, riskTier: "R3" }, attempt: { startedAt: null } })).toBe(
      "block",
    );
  });

  it.each(infrastructure)("a writer in the shared checkout is not repeated after %s", (name) => {
    expect(decide(name, { job: { ...job, writer: true }, argvChanged: true })).toMatchObject({
      action: "block",
      reason: "uncertain-writer",
      detail: `ended with ${name}; it may have left half an edit in the shared checkout, so no other attempt starts on top of it`,
    });
  });

  it("a writer may go on in its own worktree, before its start, or when nothing changed", () => {
    const writer = { ...job, writer: true };
    expect(action("NETWORK", { job: { ...writer, isolation: "worktree" } })).toBe("retry");
    expect(action("NETWORK", { job: writer, attempt: { startedAt: null, pid: null } })).toBe("retry");
    expect(action("NETWORK", { job: writer, unchanged: true })).toBe("retry");
    expect(action("NETWORK", { job: writer, unchanged: false })).toBe("block");
    expect(action("NETWORK", { job: { ...job, writer: false } })).toBe("retry");
  });

  it("keep the end of other classes", () => {
    expect(decide("PERMISSION", { job: { ...job, riskTier: "R3" } }).reason).toBe("permission");
    expect(decide("BAD_FLAG", { job: { ...job, riskTier: "R3" } }).reason).toBe("bad-flag");
    expect(decide("TEST_FAILURE", { job: { ...job, writer: true } })).toMatchObject({
      action: "fail",
      reason: "test-failure",
    });
  });

  it("nothing follows an attempt whose end nobody could prove", () => {
    for (const last of [{ settlement: "unsettled" }, { status: "unsettled" }] as Partial<Attempt>[])
      expect(decide("NETWORK", { job, attempt: last })).toMatchObject({
        action: "fail",
        reason: "unsettled",
      });
  });
});

describe("the one bound", () => {
  it("is the promotions plus one times the attempts", () => {
    expect(dispatchBound({ maxPromotions: 2, retry: retrying(3) })).toBe(9);
    expect(dispatchBound({ maxPromotions: 0, retry: retrying(0) })).toBe(1);
    expect(dispatchBound({ maxPromotions: 9, retry: retrying(1) })).toBe(5);
  });

  it("shows in a plan cut to the members that could take over", () => {
    const of = (job: Partial<PlanJob>, members = chain): number => dispatchCeiling(planJob(job, members));
    expect(of({ maxPromotions: 4, retry: retrying(2) })).toBe(6);
    expect(of({ maxPromotions: 1 })).toBe(2);
    expect(of({}, [member({ runtime: "a" }), member({ runtime: "b", weaker: ["capture"] })])).toBe(1);
    expect(of({}, [])).toBe(1);
    expect(of({ session: { fromJob: "x", mode: "fork" }, retry: retrying(3) })).toBe(3);
  });

  it("holds for every run of failures, and no step weakens a control or comes back to what failed", () => {
    const strength = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 7, maxLength: 7 });
    const members = fc.array(strength, { minLength: 1, maxLength: 6 }).map((strengths) =>
      strengths.map((levels, at) =>
        member({
          runtime: `r${at}`,
          strength: levels,
          weaker: levels.some((level, i) => level < ((strengths[0] as number[])[i] as number))
            ? ["approval"]
            : [],
        }),
      ),
    );
    const failures = fc.array(
      fc.record({
        failureClass: fc.constantFrom(...classes),
        resetIn: fc.constantFrom(null, 1_000, 10 * MINUTE),
        live: fc.boolean(),
      }),
      { minLength: 80, maxLength: 80 },
    );
    fc.assert(
      fc.property(
        members,
        failures,
        fc.record({
          riskTier: fc.constantFrom(...RISK_TIERS),
          writer: fc.boolean(),
          isolation: fc.constantFrom("none" as const, "worktree" as const),
          maxPromotions: fc.integer({ min: 0, max: 4 }),
          maxAttempts: fc.integer({ min: 1, max: 5 }),
        }),
        (route, script, shape) => {
          const job = planJob({ ...shape, retry: retrying(shape.maxAttempts) }, route);
          const records: Attempt[] = [];
          let candidateIndex = 0;
          let relation: Attempt["relation"] = "first";
          const used: number[] = [];
          for (const step of script) {
            const last = attempt({
              attempt: records.length + 1,
              relation,
              runtime: route[candidateIndex]?.runtime as string,
              failureClass: step.failureClass,
              resetAt: step.resetIn === null ? null : new Date(NOW + step.resetIn).toISOString(),
            });
            records.push(last);
            used.push(candidateIndex);
            const next = decideAfterFailure({
              job,
              jobState: jobState({ attemptRecords: [...records], candidateIndex }),
              attempt: last,
              now: NOW,
              quotaWaitMs: 0,
              argvChanged: step.live,
              liveCandidates: () => step.live,
            });
            if (next.action === "block" || next.action === "fail") break;
            relation = next.action === "promote" ? "promotion" : "retry";
            if (next.action === "promote") {
              const [from, to] = [route[candidateIndex], route[next.candidateIndex]];
              expect(next.candidateIndex).toBeGreaterThan(candidateIndex);
              expect(used).not.toContain(next.candidateIndex);
              expect(to?.weaker).toEqual([]);
              to?.strength?.forEach((level, i) => {
                expect(level).toBeGreaterThanOrEqual(from?.strength?.[i] as number);
              });
              expect(step.live).toBe(true);
            } else expect(next.candidateIndex).toBe(candidateIndex);
            candidateIndex = next.candidateIndex;
          }
          expect(records.length).toBeLessThanOrEqual(dispatchBound(job));
          expect(records.filter((one) => one.relation === "promotion").length).toBeLessThanOrEqual(
            shape.maxPromotions,
          );
          if (shape.riskTier === "R3" || (shape.writer && shape.isolation === "none"))
            expect(records).toHaveLength(1);
        },
      ),
      property(400),
    );
  });
});
