import { describe, expect, it } from "vitest";
import type { Job } from "../../src/core/generated/jobs.ts";
import { checkGraph } from "../../src/plan/check-graph.ts";
import { looseSpec, type Some, saidBy } from "./rule-support.ts";

type Top = NonNullable<Parameters<typeof looseSpec>[1]>;
const graph = (jobs: readonly Some<Job>[], top: Top = {}): string[] =>
  saidBy((say) => checkGraph(looseSpec(jobs, top), say));

describe("the ids of jobs", () => {
  it("differ, whatever the case of their letters", () => {
    expect(graph([{ id: "a" }, {}, { id: "b" }, { id: "a" }])).toEqual([
      "duplicate-job jobs[3].id the id `a` is taken by another job | choose another id | jobs[0].id the first one is here",
    ]);
    expect(graph([{ id: "b" }, { id: "B" }]).filter((text) => text.startsWith("duplicate"))).toEqual([
      "duplicate-job jobs[1].id the id `B` is taken by another job | choose another id | jobs[0].id the first one is here",
    ]);
  });

  it("are no names that a run keeps for itself", () => {
    expect(graph([{ id: "a" }, { id: "state.json" }])).toEqual([
      expect.stringMatching(/^bad-job-id jobs\[1\]\.id the job id `state\.json` .+ \| choose another id$/),
    ]);
  });
});

describe("dependencies", () => {
  it("are jobs of the file", () => {
    expect(graph([{ id: "build", depends_on: ["tset", "ghost"] }, { id: "test" }])).toEqual([
      "unknown-dependency jobs[0].depends_on[0] job `build` depends on `tset`, but there is no such job | did you mean `test`?",
      "unknown-dependency jobs[0].depends_on[1] job `build` depends on `ghost`, but there is no such job | add the job, or remove the dependency",
    ]);
  });

  it("are others", () => {
    expect(graph([{ id: "a", depends_on: ["b", "a"] }, { id: "b" }])).toEqual([
      "self-dependency jobs[0].depends_on[1] job `a` depends on itself | remove it",
    ]);
  });

  it("never come back, and unknown ones or itself make no circle", () => {
    expect(
      graph([
        { id: "a", depends_on: ["d", "c"] },
        { id: "b", depends_on: ["a"] },
        { id: "c", depends_on: ["b"] },
        { id: "d" },
      ]),
    ).toEqual([
      "cyclic-dependency jobs[0].depends_on[1] these jobs wait for each other: a → c → b → a | remove one of these dependencies",
    ]);
    expect(graph([{ id: "a", depends_on: ["a", "x"] }]).map((text) => text.split(" ")[0])).toEqual([
      "self-dependency",
      "unknown-dependency",
    ]);
  });
});

describe("an input from another job", () => {
  const from = (from_job: string | undefined, from_path: string | undefined) => ({
    inputs: [{ path: "other.md" }, { path: "in.md", from_job, from_path }],
  });
  const reports = { id: "reports", outputs: [{ path: "./out//a.md" }, { path: "b.md" }] };

  it("is an output of a dependency, however its path is spelled", () => {
    for (const path of ["out/a.md", "./out/a.md", "out//a.md", "b.md"])
      expect(graph([reports, { id: "b", depends_on: ["reports"], ...from("reports", path) }])).toEqual([]);
  });

  it("of a job that is no dependency is told", () => {
    const told = (job: string, fix: string): string =>
      `input-not-a-dependency jobs[1].inputs[1].from_job job \`b\` takes an input from \`${job}\`, which is not in its \`depends_on\` | ${fix}`;
    expect(graph([reports, { id: "b", ...from("reports", "nothing.md") }])).toEqual([
      told("reports", "add `reports` to `depends_on`"),
    ]);
    expect(graph([reports, { id: "b", depends_on: ["reports"], ...from("ghost", "b.md") }])).toEqual([
      told("ghost", "name one of its dependencies"),
    ]);
  });

  it("that is no output is told with the one that was meant", () => {
    const told = (job: string, path: string, fix: string): string =>
      `input-not-an-output jobs[1].inputs[1].from_path job \`${job}\` declares no output \`${path}\` | ${fix}`;
    const b = { id: "b", depends_on: ["reports"] };
    expect(graph([reports, { ...b, ...from("reports", "out/summary.txt") }])).toEqual([
      told("reports", "out/summary.txt", "add it to the `outputs` of `reports`"),
    ]);
    expect(graph([reports, { ...b, ...from("reports", "bb.md") }])).toEqual([
      told("reports", "bb.md", "did you mean `b.md`?"),
    ]);
    expect(graph([{ id: "reports" }, { ...b, ...from("reports", "b.md") }])).toEqual([
      told("reports", "b.md", "add it to the `outputs` of `reports`"),
    ]);
  });

  it("of an unknown dependency is told as that alone, and half a pair elsewhere", () => {
    expect(graph([reports, { id: "b", depends_on: ["ghost"], ...from("ghost", "b.md") }])).toEqual([
      "unknown-dependency jobs[1].depends_on[0] job `b` depends on `ghost`, but there is no such job | add the job, or remove the dependency",
    ]);
    expect(graph([reports, { id: "b", ...from(undefined, "b.md") }])).toEqual([]);
    expect(graph([reports, { id: "b", ...from("reports", undefined) }])).toEqual([]);
  });
});

describe("a session of another job", () => {
  const fork = { session: { from_job: "a", mode: "fork" } } as const;
  const go = { session: { from_job: "a", mode: "continue" } } as const;
  const b = { id: "b", depends_on: ["a"] };

  it("is one of a dependency", () => {
    expect(graph([{ id: "a" }, { ...b, ...fork }])).toEqual([]);
    const told = (fix: string): string =>
      `session-not-a-dependency jobs[1].session.from_job job \`b\` takes its session from \`a\`, which is not in its \`depends_on\` | ${fix}`;
    expect(graph([{ id: "a" }, { id: "b", ...fork }])).toEqual([told("add `a` to `depends_on`")]);
    expect(graph([{ id: "c" }, { id: "b", ...fork }])).toEqual([told("name one of its dependencies")]);
  });

  it.each(["review", "audit", "security"] as const)("is nothing for %s, which starts fresh", (task) => {
    expect(graph([{ id: "a" }, { ...b, ...fork, task }])).toEqual([
      `session-on-judgment jobs[1].session job \`b\` is ${task} work, which must start from a fresh context | remove \`session\``,
    ]);
  });

  it("stays on its runtime, where both are named", () => {
    const on = (first: string | undefined, second: string | undefined) =>
      graph([
        { id: "a", runtime: first },
        { ...b, ...fork, task: "implement", runtime: second },
      ]);
    expect(on("claude", "codex")).toEqual([
      "session-other-runtime jobs[1].session.from_job job `b` runs on `codex`, but the session of `a` belongs to `claude` | use one runtime for both, or pass files by `inputs`",
    ]);
    for (const [first, second] of [
      ["claude", "claude"],
      [undefined, "codex"],
      ["claude", undefined],
      ["<verified-cli-runtime>", "codex"],
      ["claude", "<verified-cli-runtime>"],
    ])
      expect(on(first, second)).toEqual([]);
  });

  it("goes on in one job only; any may fork it", () => {
    expect(
      graph([{ id: "a" }, { ...b, ...go }, { ...b, id: "c", ...fork }, { ...b, id: "d", ...fork }]),
    ).toEqual([]);
    expect(graph([{ id: "a" }, { ...b, ...go }, { id: "x" }, { ...b, id: "c", ...go }])).toEqual([
      "session-continued-twice jobs[3].session job `c` continues the session of `a`, which job `b` continues already | write `mode: fork`, or continue the session of the later job | jobs[1].session the first one is here",
    ]);
    const later = { id: "c", depends_on: ["b"], session: { from_job: "b", mode: "continue" } } as const;
    expect(graph([{ id: "a" }, { ...b, ...go }, later])).toEqual([]);
  });
});

describe("an output", () => {
  const out = (...paths: string[]) => ({ outputs: paths.map((path) => ({ path })) });
  const told = (first: string, second: string, at: string, path: string, other: string): string =>
    `output-conflict ${at} job \`${first}\` and job \`${second}\` may run at the same time and both declare the output \`${path}\` | choose another path, or let one depend on the other | ${other} the first one is here`;

  it("has one writer at a time", () => {
    expect(
      graph([
        { id: "a", ...out("x.md", "out.md") },
        { id: "b", ...out("./out.md") },
      ]),
    ).toEqual([told("a", "b", "jobs[1].outputs[0].path", "./out.md", "jobs[0].outputs[1].path")]);
    expect(
      graph([
        { id: "a", ...out("a.md") },
        { id: "b", ...out("b.md") },
      ]),
    ).toEqual([]);
  });

  it("may be written by one after the other, over others between them", () => {
    const [a, b] = [
      { id: "a", ...out("out.md") },
      { id: "b", depends_on: ["a"] },
    ];
    expect(graph([{ id: "c", depends_on: ["b"], ...out("out.md") }, b, a])).toEqual([]);
    expect(
      graph([a, b, { id: "c", depends_on: ["b"], ...out("out.md") }, { id: "d", ...out("out.md") }]),
    ).toEqual([
      told("a", "d", "jobs[3].outputs[0].path", "out.md", "jobs[0].outputs[0].path"),
      told("d", "c", "jobs[2].outputs[0].path", "out.md", "jobs[3].outputs[0].path"),
    ]);
  });

  it("is the same file only in the same folder", () => {
    const top: Top = { defaults: { cwd: "sub" } };
    const a = { id: "a", ...out("out.md") };
    expect(graph([a, { id: "b", cwd: "sub", ...out("out.md") }])).toEqual([]);
    expect(graph([a, { id: "b", cwd: "./sub/", ...out("out.md") }], top)).toHaveLength(1);
    expect(graph([a, { id: "b", cwd: ".", ...out("sub/out.md") }], top)).toHaveLength(1);
    expect(graph([a, { id: "b", cwd: "<workspace-root>", ...out("out.md") }], top)).toEqual([]);
    expect(graph([a, { id: "b", cwd: "<workspace-root>", ...out("out.md") }])).toHaveLength(1);
  });

  it("is declared once by a job, and the better advice is given", () => {
    expect(graph([{ id: "b" }, { id: "a", ...out("out.md", "x.md", "./out.md") }])).toEqual([
      "output-conflict jobs[1].outputs[2].path job `a` declares the output `./out.md` twice | remove one of them | jobs[1].outputs[0].path the first one is here",
    ]);
  });

  it("outside of its folder is told elsewhere", () => {
    expect(
      graph([
        { id: "a", ...out("../out.md") },
        { id: "b", ...out("../out.md") },
      ]),
    ).toEqual([]);
  });

  it("is not compared where it is unknown who waits for whom", () => {
    const circle = [
      { id: "a", depends_on: ["b"], ...out("out.md") },
      { id: "b", depends_on: ["a"], ...out("out.md") },
    ];
    expect(graph(circle).map((text) => text.split(" ")[0])).toEqual(["cyclic-dependency"]);
    expect(graph([{ id: "a", ...out("out.md") }, { ...out("out.md") }])).toEqual([]);
    expect(
      graph([
        { id: "a", ...out("out.md", "out.md") },
        { id: "b", depends_on: ["b"] },
      ]).slice(1),
    ).toEqual([
      "output-conflict jobs[0].outputs[1].path job `a` declares the output `out.md` twice | remove one of them | jobs[0].outputs[0].path the first one is here",
    ]);
  });
});
