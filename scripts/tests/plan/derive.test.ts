import { describe, expect, it } from "vitest";
import type { Diagnostic } from "../../src/core/diagnostic.ts";
import { type DerivedJob, deriveJobs } from "../../src/plan/derive.ts";
import type { NormalJob } from "../../src/plan/normal.ts";
import type { DeriveFacts } from "../../src/plan/plan-input.ts";
import { normalJob, repoState, traits, writerJob } from "./plan-support.ts";

const RUNTIMES = {
  claude: traits({ id: "claude", providerEnv: ["ANTHROPIC_API_KEY"] }),
  shell: traits({ id: "shell", agent: false, providerEnv: ["SHELL_TOKEN"] }),
};

function derive(
  jobs: readonly NormalJob[],
  change: Partial<DeriveFacts> = {},
): { jobs: Record<string, DerivedJob>; order: string[]; diagnostics: Diagnostic[] } {
  const { value, diagnostics } = deriveJobs(
    jobs.map((job, index) => ({ ...job, index })),
    {
      traits: (id) => RUNTIMES[id as keyof typeof RUNTIMES] ?? null,
      repoOf: () => repoState(),
      trackedFiles: () => [],
      ...change,
    },
  );
  return {
    jobs: Object.fromEntries((value?.jobs ?? []).map((one) => [one.job.id, one])),
    order: (value?.jobs ?? []).map((one) => one.job.id),
    diagnostics,
  };
}
const told = (jobs: readonly NormalJob[], change: Partial<DeriveFacts> = {}): Diagnostic[] =>
  derive(jobs, change).diagnostics;
const one = (job: NormalJob, change: Partial<DeriveFacts> = {}): DerivedJob =>
  derive([job], change).jobs[job.id] as DerivedJob;

describe("a graph that is none", () => {
  it("is told with the place of each fault, and nothing else is derived", () => {
    const jobs = [
      normalJob({ id: "a", dependsOn: ["b"] }),
      normalJob({ id: "b", dependsOn: ["a"] }),
      normalJob({ id: "c", dependsOn: ["x", "c"] }),
    ];
    const locate = (path: readonly (string | number)[]) =>
      path.length === 3 ? { line: 10 + Number(path[1]), column: 3 } : null;
    expect(told(jobs, { locate })).toEqual([
      {
        severity: "error",
        code: "cyclic-dependency",
        path: "jobs[0].depends_on",
        line: 10,
        column: 3,
        message: "these jobs wait for each other: a → b → a",
        fix: "remove one of these dependencies",
      },
      {
        severity: "error",
        code: "unknown-dependency",
        path: "jobs[2].depends_on",
        line: 12,
        column: 3,
        message: "job `c` depends on `x`, but there is no such job",
        fix: "add the job, or remove the dependency",
      },
      {
        severity: "error",
        code: "self-dependency",
        path: "jobs[2].depends_on",
        line: 12,
        column: 3,
        message: "job `c` depends on itself",
        fix: "remove it",
      },
    ]);
    expect(derive(jobs).order).toEqual([]);
  });
});

describe("parallel writers", () => {
  it("are R2, whatever concurrency says, and writers in a row are not", () => {
    const { jobs } = derive([
      writerJob({ id: "a" }),
      writerJob({ id: "b" }),
      writerJob({ id: "c", dependsOn: ["a", "b"] }),
      normalJob({ id: "d" }),
    ]);
    expect(Object.values(jobs).map((job) => [job.job.id, job.writer, job.parallel, job.riskTier])).toEqual([
      ["a", true, true, "R2"],
      ["b", true, true, "R2"],
      ["d", false, false, "R0"],
      ["c", true, false, "R1"],
    ]);
  });

  it("meet in one repository only", () => {
    const repos: Record<string, string> = { "/x": "/x", "/y": "/y" };
    const repoOf = (cwd: string) => repoState({ topLevel: repos[cwd] as string });
    const jobs = [writerJob({ id: "a", cwd: "/x" }), writerJob({ id: "b", cwd: "/y" })];
    expect(one(jobs[0] as NormalJob, { repoOf }).parallel).toBe(false);
    expect(Object.values(derive(jobs, { repoOf }).jobs).map((job) => job.parallel)).toEqual([false, false]);
  });

  it("outside of a repository meet in one folder", () => {
    const repoOf = () => null;
    const same = derive([writerJob({ id: "a", cwd: "/x" }), writerJob({ id: "b", cwd: "/x" })], { repoOf });
    expect(Object.values(same.jobs).map((job) => job.parallel)).toEqual([true, true]);
    const apart = derive([writerJob({ id: "a", cwd: "/x" }), writerJob({ id: "b", cwd: "/y" })], { repoOf });
    expect(Object.values(apart.jobs).map((job) => job.parallel)).toEqual([false, false]);
  });

  it("that own the same files are an error, found with files outside of any repository left alone", () => {
    const jobs = [
      writerJob({ id: "a", ownedPaths: ["src/**"] }),
      writerJob({ id: "b", ownedPaths: ["src/b.ts"] }),
    ];
    expect(told(jobs)).toEqual([
      {
        severity: "error",
        code: "owned-paths-overlap",
        path: "jobs[1].owned_paths",
        message:
          "job `a` owns `src/**` and job `b` owns `src/b.ts`: both may write the same file, for example `src/b.ts`, and no dependency orders them",
        fix: "let one depend on the other, or give them different paths",
      },
    ]);
    const unasked = (): string[] => {
      throw new Error("there is nothing to list");
    };
    expect(told(jobs, { repoOf: () => null, trackedFiles: unasked })).toHaveLength(1);
    expect(told([jobs[0] as NormalJob, { ...(jobs[1] as NormalJob), dependsOn: ["a"] }])).toEqual([]);
  });

  it("with very many overlaps are told of the first of them", () => {
    const jobs = Array.from({ length: 20 }, (_, i) =>
      writerJob({ id: `j${i}`, ownedPaths: [`src/**/${i}`] }),
    );
    const found = told(jobs);
    expect(found).toHaveLength(101);
    expect(found.at(-1)).toEqual({
      severity: "info",
      code: "more-faults",
      message: "only the first 100 overlaps of owned paths are listed",
    });
  });
});

describe("outputs", () => {
  it("of two unordered jobs are never the same file", () => {
    const output = [{ path: "out.md", sha256: null, required: true, fromResult: false }];
    const jobs = [normalJob({ id: "a", outputs: output }), normalJob({ id: "b", outputs: output })];
    expect(told(jobs)).toEqual([
      {
        severity: "error",
        code: "output-conflict",
        path: "jobs[1].outputs",
        message: "job `a` and job `b` may run at the same time and both declare the output `/repo/out.md`",
        fix: "choose another path, or let one depend on the other",
      },
    ]);
    expect(told([jobs[0] as NormalJob, { ...(jobs[1] as NormalJob), dependsOn: ["a"] }])).toEqual([]);
    const folders = [jobs[0] as NormalJob, { ...(jobs[1] as NormalJob), cwd: "/repo/b" }];
    expect(told(folders)).toEqual([]);
  });
});

describe("broad ownership", () => {
  it("is more than a hundred tracked files, asked for once per repository", () => {
    let asked = 0;
    const trackedFiles = (): string[] => {
      asked += 1;
      return Array.from({ length: 101 }, (_, i) => `src/a/${i}.ts`);
    };
    const jobs = [writerJob({ id: "a", ownedPaths: ["src/a/**"] }), writerJob({ id: "b", dependsOn: ["a"] })];
    const { jobs: derived } = derive(jobs, { trackedFiles });
    expect(derived["a"]?.tierDerivation).toEqual(["task:implement→R1", "broad-ownership→R2"]);
    expect(derived["b"]?.riskTier).toBe("R1");
    expect(asked).toBe(1);
  });

  it("cannot be counted outside of a repository", () => {
    expect(one(writerJob({ id: "a" }), { repoOf: () => null }).riskTier).toBe("R1");
  });
});

describe("credentials", () => {
  const withEnv = (runtime: string, ...envAllow: string[]): NormalJob =>
    normalJob({ id: "a", runtime, invocation: { command: "x", args: [], stdin: "none", envAllow } });

  it("are names that look like secrets, unless they are the runtime's own", () => {
    expect(one(withEnv("shell", "DEPLOY_TOKEN")).tierDerivation).toContain("credential:DEPLOY_TOKEN→R3");
    expect(one(withEnv("shell", "SHELL_TOKEN", "HOME")).riskTier).toBe("R0");
    expect(one(withEnv("claude", "SHELL_TOKEN")).riskTier).toBe("R3");
    expect(one(withEnv("claude", "ANTHROPIC_API_KEY")).riskTier).toBe("R0");
  });
});

describe("what a tier demands", () => {
  const codes = (job: NormalJob): string[] => told([job]).map(({ code }) => code);
  const check = [{ command: "npm", args: ["test"], timeoutMs: 1_000, cwd: null }];
  const text = { kind: "text", text: "At least twenty characters." } as const;

  it("at R2 is a check of what was written", () => {
    const open = writerJob({ id: "a", untrusted: true, checks: [] });
    expect(told([open])).toEqual([
      {
        severity: "error",
        code: "r2-without-checks",
        path: "jobs[0].verification",
        message:
          "job `a` is R2 (task:implement→R1, untrusted→R2) and writes, but nothing says how its work is checked",
        fix: "add a `verification` command or a `checks` entry, or declare less",
      },
    ]);
    expect(codes({ ...open, checks: ["It works."] })).toEqual([]);
    expect(codes({ ...open, verification: check })).toEqual([]);
    expect(codes(normalJob({ id: "a", untrusted: true }))).toEqual([]);
    expect(codes(writerJob({ id: "a", checks: [] }))).toEqual([]);
  });

  it("at R3 is a preview and a rollback", () => {
    const deploy = writerJob({
      id: "a",
      effect: "external-destructive",
      effectSource: "declared",
      preview: text,
      rollback: text,
    });
    expect(codes(deploy)).toEqual([]);
    expect(codes({ ...deploy, preview: null })).toEqual(["r3-without-preview"]);
    expect(codes({ ...deploy, rollback: null })).toEqual(["r3-without-rollback"]);
    expect(told([{ ...deploy, preview: null, rollback: null }]).map(({ message }) => message)).toEqual([
      "job `a` is R3 (task:implement→R1, effect:external-destructive→R3), but has no `preview`",
      "job `a` is R3 (task:implement→R1, effect:external-destructive→R3), but has no `rollback`",
    ]);
  });
});

describe("floors that a router raised", () => {
  const asked = (risk: "R0" | "R2" | null, capability: "C1" | "C3" | null): DerivedJob =>
    one(normalJob({ id: "a" }), { targets: () => ({ risk, capability }) });
  const plain = one(normalJob({ id: "a" }));

  it("are the job's own, each with its cause, and what was declared stays", () => {
    expect(plain.raised).toBeNull();
    expect(one(normalJob({ id: "a" }), { targets: () => null })).toEqual(plain);
    expect(asked("R2", "C3")).toMatchObject({
      riskTier: "R2",
      tierDerivation: [...plain.tierDerivation, "router→R2"],
      capabilityFloor: "C3",
      capabilityDerivation: [...plain.capabilityDerivation, "router→C3"],
      declaredTier: "R0",
    });
    expect(asked("R2", null)).toMatchObject({
      riskTier: "R2",
      capabilityFloor: plain.capabilityFloor,
      capabilityDerivation: plain.capabilityDerivation,
    });
  });

  it("are never lower, and a lower one leaves no trace in the derivation", () => {
    const { raised, ...rest } = asked("R0", "C1");
    const { raised: _, ...before } = plain;
    expect(rest).toEqual(before);
    expect(raised).toMatchObject({ riskFloorDelta: 0, capabilityFloorDelta: 0 });
  });
});

describe("where a fault is told", () => {
  const open = writerJob({ id: "a", untrusted: true, checks: [] });

  it("is its field, or else the job, or else the path alone", () => {
    const at = (length: number) => ({
      locate: (path: readonly (string | number)[]) =>
        path.length === length && path[0] === "jobs" && path[1] === 0 ? { line: 7, column: length } : null,
    });
    expect(told([open], at(3))).toMatchObject([{ path: "jobs[0].verification", line: 7, column: 3 }]);
    expect(told([open], at(2))).toMatchObject([{ path: "jobs[0].verification", line: 7, column: 2 }]);
    expect(told([open])[0]).not.toHaveProperty("line");
  });

  it("of external work is what it lacks, and says what to add", () => {
    const deploy = writerJob({ id: "a", effect: "external-destructive", effectSource: "declared" });
    const why = "job `a` is R3 (task:implement→R1, effect:external-destructive→R3), but has no";
    expect(told([{ ...deploy, preview: null, rollback: null }])).toEqual([
      {
        severity: "error",
        code: "r3-without-preview",
        path: "jobs[0].preview",
        message: `${why} \`preview\``,
        fix: "add a command without effects that shows what will happen, or at least 20 characters of text",
      },
      {
        severity: "error",
        code: "r3-without-rollback",
        path: "jobs[0].rollback",
        message: `${why} \`rollback\``,
        fix: "add the command that undoes it, or at least 20 characters that say how",
      },
    ]);
  });

  it("of a program is each field that only a model could use", () => {
    const job = normalJob({ id: "a", runtime: "shell", model: "x" });
    expect(told([job])).toEqual([
      {
        severity: "error",
        code: "invocation-missing",
        path: "jobs[0].invocation",
        message: "job `a` runs the program `shell`, but has no `invocation`",
        fix: "add `invocation: {command, args}`: a program runs exactly that",
      },
      {
        severity: "error",
        code: "field-on-program",
        path: "jobs[0].model",
        message: "job `a` declares `model`, but `shell` is a program without a model inside",
        fix: "remove `model`",
      },
    ]);
  });
});

describe("what a job declares", () => {
  const npm = { command: "npm", args: ["test"], timeoutMs: 1_000, cwd: null };

  it("raises its tier by a check or a program that it runs, when it is a test", () => {
    const test = normalJob({ id: "a", task: "test" });
    expect(one(test).riskTier).toBe("R0");
    expect(one({ ...test, verification: [npm] }).riskTier).toBe("R1");
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    expect(one({ ...test, runtime: "shell", invocation }).riskTier).toBe("R1");
  });

  it("names a shell by its whole word, anywhere in the list", () => {
    const test = (...allowedTools: string[]) =>
      one(normalJob({ id: "a", task: "test", allowedTools })).riskTier;
    expect(test("read", "shell(npm test)")).toBe("R1");
    expect(test("mcp(shell)")).toBe("R0");
    expect(test("shelly")).toBe("R0");
  });

  it("gives a program no tools, with checks neither, and a reader no shell for its checks", () => {
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    const made = writerJob({ id: "a", runtime: "shell", invocation, verification: [npm] });
    expect(one(made).tools.allowed).toEqual([]);
    expect(one(normalJob({ id: "a", verification: [npm] })).tools.allowed).toEqual(["read", "search"]);
    expect(one(writerJob({ id: "a" })).tools.allowed).toEqual(["read", "search", "edit", "write"]);
  });

  it("is compared with files of its own repository, from its own folder", () => {
    const asked: string[] = [];
    const trackedFiles = (root: string): string[] => {
      asked.push(root);
      return ["pkg/src/x.ts"];
    };
    const jobs = [
      writerJob({ id: "a", cwd: "/repo/pkg", ownedPaths: ["src/x*"] }),
      writerJob({ id: "b", ownedPaths: ["pkg/src/*x.ts"] }),
    ];
    expect(told(jobs, { trackedFiles })).toMatchObject([
      {
        code: "owned-paths-overlap",
        message:
          "job `a` owns `src/x*` and job `b` owns `pkg/src/*x.ts`: both may write the same file, for example `pkg/src/x.ts`, and no dependency orders them",
      },
    ]);
    expect(asked).toEqual(["/repo"]);
  });

  it("overlaps without a known file, too", () => {
    const jobs = [
      writerJob({ id: "a", ownedPaths: ["src/**"] }),
      writerJob({ id: "b", ownedPaths: ["src/a/**"] }),
      normalJob({ id: "c", ownedPaths: ["src/**"] }),
    ];
    expect(told(jobs).map(({ message }) => message)).toEqual([
      "job `a` owns `src/**` and job `b` owns `src/a/**`: both may write the same file, and no dependency orders them",
    ]);
  });
});

describe("kinds of runtimes", () => {
  const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;

  it("that are agents build their own command", () => {
    expect(told([normalJob({ id: "a", runtime: "claude", invocation })])).toEqual([
      {
        severity: "error",
        code: "invocation-on-agent",
        path: "jobs[0].invocation",
        message:
          "job `a` gives an `invocation` to `claude`, which is an agent: only its adapter builds its command",
        fix: "remove `invocation`, or name a runtime that is declared with `agent: false`",
      },
    ]);
    expect(told([normalJob({ id: "a", runtime: "unknown", invocation })])).toEqual([]);
  });

  it("that are programs need one, and have no tools, model or effort", () => {
    const job = normalJob({
      id: "a",
      runtime: "shell",
      allowedTools: ["read"],
      disallowedTools: ["web"],
      model: "x",
      effort: "low",
    });
    expect(told([job]).map(({ code, path }) => `${code} ${path}`)).toEqual([
      "invocation-missing jobs[0].invocation",
      "field-on-program jobs[0].allowed_tools",
      "field-on-program jobs[0].disallowed_tools",
      "field-on-program jobs[0].model",
      "field-on-program jobs[0].effort",
    ]);
    expect(told([normalJob({ id: "a", runtime: "shell", invocation })])).toEqual([]);
    expect(one(normalJob({ id: "a", runtime: "shell", invocation }))).toMatchObject({
      program: true,
      tools: { allowed: [], origin: "tier" },
    });
  });
});

describe("tools", () => {
  const npm = { command: "npm", args: ["test", "--", "x y"], timeoutMs: 1_000, cwd: null };

  it("are reading for work that only reads, at any tier", () => {
    expect(one(normalJob({ id: "a" })).tools).toEqual({
      allowed: ["read", "search"],
      disallowed: [],
      origin: "tier",
    });
    expect(one(normalJob({ id: "a", untrusted: true })).tools.allowed).toEqual(["read", "search"]);
  });

  it("are editing and its own checks, each once, for a writer", () => {
    expect(one(writerJob({ id: "a", verification: [npm, npm] })).tools.allowed).toEqual([
      "read",
      "search",
      "edit",
      "write",
      "shell(npm test -- x y)",
    ]);
  });

  it("are what the spec says, none included", () => {
    expect(one(writerJob({ id: "a", allowedTools: [], disallowedTools: ["shell"] })).tools).toEqual({
      allowed: [],
      disallowed: ["shell"],
      origin: "spec",
    });
  });

  it("that name a shell make a test R1", () => {
    for (const [word, tier] of [
      ["shell", "R1"],
      ["shell(npm test)", "R1"],
      ["read", "R0"],
    ] as const)
      expect(one(normalJob({ id: "a", task: "test", allowedTools: [word] })).riskTier).toBe(tier);
  });
});
