import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { POLICY, SPEC_LIMITS } from "../../src/core/policy.ts";
import { TASKS } from "../../src/core/tiers.ts";
import { defaultEffect, isInside, normalizeSpec } from "../../src/plan/normalize.ts";
import { parseSpec } from "../../src/plan/spec.ts";
import { PROPERTY } from "../support/property.ts";

/** Folders of a made-up host; the value is where the path really leads. */
const FOLDERS: Readonly<Record<string, string>> = {
  "/code": "/code",
  "/code/app": "/code/app",
  "/code/link-inside": "/code/app",
  "/code/link-outside": "/etc",
  "/common": "/common",
  "/code2": "/code2",
};

const HOST = {
  cwd: "/code/app",
  workspaceRootsDefault: ["/code"],
  realpath: (path: string) => FOLDERS[path] ?? null,
  fileName: "plans/review.yaml",
  approvals: new Set(["release-friday"]),
};

function normalize(spec: object, host: Partial<typeof HOST> = {}) {
  const parsed = parseSpec(JSON.stringify(spec), { fileName: "jobs.json" });
  if (parsed.spec === null) throw new Error(JSON.stringify(parsed.diagnostics, null, 1));
  return normalizeSpec(parsed.spec, { ...HOST, ...host, locate: parsed.locate });
}

const JOB = { id: "a", task: "scout", prompt: "look", expected_output: "a report", timeout: "10m" };
const one = (fields: object = {}, top: object = {}) =>
  normalize({ version: 1, ...top, jobs: [{ ...JOB, ...fields }] });

describe("a job with nothing but what it needs", () => {
  it("gets every default, each with its origin", () => {
    const { jobs, diagnostics } = one();
    expect(diagnostics).toEqual([]);
    expect(jobs).toEqual([
      {
        id: "a",
        index: 0,
        task: "scout",
        runtime: null,
        fallbackRuntime: [],
        agent: null,
        model: null,
        effort: null,
        session: null,
        cwd: "/code",
        prompt: "look",
        skill: null,
        promptGenerated: false,
        expectedOutput: "a report",
        timeoutMs: 600_000,
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
        retry: {
          maxAttempts: 1,
          backoffMs: 2_000,
          classes: ["RATE_LIMIT", "QUOTA", "NETWORK", "RUNTIME_CRASH"],
        },
        cacheTtlHours: POLICY.CACHE_TTL_DEFAULT_HOURS.value,
        maxPromotions: POLICY.MAX_PROMOTIONS_DEFAULT.value,
        maxOutputBytes: POLICY.MAX_OUTPUT_BYTES_DEFAULT.value,
        mock: null,
        origins: {
          cwd: "built-in",
          timeout: "spec",
          importance: "built-in",
          effect: "built-in",
          approval: "built-in",
          isolation: "built-in",
          "retry.max_attempts": "built-in",
          "retry.backoff": "built-in",
          "retry.classes": "built-in",
          "benchmark.cacheTTLHours": "built-in",
          "fallback.maxPromotions": "built-in",
          max_output_bytes: "built-in",
        },
      },
    ]);
  });

  it("belongs to a run with every default", () => {
    expect(one().top).toEqual({
      name: "review",
      outcome: null,
      constraints: [],
      acceptance: [],
      concurrency: SPEC_LIMITS.concurrencyDefault,
      pools: {},
      workspaceRoots: ["/code"],
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
      origins: {
        name: "built-in",
        concurrency: "built-in",
        workspace_roots: "built-in",
        "arbiter.timeout": "built-in",
        quota_wait: "built-in",
      },
    });
  });
});

describe("defaults of the spec", () => {
  const defaults = {
    timeout: "1h",
    cwd: "app",
    effect: "scoped-write",
    approval: "require",
    isolation: "worktree",
    retry: { max_attempts: 3, backoff: "7s" },
    max_output_bytes: 4096,
    benchmark: { cacheTTLHours: 24 },
    fallback: { maxPromotions: 0 },
  };

  it("fill what a job leaves out, field by field", () => {
    const { jobs } = normalize({
      version: 1,
      defaults,
      jobs: [{ ...JOB, timeout: undefined, retry: { classes: ["NETWORK"] } }],
    });
    expect(jobs[0]).toMatchObject({
      timeoutMs: 3_600_000,
      cwd: "/code/app",
      effect: "scoped-write",
      effectSource: "declared",
      approval: "require",
      isolation: "worktree",
      retry: { maxAttempts: 3, backoffMs: 7_000, classes: ["NETWORK"] },
      maxOutputBytes: 4_096,
      cacheTtlHours: 24,
      maxPromotions: 0,
    });
    expect(jobs[0]?.origins).toMatchObject({
      timeout: "defaults",
      cwd: "defaults",
      effect: "defaults",
      "retry.max_attempts": "defaults",
      "retry.classes": "spec",
      "fallback.maxPromotions": "defaults",
    });
  });

  it("give way to what a job says", () => {
    const { jobs } = normalize({
      version: 1,
      defaults,
      jobs: [{ ...JOB, cwd: "<workspace-root>", effect: "observe", isolation: "none" }],
    });
    expect(jobs[0]).toMatchObject({ cwd: "/code", effect: "observe", isolation: "none", timeoutMs: 600_000 });
    expect(jobs[0]?.origins).toMatchObject({
      cwd: "spec",
      effect: "spec",
      isolation: "spec",
      timeout: "spec",
    });
  });
});

describe("the effect of a job", () => {
  it.each([
    ["scout", false, "observe"],
    ["architecture", true, "observe"],
    ["implement", false, "scoped-write"],
    ["mechanical", false, "scoped-write"],
    ["docs", true, "scoped-write"],
    ["docs", false, "observe"],
    ["test", true, "scoped-write"],
    ["test", false, "observe"],
    ["review", true, "observe"],
    ["audit", true, "observe"],
    ["security", true, "observe"],
  ] as const)("of task %s, owning paths %s, is %s", (task, owns, effect) => {
    expect(defaultEffect(task, owns)).toBe(effect);
    expect(one({ task, ...(owns ? { owned_paths: ["src/**"] } : {}) }).jobs[0]).toMatchObject({
      effect,
      effectSource: "task",
    });
  });

  it("without task and effect is one that may change much", () =>
    expect(one({ task: undefined, model: "m" }).jobs[0]).toMatchObject({
      effect: "high-impact-write",
      effectSource: "none",
    }));

  it("of destructive work is external, whatever else is said", () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...TASKS),
        fc.constantFrom("observe", "scoped-write", "high-impact-write"),
        (task, effect) => {
          expect(one({ task, effect, destructive: true }).jobs[0]).toMatchObject({
            effect: "external-destructive",
            effectSource: "destructive",
          });
        },
      ),
      PROPERTY,
    ));
});

describe("folders", () => {
  it("are the real ones, whatever links lead there", () => {
    expect(one({ cwd: "app" }).jobs[0]?.cwd).toBe("/code/app");
    expect(one({ cwd: "/code/app" }).jobs[0]?.cwd).toBe("/code/app");
    expect(one({ cwd: "link-inside" }).jobs[0]?.cwd).toBe("/code/app");
    expect(one({ cwd: "." }).jobs[0]?.cwd).toBe("/code");
  });

  it("stay inside the workspace roots", () => {
    const refused = (cwd: string, top: object = {}) =>
      one({ cwd }, top).diagnostics.map((d) => `${d.path} ${d.code}`);
    expect(refused("link-outside")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("../code2")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("/common")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("gone")).toEqual(["jobs[0].cwd cwd-missing"]);
    expect(refused("/common", { workspace_roots: ["/code", "/common"] })).toEqual([]);
    expect(one({}, { defaults: { cwd: "gone" } }).diagnostics.map((d) => d.path)).toEqual(["defaults.cwd"]);
  });

  it("of the spec are meant from the process, those of jobs from the first root", () => {
    const { top, jobs, diagnostics } = one({ cwd: "app" }, { workspace_roots: ["..", "/common"] });
    expect(diagnostics).toEqual([]);
    expect(top.workspaceRoots).toEqual(["/code", "/common"]);
    expect(top.origins["workspace_roots"]).toBe("spec");
    expect(jobs[0]?.cwd).toBe("/code/app");
    expect(one({}, { workspace_roots: ["gone"] }).diagnostics.map((d) => `${d.path} ${d.code}`)).toEqual([
      "workspace_roots[0] root-missing",
    ]);
  });

  it("are asked for once each", () => {
    const asked: string[] = [];
    const jobs = Array.from({ length: 50 }, (_, index) => ({ ...JOB, id: `j${index}`, cwd: "app" }));
    const realpath = (path: string): string | null => {
      asked.push(path);
      return HOST.realpath(path);
    };
    normalize({ version: 1, jobs }, { realpath });
    expect(asked).toEqual(["/code/app"]);
  });

  it("are inside one another only by whole names", () => {
    expect(isInside("/code", "/code")).toBe(true);
    expect(isInside("/code/a", "/code")).toBe(true);
    expect(isInside("/code/..a", "/code")).toBe(true);
    expect(isInside("/code2", "/code")).toBe(false);
    expect(isInside("/", "/code")).toBe(false);
    expect(isInside("/anything", "/")).toBe(true);
  });
});

describe("what is written in different ways", () => {
  it("has one form afterwards", () => {
    const { jobs, top } = one(
      {
        model: "<resolved-model>",
        outputs: [{ path: "./out//a.md", from: "result" }],
        inputs: [{ path: "./in.md" }],
        owned_paths: ["src/**"],
        verification: [{ command: "npm" }, { command: "npm", args: ["test"], timeout: "5m", cwd: "./pkg/" }],
        preview: { command: "make", args: ["-n"] },
        rollback: "Restore the former release by hand.",
        stall_after: "1m30s",
        authority: "release-friday",
        runtime: "tool",
        invocation: { command: "make" },
      },
      {
        quota_wait: "2h",
        arbiter: { model: "<resolved-model>", timeout: "1m" },
        budget: { dimension: "quotaBurn", limit: 1 },
        worktree_setup: [{ command: "npm", args: ["ci"] }],
      },
    );
    expect(jobs[0]).toMatchObject({
      model: null,
      outputs: [{ path: "out/a.md", sha256: null, required: true, fromResult: true }],
      inputs: [{ path: "in.md", sha256: null, fromJob: null, fromPath: null }],
      verification: [
        { command: "npm", args: [], timeoutMs: 600_000, cwd: null },
        { command: "npm", args: ["test"], timeoutMs: 300_000, cwd: "/code/pkg" },
      ],
      preview: { kind: "command", command: { command: "make", args: ["-n"], timeoutMs: 600_000, cwd: null } },
      rollback: { kind: "text", text: "Restore the former release by hand." },
      stallAfterMs: 90_000,
      authority: "release-friday",
      invocation: { command: "make", args: [], stdin: "none", envAllow: [] },
    });
    expect(top).toMatchObject({
      quotaWaitMs: 7_200_000,
      arbiter: { model: null, timeoutMs: 60_000 },
      budget: { dimension: "quotaBurn", limit: 1, onUnknown: "stop" },
      worktreeSetup: [{ command: "npm", args: ["ci"], timeoutMs: 600_000, cwd: null }],
    });
  });

  it("is named after its file when it has no name", () => {
    expect(one({}, { name: "mine" }).top.name).toBe("mine");
    expect(normalize({ version: 1, jobs: [JOB] }, { fileName: ".yaml" }).top.name).toBe("jobs");
  });
});

describe("what a spec says", () => {
  it("is kept for a job, field by field", () => {
    const { jobs, diagnostics } = normalize({
      version: 1,
      jobs: [
        { ...JOB, id: "b" },
        {
          id: "a",
          task: "implement",
          runtime: "claude",
          fallback_runtime: ["codex"],
          model: "opus",
          effort: "high",
          session: { from_job: "b", mode: "fork" },
          cwd: "app",
          prompt: "do it",
          expected_output: "code",
          timeout: "10m",
          stall_after: "1m",
          depends_on: ["b"],
          importance: "high",
          effect: "high-impact-write",
          preview: "The diff shows all that will change.",
          rollback: { command: "git", args: ["revert"], timeout: "1m" },
          approval: "require",
          authority: "release-friday",
          isolation: "worktree",
          untrusted: true,
          owned_paths: ["src/**"],
          allowed_tools: ["read"],
          disallowed_tools: ["web"],
          inputs: [
            { path: "in.md", sha256: "a".repeat(64) },
            { path: "b.md", from_job: "b", from_path: "./out.md" },
          ],
          outputs: [{ path: "out.md", sha256: "b".repeat(64), required: false }],
          checks: ["It works."],
          retry: { max_attempts: 4, backoff: "9s", classes: ["QUOTA"] },
          benchmark: { cacheTTLHours: 5 },
          fallback: { maxPromotions: 1 },
          max_output_bytes: 5_000,
        },
      ].map((job) => (job.id === "b" ? { ...job, outputs: [{ path: "out.md" }] } : job)),
    });
    expect(diagnostics).toEqual([]);
    expect(jobs[1]).toEqual({
      id: "a",
      index: 1,
      task: "implement",
      runtime: "claude",
      fallbackRuntime: ["codex"],
      agent: null,
      model: "opus",
      effort: "high",
      session: { fromJob: "b", mode: "fork" },
      cwd: "/code/app",
      prompt: "do it",
      skill: null,
      promptGenerated: false,
      expectedOutput: "code",
      timeoutMs: 600_000,
      stallAfterMs: 60_000,
      dependsOn: ["b"],
      importance: "high",
      effect: "high-impact-write",
      effectSource: "declared",
      destructive: false,
      preview: { kind: "text", text: "The diff shows all that will change." },
      rollback: {
        kind: "command",
        command: { command: "git", args: ["revert"], timeoutMs: 60_000, cwd: null },
      },
      approval: "require",
      authority: "release-friday",
      isolation: "worktree",
      untrusted: true,
      ownedPaths: ["src/**"],
      allowedTools: ["read"],
      disallowedTools: ["web"],
      inputs: [
        { path: "in.md", sha256: "a".repeat(64), fromJob: null, fromPath: null },
        { path: "b.md", sha256: null, fromJob: "b", fromPath: "out.md" },
      ],
      outputs: [{ path: "out.md", sha256: "b".repeat(64), required: false, fromResult: false }],
      checks: ["It works."],
      verification: [],
      invocation: null,
      retry: { maxAttempts: 4, backoffMs: 9_000, classes: ["QUOTA"] },
      cacheTtlHours: 5,
      maxPromotions: 1,
      maxOutputBytes: 5_000,
      mock: null,
      origins: {
        cwd: "spec",
        timeout: "spec",
        importance: "spec",
        effect: "spec",
        approval: "spec",
        isolation: "spec",
        "retry.max_attempts": "spec",
        "retry.backoff": "spec",
        "retry.classes": "spec",
        "benchmark.cacheTTLHours": "spec",
        "fallback.maxPromotions": "spec",
        max_output_bytes: "spec",
      },
    });
  });

  it("is kept of jobs that other kinds of runtimes do", () => {
    const invocation = { command: "make", args: ["all"], stdin: "prompt", env_allow: ["CI"] };
    expect(one({ runtime: "tool", invocation }).jobs[0]?.invocation).toEqual({
      command: "make",
      args: ["all"],
      stdin: "prompt",
      envAllow: ["CI"],
    });
    const { agent, skill, prompt, promptGenerated } = one({
      runtime: "internal",
      agent: "reviewer",
      skill: "review",
      prompt: undefined,
    }).jobs[0]!;
    expect({ agent, skill, prompt, promptGenerated }).toEqual({
      agent: "reviewer",
      skill: "review",
      prompt: null,
      promptGenerated: false,
    });
    expect(one({ prompt: undefined }).jobs[0]?.promptGenerated).toBe(true);
    expect(one({ runtime: "mock", mock: [{ say: "hi" }] }).jobs[0]?.mock).toEqual([{ say: "hi" }]);
    expect(one({ destructive: true }).jobs[0]).toMatchObject({
      destructive: true,
      origins: { effect: "spec" },
    });
  });

  it("is kept of the run, field by field", () => {
    const { top } = one(
      {},
      {
        name: "mine",
        outcome: "It is known.",
        constraints: ["no writes"],
        acceptance: ["a report"],
        concurrency: 3,
        pools: { claude: 2 },
        workspace_roots: ["/code"],
        calibration: { minimum_samples: 40 },
        arbiter: {
          runtime: "codex",
          fallback_runtime: ["claude"],
          model: "m",
          effort: "low",
          timeout: "2m",
          mock: { a: "fail" },
        },
        budget: { dimension: "quotaBurn", limit: 1, on_unknown: "warn" },
        quota_wait: "1h",
        worktree_setup: [{ command: "npm", timeout: "3m" }],
      },
    );
    expect(top).toEqual({
      name: "mine",
      outcome: "It is known.",
      constraints: ["no writes"],
      acceptance: ["a report"],
      concurrency: 3,
      pools: { claude: 2 },
      workspaceRoots: ["/code"],
      calibrationMinimumSamples: 40,
      egress: [],
      arbiter: {
        runtime: "codex",
        fallbackRuntime: ["claude"],
        model: "m",
        effort: "low",
        timeoutMs: 120_000,
        mock: { a: "fail" },
      },
      budget: { dimension: "quotaBurn", limit: 1, onUnknown: "warn" },
      quotaWaitMs: 3_600_000,
      worktreeSetup: [{ command: "npm", args: [], timeoutMs: 180_000, cwd: null }],
      origins: {
        name: "spec",
        concurrency: "spec",
        workspace_roots: "spec",
        "arbiter.timeout": "spec",
        quota_wait: "spec",
      },
    });
  });

  it.each([
    ["review.yml", "review"],
    ["a/b\\c.JSON", "c"],
    ["plans/v1.yaml.txt", "v1.yaml.txt"],
    ["jobs", "jobs"],
    ["a/.json", "jobs"],
    ["a.yaml/b", "b"],
  ])("leaves the name to the file: %s is %s", (fileName, name) => {
    expect(normalize({ version: 1, jobs: [JOB] }, { fileName }).top.name).toBe(name);
  });
});

describe("what the host does not have", () => {
  it("is told whole, with its place in the file", () => {
    const { diagnostics } = normalize({
      version: 1,
      workspace_roots: ["/code", "gone"],
      jobs: [
        { ...JOB, cwd: "nowhere", authority: "never-said" },
        { ...JOB, id: "b", cwd: "link-outside" },
      ],
    });
    expect(diagnostics).toEqual([
      {
        severity: "error",
        code: "root-missing",
        file: HOST.fileName,
        path: "workspace_roots[1]",
        line: 1,
        column: 41,
        message: "the workspace root `gone` does not exist",
        fix: "create the folder, or name another",
      },
      {
        severity: "error",
        code: "cwd-missing",
        file: HOST.fileName,
        path: "jobs[0].cwd",
        line: 1,
        column: 149,
        message: "the folder `nowhere` does not exist below `/code`",
        fix: "create it, or name another",
      },
      {
        severity: "error",
        code: "unknown-authority",
        file: HOST.fileName,
        path: "jobs[0].authority",
        line: 1,
        column: 171,
        message: "the authority `never-said` is not among the approvals of the home policy",
        fix: "add it to `approvals` in the home policy, or remove `authority`",
      },
      {
        severity: "error",
        code: "cwd-outside-roots",
        file: HOST.fileName,
        path: "jobs[1].cwd",
        line: 1,
        column: 277,
        message: "the folder `link-outside` leads to `/etc`, outside every workspace root",
        fix: "add its folder to `workspace_roots`, or name one inside",
      },
    ]);
  });

  it("is told at the first line of a spec that has no text", () => {
    const parsed = parseSpec(JSON.stringify({ version: 1, jobs: [{ ...JOB, cwd: "gone" }] }), {
      fileName: "jobs.json",
    });
    expect(normalizeSpec(parsed.spec!, HOST).diagnostics).toMatchObject([
      { code: "cwd-missing", line: 1, column: 1 },
    ]);
  });

  it("leaves the written folder in its place", () => {
    expect(one({ cwd: "gone" }).jobs[0]?.cwd).toBe("/code/gone");
    expect(one({}, { workspace_roots: ["/gone"] }).top.workspaceRoots).toEqual(["/gone"]);
  });
});

describe("a spec with every field", () => {
  it("normalizes without a word", () => {
    const text = readFileSync(new URL("../fixtures/specs/every-field.yaml", import.meta.url));
    const parsed = parseSpec(text, { fileName: "every-field.yaml" });
    const host = { ...HOST, cwd: "/code", realpath: (path: string) => FOLDERS[path] ?? null };
    const { jobs, diagnostics } = normalizeSpec(parsed.spec!, host);
    expect(diagnostics).toEqual([]);
    expect(jobs.map((job) => [job.id, job.cwd, job.timeoutMs])).toEqual([
      ["scout", "/code", 1_200_000],
      ["build", "/code", 5_400_000],
      ["talk", "/code", 1_200_000],
      ["again", "/code", 1_200_000],
    ]);
  });
});
