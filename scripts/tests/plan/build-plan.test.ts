import fc from "fast-check";
import { describe, expect, it } from "vitest";
import validate from "../../src/core/generated/graph.validate.js";
import type { PlanJob, RuntimeRecord } from "../../src/core/runtime.ts";
import { capabilityAtLeast, riskAtLeast } from "../../src/core/tiers.ts";
import { buildPlan, type PlanGraph } from "../../src/plan/build-plan.ts";
import { checkControls } from "../../src/plan/controls.ts";
import { deriveJobs } from "../../src/plan/derive.ts";
import { dispatchBound } from "../../src/plan/failure.ts";
import type { NormalJob } from "../../src/plan/normal.ts";
import type { PlanInput } from "../../src/plan/plan-input.ts";
import { routeAgain } from "../../src/plan/route-all.ts";
import type { Route } from "../../src/plan/route-words.ts";
import {
  anyInventory,
  anyJobs,
  declaredAgent,
  declaredSource,
  internalRecord,
  missing,
  mockRecord,
  normalJob,
  normalTop,
  type Overrides,
  planInput,
  program,
  property,
  record,
  repoState,
  writerJob,
} from "./plan-support.ts";

const [claude, codex] = [record({ id: "claude" }), record({ id: "codex" })];

function plan(jobs: readonly NormalJob[], records: readonly RuntimeRecord[] = [claude], o: Overrides = {}) {
  const built = buildPlan(planInput(jobs, records, o));
  const graph = built.graph as PlanGraph;
  return {
    graph,
    jobs: Object.fromEntries(graph.jobs.map((job) => [job.id, job])) as Record<string, PlanJob>,
    told: built.diagnostics.map(({ severity, code, message }) => `${severity} ${code}: ${message}`),
    diagnostics: built.diagnostics,
  };
}

const frozen = (graph: PlanGraph): object => ({
  ...graph,
  runId: "r",
  createdAt: "2026-01-01T00:00:00.000Z",
});

describe("a plan", () => {
  it("is the graph that a run freezes", () => {
    const { graph } = plan([writerJob({ id: "b", dependsOn: ["a"] }), normalJob({ id: "a" })]);
    expect(validate(frozen(graph)), JSON.stringify(validate.errors)).toBe(true);
    expect(graph).toMatchObject({
      schemaVersion: 1,
      name: "jobs",
      specPath: "jobs.yaml",
      stages: [["a"], ["b"]],
      criticalPath: ["a", "b"],
      dispatchCeiling: 2,
      concurrency: 2,
      repo: { topLevel: "/repo" },
      repos: [{ topLevel: "/repo" }],
      runtimeBinaries: { claude: "/bin/claude" },
    });
    expect(graph.jobs.map(({ id, index, stage, dependsOn }) => ({ id, index, stage, dependsOn }))).toEqual([
      { id: "a", index: 0, stage: 0, dependsOn: [] },
      { id: "b", index: 1, stage: 1, dependsOn: ["a"] },
    ]);
  });

  it("is null only for jobs that make no graph", () => {
    const built = buildPlan(planInput([normalJob({ id: "a", dependsOn: ["a"] })], [claude]));
    expect(built.graph).toBeNull();
    expect(built.diagnostics.map(({ code }) => code)).toEqual(["self-dependency"]);
    const faulty = buildPlan(planInput([writerJob({ id: "a", untrusted: true, checks: [] })], [claude]));
    expect(faulty.graph).not.toBeNull();
    expect(faulty.diagnostics[0]?.code).toBe("r2-without-checks");
  });

  it("keeps the declared runtimes that it uses, with their binaries", () => {
    const entry = (id: string) => declaredSource({ id, command: id, agent: false });
    const shell = program({ id: "shell", binaryReal: null });
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    const { graph } = plan(
      [normalJob({ id: "a", runtime: "shell", invocation })],
      [shell, program({ id: "other" })],
      { facts: { declared: [entry("shell"), entry("other")] } },
    );
    expect(graph.declaredRuntimes).toEqual([{ id: "shell", command: "shell", agent: false }]);
    expect(graph.runtimeBinaries).toEqual({ shell: "/bin/shell" });
  });

  it("adds up the attempts that its chains allow", () => {
    const retry = { maxAttempts: 3, backoffMs: 1, classes: [] };
    expect(
      plan([normalJob({ id: "a", retry }), normalJob({ id: "b" })], [claude, codex]).graph.dispatchCeiling,
    ).toBe(2 * 3 + 2);
  });

  it("says who gave each effective value", () => {
    const { jobs } = plan(
      [
        writerJob({ id: "a", untrusted: true, origins: { timeout: "defaults", isolation: "built-in" } }),
        normalJob({
          id: "b",
          runtime: "claude",
          model: "opus",
          effort: "high",
          isolation: "worktree",
          allowedTools: ["read"],
          effectSource: "declared",
          origins: { isolation: "defaults", effect: "defaults" },
        }),
        normalJob({ id: "c", task: "review" }),
      ],
      [claude],
    );
    expect(jobs["a"]?.origins).toEqual({
      timeout: "defaults",
      effect: "built-in",
      isolation: "policy",
      allowed_tools: "policy",
      risk_tier: "policy",
      capability_floor: "policy",
      owned_paths: "spec",
      runtime: "inventory",
      model: "built-in",
      effort: "built-in",
    });
    expect(jobs["b"]?.origins).toMatchObject({
      effect: "defaults",
      isolation: "defaults",
      allowed_tools: "spec",
      runtime: "spec",
      model: "spec",
      effort: "spec",
    });
    expect(jobs["c"]?.origins).toMatchObject({ effort: "inventory" });
    expect(jobs["a"]?.isolationOrigin).toBe("policy:r2");
  });
});

describe("isolation in a plan", () => {
  it("spreads from parallel writers to what depends on them", () => {
    const { jobs } = plan([
      writerJob({ id: "a" }),
      writerJob({ id: "b" }),
      normalJob({ id: "review", task: "review", dependsOn: ["a", "b"] }),
    ]);
    expect(
      Object.values(jobs).map(
        ({ id, isolation, isolationOrigin }) => `${id} ${isolation} ${isolationOrigin}`,
      ),
    ).toEqual([
      "a worktree policy:parallel",
      "b worktree policy:parallel",
      "review worktree policy:dependency",
    ]);
  });

  it("that cannot be had blocks, with the command that changes it", () => {
    const jobs = [writerJob({ id: "a", untrusted: true })];
    const bare = plan(jobs, [claude], { facts: { repoOf: () => null } });
    expect(bare.jobs["a"]?.route.blocked?.code).toBe("no-git");
    expect(bare.graph.repo).toBeNull();
    const empty = plan(jobs, [claude], { facts: { repoOf: () => repoState({ baseCommit: null }) } });
    expect(empty.jobs["a"]?.route.blocked).toEqual({
      code: "no-base-commit",
      detail:
        'needs its own worktree, but `/repo` has no commit to start from; run: git -C /repo add -A && git -C /repo commit --allow-empty -m "Base"',
    });
    expect(empty.told).toContain(
      `warning job-blocked: \`a\` would be blocked (no-base-commit): ${empty.jobs["a"]?.route.blocked?.detail}`,
    );
  });

  it("is given for the sake of the only candidate, and for all that this touches", () => {
    const auto = record({ id: "auto", approval: { value: "auto", evidence: "verified" } });
    const { jobs } = plan([writerJob({ id: "a" }), writerJob({ id: "b", dependsOn: ["a"] })], [auto]);
    expect(
      Object.values(jobs).map(({ id, isolationOrigin, riskTier }) => `${id} ${riskTier} ${isolationOrigin}`),
    ).toEqual(["a R1 policy:auto-approval", "b R1 policy:auto-approval"]);
    expect(jobs["a"]?.route.chain.map(({ runtime }) => runtime)).toEqual(["auto"]);
  });

  it("is given to a writer that nothing but words holds back", () => {
    expect(plan([writerJob({ id: "a" })], [claude]).jobs["a"]).toMatchObject({
      riskTier: "R1",
      isolation: "worktree",
      isolationOrigin: "policy:write-boundary",
      route: { chain: [{ runtime: "claude" }] },
    });
  });

  it("raises a writer to R2 for a boundary that nobody verified, and asks R2's controls of it", () => {
    const open = record({ id: "open", writeBoundary: { value: "unverified", evidence: "unverified" } });
    const { jobs } = plan([writerJob({ id: "a" }), normalJob({ id: "b", dependsOn: ["a"] })], [open]);
    expect(jobs["a"]).toMatchObject({
      riskTier: "R2",
      tierDerivation: ["task:implement→R1", "unverified-write-boundary→R2"],
      isolation: "worktree",
      isolationOrigin: "policy:r2",
    });
    expect(jobs["b"]?.isolationOrigin).toBe("policy:dependency");
    expect(jobs["a"]?.route.chain).toHaveLength(1);
    const claimed = declaredAgent({
      id: "open",
      writeBoundary: { value: "unverified", evidence: "unverified" },
    });
    expect(plan([writerJob({ id: "a" })], [claimed]).jobs["a"]?.route.blocked?.code).toBe("below-controls");
  });
});

describe("routes in a plan", () => {
  it("send a review to a family that did none of the work below it", () => {
    const { jobs } = plan(
      [
        normalJob({ id: "deep", runtime: "codex" }),
        normalJob({ id: "work", runtime: "claude", dependsOn: ["deep"] }),
        normalJob({ id: "review", task: "review", dependsOn: ["work"] }),
      ],
      [claude, codex, record({ id: "zed" })],
    );
    expect(
      jobs["review"]?.route.chain.map(({ runtime, independence }) => `${runtime} ${independence}`),
    ).toEqual(["zed independent", "claude not-independent-substituted", "codex not-independent-substituted"]);
  });

  it("take programs for work without a family", () => {
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    const { jobs } = plan(
      [
        normalJob({ id: "build", runtime: "shell", invocation }),
        normalJob({ id: "review", task: "review", dependsOn: ["build"] }),
      ],
      [claude, program({ id: "shell" })],
    );
    expect(jobs["review"]?.route.chain[0]?.independence).toBe("independent");
  });

  it("keep a session on the runtime of the job it goes on with, without promotion", () => {
    const { jobs } = plan(
      [
        normalJob({ id: "a", runtime: "codex", task: "test" }),
        normalJob({ id: "b", task: "test", dependsOn: ["a"], session: { fromJob: "a", mode: "continue" } }),
      ],
      [claude, codex],
    );
    expect(jobs["b"]?.route.chain.map(({ runtime }) => runtime)).toEqual(["codex"]);
    expect(jobs["b"]?.maxPromotions).toBe(0);
  });

  it("prefer in-session work for jobs without a runtime when asked to", () => {
    const jobs = [normalJob({ id: "a" }), normalJob({ id: "b", runtime: "<verified-cli-runtime>" })];
    const { jobs: planned } = plan(jobs, [claude, internalRecord()], { flags: { internal: true } });
    expect(planned["a"]?.route.chain[0]).toMatchObject({ runtime: "internal", kind: "internal" });
    expect(planned["b"]?.route).toMatchObject({ runtimeFrom: "<verified-cli-runtime>" });
    expect(planned["b"]?.route.chain[0]?.runtime).toBe("claude");
  });

  it("run the sample that everybody starts from", () => {
    const { jobs, told } = plan(
      [
        normalJob({ id: "scout-session-api", runtime: "internal" }),
        normalJob({
          id: "independent-review",
          runtime: "<verified-cli-runtime>",
          fallbackRuntime: ["<verified-fallback-runtime>"],
          task: "review",
          dependsOn: ["scout-session-api"],
          importance: "high",
          isolation: "worktree",
          origins: { isolation: "spec" },
        }),
      ],
      [codex, internalRecord()],
      { facts: { harness: { name: "claude-code", subagents: true } } },
    );
    expect(jobs["scout-session-api"]?.route.chain[0]?.runtime).toBe("internal");
    expect(jobs["independent-review"]).toMatchObject({
      riskTier: "R0",
      capabilityFloor: "C3",
      isolation: "worktree",
    });
    expect(jobs["independent-review"]?.route.chain).toMatchObject([
      { runtime: "codex", independence: "independent", effort: "high" },
    ]);
    expect(told.filter((line) => !line.startsWith("info"))).toEqual([
      "warning no-fallback: job `independent-review`: no candidate is left for the fallback <verified-fallback-runtime>: it was dropped",
    ]);
  });
});

describe("notes of a plan", () => {
  it("tell when orchestration adds nothing", () => {
    expect(plan([normalJob({ id: "a" })]).told).toContain(
      "info orchestration-adds-nothing: one job, nothing in parallel and no review: running `a` directly would do the same",
    );
    expect(plan([normalJob({ id: "a", task: "review" })]).told.join()).not.toContain("adds-nothing");
    expect(plan([normalJob({ id: "a" }), normalJob({ id: "b" })]).told.join()).not.toContain("adds-nothing");
  });

  it("tell blocks once per reason", () => {
    const jobs = ["a", "b", "c", "d", "e"].map((id) => normalJob({ id, runtime: "pi" }));
    expect(plan(jobs, [claude, missing("pi")]).told).toContain(
      "warning job-blocked: `a`, `b`, `c` and 2 more would be blocked (needs-onboarding): `pi`: unavailable: not-found",
    );
  });

  it("says how many lower targets of a router it did not take", () => {
    const targets = (id: string) => (id === "a" ? { risk: "R0" as const, capability: "C1" as const } : null);
    const { told } = plan([writerJob({ id: "a" }), writerJob({ id: "b", dependsOn: ["a"] })], [claude], {
      facts: { targets },
    });
    expect(told).toContain(
      "info lower-target-discarded: the router proposed a lower tier than is derived for 1 job (`a`), 2 in all: none was taken",
    );
  });

  it("tell that uncommitted changes take no part, where there are worktrees", () => {
    const dirty = { facts: { repoOf: () => repoState({ dirty: 1 }) } };
    expect(plan([writerJob({ id: "a", untrusted: true })], [claude], dirty).told).toContain(
      "warning dirty-base: `/repo` has 1 path with uncommitted changes: worktrees start from 111111111111 without them",
    );
    expect(plan([normalJob({ id: "a" })], [claude], dirty).told.join()).not.toContain("dirty-base");
  });

  it("tell of fallbacks, at their field", () => {
    const { diagnostics } = plan([normalJob({ id: "a", runtime: "claude", fallbackRuntime: ["gone"] })]);
    expect(diagnostics[0]).toEqual({
      severity: "warning",
      code: "fallback-rejected",
      path: "jobs[0].fallback_runtime",
      message: "job `a`: the fallback `gone` cannot take over: was not found on this host",
    });
  });

  it("are kept in the graph, errors aside", () => {
    const { graph } = plan([normalJob({ id: "a", runtime: "pi" })], [declaredAgent({ id: "pi" })]);
    expect(graph.warnings.map((one) => (one as { code: string }).code)).toEqual([
      "orchestration-adds-nothing",
      "arbiter-native",
    ]);
  });
});

describe("the arbiter of a plan", () => {
  const mockJob = normalJob({ id: "a", runtime: "mock" });

  it("of scripted work is the script player with its other model", () => {
    const { graph, told } = plan([mockJob], [claude, mockRecord()]);
    expect(graph.arbiter.route.chain).toMatchObject([
      { runtime: "mock", model: "mock-b", independence: "independent" },
    ]);
    expect(told.join()).not.toContain("arbiter-native");
  });

  it("of other work is asked from the harness where nobody else may judge", () => {
    const { graph, told } = plan([normalJob({ id: "a", runtime: "pi" })], [declaredAgent({ id: "pi" })]);
    expect(graph.arbiter.route).toMatchObject({
      chain: [],
      blocked: {
        code: "needs-arbiter",
        detail: "verdicts are asked from the harness by `arbitrate_native`, in a session of its own",
      },
    });
    expect(told).toContain(
      "info arbiter-native: no route judges this run by itself: verdicts are asked from the harness by `arbitrate_native`, in a session of its own",
    );
  });

  it("is a live C3, of another family first", () => {
    const jobs = [normalJob({ id: "a", runtime: "claude" })];
    expect(plan(jobs, [claude, codex]).graph.arbiter.route.chain.map(({ runtime }) => runtime)).toEqual([
      "codex",
      "claude",
    ]);
    expect(
      plan([normalJob({ id: "a", runtime: "pi" })], [declaredAgent({ id: "pi" })]).graph.arbiter.route.blocked
        ?.code,
    ).toBe("needs-arbiter");
  });

  it("never judges real work with a script", () => {
    const mixed = [mockJob, normalJob({ id: "b", runtime: "claude" })];
    const { graph } = plan(mixed, [claude, mockRecord()]);
    expect(graph.arbiter.route.chain.map(({ runtime }) => runtime)).toEqual(["claude"]);
    expect(graph.arbiter.route.rejected).toContainEqual({
      runtime: "mock",
      codes: ["mock-arbiter"],
      detail: "mock-b: judges its own work only",
    });
  });

  it("keeps the pins of the spec", () => {
    const top = normalTop().arbiter;
    const { graph } = plan([normalJob({ id: "a", runtime: "claude" })], [claude, codex], {
      top: { arbiter: { ...top, runtime: "claude", effort: "low" } },
    });
    expect(graph.arbiter.route).toMatchObject({
      pinned: true,
      chain: [{ runtime: "claude", effort: "low" }],
    });
  });
});

describe("routing a frozen job again", () => {
  const again = (input: PlanInput, id: string, records: readonly RuntimeRecord[]) => {
    const graph = buildPlan(input).graph as PlanGraph;
    const job = graph.jobs.find((one) => one.id === id) as PlanJob;
    const now = { ...input, inventory: { ...input.inventory, records: [...records] } };
    return routeAgain([job], graph, now).get(id) as Route;
  };

  it("finds the runtime that was missing", () => {
    const input = planInput(
      [normalJob({ id: "a", runtime: "pi", fallbackRuntime: ["codex"] })],
      [missing("pi")],
    );
    expect(again(input, "a", [record({ id: "pi" }), codex])).toMatchObject({
      pinned: true,
      blocked: null,
      chain: [{ runtime: "pi" }, { runtime: "codex" }],
    });
    const native = planInput([normalJob({ id: "a", runtime: "internal" })], []);
    expect(again(native, "a", [internalRecord()]).chain).toMatchObject([{ runtime: "internal" }]);
  });

  it("looks at the same families", () => {
    const jobs = [
      normalJob({ id: "a", runtime: "claude" }),
      normalJob({ id: "r", task: "review", runtime: "<verified-cli-runtime>", dependsOn: ["a"] }),
    ];
    expect(again(planInput(jobs, [claude]), "r", [claude, codex]).chain[0]).toMatchObject({
      runtime: "codex",
      independence: "independent",
    });
  });

  it("gives the same route on the same host", () => {
    fc.assert(
      fc.property(anyJobs(8), anyInventory, (jobs, records) => {
        const input = planInput(jobs, records);
        const graph = buildPlan(input).graph as PlanGraph;
        for (const job of graph.jobs) {
          if (job.route.blocked !== null) continue;
          expect(routeAgain([job], graph, input).get(job.id)?.chain[0]).toEqual(job.route.chain[0]);
        }
      }),
      property(60),
    );
  });

  it("never isolates a job that was planned without", () => {
    const auto = record({ id: "auto", approval: { value: "auto", evidence: "verified" } });
    const asks = record({ id: "asks", writeBoundary: { value: "worktree", evidence: "verified" } });
    expect(again(planInput([writerJob({ id: "a" })], [asks]), "a", [auto])).toMatchObject({
      chain: [],
      blocked: { code: "needs-worktree" },
    });
  });
});

describe("any jobs on any host", () => {
  const both = fc.tuple(anyJobs(14), anyInventory);

  it("make a plan that the schema accepts and that does not depend on the order of jobs or records", () => {
    fc.assert(
      fc.property(both, ([jobs, records]) => {
        const { graph } = buildPlan(planInput(jobs, records));
        expect(validate(frozen(graph as PlanGraph)), JSON.stringify(validate.errors)).toBe(true);
        const reversed = buildPlan(planInput([...jobs].reverse(), [...records].reverse())).graph as PlanGraph;
        const stable = ({ warnings: _, ...rest }: PlanGraph) => rest;
        expect(stable(reversed)).toEqual(stable(graph as PlanGraph));
      }),
      property(100),
    );
  });

  it("never weaken a floor, a tier or a control by any step of planning", () => {
    fc.assert(
      fc.property(both, ([jobs, records]) => {
        const input = planInput(jobs, records);
        const derived = deriveJobs(input.normal.jobs, input.facts).value;
        const graph = buildPlan(input).graph as PlanGraph;
        graph.jobs.forEach((job, at) => {
          const before = derived?.jobs[at];
          expect(riskAtLeast(job.riskTier, before?.riskTier ?? "R3")).toBe(true);
          expect(job.capabilityFloor).toBe(before?.capabilityFloor);
          if (before?.job.isolation === "worktree") expect(job.isolation).toBe("worktree");
          for (const member of job.route.chain) {
            if (member.runtime === "mock") continue;
            const one = records.find(({ id }) => id === member.runtime) as RuntimeRecord;
            expect(capabilityAtLeast(member.capability, job.capabilityFloor)).toBe(true);
            const checks = checkControls(one, {
              riskTier: job.riskTier,
              writer: job.writer,
              worktree: job.isolation === "worktree",
              tools: job.tools.allowed,
            });
            expect(checks.filter((check) => !check.met)).toEqual([]);
            if (job.writer && (one.approval.value === "auto" || one.approval.value === "none"))
              expect(
                job.isolation === "worktree" ||
                  one.writeBoundary.value === "enforced" ||
                  one.role === "program" ||
                  one.kind === "internal",
              ).toBe(true);
          }
        });
      }),
      property(150),
    );
  });

  it("isolate every writer at R2 and every parallel one, or block them", () => {
    fc.assert(
      fc.property(
        both,
        fc.constantFrom(repoState(), repoState({ baseCommit: null }), null),
        ([jobs, records], repo) => {
          const graph = buildPlan(planInput(jobs, records, { facts: { repoOf: () => repo } }))
            .graph as PlanGraph;
          for (const job of graph.jobs) {
            if (!job.writer || !riskAtLeast(job.riskTier, "R2")) continue;
            expect(job.isolation).toBe("worktree");
            if (repo?.baseCommit == null)
              expect(["no-git", "no-base-commit"]).toContain(job.route.blocked?.code);
          }
        },
      ),
      property(80),
    );
  });

  it("promise no more attempts than the one bound allows", () => {
    fc.assert(
      fc.property(both, ([jobs, records]) => {
        const graph = buildPlan(planInput(jobs, records)).graph as PlanGraph;
        const bound = graph.jobs.reduce((sum, job) => sum + dispatchBound(job), 0);
        expect(graph.dispatchCeiling).toBeLessThanOrEqual(bound);
        expect(graph.dispatchCeiling).toBeGreaterThanOrEqual(graph.jobs.length);
      }),
      property(80),
    );
  });
});

it("plans 10,000 jobs in about the time of reading them", () => {
  const invocation = { command: "/bin/true", args: [], stdin: "none", envAllow: [] } as const;
  const jobs = Array.from({ length: 10_000 }, (_, i) =>
    normalJob({
      id: `j${i}`,
      runtime: "true",
      invocation,
      dependsOn:
        i < 100
          ? []
          : Array.from({ length: 9 }, (_other, k) => `j${(Math.floor(i / 100) - 1) * 100 + ((i + k) % 100)}`),
    }),
  );
  const before = process.cpuUsage();
  const { graph } = buildPlan(planInput(jobs, [program({ id: "true" })]));
  const cpu = process.cpuUsage(before);
  expect(graph?.stages).toHaveLength(100);
  expect((cpu.user + cpu.system) / 1000).toBeLessThan(4_000);
});
