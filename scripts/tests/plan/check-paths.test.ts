import { describe, expect, it } from "vitest";
import { checkGlob, checkRelativePath, pathProblem, plainPath } from "../../src/plan/check-paths.ts";
import { saidBy } from "./rule-support.ts";

describe("a path", () => {
  it.each([
    ["a\0b", "holds a NUL character"],
    ["/etc/passwd", "is absolute"],
    ["\\x", "is absolute"],
    ["C:\\x", "is absolute"],
    ["c:x", "is absolute"],
    ["~", "is absolute"],
    ["~/x", "is absolute"],
    ["~\\x", "is absolute"],
    ["..", "climbs out of its folder"],
    ["../x", "climbs out of its folder"],
    ["a/../b", "climbs out of its folder"],
    ["a\\..\\b", "climbs out of its folder"],
    [".git", "enters `.git`"],
    ["a/.GIT/hooks", "enters `.git`"],
    [".git. /x", "enters `.git`"],
    ["GIT~1/x", "enters `.git`"],
    ["a/git~12", "enters `.git`"],
    ["a\\.git\\x", "enters `.git`"],
    ["a\\b", "holds a backslash; separate folders with `/`"],
    ["", "names no file"],
    [".", "names no file"],
    ["./", "names no file"],
    [".//.", "names no file"],
  ])("%j %s", (path, problem) => {
    expect(pathProblem(path)).toBe(problem);
  });

  it.each([
    ...["a", "a/b", "./a", "a/.", "..a", "a..", "a..b", "~x", "a/~", "a/~/b", "1:x", "ab:x", "x/C:"],
    ...[".gitignore", ".github/x", "x.git", "a.git/b", "git~x", "git~1x", "agit~1", "git~"],
  ])("%j is one", (path) => {
    expect(pathProblem(path)).toBeNull();
    expect(saidBy((say) => expect(checkRelativePath(path, ["x"], say)).toBe(true))).toEqual([]);
  });

  it("that leads elsewhere is told with its place and what to give", () => {
    expect(saidBy((say) => expect(checkRelativePath("../x", ["a", 1], say)).toBe(false))).toEqual([
      "path-outside a[1] the path `../x` climbs out of its folder | give a path below the job's `cwd`",
    ]);
  });

  it("has one plain spelling", () => {
    expect([".", "./a//b/", "a/./b", "a", "a.b/.c"].map(plainPath)).toEqual([
      "",
      "a/b",
      "a/b",
      "a",
      "a.b/.c",
    ]);
  });
});

describe("a glob", () => {
  it.each([
    ["!a", "is negated"],
    ["..", "climbs out of its folder"],
    ["../a", "climbs out of its folder"],
    ["a/..", "climbs out of its folder"],
    ["{..,a}/b", "climbs out of its folder"],
    ["{a,..}/b", "climbs out of its folder"],
    ["@(..|a)/b", "climbs out of its folder"],
    ["@(a|..)/b", "climbs out of its folder"],
    ["/a", "is absolute"],
    ["a/.git/**", "enters `.git`"],
    ["a\\b", "holds a backslash; separate folders with `/`"],
  ])("%j %s", (glob, problem) => {
    expect(saidBy((say) => expect(checkGlob(glob, ["x"], say)).toBe(false))).toEqual([
      `bad-glob x the glob \`${glob}\` ${problem} | give a glob below the job's \`cwd\`, such as \`src/api/**\``,
    ]);
  });

  it.each([
    ...[
      "**",
      ".",
      "./",
      "",
      "src/**",
      "a/{b,c}/*.ts",
      "a!",
      "docs/!(x).md",
      "a..b",
      "..a/b",
      "a/b..",
      "...",
      "{a..c}",
    ],
    ...["a/\\*.md", "a/\\[x\\].md", "\\{a\\}", "\\!a", "a\\?b", "a\\+b", "\\@a", "a\\|b", "a\\(b\\)"],
  ])("%j may be owned", (glob) => {
    expect(saidBy((say) => expect(checkGlob(glob, ["x"], say)).toBe(true))).toEqual([]);
  });
});
