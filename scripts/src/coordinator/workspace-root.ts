/** The default workspace root: the git top level of a folder, else the folder itself. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Looks for `.git` upwards, as git does; no process is started for it. */
export function workspaceRoot(cwd: string): string {
  const real = realpathSync(cwd);
  for (let at = real; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return real;
  }
}
