import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Attempt, RuntimeRecord } from "../../src/core/runtime.ts";
import { FAILURE_RULES, type FailureClass } from "../../src/core/runtime.ts";
import { capabilityAtLeast } from "../../src/core/tiers.ts";
import { candidatesOf } from "../../src/plan/candidates.ts";
import { controlStrength, weakerConcerns } from "../../src/plan/controls.ts";
import { decideAfterFailure, dispatchBound } from "../../src/plan/failure.ts";
import { controlledJob, rejections } from "../../src/plan/filter.ts";
import { routeJob } from "../../src/plan/route.ts";
import { whyUnfit } from "../../src/plan/still-fits.ts";
import {
  anyInventory,
  anyRecord,
  anyRouteJob,
  attempt,
  jobState,
  member,
  planJob,
  property,
  record,
  world,
} from "./plan-support.ts";

const job = planJob({ riskTier: "R1", writer: false });
const alpha = record({ id: "alpha" });
const why = (now: Partial<RuntimeRecord>, o: { model?: string; planned?: Partial<RuntimeRecord> } = {}) =>
  whyUnfit({
    job,
    member: {
      ...member({ runtime: "alpha", model: o.model ?? null }),
      strength: controlStrength(alpha, {
        riskTier: "R1",
        writer: false,
        worktree: false,
        tools: [...job.tools.allowed],
      }),
    },
    planned: { ...alpha, ...o.planned },
    now: { ...alpha, ...now },
  });

describe("a runtime that was asked again", () => {
  it("fits as long as nothing that the plan rests on changed", () => {
    expect(why({})).toBeNull();
    expect(why({ version: "9.9.9", state: "constrained" })).toBeNull();
    expect(why({ authSource: "unknown" })).toBeNull();
    expect(why({ models: ["big"] }, { model: "big" })).toBeNull();
    expect(why({ models: null }, { model: "big" })).toBeNull();
  });

  it.each<[string, Partial<RuntimeRecord>, string]>([
    ["is gone", { state: "unavailable", reason: "not-found" }, "unavailable: not-found"],
    ["is logged out", { authenticated: false }, "not logged in any more"],
    ["answers from elsewhere", { gateway: !alpha.gateway }, "another endpoint answers than planned"],
    [
      "lost a control",
      { toolGating: { value: "none", evidence: "verified" } },
      "weaker than planned: toolGating",
    ],
  ])("does not when it %s", (_, now, reason) => {
    expect(why(now)).toBe(reason);
  });

  it("does not when it is billed otherwise, or lists the model or the effort no more", () => {
    expect(why({ authSource: "key" }, { planned: { authSource: "subscription" } })).toBe(
      "its login is `key`, planned was `subscription`",
    );
    expect(why({ models: ["small"] }, { model: "big" })).toBe("does not list `big` any more");
    expect(
      whyUnfit({
        job,
        member: member({ runtime: "alpha", effort: "high" }),
        planned: alpha,
        now: { ...alpha, effortLevels: ["low"] },
      }),
    ).toBe("does not offer effort `high` any more");
  });
});

const classes = Object.keys(FAILURE_RULES) as FailureClass[];
const anyStep = fc.record({
  failureClass: fc.constantFrom(...classes),
  /** The host as it is when the step is decided. */
  hosts: fc.tuple(anyRecord("alpha"), anyRecord("beta"), anyRecord("gamma")),
  changed: fc.boolean(),
});

describe("any life of a job on any host that changes meanwhile", () => {
  it("takes no candidate that was filtered, weakens no floor and no control, keeps the bound, and repeats itself", () => {
    fc.assert(
      fc.property(
        anyInventory,
        anyRouteJob,
        fc.array(anyStep, { minLength: 30, maxLength: 30 }),
        fc.record({
          maxPromotions: fc.integer({ min: 0, max: 4 }),
          maxAttempts: fc.integer({ min: 1, max: 4 }),
        }),
        (records, routed, script, limits) => {
          const all = world(records);
          const { route } = routeJob(routed, all);
          if (route.chain.length === 0) return;
          const life = () => lifeOf({ records, routed, chain: route.chain, script, limits });
          const { trail, bound } = life();
          expect(life().trail).toEqual(trail);
          expect(trail.length).toBeLessThanOrEqual(bound);
          const filtered = new Set(
            records.flatMap((one) =>
              candidatesOf(one, routed, all)
                .filter((candidate) => rejections({ candidate, job: routed, world: all }).length > 0)
                .map((candidate) => `${one.id} ${candidate.model}`),
            ),
          );
          const lead = route.chain[0]?.strength ?? [];
          for (const at of trail) {
            const taken = route.chain[at];
            expect(filtered).not.toContain(`${taken?.runtime} ${taken?.model}`);
            if (taken?.runtime !== "mock")
              expect(capabilityAtLeast(taken?.capability ?? "C1", routed.capabilityFloor)).toBe(true);
            expect(weakerConcerns(taken?.strength ?? [], lead)).toEqual([]);
          }
        },
      ),
      property(300),
    );
  });
});

/** Chain positions in the order in which they were dispatched to. */
function lifeOf(o: {
  records: readonly RuntimeRecord[];
  routed: Parameters<typeof routeJob>[0];
  chain: ReturnType<typeof routeJob>["route"]["chain"];
  script: readonly { failureClass: FailureClass; hosts: readonly RuntimeRecord[]; changed: boolean }[];
  limits: { maxPromotions: number; maxAttempts: number };
}): { trail: number[]; bound: number } {
  const { tools } = controlledJob(o.routed);
  const planned = planJob(
    {
      riskTier: o.routed.riskTier,
      writer: o.routed.writer,
      isolation: o.routed.worktree ? "worktree" : "none",
      tools: { allowed: [...tools], disallowed: [], origin: "spec" },
      maxPromotions: o.limits.maxPromotions,
      retry: {
        maxAttempts: o.limits.maxAttempts,
        backoffMs: 1_000,
        classes: ["RATE_LIMIT", "QUOTA", "NETWORK", "RUNTIME_CRASH"],
      },
    },
    o.chain,
  );
  const trail = [0];
  const history: Attempt[] = [];
  let relation: Attempt["relation"] = "first";
  for (const step of o.script) {
    const at = trail.at(-1) as number;
    const now = new Map([...o.records, ...(step.changed ? step.hosts : [])].map((one) => [one.id, one]));
    const fits = (runtime: string, index: number): boolean => {
      const before = o.records.find((one) => one.id === runtime) as RuntimeRecord;
      const chosen = o.chain[index];
      return (
        chosen !== undefined &&
        whyUnfit({ job: planned, member: chosen, planned: before, now: now.get(runtime) ?? before }) === null
      );
    };
    const last = attempt({
      attempt: history.length + 1,
      relation,
      runtime: o.chain[at]?.runtime as string,
      modelRequested: o.chain[at]?.model ?? null,
      effortLevel: o.chain[at]?.effort ?? null,
      failureClass: step.failureClass,
    });
    history.push(last);
    const unfit = new Set<string>();
    let next = decide();
    while (
      next.action === "promote" &&
      !fits(o.chain[next.candidateIndex]?.runtime as string, next.candidateIndex)
    ) {
      unfit.add(o.chain[next.candidateIndex]?.runtime as string);
      next = decide();
    }
    function decide() {
      return decideAfterFailure({
        job: planned,
        jobState: jobState({ attemptRecords: [...history], candidateIndex: at }),
        attempt: last,
        now: 0,
        quotaWaitMs: 0,
        liveCandidates: (runtime) => !unfit.has(runtime),
      });
    }
    if (next.action === "block" || next.action === "fail") break;
    relation = next.action === "promote" ? "promotion" : "retry";
    trail.push(next.candidateIndex);
  }
  return { trail, bound: dispatchBound(planned) };
}

describe("what else a runtime that was asked again may lack", () => {
  const fits = (o: Partial<Parameters<typeof whyUnfit>[0]>) =>
    whyUnfit({ job, member: member({ runtime: "alpha" }), planned: alpha, now: alpha, ...o });

  it("is said with its state alone when nobody knows the reason", () => {
    expect(why({ state: "unavailable", reason: null })).toBe("unavailable");
  });

  it("is no other login than planned as long as one of the two is not known", () => {
    expect(why({ authSource: "key" }, { planned: { authSource: "unknown" } })).toBeNull();
    expect(why({ authSource: "unknown" }, { planned: { authSource: "key" } })).toBeNull();
  });

  it("is no model or effort where none was planned", () => {
    expect(why({ models: ["small"] })).toBeNull();
    expect(why({ models: [], modelAliases: ["big"] }, { model: "big" })).toBeNull();
    expect(fits({ now: { ...alpha, effortLevels: [] } })).toBeNull();
  });

  it("is measured by what is recorded with the member, or by the record of the plan", () => {
    const bare = { ...alpha, toolGating: { value: "none", evidence: "verified" } } as const;
    expect(fits({ now: bare })).toBe("weaker than planned: toolGating");
    expect(fits({ planned: bare, now: bare })).toBeNull();
    const nothing = {
      ...member({ runtime: "alpha" }),
      strength: controlStrength(alpha, held()).map(() => 0),
    };
    expect(fits({ member: nothing, now: bare })).toBeNull();
    const blind = { ...bare, capture: { value: "none", evidence: "verified" } } as never;
    expect(fits({ now: blind })).toBe("weaker than planned: toolGating, capture");
  });

  it("is made up for by a worktree, which the job has and not the runtime", () => {
    const open = { ...alpha, writeBoundary: { value: "none", evidence: "verified" } } as const;
    const writing = { ...planJob({ riskTier: "R2", writer: true }), isolation: "worktree" as const };
    expect(fits({ job: writing, now: open })).toBeNull();
    expect(fits({ job: { ...writing, isolation: "none" }, now: open })).toMatch(/writeBoundary/);
  });

  it("is no sandbox that covers what the job may use, and what it may not use does not count", () => {
    const boxed = {
      ...alpha,
      isolation: { value: "os-sandbox", evidence: "verified" },
      toolGating: { value: "none", evidence: "verified" },
    } as const;
    const tools = { allowed: ["read", "network"], disallowed: [], origin: "spec" } as const;
    const of = (disallowed: readonly string[]) =>
      fits({ job: { ...job, tools: { ...tools, disallowed: [...disallowed] } as never }, now: boxed });
    expect(of([])).toMatch(/toolGating/);
    expect(of(["network"])).toBeNull();
  });

  function held() {
    return { riskTier: "R1", writer: false, worktree: false, tools: [...job.tools.allowed] } as const;
  }
});
