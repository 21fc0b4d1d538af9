import fc from "fast-check";
import picomatch from "picomatch";
import { describe, expect, it } from "vitest";
import { buildJobGraph, type JobGraph } from "../../src/plan/job-graph.ts";
import {
  findOutputConflicts,
  findOverlaps,
  matchesMoreThan,
  OVERLAPS_SHOWN,
  type OwningJob,
} from "../../src/plan/overlap.ts";
import { property } from "./plan-support.ts";

const graphOf = (...nodes: [string, ...string[]][]): JobGraph =>
  buildJobGraph(nodes.map(([id, ...dependsOn]) => ({ id, dependsOn }))).graph as JobGraph;

const owner = (at: number, ownedPaths: string[], o: Partial<OwningJob> = {}): OwningJob => ({
  at,
  root: "/repo",
  folder: "",
  ownedPaths,
  outputs: [],
  ...o,
});

const unasked = (): readonly string[] => {
  throw new Error("nobody should ask for the tracked files");
};
const pair = graphOf(["a"], ["b"]);
const overlap = (a: string, b: string, tracked: readonly string[] = []) =>
  findOverlaps(pair, [owner(0, [a]), owner(1, [b])], () => tracked);

describe("two unordered writers", () => {
  it.each([
    ["src/a/**", "src/b/**"],
    ["src/a/**", "src/ab/**"],
    ["src/a", "src/ab"],
    ["src/a", "src/ab/**"],
    ["src/a.ts", "src/b.ts"],
    ["a*", "b*"],
    ["docs/**", "src/**"],
  ])("do not meet in %s and %s, and nobody lists files for that", (a, b) => {
    expect(findOverlaps(pair, [owner(0, [a]), owner(1, [b])], unasked)).toEqual([]);
    expect(findOverlaps(pair, [owner(0, [b]), owner(1, [a])], unasked)).toEqual([]);
  });

  it.each([
    ["src/**", "src/a/**"],
    ["src/**", "src/a.ts"],
    ["**", "docs/x.md"],
    ["src/a*/**", "src/ab/**"],
    ["src/a*/**", "src/a b/x.md"],
    [".", "src/a.ts"],
    ["./", "src/a.ts"],
    ["./.", "docs/**"],
    ["src/**", "src"],
    ["d", "d/x"],
    ["src/a", "src/a/b/*.ts"],
  ])("meet in %s and %s by their prefixes alone", (a, b) => {
    expect(overlap(a, b)).toMatchObject([{ jobs: [0, 1], globs: [a, b] }]);
    expect(overlap(b, a)).toMatchObject([{ jobs: [0, 1], globs: [b, a] }]);
  });

  it("meet in the same glob, however it is written", () => {
    expect(overlap("src/a.ts", "src/a.ts")).toEqual([
      { jobs: [0, 1], globs: ["src/a.ts", "src/a.ts"], path: "src/a.ts" },
    ]);
    expect(overlap("./src//a/**", "src/a/**/")).toEqual([
      { jobs: [0, 1], globs: ["./src//a/**", "src/a/**/"], path: null },
    ]);
    expect(overlap("src/./a.ts", "src/a.ts")).toEqual([
      { jobs: [0, 1], globs: ["src/./a.ts", "src/a.ts"], path: "src/a.ts" },
    ]);
    for (const whole of [".", "./", "**"])
      expect(overlap(whole, ".", ["README.md"])).toEqual([
        { jobs: [0, 1], globs: [whole, "."], path: "README.md" },
      ]);
    expect(overlap(".", ".")).toEqual([{ jobs: [0, 1], globs: [".", "."], path: null }]);
  });

  it("never meet themselves, however often one names the same files", () => {
    const twice = owner(0, ["src/a.ts", "./src/a.ts", "src/**", "src//**", "."]);
    expect(findOverlaps(pair, [twice, owner(1, ["docs/**"])], () => ["src/a.ts"])).toEqual([
      { jobs: [0, 1], globs: [".", "docs/**"], path: null },
    ]);
  });

  it("with flat globs below one folder meet only in a known path", () => {
    expect(overlap("src/*.ts", "src/*.md", ["src/a.ts", "src/b.md"])).toEqual([]);
    expect(overlap("src/a*", "src/*z", ["src/abz"])).toEqual([
      { jobs: [0, 1], globs: ["src/a*", "src/*z"], path: "src/abz" },
    ]);
    expect(overlap("src/*.ts", "src/a.ts")).toEqual([
      { jobs: [0, 1], globs: ["src/*.ts", "src/a.ts"], path: "src/a.ts" },
    ]);
    expect(overlap("src/.*", "src/*rc", ["src/.rc"])).toHaveLength(1);
    expect(overlap("src/a", "src/a*")).toEqual([{ jobs: [0, 1], globs: ["src/a", "src/a*"], path: "src/a" }]);
  });

  it("meet in a declared output that both globs match", () => {
    const writers = [owner(0, ["out/*.json"], { outputs: ["out/x.json"] }), owner(1, ["out/x*"])];
    expect(findOverlaps(pair, writers, () => [])).toEqual([
      { jobs: [0, 1], globs: ["out/*.json", "out/x*"], path: "out/x.json" },
    ]);
  });

  it("in different folders of a repository are compared from its root", () => {
    const inFolder = (at: number, folder: string, glob: string): OwningJob => owner(at, [glob], { folder });
    expect(findOverlaps(pair, [inFolder(0, "a", "src/**"), inFolder(1, "b", "src/**")], unasked)).toEqual([]);
    expect(findOverlaps(pair, [inFolder(0, "", "a/src/x.ts"), inFolder(1, "a", "src/**")], () => [])).toEqual(
      [{ jobs: [0, 1], globs: ["a/src/x.ts", "src/**"], path: "a/src/x.ts" }],
    );
    expect(
      findOverlaps(pair, [inFolder(0, "", "a/src/x.ts"), inFolder(1, "a", "src/*.ts")], () => []),
    ).toEqual([{ jobs: [0, 1], globs: ["a/src/x.ts", "src/*.ts"], path: "a/src/x.ts" }]);
  });

  it("own all of their own folder with a dot, and not the file of that name", () => {
    const sub = owner(0, ["."], { folder: "sub" });
    const besideSub = (...globs: string[]) =>
      findOverlaps(pair, [sub, owner(1, globs)], () => ["sub/x.md"]).map(({ globs: [, glob], path }) => [
        glob,
        path,
      ]);
    expect(besideSub("sub/x.md")).toEqual([["sub/x.md", "sub/x.md"]]);
    expect(besideSub("sub/*.ts")).toEqual([["sub/*.ts", null]]);
    expect(besideSub("sub")).toEqual([["sub", null]]);
    expect(besideSub("subway/x.md", "su")).toEqual([]);
  });

  it("in different repositories never meet, and a file of one says nothing about the other", () => {
    expect(findOverlaps(pair, [owner(0, ["**"]), owner(1, ["**"], { root: "/other" })], unasked)).toEqual([]);
    const three = graphOf(["a"], ["b"], ["c"]);
    const between = [
      owner(0, ["src/**"]),
      owner(1, ["src/a/**"], { root: "/other" }),
      owner(2, ["src/b/**"]),
    ];
    expect(findOverlaps(three, between, () => [])).toEqual([
      { jobs: [0, 2], globs: ["src/**", "src/b/**"], path: null },
    ]);
    const writers = [
      owner(0, ["src/a*"]),
      owner(1, ["src/*z"]),
      owner(2, ["src/abz"], { root: "/other", outputs: ["src/acz"] }),
    ];
    expect(findOverlaps(three, writers, () => [])).toEqual([]);
  });

  it("in one repository have its files listed once", () => {
    const asked: string[] = [];
    const writers = [0, 1, 2, 3].map((at) =>
      owner(at, ["src/a*", `src/*${at}`, "docs/**"], { root: at < 2 ? "/repo" : "/other" }),
    );
    const found = findOverlaps(graphOf(["a"], ["b"], ["c"], ["d"]), writers, (root) => {
      asked.push(root);
      return ["src/a0", "src/a2"];
    });
    expect(asked.sort()).toEqual(["/other", "/repo"]);
    expect(found.map(({ jobs, globs, path }) => [...jobs, ...globs, path])).toEqual([
      [0, 1, "docs/**", "docs/**", null],
      [0, 1, "src/*0", "src/a*", "src/a0"],
      [0, 1, "src/a*", "src/a*", "src/a0"],
      [2, 3, "docs/**", "docs/**", null],
      [2, 3, "src/*2", "src/a*", "src/a2"],
      [2, 3, "src/a*", "src/a*", "src/a0"],
    ]);
  });

  it("have a file named, when one is known", () => {
    expect(overlap("src/**", "src/a/**", ["src/a/x.ts"])[0]?.path).toBe("src/a/x.ts");
    expect(overlap("src/**", "src/a/**", ["src/x.ts"])[0]?.path).toBeNull();
  });
});

describe("order", () => {
  it("lets jobs on one path own the same files", () => {
    const chain = graphOf(["a"], ["b", "a"], ["c", "b"]);
    const all = [0, 1, 2].map((at) => owner(at, ["src/**"]));
    expect(findOverlaps(chain, all, () => [])).toEqual([]);
    expect(
      findOverlaps(
        chain,
        [2, 0, 1].map((at) => all[at] as OwningJob),
        () => [],
      ),
    ).toEqual([]);
  });

  it("is that of the plan in what is told: by job, then by glob", () => {
    const jobs = graphOf(["a"], ["b"], ["c"]);
    const all = [owner(2, ["src/x.ts", "docs/**"]), owner(1, ["src/**"]), owner(0, ["**", "docs/a.md"])];
    const expected = [
      [0, 1, "**", "src/**", "src/x.ts"],
      [0, 2, "**", "docs/**", "docs/a.md"],
      [0, 2, "**", "src/x.ts", "src/x.ts"],
      [0, 2, "docs/a.md", "docs/**", "docs/a.md"],
      [1, 2, "src/**", "src/x.ts", "src/x.ts"],
    ];
    for (const writers of [all, [...all].reverse()])
      expect(
        findOverlaps(jobs, writers, () => []).map((one) => [...one.jobs, ...one.globs, one.path]),
      ).toEqual(expected);
  });

  it("finds the two that are not on one path", () => {
    const fork = graphOf(["a"], ["b", "a"], ["c", "a"]);
    const all = [0, 1, 2].map((at) => owner(at, ["src/**"]));
    expect(findOverlaps(fork, all, () => [])).toMatchObject([{ jobs: [1, 2] }]);
    const between = [1, 0, 2].map((at) => all[at] as OwningJob);
    expect(findOverlaps(fork, between, () => [])).toMatchObject([{ jobs: [1, 2] }]);
  });
});

it("agrees with comparing every pair of globs", () => {
  const globs = [
    "src/**",
    "src/a/**",
    "src/a/*.ts",
    "src/a/*",
    "src/a/x.ts",
    "src/a",
    "src/ab",
    "src/a*",
    "docs/**",
    "*.md",
    "x.md",
  ];
  const tracked = ["src/a/x.ts", "src/a/y.md", "src/ab", "docs/d.md", "x.md", "y.md"];
  const matchers = new Map(globs.map((glob) => [glob, picomatch(glob, { dot: true })]));
  const matches = (glob: string, path: string): boolean => matchers.get(glob)?.(path) === true;
  const owned = fc.array(fc.subarray(globs, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(owned, fc.array(fc.tuple(fc.nat(5), fc.nat(5))), (lists, edges) => {
      const graph = buildJobGraph(
        lists.map((_, at) => ({
          id: `j${at}`,
          dependsOn: edges.filter(([from, to]) => to === at && from < to).map(([from]) => `j${from}`),
        })),
      ).graph as JobGraph;
      const writers = lists.map((list, i) => owner(graph.position.get(`j${i}`) as number, list));
      const reach = (a: number, b: number): boolean =>
        (graph.dependents[a] as number[]).some((next) => next === b || reach(next, b));
      const meets = (a: string, b: string): boolean => {
        const [x, y] = [prefixOf(a), prefixOf(b)];
        const nested = within(a, x, y) || within(b, y, x);
        if (!nested) return false;
        if (a === b || a.includes("**") || b.includes("**")) return true;
        // A file of that name and a folder of that name cannot both be.
        if ((x === a && y.startsWith(`${a}/`)) || (y === b && x.startsWith(`${b}/`))) return true;
        const literals = [...lists.flat().filter((glob) => !/[*]/.test(glob)), ...tracked];
        return literals.some((path) => matches(a, path) && matches(b, path));
      };
      const expected = new Set<string>();
      const pairs = new Set<string>();
      for (const a of writers)
        for (const b of writers)
          if (a.at < b.at && !reach(a.at, b.at))
            for (const x of a.ownedPaths)
              for (const y of b.ownedPaths)
                if (meets(x, y)) {
                  expected.add(key(x, y));
                  pairs.add(JSON.stringify([a.at, b.at, x, y]));
                }
      const found = findOverlaps(graph, writers, () => tracked);
      expect(found.map((one) => key(...one.globs)).sort()).toEqual([...expected].sort());
      for (const { jobs, globs, path } of found) {
        expect(pairs).toContain(JSON.stringify([...jobs, ...globs]));
        if (path !== null) for (const glob of globs) expect(matches(glob, path)).toBe(true);
      }
    }),
    property(300),
  );
});

const key = (a: string, b: string): string => [a, b].sort().join(" ");
const prefixOf = (glob: string): string => glob.split("*")[0] as string;
const within = (outer: string, prefix: string, inner: string): boolean =>
  outer.includes("*") ? inner.startsWith(prefix) : inner === prefix || inner.startsWith(`${prefix}/`);

describe("many writers", () => {
  const many = Array.from({ length: 5_000 }, (_, i) => `j${String(i).padStart(4, "0")}`);

  it("with folders of their own cost next to nothing", () => {
    const graph = graphOf(...many.map((id): [string] => [id]));
    const writers = many.map((id, at) => owner(at, [`src/${id}/**`, `docs/${id}.md`]));
    const before = process.cpuUsage();
    expect(findOverlaps(graph, writers, unasked)).toEqual([]);
    const cpu = process.cpuUsage(before);
    expect((cpu.user + cpu.system) / 1000).toBeLessThan(3_000);
  });

  it("with one folder for all are told of once per pair of globs, up to a bound", () => {
    const graph = graphOf(...many.map((id): [string] => [id]));
    const same = many.map((_, at) => owner(at, ["src/**"]));
    expect(findOverlaps(graph, same, () => [])).toHaveLength(1);
    const nested = many.map((id, at) => owner(at, [`src/**/${id}`]));
    expect(findOverlaps(graph, nested, () => [])).toHaveLength(OVERLAPS_SHOWN);
  });
});

describe("overlaps without end", () => {
  it.each<[string, (i: number) => string[]]>([
    ["by their prefixes", (i) => [`src/**/${i}`]],
    ["by a known file", (i) => [`src/[x${i}]`]],
    ["in both ways", (i) => [`src/**/${i}`, `docs/[x${i}]`]],
    ["in both ways, with fewer than the bound of each", (i) => [i < 13 ? `src/**/${i}` : `src/[x${i}]`]],
  ])("of globs that meet %s are told of up to the bound and no further", (_, globs) => {
    const graph = graphOf(...Array.from({ length: 25 }, (_id, i): [string] => [`j${i + 10}`]));
    const writers = graph.ids.map((_id, at) => owner(at, globs(at)));
    const found = findOverlaps(graph, writers, () => ["docs/x", "src/x"]);
    expect(found).toHaveLength(OVERLAPS_SHOWN);
    expect(new Set(found.map((one) => JSON.stringify(one.globs))).size).toBe(OVERLAPS_SHOWN);
  });
});

describe("declared outputs", () => {
  const writes = (at: number, ...outputs: string[]): OwningJob => owner(at, [], { outputs });

  it("clash when nothing orders their jobs", () => {
    const jobs = [writes(0, "out.md"), writes(1, "./out.md")];
    expect(findOutputConflicts(pair, jobs)).toEqual([{ jobs: [0, 1], path: "/repo/out.md" }]);
    expect(findOutputConflicts(graphOf(["a"], ["b", "a"]), jobs)).toEqual([]);
  });

  it("of one job never clash, however they are written", () => {
    expect(findOutputConflicts(pair, [writes(0, "out.md", "./out.md"), writes(1, "other.md")])).toEqual([]);
  });

  it("clash once for each path, told in the order of the plan and then of the paths", () => {
    const jobs = [
      writes(3, "c", "b"),
      writes(1, "z", "c", "a"),
      writes(0, "b", "a"),
      writes(2, "z", "b", "a"),
    ];
    // a and b, which nothing orders, come before c and d, of which each depends on both.
    const graph = graphOf(["a"], ["b"], ["c", "a", "b"], ["d", "a", "b"]);
    const expected = [
      { jobs: [0, 1], path: "/repo/a" },
      { jobs: [2, 3], path: "/repo/b" },
    ];
    expect(findOutputConflicts(graph, jobs)).toEqual(expected);
    expect(findOutputConflicts(graph, [...jobs].reverse())).toEqual(expected);
    const free = graphOf(["a"], ["b"], ["c"], ["d"]);
    expect(findOutputConflicts(free, jobs)).toEqual([
      { jobs: [0, 1], path: "/repo/a" },
      { jobs: [0, 2], path: "/repo/b" },
      { jobs: [1, 2], path: "/repo/z" },
      { jobs: [1, 3], path: "/repo/c" },
    ]);
    expect(findOutputConflicts(free, [writes(0, "y", "x"), writes(1, "x", "y")])).toEqual([
      { jobs: [0, 1], path: "/repo/x" },
      { jobs: [0, 1], path: "/repo/y" },
    ]);
  });

  it("of different folders are different", () => {
    const jobs = [
      owner(0, [], { outputs: ["out.md"], folder: "a" }),
      owner(1, [], { outputs: ["out.md"], folder: "b" }),
    ];
    expect(findOutputConflicts(pair, jobs)).toEqual([]);
  });
});

describe("broad ownership", () => {
  const files = Array.from({ length: 101 }, (_, i) => `src/f${i}.ts`);

  it("is more than the limit of matched files, each counted once", () => {
    expect(matchesMoreThan(100, owner(0, ["src/**"]), () => files)).toBe(true);
    expect(matchesMoreThan(101, owner(0, ["src/**"]), () => files)).toBe(false);
    expect(matchesMoreThan(101, owner(0, ["src/**", "src/*.ts"]), () => files)).toBe(false);
  });

  it("asks for no files when every glob is one path", () => {
    expect(matchesMoreThan(100, owner(0, ["src/a.ts", "src/b.ts"]), unasked)).toBe(false);
    expect(matchesMoreThan(2, owner(0, ["src/a.ts", "src/b.ts"]), unasked)).toBe(false);
  });

  it("counts single paths among the files that are there", () => {
    const listed = files.slice(0, 5);
    expect(matchesMoreThan(4, owner(0, listed), () => files)).toBe(true);
    expect(matchesMoreThan(4, owner(0, [...listed.slice(1), "src/none.ts"]), () => files)).toBe(false);
    expect(matchesMoreThan(4, owner(0, ["src/f0.ts", "src/f1*.ts"]), () => files)).toBe(true);
  });

  it("counts below the job's folder", () => {
    expect(matchesMoreThan(100, owner(0, ["**"], { folder: "src" }), () => files)).toBe(true);
    expect(matchesMoreThan(100, owner(0, ["**"], { folder: "docs" }), () => files)).toBe(false);
    expect(matchesMoreThan(100, owner(0, ["."], { folder: "src" }), () => files)).toBe(true);
    expect(matchesMoreThan(100, owner(0, ["."]), () => files)).toBe(true);
    expect(matchesMoreThan(0, owner(0, ["."], { folder: "sr" }), () => files)).toBe(false);
  });
});
