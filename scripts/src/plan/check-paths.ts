/** Rules for paths and globs in a spec: relative, inside their folder, and never into git's own data. */
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { quoted } from "./shown.ts";

/** Why `path` is no file or folder below its base, or null when it is. */
export function pathProblem(path: string): string | null {
  if (path.includes("\0")) return "holds a NUL character";
  if (/^(?:[/\\]|[A-Za-z]:|~(?:[/\\]|$))/.test(path)) return "is absolute";
  const steps = path.split(/[/\\]/);
  if (steps.includes("..")) return "climbs out of its folder";
  // File systems that ignore case, trailing dots and spaces would open git's folder under these names too.
  if (steps.some((step) => /^\.git[. ]*$/i.test(step) || /^git~[0-9]+$/i.test(step))) return "enters `.git`";
  if (path.includes("\\")) return "holds a backslash; separate folders with `/`";
  if (steps.every((step) => step === "" || step === ".")) return "names no file";
  return null;
}

export function checkRelativePath(path: string, place: Path, say: Say): boolean {
  const problem = pathProblem(path);
  if (problem === null) return true;
  say("path-outside", place, `the path ${quoted(path)} ${problem}`, {
    fix: "give a path below the job's `cwd`",
  });
  return false;
}

/** Why `glob` is no ownership pattern, or null when it is. */
function globProblem(glob: string): string | null {
  if (glob.startsWith("!")) return "is negated";
  // Braces could hide any of the rest: `{..,a}/b`.
  if (/(?:^|[/{,(|])\.\.(?:$|[/},)|])/.test(glob)) return "climbs out of its folder";
  const problem = pathProblem(glob.replace(/\\(?=[*?[\]{}()!+@|])/g, ""));
  // `.` and `./` own the whole folder, which is allowed and raises the tier.
  return problem === "names no file" ? null : problem;
}

export function checkGlob(glob: string, place: Path, say: Say): boolean {
  const problem = globProblem(glob);
  if (problem === null) return true;
  say("bad-glob", place, `the glob ${quoted(glob)} ${problem}`, {
    fix: "give a glob below the job's `cwd`, such as `src/api/**`",
  });
  return false;
}

/** One spelling for each path: `./a//b/` is `a/b`. For paths without a problem. */
export function plainPath(path: string): string {
  return path
    .split("/")
    .filter((step) => step !== "" && step !== ".")
    .join("/");
}
