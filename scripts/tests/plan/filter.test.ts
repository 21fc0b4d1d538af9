import { describe, expect, it } from "vitest";
import { RUNTIME_PLACEHOLDERS } from "../../src/core/placeholders.ts";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { candidatesOf, type RouteJob, type RouteWorld } from "../../src/plan/candidates.ts";
import {
  controlledJob,
  mayLead,
  PLACEHOLDER_CLASSES,
  REJECT_CODES,
  raiseFor,
  rejections,
} from "../../src/plan/filter.ts";
import {
  declaredAgent,
  internalRecord,
  missing,
  mockRecord,
  program,
  record,
  routeJobOf,
  traits,
  world,
} from "./plan-support.ts";

const claude = record({ id: "claude" });
const shell = program({ id: "shell" });
const seen = new Set<string>();

/** `code: detail` of every reason to reject this record for this job. */
function reasons(
  one: RuntimeRecord,
  job: Partial<RouteJob> = {},
  others: readonly RuntimeRecord[] = [],
  change: Partial<RouteWorld> = {},
): string[] {
  const all = world([one, ...others], change);
  const asked = routeJobOf(job);
  return candidatesOf(one, asked, all)
    .slice(0, 1)
    .flatMap((candidate) => rejections({ candidate, job: asked, world: all }))
    .map(({ code, detail }) => {
      seen.add(code);
      return `${code}: ${detail}`;
    });
}

describe("a live CLI that fits", () => {
  it("is not rejected", () => {
    expect(reasons(claude)).toEqual([]);
    expect(reasons(record({ id: "x", state: "constrained", reason: "no network" }))).toEqual([]);
    expect(reasons(record({ id: "x", authenticated: "unverified" }))).toEqual([]);
  });
});

describe("the basics come first and alone", () => {
  it("not live", () => {
    expect(reasons(missing("pi"), { model: "x", effort: "max" })).toEqual([
      "not-live: unavailable: not-found",
    ]);
    expect(reasons(record({ id: "x", state: "unverified" }))).toEqual(["not-live: unverified"]);
  });

  it("not authenticated", () => {
    expect(reasons(record({ id: "x", authenticated: false }), { capabilityFloor: "C3" })).toEqual([
      "auth-false: not authenticated: log in to it",
    ]);
  });

  it("another runtime is named", () => {
    expect(reasons(claude, { runtime: "codex" })).toEqual(["pin-mismatch: the job names `codex`"]);
    expect(reasons(claude, { runtime: "claude" })).toEqual([]);
    expect(reasons(claude, { runtime: "codex", fallbackRuntime: ["claude"] })).toEqual([]);
    expect(reasons(claude, { runtime: "codex", fallbackRuntime: ["<verified-cli-runtime>"] })).toEqual([]);
    expect(
      reasons(internalRecord(), { runtime: "codex", fallbackRuntime: ["<verified-cli-runtime>"] }),
    ).toEqual(["pin-mismatch: the job names `codex`"]);
  });

  it("it must be named", () => {
    expect(reasons(mockRecord())).toEqual(["not-named: only `runtime: mock` selects it"]);
    expect(reasons(shell)).toEqual(["not-named: only `runtime: shell` selects it"]);
    expect(reasons(shell, { runtime: "<verified-cli-runtime>" })).toEqual([
      "not-named: only `runtime: shell` selects it",
    ]);
    expect(reasons(record({ id: "cl", role: "classifier" }), { runtime: "cl" })).toEqual([
      "not-named: a classifier runs no jobs",
    ]);
    expect(reasons(mockRecord(), { runtime: "mock" })).toEqual([]);
    expect(reasons(shell, { runtime: "shell" })).toEqual([]);
  });

  it("a program stands in for a program only, a script for nobody", () => {
    const other = program({ id: "other" });
    expect(reasons(shell, { runtime: "other", fallbackRuntime: ["shell"] }, [other])).toEqual([]);
    expect(reasons(shell, { runtime: "claude", fallbackRuntime: ["shell"] }, [claude])).toEqual([
      "not-named: only `runtime: shell` selects it",
    ]);
    expect(reasons(shell, { fallbackRuntime: ["shell"] })).toEqual([
      "not-named: only `runtime: shell` selects it",
    ]);
    expect(reasons(shell, { runtime: "mock", fallbackRuntime: ["shell"] }, [mockRecord()])).toEqual([
      "not-named: only `runtime: shell` selects it",
    ]);
    const unprobed = {
      traits: (id: string) => (id === "pi" ? traits({ id }) : traits({ id, agent: false })),
    };
    const standIn = { fallbackRuntime: ["shell"] };
    expect(reasons(shell, { ...standIn, runtime: "pi" }, [], unprobed)).toHaveLength(1);
    expect(reasons(shell, { ...standIn, runtime: "gone" }, [], unprobed)).toEqual([]);
    expect(reasons(shell, { ...standIn, runtime: "claude" }, [claude], { traits: () => null })).toHaveLength(
      1,
    );
    expect(reasons(mockRecord(), { runtime: "claude", fallbackRuntime: ["mock"] }, [claude])).toEqual([
      "not-named: only `runtime: mock` selects it",
    ]);
  });
});

describe("everything else is reported together", () => {
  it("capability, with the policy line that would lift it", () => {
    expect(reasons(declaredAgent({ id: "pi" }), { capabilityFloor: "C3" })).toEqual([
      "below-capability: C2, needs C3; to state otherwise, in the home policy below `candidates:`: - {runtime: pi, capability: C3}",
    ]);
    expect(reasons(shell, { runtime: "shell", capabilityFloor: "C3" })).toEqual([
      "below-capability: C2, needs C3: a program has no judgment",
    ]);
    expect(reasons(mockRecord(), { runtime: "mock", capabilityFloor: "C3", riskTier: "R3" })).toEqual([]);
    const lowered = {
      policy: [
        { source: "home", file: "p", confirmed: true, entries: [{ runtime: "mock", capability: "C1" }] },
      ],
    } as const;
    expect(reasons(mockRecord(), { runtime: "mock", capabilityFloor: "C3" }, [], lowered)).toEqual([]);
  });

  it("controls of the tier, each gap with what it has and what it needs", () => {
    expect(reasons(declaredAgent({ id: "pi" }), { riskTier: "R2", writer: true, worktree: true })).toEqual([
      "below-controls: toolGating is coarse (attested), R2 needs coarse verified; bypass is absent (attested), R2 needs absent verified; capture is structured (attested), R2 needs text verified",
    ]);
    const open = { ...claude, toolGating: { value: "unverified", evidence: "unverified" } as const };
    expect(reasons(open)).toEqual(["below-controls: toolGating is unverified, R0 needs coarse"]);
    const bypassing = record({ id: "x", bypassAbsent: { value: false, evidence: "verified" } });
    expect(reasons(bypassing, { riskTier: "R1", writer: true, worktree: true })).toEqual([
      "below-controls: bypass is present (verified), R1 needs absent",
    ]);
  });

  it("leaves a write boundary that a worktree would meet to a raise, and only that", () => {
    const writer = { riskTier: "R1", writer: true } as const;
    for (const control of [
      { value: "unverified", evidence: "unverified" },
      { value: "none", evidence: "attested" },
    ] as const)
      expect(reasons(declaredAgent({ id: "x", writeBoundary: control }), writer)).toEqual([]);
    const loose = record({
      id: "x",
      writeBoundary: { value: "none", evidence: "verified" },
      bypassAbsent: { value: false, evidence: "verified" },
    });
    expect(reasons(record({ id: "x" }), { ...writer, riskTier: "R2", writer: false })).toEqual([
      "below-controls: writeBoundary is prompt-only (verified), R2 needs worktree verified; isolation is prompt-only (verified), R2 needs worktree verified",
    ]);
    expect(reasons(loose, writer)).toEqual(["below-controls: bypass is present (verified), R1 needs absent"]);
  });

  it("R3 in-session", () => {
    expect(reasons(internalRecord(), { riskTier: "R3", writer: true, worktree: true })[0]).toBe(
      "internal-r3: R3 never runs in-session",
    );
  });

  it("a model that is not listed", () => {
    const listing = record({ id: "x", models: ["a"], modelAliases: ["b"] });
    expect(reasons(listing, { model: "a" })).toEqual([]);
    expect(reasons(listing, { model: "b" })).toEqual([]);
    expect(reasons(listing, { model: "c" })).toEqual(["model-not-live: does not list `c`"]);
    expect(reasons(claude, { model: "c" })).toEqual([]);
    expect(reasons(internalRecord(), { model: "c" })).toEqual([
      "model-not-live: in-session work offers no choice of model",
    ]);
    expect(reasons(internalRecord(), { model: "c", runtime: "internal" })).toEqual([]);
    expect(reasons(shell, { model: "c", runtime: "shell" })).toEqual([
      "model-not-live: a program takes no model",
    ]);
  });

  it("an effort that is not offered", () => {
    expect(reasons(claude, { effort: "high" })).toEqual([]);
    expect(reasons(claude, { effort: "max" })).toEqual([
      "effort-not-offered: offers low, medium, high, not max",
    ]);
    expect(reasons(record({ id: "x", effortLevels: [] }), { effort: "low" })).toEqual([
      "effort-not-offered: offers no choice of effort",
    ]);
    expect(reasons(mockRecord({ effortLevels: [] }), { runtime: "mock", effort: "low" })).toEqual([]);
  });

  it("a tool that it cannot bound", () => {
    const picky = {
      traits: (id: string) =>
        traits({
          id,
          unmappedTool: (words, tier, disallowed) =>
            tier === "R0" && disallowed?.includes("shell") === true
              ? (words.find((word) => word === "web") ?? null)
              : null,
        }),
    };
    const tools = { allowed: ["read", "web"], disallowed: ["shell"] };
    expect(reasons(claude, { tools }, [], picky)).toEqual(["tool-unmapped: cannot bound `web`"]);
    expect(reasons(claude, { tools: { ...tools, disallowed: [] } }, [], picky)).toEqual([]);
    expect(
      reasons(shell, { runtime: "shell", tools }, [], {
        traits: (id) => traits({ id, agent: false, unmappedTool: () => "web" }),
      }),
    ).toEqual([]);
  });

  it("a shell for single commands that it cannot bound, unless that came with the tier's own set", () => {
    const unboundable = {
      traits: (id: string) =>
        traits({ id, unmappedTool: (words) => words.find((word) => word.startsWith("shell(")) ?? null }),
    };
    const allowed = ["read", "write", "shell(npm test)"];
    const of = (origin: "spec" | "tier") =>
      reasons(claude, { tools: { allowed, disallowed: [], origin } }, [], unboundable);
    expect(of("spec")).toEqual(["tool-unmapped: cannot bound `shell(npm test)`"]);
    expect(of("tier")).toEqual([]);
  });

  it("a result that cannot be captured, when others build on it", () => {
    const mute = record({ id: "x", capture: { value: "unverified", evidence: "unverified" } });
    expect(reasons(mute, { loadBearing: true })).toEqual([
      "below-controls: capture is unverified, R0 needs text",
      "capture-below-text: its result cannot be captured, and others build on this job",
    ]);
    for (const capture of [
      { value: "text", evidence: "unverified" },
      { value: "unverified", evidence: "attested" },
    ] as const)
      expect(reasons(record({ id: "x", capture }), { loadBearing: true })[1]).toMatch(/^capture-below-text/);
    expect(reasons(mockRecord({ capture: mute.capture }), { runtime: "mock", loadBearing: true })).toEqual(
      [],
    );
    expect(reasons(mute)).toEqual(["below-controls: capture is unverified, R0 needs text"]);
    expect(reasons(claude, { loadBearing: true })).toEqual([]);
  });

  it("an agent outside of the session", () => {
    expect(reasons(claude, { agent: "reviewer" })).toEqual([
      "agent-not-in-session: `agent` needs in-session dispatch",
    ]);
    expect(reasons(internalRecord(), { agent: "reviewer" })).toEqual([]);
    expect(reasons(internalRecord({ agents: ["reviewer"] }), { agent: "reviewer" })).toEqual([]);
    expect(reasons(internalRecord({ agents: ["writer"] }), { agent: "reviewer" })).toEqual([
      "agent-not-in-session: the harness has no agent `reviewer`",
    ]);
  });

  it("a skill that nobody proved it is given", () => {
    expect(reasons(claude, { skill: true })).toEqual([
      "skill-undeliverable: nobody proved that it is given skills",
    ]);
    expect(reasons(internalRecord(), { skill: true })).toEqual([]);
    expect(reasons(mockRecord(), { skill: true, runtime: "mock" })).toEqual([]);
  });

  it("a session that it cannot go on with", () => {
    const session = { runtime: "claude", mode: "continue", sameFolder: true } as const;
    expect(reasons(claude, { session })).toEqual([]);
    expect(reasons(claude, { session, runtime: "claude" })).toEqual([]);
    expect(reasons(claude, { session: { ...session, mode: "fork" } })).toEqual([
      "session-unsupported: its fork of a session is unsupported",
    ]);
    expect(reasons(record({ id: "codex" }), { session })).toEqual([
      "pin-mismatch: the session to go on with is one of `claude`",
    ]);
    expect(reasons(claude, { session, runtime: "codex" })).toEqual([
      "session-unsupported: the job names `codex`, the session is one of `claude`",
    ]);
    expect(reasons(claude, { session: { runtime: null, mode: "continue", sameFolder: true } })).toEqual([
      "session-unsupported: the job whose session it goes on with has no route",
    ]);
  });

  it("a session that goes on only in its own folder, when the jobs work in two", () => {
    const session = { runtime: "claude", mode: "continue", sameFolder: false } as const;
    const bound = (scope: "folder" | "anywhere") => ({
      traits: (id: string) => traits({ id, sessionScope: { continue: scope, fork: "anywhere" } }),
    });
    expect(reasons(claude, { session }, [], bound("folder"))).toEqual([
      "session-unsupported: it can continue a session only in the folder that it was made in, and the two jobs work in different ones",
    ]);
    expect(reasons(claude, { session }, [], bound("anywhere"))).toEqual([]);
    expect(reasons(claude, { session: { ...session, sameFolder: true } }, [], bound("folder"))).toEqual([]);
  });

  it("a placeholder's class", () => {
    expect(reasons(internalRecord(), { runtime: "<verified-cli-runtime>" })).toEqual([
      "class-mismatch: is no live CLI agent",
    ]);
    expect(
      reasons(internalRecord(), { runtime: "<verified-cli-runtime>", fallbackRuntime: ["internal"] }),
    ).toEqual([]);
    expect(reasons(declaredAgent({ id: "pi" }), { runtime: "<verified-read-runtime>" })).toEqual([
      "class-mismatch: is no live CLI agent that is proven read-only",
    ]);
    expect(reasons(declaredAgent({ id: "pi" }), { runtime: "<verified-judgment-runtime>" })).toEqual([
      "class-mismatch: is no live candidate of C3",
    ]);
    expect(reasons(claude, { runtime: "<verified-judgment-runtime>" })).toEqual([]);
    expect(reasons(internalRecord(), { runtime: "<verified-fallback-runtime>" })).toEqual([]);
  });
});

describe("an arbiter", () => {
  const judge = (runtimes: string[], families: (string | null)[] = []): Partial<RouteJob> => ({
    task: null,
    capabilityFloor: "C3",
    arbiter: true,
    upstream: { runtimes, families },
  });

  it("of the script player's work alone is the script player", () => {
    expect(reasons(mockRecord(), judge(["mock"]))).toEqual([]);
    expect(reasons(claude, judge(["mock"]))).toEqual([
      "mock-arbiter: work of `mock` alone is judged by `mock`",
    ]);
  });

  it("of any other work is not", () => {
    expect(reasons(mockRecord(), judge(["mock", "claude"]))).toEqual([
      "mock-arbiter: judges its own work only",
    ]);
    expect(reasons(mockRecord(), judge([]))).toEqual(["mock-arbiter: judges its own work only"]);
    expect(reasons(claude, judge(["mock", "claude"]))).toEqual([]);
  });

  it("in-session is the last resort, unless it is named", () => {
    expect(reasons(internalRecord(), judge(["claude"]))).toEqual([
      "native-arbiter: asked by `arbitrate_native` when no other is left",
    ]);
    expect(reasons(internalRecord(), { ...judge(["claude"]), runtime: "internal" })).toEqual([]);
  });
});

it("counts only the tools that are granted after all", () => {
  const tools = { allowed: ["read", "web"], disallowed: ["web"] };
  expect(controlledJob(routeJobOf({ tools })).tools).toEqual(["read"]);
});

it("asks no isolation for the script player", () => {
  const [candidate] = candidatesOf(
    mockRecord({ writeBoundary: { value: "none", evidence: "verified" } }),
    routeJobOf(),
    world([]),
  );
  const job = routeJobOf({ runtime: "mock", riskTier: "R1", writer: true });
  expect(raiseFor({ candidate: candidate as never, job })).toBeNull();
});

describe("who may lead", () => {
  const of = (one: RuntimeRecord, job: Partial<RouteJob>): boolean => {
    const asked = routeJobOf(job);
    const [candidate] = candidatesOf(one, asked, world([one]));
    return mayLead(asked)(candidate as never);
  };
  it("is the named runtime, the class of a placeholder, or anybody", () => {
    expect(of(claude, { runtime: "claude" })).toBe(true);
    expect(of(claude, { runtime: "codex" })).toBe(false);
    expect(of(internalRecord(), { runtime: "<verified-cli-runtime>" })).toBe(false);
    expect(of(internalRecord(), {})).toBe(true);
    expect(of(claude, { session: { runtime: null, mode: "fork", sameFolder: true } })).toBe(false);
  });
});

it("knows exactly the placeholders of a spec", () => {
  expect(Object.keys(PLACEHOLDER_CLASSES)).toEqual([...RUNTIME_PLACEHOLDERS]);
  expect(reasons(claude, { runtime: "<made-up>" })).toEqual(["class-mismatch: is no known kind of runtime"]);
});

it("has been seen rejecting for every reason in its table", () => {
  expect([...seen].sort()).toEqual(REJECT_CODES.filter((code) => code !== "needs-worktree").sort());
});
