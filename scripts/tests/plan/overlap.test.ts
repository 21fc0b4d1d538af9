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
    [".", "src/a.ts"],
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
    expect(overlap("./src//a/**", "src/a/**/")).toHaveLength(1);
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

  it("in different repositories never meet", () => {
    expect(findOverlaps(pair, [owner(0, ["**"]), owner(1, ["**"], { root: "/other" })], unasked)).toEqual([]);
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
  });

  it("finds the two that are not on one path", () => {
    const fork = graphOf(["a"], ["b", "a"], ["c", "a"]);
    const all = [0, 1, 2].map((at) => owner(at, ["src/**"]));
    expect(findOverlaps(fork, all, () => [])).toMatchObject([{ jobs: [1, 2] }]);
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
        return literals.some(
          (path) => picomatch.isMatch(path, a, { dot: true }) && picomatch.isMatch(path, b, { dot: true }),
        );
      };
      const expected = new Set<string>();
      for (const a of writers)
        for (const b of writers)
          if (a.at < b.at && !reach(a.at, b.at))
            for (const x of a.ownedPaths)
              for (const y of b.ownedPaths) if (meets(x, y)) expected.add(key(x, y));
      const found = findOverlaps(graph, writers, () => tracked);
      expect(new Set(found.map((one) => key(...one.globs)))).toEqual(expected);
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

describe("declared outputs", () => {
  it("clash when nothing orders their jobs", () => {
    const jobs = [owner(0, [], { outputs: ["out.md"] }), owner(1, [], { outputs: ["./out.md"] })];
    expect(findOutputConflicts(pair, jobs)).toEqual([{ jobs: [0, 1], path: "/repo/out.md" }]);
    expect(findOutputConflicts(graphOf(["a"], ["b", "a"]), jobs)).toEqual([]);
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
  });

  it("counts below the job's folder", () => {
    expect(matchesMoreThan(100, owner(0, ["**"], { folder: "src" }), () => files)).toBe(true);
    expect(matchesMoreThan(100, owner(0, ["**"], { folder: "docs" }), () => files)).toBe(false);
  });
});
