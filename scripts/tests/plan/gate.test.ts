import { describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { buildPlan, type PlanGraph } from "../../src/plan/build-plan.ts";
import { type GateReport, gateReport } from "../../src/plan/gate.ts";
import type { NormalJob } from "../../src/plan/normal.ts";
import {
  declaredAgent,
  declaredSource,
  internalRecord,
  inventory,
  mockRecord,
  normalJob,
  type Overrides,
  planInput,
  program,
  record,
  writerJob,
} from "./plan-support.ts";

const claude = record({ id: "claude", provider: "anthropic" });
const command = (name: string, ...args: string[]) => ({ command: name, args, timeoutMs: 1_000, cwd: null });

function gate(jobs: readonly NormalJob[], records: readonly RuntimeRecord[], o: Overrides = {}): GateReport {
  const { graph } = buildPlan(planInput(jobs, records, o));
  return gateReport(graph as PlanGraph, inventory(records), o.facts?.declared);
}

describe("the gate of a job", () => {
  it("shows each control that the tier needs beside the evidence that meets it", () => {
    const report = gate([writerJob({ id: "a", untrusted: true })], [claude]);
    expect(report.ok).toBe(true);
    expect(report.jobs[0]).toMatchObject({
      id: "a",
      riskTier: "R2",
      tierDerivation: ["task:implement→R1", "untrusted→R2"],
      candidate: "claude",
      isolation: "worktree (policy:r2)",
      approval: null,
      missing: [],
    });
    expect(
      report.jobs[0]?.controls.map(
        ({ concern, needs, has, by, met }) => `${concern} ${needs} ${has} ${by} ${met}`,
      ),
    ).toEqual([
      "toolGating coarse granular candidate true",
      "writeBoundary worktree worktree worktree true",
      "isolation worktree worktree worktree true",
      "timeout external external candidate true",
      "bypass absent absent candidate true",
      "capture text structured candidate true",
    ]);
    expect(report.evidence).toEqual([{ runtime: "claude", findings: ["--help: lists its flags"] }]);
  });

  it("shows what is missing", () => {
    const blocked = gate([normalJob({ id: "a", runtime: "pi" })], [claude]);
    expect(blocked.ok).toBe(false);
    expect(blocked.jobs[0]).toMatchObject({
      candidate: null,
      controls: [],
      missing: ["needs-onboarding: `pi`: was not found on this host"],
    });
    const bare = gate(
      [writerJob({ id: "a", effect: "external-destructive", effectSource: "declared", checks: [] })],
      [claude],
    );
    expect(bare.jobs[0]).toMatchObject({
      approval: "r3",
      missing: [
        "preview: R3 needs one",
        "rollback: R3 needs one",
        "checks: R2 needs a `verification` or `checks` entry",
      ],
    });
  });

  it("shows a control that is not met any more", () => {
    const { graph } = buildPlan(planInput([normalJob({ id: "a" })], [claude]));
    const worse = { ...claude, toolGating: { value: "none", evidence: "verified" } as const };
    expect(gateReport(graph as PlanGraph, inventory([worse])).jobs[0]?.missing).toEqual([
      "toolGating: needs coarse attested, has none verified",
    ]);
    expect(gateReport(graph as PlanGraph, inventory([])).jobs[0]?.controls).toEqual([]);
  });

  it("tells whose word a job waits for", () => {
    expect(gate([normalJob({ id: "a", approval: "require" })], [claude]).jobs[0]?.approval).toBe("spec");
  });

  it("asks nothing of the script player", () => {
    const report = gate([normalJob({ id: "a", runtime: "mock", untrusted: true })], [mockRecord()]);
    expect(report.jobs[0]).toMatchObject({ candidate: "mock mock-a", controls: [], missing: [] });
  });
});

describe("everything that would be executed", () => {
  it("is listed once with the jobs it belongs to, rollbacks apart", () => {
    const text = { kind: "text", text: "Twenty characters and more." } as const;
    const report = gate(
      [
        writerJob({ id: "a", verification: [command("npm", "test")] }),
        writerJob({ id: "b", verification: [command("npm", "test"), command("npm", "run", "lint")] }),
        normalJob({
          id: "c",
          runtime: "shell",
          effect: "external-destructive",
          effectSource: "declared",
          invocation: { command: "deploy", args: ["--now"], stdin: "none", envAllow: [] },
          preview: { kind: "command", command: command("deploy", "--dry-run") },
          rollback: { kind: "command", command: command("undo") },
          checks: ["It is up."],
        }),
        normalJob({ id: "d", preview: text, rollback: text }),
      ],
      [claude, program({ id: "shell" })],
      { top: { worktreeSetup: [command("npm", "ci")] } },
    );
    expect(
      report.commands.map(({ kind, jobs, argv }) => `${kind} [${jobs.join(",")}] ${argv.join(" ")}`),
    ).toEqual([
      "worktree-setup [a,b,c] npm ci",
      "verification [a,b] npm test",
      "verification [b] npm run lint",
      "invocation [c] deploy --now",
      "preview [c] deploy --dry-run",
    ]);
    expect(report.rollbacks).toEqual([{ job: "c", argv: ["undo"] }]);
  });
});

describe("everybody who would see content", () => {
  it("is each provider of a job, of a fallback that could take over, and of the arbiter", () => {
    const codex = record({ id: "codex", provider: "openai", family: "openai" });
    const weak = record({ id: "weak", provider: "acme", capture: { value: "text", evidence: "verified" } });
    const report = gate(
      [
        normalJob({ id: "a", runtime: "claude", fallbackRuntime: ["codex", "weak"] }),
        normalJob({ id: "b", runtime: "claude" }),
      ],
      [claude, codex, weak],
    );
    expect(
      report.providers.map(
        ({ provider, runtime, role, jobs }) => `${provider} ${runtime} ${role} ${jobs.join(",")}`,
      ),
    ).toEqual([
      "anthropic claude job a,b",
      "openai codex fallback a",
      "openai codex arbiter arbiter",
      "acme weak arbiter arbiter",
      "anthropic claude arbiter arbiter",
    ]);
  });

  it("is nobody for programs, scripts, and fallbacks that are switched off", () => {
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    const report = gate(
      [
        normalJob({ id: "a", runtime: "shell", invocation }),
        normalJob({ id: "b", runtime: "mock" }),
        normalJob({ id: "c", runtime: "internal", fallbackRuntime: ["claude"], maxPromotions: 0 }),
        normalJob({ id: "d", runtime: "pi" }),
      ],
      [
        claude,
        program({ id: "shell" }),
        mockRecord(),
        internalRecord({ provider: "x" }),
        declaredAgent({ id: "pi" }),
      ],
    );
    expect(report.providers.map(({ provider, runtime }) => `${provider} ${runtime}`)).toEqual([
      "x internal",
      "null pi",
      "anthropic claude",
    ]);
  });
});

it("counts the harness that is asked for a verdict, and nobody where there is nothing to judge", () => {
  const roles = (jobs: readonly NormalJob[], records: readonly RuntimeRecord[]): string[] =>
    gate(jobs, records).providers.map(({ provider, runtime, role }) => `${provider} ${runtime} ${role}`);
  expect(roles([normalJob({ id: "a" })], [claude])).toEqual([
    "anthropic claude job",
    "anthropic claude arbiter",
  ]);
  expect(roles([normalJob({ id: "a", runtime: "pi" })], [declaredAgent({ id: "pi" })])).toEqual([
    "null pi job",
    "null internal arbiter",
  ]);
  expect(roles([normalJob({ id: "a", runtime: "mock" })], [mockRecord()])).toEqual([]);
});

it("names the files that declare runtimes in use, with their digests", () => {
  const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
  const declared = [
    declaredSource({ id: "shell", command: "bash", agent: false }),
    declaredSource({ id: "idle", command: "idle" }),
  ];
  const report = gate([normalJob({ id: "a", runtime: "shell", invocation })], [program({ id: "shell" })], {
    facts: { declared },
  });
  expect(report.declaredIn).toEqual([
    { runtime: "shell", path: "/repo/.orchestrate/runtimes.yaml", sha256: "a".repeat(64) },
  ]);
});

describe("the gate of several jobs", () => {
  it("does not open while one of them lacks something", () => {
    const report = gate([normalJob({ id: "a" }), normalJob({ id: "b", runtime: "pi" })], [claude]);
    expect([report.ok, report.jobs.map((job) => job.missing.length)]).toEqual([false, [0, 1]]);
  });

  it("shows the evidence of every runtime in use, by name", () => {
    const zeta = record({ id: "zeta" });
    const pinned = (id: string, runtime: string) => normalJob({ id, runtime });
    const report = gate([pinned("a", "zeta"), pinned("b", "claude")], [zeta, claude]);
    expect(report.evidence.map((one) => one.runtime)).toEqual(["claude", "zeta"]);
  });

  it("asks at R3 for a preview and a rollback, each by itself", () => {
    const external = { effect: "external-destructive", effectSource: "declared" } as const;
    const words = { kind: "text", text: "by hand" } as const;
    const missing = (more: object): readonly string[] | undefined =>
      gate([writerJob({ id: "a", ...external, ...more })], [claude]).jobs[0]?.missing;
    expect(missing({ preview: words })).toEqual(["rollback: R3 needs one"]);
    expect(missing({ rollback: words })).toEqual(["preview: R3 needs one"]);
    expect(missing({ preview: words, rollback: words })).toEqual([]);
  });
});
