import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { capabilityAtLeast } from "../../src/core/tiers.ts";
import { candidatesOf, type RouteJob, type RouteWorld } from "../../src/plan/candidates.ts";
import { MOCK } from "../../src/plan/capability.ts";
import { checkControls } from "../../src/plan/controls.ts";
import { controlledJob, rejections } from "../../src/plan/filter.ts";
import { type RouteAnswer, routeJob } from "../../src/plan/route.ts";
import {
  anyInventory,
  anyRouteJob,
  declaredAgent,
  internalRecord,
  missing,
  mockRecord,
  program,
  property,
  record,
  routeJobOf,
  world,
} from "./plan-support.ts";

const [claude, codex, pi] = [record({ id: "claude" }), record({ id: "codex" }), declaredAgent({ id: "pi" })];
const harnessless = internalRecord({ state: "unavailable", reason: "no-harness" });

const route = (
  records: readonly RuntimeRecord[],
  job: Partial<RouteJob> = {},
  change: Partial<RouteWorld> = {},
): RouteAnswer => routeJob(routeJobOf(job), world(records, change));
const chainOf = (answer: RouteAnswer): string[] => answer.route.chain.map((member) => member.runtime);
const notesOf = (answer: RouteAnswer): string[] =>
  answer.notes.map(({ code, message }) => `${code}: ${message}`);

describe("a job that names no runtime", () => {
  it("goes to the best ranked, then to the rest as ranked", () => {
    const answer = route([codex, claude, pi]);
    expect(chainOf(answer)).toEqual(["pi", "claude", "codex"]);
    expect(answer.route).toMatchObject({
      pinned: false,
      runtimeFrom: null,
      blocked: null,
      runnerUp: "claude",
      margin: "lowest-capability: C2 before C3",
      why: ["best ranked", "lowest-capability: C2 before C3"],
    });
  });

  it("has its declared fallbacks between the best and the rest", () => {
    const answer = route([codex, claude, pi], { fallbackRuntime: ["codex"] });
    expect(chainOf(answer)).toEqual(["pi", "codex", "claude"]);
    expect(answer.route).toMatchObject({ runnerUp: "codex", margin: "declared order" });
  });

  it("never gets the script player or a program", () => {
    const answer = route([mockRecord(), program({ id: "shell" })]);
    expect(chainOf(answer)).toEqual([]);
    expect(answer.route.blocked).toEqual({
      code: "no-live-runtime",
      detail:
        "no live runtime may run it: install a CLI agent, or start from a harness with --harness NAME --subagents",
    });
    expect(answer.route.rejected.map(({ codes }) => codes)).toEqual([["not-named"], ["not-named"]]);
  });

  it("is told of everything that is not live", () => {
    expect(route([missing("claude"), harnessless]).route.blocked).toEqual({
      code: "no-live-runtime",
      detail:
        "no live runtime may run it (`claude`: unavailable: not-found, `internal`: unavailable: no-harness): install a CLI agent, or start from a harness with --harness NAME --subagents",
    });
  });

  it("is blocked by what keeps out the nearest live candidate, with the line that lifts it", () => {
    const far = record({
      id: "a",
      effortLevels: [],
      gateway: true,
      toolGating: { value: "none", evidence: "verified" },
    });
    const answer = route([far, pi, missing("codex")], { capabilityFloor: "C3" });
    expect(answer.route.blocked).toEqual({
      code: "below-capability",
      detail:
        "`pi`: C2, needs C3; to state otherwise, in the home policy below `candidates:`: - {runtime: pi, capability: C3}",
    });
  });

  it("goes in-session where that is preferred, and to a CLI where it needs a choice of model", () => {
    const both = [claude, internalRecord()];
    const prefer = { preferInternal: true };
    expect(chainOf(route(both, { capabilityFloor: "C3" }, prefer))).toEqual(["internal", "claude"]);
    expect(chainOf(route(both, { capabilityFloor: "C3", model: "opus" }, prefer))).toEqual(["claude"]);
    const strict = { capabilityFloor: "C3", riskTier: "R2", writer: true, worktree: true } as const;
    expect(chainOf(route(both, strict, prefer))).toEqual(["claude"]);
  });
});

describe("a pin", () => {
  it("is honoured, and allows its declared fallbacks only", () => {
    const answer = route([claude, codex, pi], { runtime: "claude" });
    expect(chainOf(answer)).toEqual(["claude"]);
    expect(answer.route).toMatchObject({
      pinned: true,
      runnerUp: null,
      margin: null,
      why: ["named by the spec"],
    });
    expect(answer.route.rejected).toEqual([
      { runtime: "codex", codes: ["pin-mismatch"], detail: "the job names `claude`" },
      { runtime: "pi", codes: ["pin-mismatch"], detail: "the job names `claude`" },
    ]);
    expect(
      chainOf(route([claude, codex, pi], { runtime: "claude", fallbackRuntime: ["pi", "codex"] })),
    ).toEqual(["claude", "pi", "codex"]);
  });

  it("on a runtime that is missing waits for onboarding, told first among the rejects", () => {
    for (const records of [
      [claude],
      [claude, missing("zed")],
      [record({ id: "zed", authenticated: false })],
    ]) {
      const answer = route(records, { runtime: "zed" });
      expect(answer.route.blocked?.code).toBe("needs-onboarding");
      expect(answer.route.rejected[0]?.runtime).toBe("zed");
      expect(chainOf(answer)).toEqual([]);
    }
    expect(route([], { runtime: "zed" }).route.rejected).toEqual([
      { runtime: "zed", codes: ["not-live"], detail: "was not found on this host" },
    ]);
    expect(route([], { runtime: "zed" }).route.blocked?.detail).toBe("`zed`: was not found on this host");
  });

  it("on in-session work waits for a harness", () => {
    for (const records of [[claude], [claude, harnessless]])
      expect(route(records, { runtime: "internal" }).route.blocked?.code).toBe("no-harness");
    expect(route([harnessless], { runtime: "internal" }).route.blocked?.detail).toBe(
      "`internal`: unavailable: no-harness; resume it from a harness: --harness NAME --subagents",
    );
    expect(route([internalRecord()], { runtime: "internal" }).route.chain).toMatchObject([
      { runtime: "internal", kind: "internal" },
    ]);
  });

  it("that the floors forbid blocks with the reason, never with another runtime", () => {
    expect(route([claude, pi], { runtime: "pi", capabilityFloor: "C3" }).route.blocked?.code).toBe(
      "below-capability",
    );
    expect(route([claude, pi], { runtime: "pi", effort: "high" }).route.blocked).toEqual({
      code: "effort-not-offered",
      detail: "`pi`: offers no choice of effort",
    });
  });

  it("that cannot lead leaves the lead to its declared fallback, and says so", () => {
    const answer = route([codex, missing("claude")], { runtime: "claude", fallbackRuntime: ["codex"] });
    expect(chainOf(answer)).toEqual(["codex"]);
    expect(answer.route.why).toEqual(["`claude` cannot run it: first declared fallback"]);
    expect(notesOf(answer)).toEqual([
      "pinned-missing: `claude` cannot run it: unavailable: not-found; its declared fallback `codex` does",
    ]);
  });

  it("on the script player meets every floor", () => {
    const answer = route([mockRecord(), claude], {
      runtime: "mock",
      capabilityFloor: "C3",
      riskTier: "R3",
      writer: true,
    });
    expect(answer.route.chain).toMatchObject([
      { runtime: "mock", model: "mock-a", family: "mock-a", kind: "cli", effort: null },
    ]);
    expect(answer.raise).toBeNull();
  });

  it("on a program is a candidate without model or family", () => {
    const shell = program({ id: "shell" });
    const answer = route([shell, claude], { runtime: "shell", riskTier: "R2", writer: true, worktree: true });
    expect(answer.route.chain).toMatchObject([
      { runtime: "shell", kind: "program", model: null, family: null },
    ]);
  });
});

describe("a placeholder", () => {
  it("is a class, not a pin, and its class fills the tail", () => {
    const all = [claude, codex, pi, internalRecord(), mockRecord()];
    const answer = route(all, { runtime: "<verified-cli-runtime>" });
    expect(chainOf(answer)).toEqual(["pi", "claude", "codex"]);
    expect(answer.route).toMatchObject({ pinned: false, runtimeFrom: "<verified-cli-runtime>" });
    expect(answer.route.why[0]).toBe("best of <verified-cli-runtime>");
    expect(chainOf(route(all, { runtime: "<verified-judgment-runtime>" }))).toEqual([
      "claude",
      "codex",
      "internal",
    ]);
    expect(chainOf(route(all, { runtime: "<verified-read-runtime>" }))).toEqual(["claude", "codex"]);
    expect(chainOf(route(all, { runtime: "<verified-fallback-runtime>" }))).toEqual([
      "pi",
      "claude",
      "codex",
      "internal",
    ]);
  });

  it("among the fallbacks is the best not yet in the chain", () => {
    const answer = route([claude, codex], {
      runtime: "codex",
      fallbackRuntime: ["<verified-fallback-runtime>"],
    });
    expect(chainOf(answer)).toEqual(["codex", "claude"]);
    expect(answer.notes).toEqual([]);
  });

  it("among the fallbacks keeps to its class and to runtimes that are not there yet", () => {
    const strong = internalRecord({ ...record({ id: "internal" }), kind: "internal", id: "internal" });
    const cli = { runtime: "claude", fallbackRuntime: ["<verified-cli-runtime>"] };
    expect(chainOf(route([claude, strong, record({ id: "zed" })], cli))).toEqual(["claude", "zed"]);
    const models = {
      policy: [
        {
          source: "home",
          file: "p",
          confirmed: true,
          entries: [{ runtime: "claude", model: "opus" }],
        },
      ],
    } as const;
    expect(chainOf(route([claude], cli, models))).toEqual(["claude"]);
  });

  it("among the fallbacks is dropped with a warning when nobody is left", () => {
    const answer = route([claude], {
      runtime: "<verified-cli-runtime>",
      fallbackRuntime: ["<verified-fallback-runtime>"],
    });
    expect(chainOf(answer)).toEqual(["claude"]);
    expect(notesOf(answer)).toEqual([
      "no-fallback: no candidate is left for the fallback <verified-fallback-runtime>: it was dropped",
    ]);
  });

  it("among the fallbacks takes only one that could take over", () => {
    const weak = record({ id: "a", isolation: { value: "none", evidence: "verified" } });
    const fallback = { runtime: "claude", fallbackRuntime: ["<verified-fallback-runtime>"] };
    expect(chainOf(route([weak, claude, codex], fallback))).toEqual(["claude", "codex"]);
    const none = route([weak, claude, internalRecord()], fallback);
    expect(chainOf(none)).toEqual(["claude"]);
    expect(none.notes.map(({ code }) => code)).toEqual(["no-fallback"]);
  });

  it("among the fallbacks never leads", () => {
    const answer = route([internalRecord(), missing("claude")], {
      runtime: "<verified-cli-runtime>",
      fallbackRuntime: ["<verified-fallback-runtime>"],
    });
    expect(answer.route).toMatchObject({
      chain: [],
      blocked: {
        code: "no-live-runtime",
        detail: "no live CLI agent may run it (`claude`: unavailable: not-found): install a CLI agent",
      },
    });
    expect(answer.notes).toEqual([]);
    const pinned = { runtime: "claude", fallbackRuntime: ["<verified-fallback-runtime>"] };
    expect(route([codex, missing("claude")], pinned).route.blocked?.code).toBe("needs-onboarding");
  });

  it("whose class nobody is in is told so", () => {
    expect(route([internalRecord()], { runtime: "<verified-cli-runtime>" }).route.blocked?.code).toBe(
      "no-live-runtime",
    );
    expect(
      route([pi], { runtime: "<verified-cli-runtime>", capabilityFloor: "C3" }).route.blocked?.code,
    ).toBe("below-capability");
  });
});

describe("fallbacks", () => {
  it("that can never take over are marked, and warned of when they are declared", () => {
    const weak = record({ id: "weak", capture: { value: "text", evidence: "verified" } });
    const declared = route([claude, weak], { runtime: "claude", fallbackRuntime: ["weak"] });
    expect(declared.route.chain.map((member) => member.weaker)).toEqual([[], ["capture"]]);
    expect(notesOf(declared)).toEqual([
      "fallback-weaker: the fallback `weak` can never take over: weaker than `claude` in capture",
    ]);
    const free = route([claude, weak], { capabilityFloor: "C3" });
    expect(free.route.chain.map((member) => member.weaker)).toEqual([[], ["capture"]]);
    expect(free.notes).toEqual([]);
  });

  it("that cannot run the job at all are warned of with the reason", () => {
    expect(
      notesOf(route([claude, missing("codex")], { runtime: "claude", fallbackRuntime: ["codex", "zed"] })),
    ).toEqual([
      "fallback-rejected: the fallback `codex` cannot take over: unavailable: not-found",
      "fallback-rejected: the fallback `zed` cannot take over: was not found on this host",
    ]);
    expect(notesOf(route([claude], { runtime: "claude", fallbackRuntime: ["claude"] }))).toEqual([]);
  });
});

describe("isolation that candidates ask for", () => {
  const writer = { riskTier: "R1", writer: true, capabilityFloor: "C2" } as const;
  const auto = record({
    id: "auto",
    approval: { value: "auto", evidence: "verified" },
  });
  const open = declaredAgent({ id: "open", writeBoundary: { value: "unverified", evidence: "unverified" } });
  const asks = record({ id: "asks", writeBoundary: { value: "worktree", evidence: "verified" } });

  it("is not given while another does without", () => {
    const answer = route([auto, open, asks], writer);
    expect(chainOf(answer)).toEqual(["asks"]);
    expect(answer.raise).toBeNull();
    expect(answer.route.rejected).toEqual([
      {
        runtime: "auto",
        codes: ["needs-worktree"],
        detail: "it approves everything itself, so it may write only in a worktree, and another does without",
      },
      {
        runtime: "open",
        codes: ["needs-worktree"],
        detail: "its write boundary is unverified: it would make the job R2, and another does without",
      },
    ]);
  });

  it("is asked for when nobody else is left, or the pinned runtime needs it", () => {
    expect(route([auto], writer).raise).toBe("auto-approval");
    expect(route([open], writer).raise).toBe("unverified");
    expect(route([auto, asks], { ...writer, runtime: "auto" }).raise).toBe("auto-approval");
    expect(route([auto, asks], { ...writer, runtime: "asks", fallbackRuntime: ["auto"] }).raise).toBeNull();
    expect(route([auto], { ...writer, worktree: true }).raise).toBeNull();
  });

  it("is asked for where nothing but words holds a writer back", () => {
    const loose = record({ id: "loose" });
    expect(route([loose], writer).raise).toBe("write-boundary");
    expect(route([loose, asks], writer).route.rejected).toEqual([
      {
        runtime: "loose",
        codes: ["needs-worktree"],
        detail:
          "nothing but its prompt keeps its edits in their place, so it needs a worktree, and another does without",
      },
    ]);
  });

  it("is what the best of them asks for", () => {
    expect(route([auto, open], writer).raise).toBe("unverified");
    expect(route([auto, open], { ...writer, capabilityFloor: "C3" }).raise).toBe("auto-approval");
  });

  it("is asked for a declared fallback only when that would lead, too", () => {
    const gone = { ...writer, runtime: "gone" };
    expect(route([asks, auto], { ...gone, fallbackRuntime: ["auto", "asks"] })).toMatchObject({
      raise: null,
      route: { chain: [{ runtime: "asks" }] },
    });
    const only = route([auto], { ...gone, fallbackRuntime: ["auto"] });
    expect(only.raise).toBe("auto-approval");
    expect(chainOf(only)).toEqual(["auto"]);
    expect(route([auto, open], { ...writer, runtime: "auto", fallbackRuntime: ["open"] }).raise).toBe(
      "auto-approval",
    );
  });

  it("is left alone when a declared fallback can lead without", () => {
    const answer = route([asks], { ...writer, runtime: "gone", fallbackRuntime: ["asks"] });
    expect(answer.raise).toBeNull();
    expect(chainOf(answer)).toEqual(["asks"]);
  });
});

describe("a session", () => {
  const session = { runtime: "claude", mode: "continue", sameFolder: true } as const;

  it("pins its runtime and has no fallbacks", () => {
    const answer = route([claude, codex], { session, fallbackRuntime: ["codex"] });
    expect(chainOf(answer)).toEqual(["claude"]);
    expect(answer.route).toMatchObject({ pinned: true, why: ["goes on with a session of `claude`"] });
    expect(answer.notes).toEqual([]);
    const free = { session, fallbackRuntime: ["codex", "gone"] };
    expect(route([claude, codex], free).notes).toEqual([]);
  });

  it("that nobody can go on with is unsupported", () => {
    expect(route([claude], { session: { ...session, mode: "fork" } }).route.blocked).toEqual({
      code: "session-unsupported",
      detail: "`claude`: its fork of a session is unsupported",
    });
    expect(
      route([claude], { session: { runtime: null, mode: "continue", sameFolder: true } }).route.blocked?.code,
    ).toBe("session-unsupported");
  });
});

describe("what a route tells", () => {
  it("includes claims that do not count and a model that cannot be looked up", () => {
    const project = {
      source: "project",
      file: "p.yaml",
      confirmed: false,
      entries: [{ runtime: "claude", family: "x" }],
    } as const;
    const answer = route([claude], { runtime: "claude", model: "opus" }, { policy: [project] });
    expect(answer.route.why).toEqual([
      "named by the spec",
      "it lists no models: the pinned one is checked when it answers",
      "`p.yaml` claims family `x`: counts once the user confirmed the file",
    ]);
    expect(answer.route.chain[0]).toMatchObject({ model: "opus" });
  });

  it("records the independence of judging work only", () => {
    const upstream = { families: ["claude-vendor"], runtimes: ["claude"] };
    const review = route([claude, codex], { task: "review", capabilityFloor: "C3", upstream });
    expect(review.route.chain.map((member) => [member.runtime, member.independence])).toEqual([
      ["codex", "independent"],
      ["claude", "not-independent-substituted"],
    ]);
    expect(route([claude], { upstream }).route.chain[0]?.independence).toBeNull();
  });

  it("gives each member its strength", () => {
    expect(route([claude]).route.chain[0]?.strength).toHaveLength(7);
  });
});

describe("any host and any job", () => {
  const both = fc.tuple(anyInventory, anyRouteJob, fc.boolean());

  it("gives the same route for the same evidence, in whatever order it comes", () => {
    fc.assert(
      fc.property(both, ([records, job, preferInternal]) => {
        const forward = routeJob(job, world(records, { preferInternal }));
        const backward = routeJob(job, world([...records].reverse(), { preferInternal }));
        expect(backward).toEqual(forward);
      }),
      property(300),
    );
  });

  it("never brings back what the filter rejected", () => {
    fc.assert(
      fc.property(both, ([records, job, preferInternal]) => {
        const all = world(records, { preferInternal });
        const { route: found } = routeJob(job, all);
        for (const member of found.chain) {
          const one = records.find((other) => other.id === member.runtime) as RuntimeRecord;
          const candidate = candidatesOf(one, job, all).find(({ model }) => model === member.model);
          expect(rejections({ candidate: candidate as never, job, world: all })).toEqual([]);
        }
      }),
      property(400),
    );
  });

  it("meets both floors and the pins with every member, or is blocked", () => {
    fc.assert(
      fc.property(both, ([records, job, preferInternal]) => {
        const { route: found, raise } = routeJob(job, world(records, { preferInternal }));
        expect(found.chain.length === 0).toBe(found.blocked !== null);
        const named = job.session?.runtime ?? (job.runtime?.startsWith("<") ? null : job.runtime);
        for (const member of found.chain) {
          if (member.runtime === MOCK.id) continue;
          const one = records.find((other) => other.id === member.runtime) as RuntimeRecord;
          expect(capabilityAtLeast(member.capability, job.capabilityFloor)).toBe(true);
          expect(one.authenticated).not.toBe(false);
          expect(["available", "constrained"]).toContain(one.state);
          if (raise === null)
            expect(checkControls(one, controlledJob(job)).filter((check) => !check.met)).toEqual([]);
          if (job.model !== null && member.kind === "cli") expect(member.model).toBe(job.model);
          if (job.effort !== null) expect(member.effort).toBe(job.effort);
          if (job.riskTier === "R3") expect(member.kind).not.toBe("internal");
          if (named != null)
            expect(
              [named, ...job.fallbackRuntime].some((name) => name === member.runtime || name.startsWith("<")),
            ).toBe(true);
        }
      }),
      property(500),
    );
  });

  it("accounts for every runtime of the host: in the chain or rejected with a reason", () => {
    fc.assert(
      fc.property(both, ([records, job, preferInternal]) => {
        const { route: found } = routeJob(job, world(records, { preferInternal }));
        if (job.session !== null || job.fallbackRuntime.length > 0) return;
        const told = new Set([...found.chain, ...found.rejected].map((one) => one.runtime));
        const named = job.runtime !== null && !job.runtime.startsWith("<");
        for (const { id } of records) if (!named || id === job.runtime) expect(told).toContain(id);
        for (const one of found.rejected) expect(one.codes.length).toBeGreaterThan(0);
      }),
      property(300),
    );
  });

  it("lets nobody into the chain twice", () => {
    fc.assert(
      fc.property(both, ([records, job, preferInternal]) => {
        const { chain } = routeJob(job, world(records, { preferInternal })).route;
        expect(new Set(chain.map((one) => `${one.runtime} ${one.model}`)).size).toBe(chain.length);
      }),
      property(200),
    );
  });
});
