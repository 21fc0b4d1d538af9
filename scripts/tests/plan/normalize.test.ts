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
  "/work": "/work",
  "/work/app": "/work/app",
  "/work/link-inside": "/work/app",
  "/work/link-outside": "/etc",
  "/shared": "/shared",
  "/work2": "/work2",
};

const HOST = {
  cwd: "/work/app",
  workspaceRootsDefault: ["/work"],
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
        cwd: "/work",
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
      workspaceRoots: ["/work"],
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
      cwd: "/work/app",
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
    expect(jobs[0]).toMatchObject({ cwd: "/work", effect: "observe", isolation: "none", timeoutMs: 600_000 });
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
    expect(one({ cwd: "app" }).jobs[0]?.cwd).toBe("/work/app");
    expect(one({ cwd: "/work/app" }).jobs[0]?.cwd).toBe("/work/app");
    expect(one({ cwd: "link-inside" }).jobs[0]?.cwd).toBe("/work/app");
    expect(one({ cwd: "." }).jobs[0]?.cwd).toBe("/work");
  });

  it("stay inside the workspace roots", () => {
    const refused = (cwd: string, top: object = {}) =>
      one({ cwd }, top).diagnostics.map((d) => `${d.path} ${d.code}`);
    expect(refused("link-outside")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("../work2")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("/shared")).toEqual(["jobs[0].cwd cwd-outside-roots"]);
    expect(refused("gone")).toEqual(["jobs[0].cwd cwd-missing"]);
    expect(refused("/shared", { workspace_roots: ["/work", "/shared"] })).toEqual([]);
    expect(one({}, { defaults: { cwd: "gone" } }).diagnostics.map((d) => d.path)).toEqual(["defaults.cwd"]);
  });

  it("of the spec are meant from the process, those of jobs from the first root", () => {
    const { top, jobs, diagnostics } = one({ cwd: "app" }, { workspace_roots: ["..", "/shared"] });
    expect(diagnostics).toEqual([]);
    expect(top.workspaceRoots).toEqual(["/work", "/shared"]);
    expect(top.origins["workspace_roots"]).toBe("spec");
    expect(jobs[0]?.cwd).toBe("/work/app");
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
    expect(asked).toEqual(["/work/app"]);
  });

  it("are inside one another only by whole names", () => {
    expect(isInside("/work", "/work")).toBe(true);
    expect(isInside("/work/a", "/work")).toBe(true);
    expect(isInside("/work/..a", "/work")).toBe(true);
    expect(isInside("/work2", "/work")).toBe(false);
    expect(isInside("/", "/work")).toBe(false);
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
        { command: "npm", args: ["test"], timeoutMs: 300_000, cwd: "/work/pkg" },
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

describe("a spec with every field", () => {
  it("normalizes without a word", () => {
    const text = readFileSync(new URL("../fixtures/specs/every-field.yaml", import.meta.url));
    const parsed = parseSpec(text, { fileName: "every-field.yaml" });
    const host = { ...HOST, cwd: "/work", realpath: (path: string) => FOLDERS[path] ?? null };
    const { jobs, diagnostics } = normalizeSpec(parsed.spec!, host);
    expect(diagnostics).toEqual([]);
    expect(jobs.map((job) => [job.id, job.cwd, job.timeoutMs])).toEqual([
      ["scout", "/work", 1_200_000],
      ["build", "/work", 5_400_000],
      ["talk", "/work", 1_200_000],
      ["again", "/work", 1_200_000],
    ]);
  });
});
