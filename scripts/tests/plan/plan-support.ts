/** Builders and generators for tests of planning: each value is complete, the test says only what it is about. */
import fc from "fast-check";
import type { Attempt, Candidate, Inventory, Job, PlanJob, RuntimeRecord } from "../../src/core/runtime.ts";
import {
  CAPABILITY_TIERS,
  EFFECTS,
  EFFORTS,
  RETRY_CLASSES,
  RISK_TIERS,
  TASKS,
} from "../../src/core/tiers.ts";
import type { RouteJob, RouteWorld, RuntimeTraits } from "../../src/plan/candidates.ts";
import type { NormalJob, NormalTop } from "../../src/plan/normal.ts";
import type { DeclaredSource, PlanFacts, PlanInput, RepoState } from "../../src/plan/plan-input.ts";

/** What a test changes of a plan's input beside its jobs and records. */
export interface Overrides {
  readonly top?: Partial<NormalTop>;
  readonly policy?: PlanInput["policy"];
  readonly facts?: Partial<PlanFacts>;
  readonly flags?: Partial<PlanInput["flags"]>;
}

const SOAK_FACTOR = 50;

/** Property runs: few in the suite, many with ORCHESTRATE_SOAK=1. The seed is printed with a failure. */
export const property = (runs: number): { seed: number; numRuns: number } => ({
  seed: 20_261_129,
  numRuns: process.env["ORCHESTRATE_SOAK"] === "1" ? runs * SOAK_FACTOR : runs,
});

const verified = <V extends string>(value: V): { value: V; evidence: "verified" } => ({
  value,
  evidence: "verified",
});
const attested = <V extends string>(value: V): { value: V; evidence: "attested" } => ({
  value,
  evidence: "attested",
});
const unproven = { value: "unverified", evidence: "unverified" } as const;

/** A live vendor-bound CLI whose every control is verified and scoped. */
export function record(o: Partial<RuntimeRecord> & { id: string }): RuntimeRecord {
  return {
    role: "agent",
    kind: "cli",
    state: "available",
    reason: null,
    binary: `/bin/${o.id}`,
    binaryReal: `/bin/${o.id}`,
    version: "1.0.0",
    authenticated: true,
    authSource: "subscription",
    gateway: false,
    hostOS: "linux",
    provider: `${o.id}-vendor`,
    models: null,
    modelAliases: [],
    family: `${o.id}-vendor`,
    agents: null,
    headless: true,
    capability: "C3",
    capabilitySource: "adapter-default",
    familySource: "adapter-default",
    vendorBound: true,
    cwdControl: "enforced",
    approval: verified("scoped"),
    toolGating: verified("granular"),
    writeBoundary: verified("prompt-only"),
    isolation: verified("prompt-only"),
    bypassAbsent: { value: true, evidence: "verified" },
    timeout: verified("external"),
    capture: verified("structured"),
    nativeBudget: false,
    externalTimeout: true,
    resume: "verified",
    fork: "unsupported",
    steer: "unsupported",
    structuredOutput: true,
    effortLevels: ["low", "medium", "high"],
    flags: {},
    evidence: [{ source: "--help", finding: "lists its flags", sha256: null }],
    probedAt: "2026-01-01T00:00:00.000Z",
    reused: false,
    notes: [],
    classifier_hint: null,
    ...o,
  };
}

/** A declared agent: C2, no known family, everything its operator's word. */
export const declaredAgent = (o: Partial<RuntimeRecord> & { id: string }): RuntimeRecord =>
  record({
    vendorBound: false,
    family: null,
    provider: null,
    authSource: "unknown",
    authenticated: "unverified",
    approval: attested("scoped"),
    toolGating: attested("coarse"),
    writeBoundary: attested("enforced"),
    isolation: attested("prompt-only"),
    bypassAbsent: { value: true, evidence: "attested" },
    capture: attested("structured"),
    resume: "unsupported",
    effortLevels: [],
    ...o,
  });

export const program = (o: Partial<RuntimeRecord> & { id: string }): RuntimeRecord =>
  declaredAgent({
    role: "program",
    approval: verified("scoped"),
    toolGating: verified("granular"),
    writeBoundary: attested("none"),
    isolation: attested("none"),
    bypassAbsent: { value: true, evidence: "verified" },
    capture: verified("text"),
    ...o,
  });

export const mockRecord = (o: Partial<RuntimeRecord> = {}): RuntimeRecord =>
  record({
    id: "mock",
    vendorBound: false,
    provider: "mock",
    family: "mock-a",
    models: ["mock-a", "mock-b"],
    isolation: verified("none"),
    writeBoundary: verified("enforced"),
    effortLevels: [...EFFORTS],
    ...o,
  });

/** In-session subagents of a harness that attests them. */
export const internalRecord = (o: Partial<RuntimeRecord> = {}): RuntimeRecord =>
  record({
    id: "internal",
    kind: "internal",
    binary: null,
    binaryReal: null,
    authenticated: "unverified",
    family: "anthropic",
    provider: "anthropic",
    approval: unproven,
    toolGating: attested("coarse"),
    writeBoundary: attested("prompt-only"),
    isolation: attested("prompt-only"),
    bypassAbsent: { value: true, evidence: "attested" },
    timeout: attested("accounting"),
    capture: attested("text"),
    externalTimeout: false,
    resume: "unsupported",
    effortLevels: [],
    ...o,
  });

export const missing = (id: string): RuntimeRecord =>
  record({ id, state: "unavailable", reason: "not-found", binary: null, binaryReal: null });

export function traits(o: Partial<RuntimeTraits> & { id: string }): RuntimeTraits {
  return { agent: true, providerEnv: [], bypassFlags: [], unmappedTool: () => null, ...o };
}

export function world(records: readonly RuntimeRecord[], o: Partial<RouteWorld> = {}): RouteWorld {
  return {
    records,
    traits: (id) => {
      const found = records.find((one) => one.id === id);
      return found === undefined ? null : traits({ id, agent: found.role === "agent" });
    },
    policy: [],
    claims: new Map(),
    preferInternal: false,
    ...o,
  };
}

/** A C2 job that only reads, free to run anywhere. */
export function routeJobOf(o: Partial<RouteJob> = {}): RouteJob {
  return {
    task: "test",
    capabilityFloor: "C2",
    riskTier: "R0",
    writer: false,
    worktree: false,
    tools: { allowed: ["read", "search"], disallowed: [] },
    runtime: null,
    fallbackRuntime: [],
    model: null,
    effort: null,
    agent: null,
    skill: false,
    session: null,
    loadBearing: false,
    upstream: { families: [], runtimes: [] },
    arbiter: false,
    ...o,
  };
}

export function normalJob(o: Partial<NormalJob> & { id: string }): NormalJob {
  return {
    index: 0,
    task: "scout",
    runtime: null,
    fallbackRuntime: [],
    agent: null,
    model: null,
    effort: null,
    session: null,
    cwd: "/repo",
    prompt: "Do it.",
    skill: null,
    promptGenerated: false,
    expectedOutput: "A report.",
    timeoutMs: 60_000,
    stallAfterMs: null,
    dependsOn: [],
    importance: "normal",
    effect: "observe",
    effectSource: "task",
    destructive: false,
    preview: null,
    rollback: null,
    approval: "inherit",
    authority: null,
    isolation: "none",
    untrusted: false,
    ownedPaths: [],
    allowedTools: null,
    disallowedTools: [],
    inputs: [],
    outputs: [],
    checks: [],
    verification: [],
    invocation: null,
    retry: { maxAttempts: 1, backoffMs: 2_000, classes: [...RETRY_CLASSES] },
    cacheTtlHours: 168,
    maxPromotions: 2,
    maxOutputBytes: 1_048_576,
    mock: null,
    origins: {},
    ...o,
  };
}

/** An implementing job with its own folder and a check. */
export const writerJob = (o: Partial<NormalJob> & { id: string }): NormalJob =>
  normalJob({
    task: "implement",
    effect: "scoped-write",
    ownedPaths: [`src/${o.id}/**`],
    checks: ["It works."],
    ...o,
  });

export function normalTop(o: Partial<NormalTop> = {}): NormalTop {
  return {
    name: "jobs",
    outcome: null,
    constraints: [],
    acceptance: [],
    concurrency: 2,
    pools: {},
    workspaceRoots: ["/repo"],
    calibrationMinimumSamples: null,
    egress: [],
    arbiter: {
      runtime: null,
      fallbackRuntime: [],
      model: null,
      effort: null,
      timeoutMs: 600_000,
      mock: null,
    },
    budget: null,
    quotaWaitMs: 0,
    worktreeSetup: [],
    origins: {},
    ...o,
  };
}

export const repoState = (o: Partial<RepoState> = {}): RepoState => ({
  topLevel: "/repo",
  commonDir: "/repo/.git",
  baseRef: "main",
  baseCommit: "1".repeat(40),
  dirty: 0,
  ...o,
});

export function facts(records: readonly RuntimeRecord[], o: Partial<PlanFacts> = {}): PlanFacts {
  return {
    traits: world(records).traits,
    repoOf: () => repoState(),
    trackedFiles: () => [],
    harness: { name: "unknown", subagents: false },
    declared: [],
    ...o,
  };
}

export const inventory = (records: readonly RuntimeRecord[]): Inventory => ({
  schemaVersion: 1,
  probedAt: "2026-01-01T00:00:00.000Z",
  hostOS: "linux",
  records: [...records],
});

export function planInput(
  jobs: readonly NormalJob[],
  records: readonly RuntimeRecord[],
  o: Overrides = {},
): PlanInput {
  return {
    spec: { path: "jobs.yaml", sha256: "0".repeat(64) },
    normal: { jobs: jobs.map((job, index) => ({ ...job, index })), top: normalTop(o.top) },
    inventory: inventory(records),
    policy: o.policy ?? [],
    facts: facts(records, o.facts),
    flags: { yes: false, internal: false, ...o.flags },
  };
}

export function declaredSource(
  entry: DeclaredSource["entry"],
  o: Partial<DeclaredSource> = {},
): DeclaredSource {
  return {
    entry,
    source: "project",
    confirmed: false,
    path: "/repo/.orchestrate/runtimes.yaml",
    sha256: "a".repeat(64),
    ...o,
  };
}

export const member = (o: Partial<Candidate> & { runtime: string }): Candidate => ({
  kind: "cli",
  model: null,
  effort: null,
  provider: null,
  family: null,
  capability: "C2",
  capabilitySource: "adapter-default",
  familySource: "unknown",
  independence: null,
  weaker: [],
  ...o,
});

/** A frozen job with a chain of equally strong members. */
export function planJob(
  o: Partial<PlanJob> = {},
  chain: readonly Candidate[] = [member({ runtime: "a" })],
): PlanJob {
  return {
    id: "job",
    index: 0,
    stage: 0,
    task: "scout",
    effect: "observe",
    destructive: false,
    writer: false,
    dependsOn: [],
    cwd: "/repo",
    repo: "/repo",
    prompt: "Do it.",
    skill: null,
    agent: null,
    promptGenerated: false,
    expectedOutput: "A report.",
    timeoutMs: 60_000,
    stallAfterMs: null,
    importance: "normal",
    approval: "inherit",
    authority: null,
    preview: null,
    rollback: null,
    isolation: "none",
    isolationOrigin: "built-in",
    untrusted: false,
    ownedPaths: [],
    tools: { allowed: ["read"], disallowed: [], origin: "tier" },
    inputs: [],
    outputs: [],
    checks: [],
    verification: [],
    invocation: null,
    session: null,
    retry: { maxAttempts: 1, backoffMs: 2_000, classes: [...RETRY_CLASSES] },
    maxPromotions: 2,
    maxOutputBytes: 1_048_576,
    capabilityFloor: "C2",
    capabilityDerivation: [],
    riskTier: "R0",
    tierDerivation: [],
    modelPinned: null,
    effortPinned: null,
    route: {
      chain: [...chain],
      rejected: [],
      runtimeFrom: null,
      pinned: false,
      blocked: null,
      why: [],
      runnerUp: null,
      margin: null,
    },
    origins: {},
    mock: null,
    ...o,
  };
}

export function attempt(o: Partial<Attempt> = {}): Attempt {
  return {
    attempt: 1,
    relation: "first",
    runtime: "a",
    provider: null,
    model: null,
    modelRequested: null,
    family: null,
    effortLevel: null,
    effortRaw: null,
    benchmarkRef: null,
    promotionOf: null,
    promotionTrigger: null,
    status: "failed",
    phase: null,
    reason: null,
    detail: null,
    failureClass: "NETWORK",
    settlement: "settled",
    createdAt: "2026-01-01T00:00:00.000Z",
    startedAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:01:00.000Z",
    wallMs: 60_000,
    exitCode: 1,
    signal: null,
    timedOut: false,
    flags: [],
    resetAt: null,
    tierDerivation: [],
    capabilityFloorDelta: 0,
    riskFloorDelta: 0,
    riskTier: "R0",
    checks: [],
    artifacts: [],
    changedPaths: [],
    inputFingerprint: null,
    baseCommit: null,
    commit: null,
    treeSha256: null,
    resultBytes: null,
    resultSha256: null,
    diffStat: null,
    injectionFixture: "not-run",
    microArbiter: null,
    c3EscalationReason: [],
    c3Verdict: null,
    arbitration: null,
    acceptedWithoutC3: false,
    acceptance: "pending",
    laterOutcome: null,
    decisionTraceRef: null,
    supervisorRunId: null,
    pid: 1,
    processStartTime: null,
    bootId: null,
    sessionHandle: null,
    nativeHandle: null,
    usage: null,
    question: null,
    ...o,
  };
}

export function jobState(o: Partial<Job> = {}): Job {
  return {
    status: "failed",
    outcome: "pending",
    reason: null,
    detail: null,
    block: null,
    outcomeBlock: null,
    runtime: "a",
    model: null,
    agent: null,
    attempts: 1,
    worktree: null,
    branch: null,
    baseCommit: null,
    baseOverride: null,
    riskTier: "R0",
    acceptedWithoutC3Count: 0,
    notBefore: null,
    candidateIndex: 0,
    promotions: 0,
    retriesUsed: 0,
    resumes: 0,
    userRetries: 0,
    reopenedAt: 0,
    pendingAttempt: null,
    attemptRecords: [],
    ...o,
  };
}

const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const evidence = oneOf("verified" as const, "attested" as const, "unverified" as const);

/** Any record that a probe could write, live ones more often. */
export const anyRecord = (id: string): fc.Arbitrary<RuntimeRecord> =>
  fc
    .record({
      state: oneOf("available", "available", "constrained", "unverified", "unavailable") as fc.Arbitrary<
        RuntimeRecord["state"]
      >,
      authenticated: oneOf<RuntimeRecord["authenticated"]>(true, true, "unverified", false),
      vendorBound: fc.boolean(),
      gateway: fc.boolean(),
      provider: oneOf(null, "anthropic", "openai", "openrouter"),
      family: oneOf(null, "anthropic", "openai"),
      models: oneOf<string[] | null>(null, null, ["anthropic/big", "openai/small"]),
      approval: fc.record({
        value: oneOf("per-operation", "scoped", "auto", "none", "unverified"),
        evidence,
      }),
      toolGating: fc.record({ value: oneOf("granular", "coarse", "none", "unverified"), evidence }),
      writeBoundary: fc.record({
        value: oneOf("enforced", "worktree", "prompt-only", "none", "unverified"),
        evidence,
      }),
      isolation: fc.record({
        value: oneOf("container", "os-sandbox", "worktree", "prompt-only", "none", "unverified"),
        evidence,
      }),
      bypassAbsent: fc.record({ value: oneOf(true, true, false), evidence }),
      timeout: fc.record({
        value: oneOf("native+external", "external", "accounting", "unverified"),
        evidence,
      }),
      capture: fc.record({ value: oneOf("structured", "text", "unverified"), evidence }),
      resume: oneOf("verified", "unsupported"),
      effortLevels: fc.subarray([...EFFORTS]),
      role: oneOf("agent", "agent", "agent", "program"),
    })
    .map((shape) => record({ id, ...(shape as Partial<RuntimeRecord>) }));

/** A host with a few CLIs, perhaps a harness, always the script player. */
export const anyInventory: fc.Arbitrary<RuntimeRecord[]> = fc
  .tuple(anyRecord("alpha"), anyRecord("beta"), anyRecord("gamma"), fc.boolean())
  .map(([a, b, c, harness]) => [
    a,
    b,
    c,
    mockRecord(),
    internalRecord(harness ? {} : { state: "unavailable", reason: "no-harness" }),
  ]);

export const anyRouteJob: fc.Arbitrary<RouteJob> = fc.record({
  task: oneOf(null, ...TASKS),
  capabilityFloor: oneOf(...CAPABILITY_TIERS),
  riskTier: oneOf(...RISK_TIERS),
  writer: fc.boolean(),
  worktree: fc.boolean(),
  tools: fc.record({
    allowed: fc.subarray(["read", "search", "edit", "write", "shell", "web"]),
    disallowed: fc.subarray(["shell", "web"]),
  }),
  runtime: oneOf(
    null,
    null,
    "alpha",
    "beta",
    "mock",
    "internal",
    "nowhere",
    "<verified-cli-runtime>",
    "<verified-read-runtime>",
    "<verified-judgment-runtime>",
  ),
  fallbackRuntime: fc.subarray(["alpha", "gamma", "nowhere", "<verified-fallback-runtime>", "mock"], {
    maxLength: 3,
  }),
  model: oneOf(null, null, "anthropic/big", "elsewhere"),
  effort: oneOf(null, null, ...EFFORTS),
  agent: oneOf(null, null, null, "reviewer"),
  skill: oneOf(false, false, false, true),
  session: oneOf<RouteJob["session"]>(null, null, null, {
    runtime: "alpha",
    mode: "continue",
    sameFolder: true,
  }),
  loadBearing: fc.boolean(),
  upstream: fc.record({
    families: fc.subarray<string | null>([null, "anthropic", "openai"]),
    runtimes: fc.subarray(["alpha", "beta", "mock"]),
  }),
  arbiter: fc.constant(false),
});

/** Up to `max` jobs with forward dependencies only, in shuffled order. */
export const anyJobs = (max: number): fc.Arbitrary<NormalJob[]> =>
  fc
    .array(
      fc.record({
        task: oneOf(null, ...TASKS),
        effect: oneOf(...EFFECTS),
        effectSource: oneOf("declared", "task", "none"),
        importance: oneOf("normal", "normal", "high"),
        untrusted: oneOf(false, false, true),
        isolation: oneOf("none", "none", "worktree"),
        owned: fc.subarray(["src/**", "docs/**", "*.md", "src/a/*.ts"], { maxLength: 2 }),
        checks: fc.constant(["Checked."]),
        runtime: oneOf(null, null, "alpha", "mock", "<verified-cli-runtime>"),
        maxAttempts: fc.integer({ min: 1, max: 4 }),
        maxPromotions: fc.integer({ min: 0, max: 4 }),
        below: fc.array(fc.nat({ max: 30 }), { maxLength: 3 }),
      }),
      { minLength: 1, maxLength: max },
    )
    .map((shapes) =>
      shapes.map((shape, at) =>
        normalJob({
          id: `job-${String(at).padStart(2, "0")}`,
          task: shape.task,
          effect: shape.effect,
          effectSource: shape.effectSource as NormalJob["effectSource"],
          importance: shape.importance as NormalJob["importance"],
          untrusted: shape.untrusted,
          isolation: shape.isolation as NormalJob["isolation"],
          ownedPaths: shape.owned,
          checks: shape.checks,
          runtime: shape.runtime,
          retry: { maxAttempts: shape.maxAttempts, backoffMs: 2_000, classes: [...RETRY_CLASSES] },
          maxPromotions: shape.maxPromotions,
          dependsOn: [
            ...new Set(
              shape.below.filter((from) => from < at).map((from) => `job-${String(from).padStart(2, "0")}`),
            ),
          ],
        }),
      ),
    );
