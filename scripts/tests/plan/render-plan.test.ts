import { describe, expect, it } from "vitest";
import type { PlanJob, RuntimeRecord } from "../../src/core/runtime.ts";
import { buildPlan, type PlanGraph } from "../../src/plan/build-plan.ts";
import { gateReport } from "../../src/plan/gate.ts";
import type { NormalJob } from "../../src/plan/normal.ts";
import { duration, jobText, planDot, planMermaid, planText } from "../../src/plan/render-plan.ts";
import {
  inventory,
  mockRecord,
  normalJob,
  type Overrides,
  planInput,
  record,
  writerJob,
} from "./plan-support.ts";

const claude = record({ id: "claude", provider: "anthropic" });
const codex = record({ id: "codex", provider: "openai" });

function rendered(jobs: readonly NormalJob[], records: readonly RuntimeRecord[], o: Overrides = {}) {
  const graph = buildPlan(planInput(jobs, records, o)).graph as PlanGraph;
  const gate = gateReport(graph, inventory(records));
  return {
    graph,
    text: planText(graph, gate),
    job: (id: string) => jobText(graph.jobs.find((job) => job.id === id) as PlanJob, gate),
  };
}

const jobs = [
  writerJob({
    id: "parser",
    verification: [{ command: "npm", args: ["test", "a b"], timeoutMs: 1_000, cwd: null }],
  }),
  writerJob({ id: "printer" }),
  normalJob({ id: "review", task: "review", dependsOn: ["parser", "printer"], timeoutMs: 90_000 }),
  normalJob({ id: "old", runtime: "pi" }),
];

describe("a plan as text", () => {
  it("is short and says who runs what, why, and what it would touch", () => {
    expect(rendered(jobs, [claude, codex]).text).toBe(`jobs: 4 jobs in 2 stages, 2 at once, at most 7 attempts
critical path 2m30s: parser → review
stage 1
  old: BLOCKED needs-onboarding: \`pi\`: was not found on this host | R0 C1 (task:scout→R0), 1m
  parser, printer: claude, then codex (id: claude before codex) | R2 C2 (task:implement→R1, parallel-writer→R2), worktree (policy:parallel), 1m
stage 2
  review: codex high, then claude (independent-family: independent before fresh session) | R0 C3 (task:review→R0), worktree (policy:dependency), 1m30s, after parser, printer
judged by: claude (not-independent-substituted)
would execute:
  verification [parser]: npm test 'a b'
content goes to:
  anthropic, through claude (job): parser, printer
  openai, through codex (fallback): parser, printer
  openai, through codex (job): review
  anthropic, through claude (fallback): review
  anthropic, through claude (arbiter): arbiter
  openai, through codex (arbiter): arbiter
`);
  });

  it("tells many jobs of one kind in one line, and stays bounded for many kinds", () => {
    const many = Array.from({ length: 500 }, (_, i) => normalJob({ id: `j${String(i).padStart(3, "0")}` }));
    const same = rendered(many, [claude]).text;
    expect(same).toContain("  j000, j001 and 498 more: claude | R0 C1 (task:scout→R0), 1m");
    const different = many.map((job, i) => ({ ...job, timeoutMs: 1_000 * (i + 1) }));
    const text = rendered(different, [claude]).text;
    expect(text).toContain("  … and 460 more lines");
    expect(text.length).toBeLessThan(4_096);
  });

  it("names the script player as its own judge", () => {
    expect(rendered([normalJob({ id: "a", runtime: "mock" })], [mockRecord()]).text).toContain(
      "judged by: mock mock-b (independent)",
    );
  });
});

describe("one job as text", () => {
  it("has every effective value with its origin, the chain, and every reject with its reason", () => {
    const { job } = rendered(
      [
        writerJob({
          id: "a",
          runtime: "claude",
          approval: "require",
          fallbackRuntime: ["codex"],
          origins: { timeout: "defaults", approval: "spec" },
        }),
      ],
      [claude, codex, record({ id: "zed", gateway: true })],
    );
    expect(job("a")).toBe(`a: R1 (task:implement→R1), C2 (task:implement→C2)
  from spec: runtime: claude; owned_paths: src/a/**; approval: require
  from defaults: timeout: 1m
  from policy: isolation: worktree (policy:write-boundary); allowed_tools: read, search, edit, write
  from built-in: model: the runtime's own; effort: the runtime's own; effect: scoped-write; retry.max_attempts: 1; retry.backoff: 2s; fallback.maxPromotions: 2; max_output_bytes: 1048576
  runs on claude: C3 (adapter-default), family claude-vendor (adapter-default)
  then codex: C3 (adapter-default), family codex-vendor (adapter-default)
  because: named by the spec
  runner-up: codex (declared order)
  not zed: pin-mismatch (the job names \`claude\`)
  has toolGating coarse attested: granular verified, by the runtime itself
  has writeBoundary worktree attested: worktree verified, by its own worktree
  has timeout accounting attested: external verified, by the runtime itself
  has bypass absent attested: absent verified, by the runtime itself
  has capture text attested: structured verified, by the runtime itself
  waits for approval: the spec asks for it
`);
  });

  it("says what a placeholder became", () => {
    expect(
      rendered([normalJob({ id: "a", runtime: "<verified-cli-runtime>" })], [claude]).job("a"),
    ).toContain("  from inventory: runtime: claude for <verified-cli-runtime>\n");
  });

  it("says why it is blocked", () => {
    expect(rendered([normalJob({ id: "a", runtime: "pi" })], [claude]).job("a")).toContain(
      "  blocked: needs-onboarding: `pi`: was not found on this host\n",
    );
  });
});

describe("a plan as a diagram", () => {
  const { graph } = rendered(
    [normalJob({ id: "a", runtime: "claude" }), normalJob({ id: "b", runtime: "pi", dependsOn: ["a"] })],
    [claude],
  );

  it("is mermaid", () => {
    expect(planMermaid(graph)).toBe(`flowchart LR
  j0["a<br/>R0 C1 claude"]
  j1["b<br/>R0 C1 blocked"]
  j0 --> j1
`);
  });

  it("is DOT", () => {
    expect(planDot(graph)).toBe(`digraph plan {
  rankdir=LR;
  node [shape=box];
  "a" [label="a\\nR0 C1 claude"];
  "b" [label="b\\nR0 C1 blocked"];
  "a" -> "b";
}
`);
  });

  it("cannot be broken by a model's name", () => {
    const named = rendered([normalJob({ id: "a", runtime: "claude", model: 'x"<b>' })], [claude]).graph;
    expect(planMermaid(named)).toContain("claude x#quot;#lt;b>");
    expect(planDot(named)).toContain('claude x\\"<b>"');
  });
});

describe("durations", () => {
  it.each([
    [0, "0s"],
    [1, "1ms"],
    [90_000, "1m30s"],
    [5_400_000, "1h30m"],
    [86_400_000, "24h"],
    [61_001, "1m1s1ms"],
  ])("%i ms read as %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});
