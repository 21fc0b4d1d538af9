/** Which paths a job may change: `owned_paths` and outputs, relative to its cwd. Pure. */
import picomatch from "picomatch";

export interface Ownership {
  /** Path of the job's cwd below the checkout's root; empty when it is the root. */
  readonly cwdPrefix: string;
  readonly ownedPaths: readonly string[];
  /** Declared output files. */
  readonly outputs: readonly string[];
}

/** `./a//b/` and `a/b` are one path. */
export const plainPath = (path: string): string =>
  path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");

/** Whether a path, relative to the checkout's root, matches one of the globs. A glob without wildcards is one file. */
export function ownedBy(owner: Omit<Ownership, "outputs">): (path: string) => boolean {
  const globs = owner.ownedPaths.map(plainPath).map((glob) => (glob === "" ? "**" : glob));
  const matches = globs.map((glob) => picomatch(glob, { dot: true }));
  return (path) => {
    const inside = belowCwd(owner.cwdPrefix, path);
    return inside !== null && matches.some((match) => match(inside));
  };
}

export function outputOf(owner: Omit<Ownership, "ownedPaths">): (path: string) => boolean {
  const outputs = new Set(owner.outputs.map(plainPath));
  return (path) => {
    const inside = belowCwd(owner.cwdPrefix, path);
    return inside !== null && outputs.has(inside);
  };
}

function belowCwd(prefix: string, path: string): string | null {
  if (prefix === "") return path;
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : null;
}
