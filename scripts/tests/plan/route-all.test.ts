import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candidate, PlanJob, RuntimeRecord } from "../../src/core/runtime.ts";
import { buildPlan, type PlanGraph } from "../../src/plan/build-plan.ts";
import type { NormalJob } from "../../src/plan/normal.ts";
import type { PlanFacts } from "../../src/plan/plan-input.ts";
import { routeAgain } from "../../src/plan/route-all.ts";
import {
  declaredAgent,
  declaredSource,
  internalRecord,
  member,
  missing,
  normalJob,
  type Overrides,
  planInput,
  planJob,
  program,
  property,
  record,
  repoState,
  traits,
  writerJob,
} from "./plan-support.ts";

const [claude, codex, zed] = [record({ id: "claude" }), record({ id: "codex" }), record({ id: "zed" })];
const ALL = [claude, codex, zed];

function plan(jobs: readonly NormalJob[], records: readonly RuntimeRecord[] = ALL, o: Overrides = {}) {
  const graph = buildPlan(planInput(jobs, records, o)).graph as PlanGraph;
  return Object.fromEntries(graph.jobs.map((job) => [job.id, job])) as Record<string, PlanJob>;
}

/** Routes the named jobs of a frozen plan; all of them that have no route when none is named. */
function again(
  jobs: readonly PlanJob[],
  o: { readonly ids?: readonly string[]; readonly records?: readonly RuntimeRecord[] } & Overrides = {},
): Record<string, PlanJob["route"]> {
  const waiting = jobs.filter(({ id, route }) => o.ids?.includes(id) ?? route.chain.length === 0);
  const routes = routeAgain(waiting, { jobs: [...jobs] }, planInput([], o.records ?? ALL, o));
  expect([...routes.keys()]).toEqual(waiting.map(({ id }) => id));
  return Object.fromEntries(routes);
}

const done = (id: string, runtime: string, dependsOn: readonly string[] = [], o: Partial<PlanJob> = {}) =>
  planJob({ id, dependsOn: [...dependsOn], ...o }, [member({ runtime, family: `${runtime}-vendor` })]);
const waits = (id: string, dependsOn: readonly string[] = [], o: Partial<PlanJob> = {}) =>
  planJob({ id, dependsOn: [...dependsOn], requested: { runtime: null, fallbackRuntime: [] }, ...o }, []);
const reviews = (id: string, ...dependsOn: string[]) => waits(id, dependsOn, { task: "review" });

const shown = (route: PlanJob["route"] | undefined): string[] | undefined =>
  route?.chain.map(({ runtime, independence }) => `${runtime} ${independence}`);
const independentOf = (...others: string[]): string[] => [
  ...ALL.map(({ id }) => id)
    .filter((id) => !others.includes(id))
    .map((id) => `${id} independent`),
  ...others.map((id) => `${id} not-independent-substituted`),
];

describe("who did the work below a job that judges", () => {
  it("is seen through a diamond, on both of its sides and at its top", () => {
    const jobs = [
      done("top", "claude"),
      done("left", "codex", ["top"]),
      done("right", "codex", ["top"]),
      done("end", "codex", ["left", "right"]),
      reviews("review", "end"),
      reviews("early", "left"),
      reviews("first", "top"),
    ];
    const routes = again(jobs);
    expect(shown(routes["review"])).toEqual(independentOf("claude", "codex"));
    expect(shown(routes["early"])).toEqual(independentOf("claude", "codex"));
    expect(shown(routes["first"])?.slice(0, 2)).toEqual(["codex independent", "zed independent"]);
    const sides = [done("a", "claude"), done("b", "codex"), reviews("review", "a", "b")];
    expect(shown(again(sides)["review"])).toEqual(independentOf("claude", "codex"));
  });

  it("is nobody where there is nothing below, and those beside it do not count", () => {
    const routes = again([
      done("a", "claude"),
      done("b", "codex", ["a"]),
      reviews("review"),
      reviews("of-a", "a"),
    ]);
    expect(shown(routes["review"])).toEqual(["claude independent", "codex independent", "zed independent"]);
    expect(shown(routes["of-a"])).toEqual(independentOf("claude").slice(0, 3));
  });

  it("is found for several that wait at once, each for itself, and those that wait below others too", () => {
    const jobs = [
      done("a", "claude"),
      done("b", "codex"),
      reviews("of-a", "a"),
      reviews("of-b", "b"),
      reviews("of-both", "of-a", "of-b"),
      waits("plain", ["of-both"]),
    ];
    const routes = again(jobs);
    expect([routes["of-a"], routes["of-b"]].map((route) => shown(route)?.at(-1))).toEqual([
      "claude not-independent-substituted",
      "codex not-independent-substituted",
    ]);
    // What has no route yet did nothing; what lies below it did.
    expect(shown(routes["of-both"])).toEqual(independentOf("claude", "codex"));
    expect(shown(routes["plain"])?.[0]).toBe("claude null");
    expect(again(jobs, { ids: ["of-b"] })).toEqual({ "of-b": routes["of-b"] });
  });

  it("is found at the end of a long chain, and through more ways than anybody could walk one by one", () => {
    const chain = Array.from({ length: 30_000 }, (_, i) =>
      done(`j${i}`, i === 0 ? "claude" : "codex", i === 0 ? [] : [`j${i - 1}`]),
    );
    expect(shown(again([...chain, reviews("review", "j29999")])["review"])).toEqual(
      independentOf("claude", "codex"),
    );
    const ladder = Array.from({ length: 100 }, (_, i) => {
      const above = i === 0 ? [] : [`l${i - 1}`, `r${i - 1}`];
      return [done(`l${i}`, i === 0 ? "claude" : "codex", above), done(`r${i}`, "codex", above)];
    }).flat();
    const judges = Array.from({ length: 100 }, (_, i) => reviews(`review-${i}`, `l${i}`, `r${i}`));
    for (const route of Object.values(again([...ladder, ...judges])))
      expect(shown(route)).toEqual(independentOf("claude", "codex"));
  });

  it("counts a program as nobody's family, an agent whose family nobody knows as everybody's", () => {
    const chainOf = (lead: Candidate) =>
      again([planJob({ id: "a" }, [lead]), reviews("review", "a")])["review"];
    expect(shown(chainOf(member({ runtime: "make", kind: "program", family: "claude-vendor" })))).toEqual(
      ALL.map(({ id }) => `${id} independent`),
    );
    expect(shown(chainOf(member({ runtime: "odd" })))).toEqual(
      ALL.map(({ id }) => `${id} not-independent-substituted`),
    );
    expect(shown(chainOf(member({ runtime: "claude" })))).toEqual([
      "codex not-independent-substituted",
      "zed not-independent-substituted",
      "claude not-independent-substituted",
    ]);
  });

  it("is who leads the chain, and of a dependency that the plan does not have nobody", () => {
    const lead = [
      member({ runtime: "codex", family: "codex-vendor" }),
      member({ runtime: "claude", family: "claude-vendor" }),
    ];
    const jobs = [planJob({ id: "a" }, lead), reviews("review", "a", "gone")];
    expect(shown(again(jobs)["review"])).toEqual(independentOf("codex").slice(0, 3));
  });
});

describe("in any graph", () => {
  const families = new Map<string, string | null>([
    ["r0", "one"],
    ["r1", "one"],
    ["r2", "two"],
    ["r3", null],
    ["r4", "four"],
  ]);
  const records = [
    ...[...families].map(([id, family]) => record({ id, family, provider: family })),
    program({ id: "make" }),
  ];
  const shape = fc.array(
    fc.record({
      runtime: fc.constantFrom("r0", "r1", "r2", "r3", "make"),
      judges: fc.boolean(),
      below: fc.array(fc.nat(20), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 12 },
  );
  const idsBelow = (below: readonly number[], at: number): string[] => [
    ...new Set(below.filter((from) => from < at).map((from) => `j${from}`)),
  ];

  /** By walking every way: what the judge's chain must say, and whom it must not begin with. */
  function check(job: PlanJob, jobs: ReadonlyMap<string, PlanJob>): void {
    const walk = (one: PlanJob): PlanJob[] =>
      one.dependsOn.flatMap((id) => [jobs.get(id) as PlanJob, ...walk(jobs.get(id) as PlanJob)]);
    const leads = walk(job).flatMap(({ route }) => route.chain.slice(0, 1));
    const did = leads.filter(({ kind }) => kind !== "program").map(({ family }) => family);
    const independent = (family: string | null): boolean =>
      did.length === 0 || (family !== null && did.every((other) => other !== null && other !== family));
    for (const { family, independence } of job.route.chain)
      expect(independence).toBe(independent(family) ? "independent" : "not-independent-substituted");
    const first = job.route.chain[0] as Candidate;
    if ([...families.values()].some(independent)) expect(first.independence).toBe("independent");
    else
      expect(leads.map(({ runtime }) => runtime).includes(first.runtime)).toBe(
        [...families.keys()].every((id) => leads.some(({ runtime }) => runtime === id)),
      );
  }

  it("a judge is of a family, or at least a runtime, that did none of the work below it", () => {
    const invocation = { command: "make", args: [], stdin: "none", envAllow: [] } as const;
    fc.assert(
      fc.property(shape, (shapes) => {
        const planned = plan(
          shapes.map(({ runtime, judges, below }, at) =>
            normalJob({
              id: `j${at}`,
              dependsOn: idsBelow(below, at),
              ...(judges ? { task: "review" as const } : { task: "scout" as const, runtime }),
              ...(!judges && runtime === "make" ? { invocation } : {}),
            }),
          ),
          records,
        );
        const jobs = new Map(Object.entries(planned));
        const judges = [...jobs.values()].filter(({ task }) => task === "review");
        for (const job of judges) check(job, jobs);
        // All of them again, whatever they were planned on: the same answer from the frozen plan.
        const routes = again([...jobs.values()], { ids: judges.map(({ id }) => id), records });
        for (const job of judges) expect(routes[job.id]?.chain).toEqual(job.route.chain);
      }),
      property(120),
    );
  });
});

describe("a session that goes on", () => {
  const inFolder: Partial<PlanFacts> = {
    traits: (id) => traits({ id, sessionScope: { continue: "folder", fork: "anywhere" } }),
  };
  const session = { fromJob: "a", mode: "continue" } as const;
  const folderOnly =
    "it can continue a session only in the folder that it was made in, and the two jobs work in different ones";

  it("stays where it was made when its runtime asks for that", () => {
    const ways: [Partial<NormalJob>, Partial<NormalJob>, boolean][] = [
      [{}, {}, true],
      [{}, { cwd: "/repo/sub" }, false],
      [{ cwd: "/repo/sub" }, { cwd: "/repo/sub" }, true],
      [{}, { isolation: "worktree" }, false],
      [{ isolation: "worktree" }, {}, false],
    ];
    for (const [first, second, fits] of ways) {
      const jobs = [
        normalJob({ id: "a", runtime: "codex", ...first }),
        normalJob({ id: "b", dependsOn: ["a"], session, ...second }),
      ];
      const { a, b } = plan(jobs, ALL, { facts: inFolder }) as { a: PlanJob; b: PlanJob };
      expect([first, second, b.route.chain.map(({ runtime }) => runtime)]).toEqual([
        first,
        second,
        fits ? ["codex"] : [],
      ]);
      expect(JSON.stringify(b.route.rejected).includes(folderOnly)).toBe(!fits);
      const routes = again([a, b], { ids: ["b"], facts: inFolder });
      expect(routes["b"]).toEqual(b.route);
    }
  });

  it("has no route where the job that it goes on with has none, or is not there", () => {
    const nobody = "the job whose session it goes on with has no route";
    const blocked = plan(
      [
        normalJob({ id: "a", runtime: "pi" }),
        normalJob({ id: "b", dependsOn: ["a"], session }),
        normalJob({ id: "c", session: { ...session, fromJob: "gone" } }),
      ],
      [...ALL, missing("pi")],
    );
    for (const id of ["b", "c"]) {
      expect(blocked[id]?.route.chain).toEqual([]);
      expect(JSON.stringify(blocked[id]?.route)).toContain(nobody);
    }
    const routes = again(Object.values(blocked), {
      ids: ["b", "c"],
      records: [...ALL, missing("pi")],
    });
    expect(routes).toEqual({ b: blocked["b"]?.route, c: blocked["c"]?.route });
  });

  it("gets the isolation that its runtime asks for once that is known", () => {
    const open = record({ id: "open", writeBoundary: { value: "unverified", evidence: "unverified" } });
    const jobs = plan([writerJob({ id: "a" }), writerJob({ id: "b", dependsOn: ["a"], session })], [open]);
    expect(
      Object.values(jobs).map(({ id, riskTier, isolation, route }) => [
        id,
        riskTier,
        isolation,
        route.chain.length,
      ]),
    ).toEqual([
      ["a", "R2", "worktree", 1],
      ["b", "R2", "worktree", 1],
    ]);
  });
});

describe("what a job asks of its runtime", () => {
  const deaf = record({ id: "deaf", capture: { value: "unverified", evidence: "unverified" } });
  const lost = "its result cannot be captured, and others build on this job";

  it("is a result that can be read, when somebody reads it", () => {
    const output = { path: "out.md", sha256: null, required: true, fromResult: false };
    const jobs = plan(
      [
        normalJob({ id: "leaf", dependsOn: ["root"] }),
        normalJob({ id: "root" }),
        normalJob({ id: "judge", task: "review" }),
        normalJob({ id: "writes", outputs: [output] }),
      ],
      [deaf],
    );
    const refused = Object.values(jobs).filter(({ route }) => JSON.stringify(route).includes(lost));
    expect(refused.map(({ id }) => id).sort()).toEqual(["judge", "root", "writes"]);
    expect(jobs["leaf"]?.route.rejected[0]).toMatchObject({ runtime: "deaf", codes: ["below-controls"] });
    // Nobody knows what a running plan has made of the result: there it is always asked for.
    expect(JSON.stringify(again([waits("leaf")], { records: [deaf] }))).toContain(lost);
  });

  it("is a skill, when it names one", () => {
    const skilled = plan([normalJob({ id: "a", skill: "review-code" }), normalJob({ id: "b" })]);
    expect([skilled["a"]?.route.chain, skilled["b"]?.route.chain.length]).toEqual([[], 3]);
    expect(JSON.stringify(skilled["a"]?.route)).toContain("nobody proved that it is given skills");
    const both = [claude, internalRecord()];
    const routes = again([waits("a", [], { skill: "review-code" }), waits("b")], { records: both });
    expect(routes["a"]?.chain.map(({ runtime }) => runtime)).toEqual(["internal"]);
    expect(routes["b"]?.chain.map(({ runtime }) => runtime)).toContain("claude");
  });

  it("is what a plan of an older tool kept of it: a class, a name that nobody had, or nothing", () => {
    const old = (route: Partial<PlanJob["route"]>): PlanJob => {
      const { requested: _, ...job } = waits("a");
      return { ...job, route: { ...job.route, ...route } };
    };
    const chainOf = (route: Partial<PlanJob["route"]>) => again([old(route)])["a"];
    const rejected = [{ runtime: "codex", codes: ["needs-onboarding"], detail: "" }];
    expect(chainOf({ pinned: true, rejected })).toMatchObject({
      pinned: true,
      chain: [{ runtime: "codex" }],
    });
    expect(chainOf({ pinned: true, rejected })?.chain).toHaveLength(1);
    expect(chainOf({ pinned: false, rejected })).toMatchObject({ pinned: false, runtimeFrom: null });
    expect(chainOf({ pinned: false, rejected })?.chain).toHaveLength(3);
    expect(chainOf({ pinned: true })?.chain).toHaveLength(3);
    expect(chainOf({ runtimeFrom: "<verified-cli-runtime>", pinned: true, rejected })).toMatchObject({
      runtimeFrom: "<verified-cli-runtime>",
      pinned: false,
      chain: [{ runtime: "claude" }, { runtime: "codex" }, { runtime: "zed" }],
    });
  });

  it("is weighed by what was measured and what was declared of the candidates", () => {
    const outcomes: NonNullable<PlanFacts["outcomes"]> = ({ record: { id } }) =>
      id === "zed" ? { quality: 0.9, cost: null, durationSeconds: null } : null;
    const first = (facts: Partial<PlanFacts>) => [
      plan([normalJob({ id: "a" })], ALL, { facts })["a"]?.route.chain[0]?.runtime,
      again([waits("a")], { facts })["a"]?.chain[0]?.runtime,
    ];
    expect([first({}), first({ outcomes })]).toEqual([
      ["claude", "claude"],
      ["zed", "zed"],
    ]);
    const mine = declaredAgent({ id: "mine" });
    const entry = { id: "mine", command: "mine", agent: true, capability: "C3", family: "acme" } as const;
    const declared = [declaredSource({ ...entry }, { source: "home" })];
    const route = plan([normalJob({ id: "a", runtime: "mine" })], [mine], { facts: { declared } })["a"]
      ?.route;
    expect(route?.chain).toMatchObject([{ capability: "C3", family: "acme" }]);
  });
});

describe("the tier and the isolation of a planned job", () => {
  const readers = [normalJob({ id: "a", untrusted: true }), normalJob({ id: "b", untrusted: true })];

  it("stay as derived where no route asks for more", () => {
    const jobs = plan([normalJob({ id: "a" }), writerJob({ id: "b", dependsOn: ["a"] })]);
    expect(jobs["a"]).toMatchObject({ isolation: "none", isolationOrigin: "built-in", riskTier: "R0" });
    expect(jobs["b"]).toMatchObject({ riskTier: "R1", tierDerivation: ["task:implement→R1"] });
    const chosen = plan([normalJob({ id: "a", origins: { isolation: "defaults" } })])["a"];
    expect(chosen?.isolationOrigin).toBe("defaults");
  });

  it("of who only reads at R2 are a worktree where one can be had", () => {
    const isolations = (repo: ReturnType<typeof repoState> | null) =>
      Object.values(plan(readers, ALL, { facts: { repoOf: () => repo } })).map(
        ({ riskTier, isolation, isolationOrigin }) => `${riskTier} ${isolation} ${isolationOrigin}`,
      );
    expect(isolations(repoState())).toEqual(["R2 worktree policy:r2", "R2 worktree policy:r2"]);
    expect(isolations(repoState({ baseCommit: null }))).toEqual(["R2 none built-in", "R2 none built-in"]);
    expect(isolations(null)).toEqual(["R2 none built-in", "R2 none built-in"]);
  });
});
