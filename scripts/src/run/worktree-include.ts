/** `.worktreeinclude`: ignored files that a new worktree gets a copy of, because its checks need them. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { REPORTS_DIR } from "../core/layout.ts";
import { git, splitPaths } from "../host/git.ts";
import { copyInside } from "../host/safe-write.ts";

const INCLUDE_FILE = ".worktreeinclude";
const MAX_FILES = 20_000;

export interface Included {
  readonly included: readonly string[];
  /** One sentence for each file that was named and not copied. */
  readonly notes: readonly string[];
}

/**
 * The file lies at the top level of the user's checkout and holds patterns in the syntax of `.gitignore`. Copied are the
 * files that match it, that git ignores and does not track; never links, other runs' folders or anything inside `.git`.
 * An existing file of the worktree is never replaced.
 */
export async function copyIncluded(o: {
  readonly repo: string;
  readonly gitDir: string;
  readonly path: string;
}): Promise<Included> {
  if (!existsSync(join(o.repo, INCLUDE_FILE))) return { included: [], notes: [] };
  const options = { cwd: o.repo, gitDir: o.gitDir, workTree: o.repo };
  const matching = await git(
    ["ls-files", "-z", "--others", "--ignored", `--exclude-from=${join(o.repo, INCLUDE_FILE)}`],
    options,
  );
  const candidates = splitPaths(matching.stdoutBytes)
    .map((path) => path.text)
    .filter((path) => !path.startsWith(`${REPORTS_DIR}/orchestrate-`) && !path.endsWith("/"));
  if (candidates.length === 0) return { included: [], notes: [] };
  if (candidates.length > MAX_FILES)
    return {
      included: [],
      notes: [
        `\`${INCLUDE_FILE}\` names ${candidates.length} files, more than ${MAX_FILES}: none was copied`,
      ],
    };
  const ignored = await git(["check-ignore", "-z", "--stdin"], {
    ...options,
    stdin: `${candidates.join("\0")}\0`,
  });
  const included: string[] = [];
  const notes: string[] = [];
  for (const { text: path } of splitPaths(ignored.stdoutBytes)) {
    const copied = await copyInside({ root: o.repo, path }, { root: o.path, path }, { replace: false });
    if (copied.ok) included.push(path);
    else notes.push(`\`${path}\` of \`${INCLUDE_FILE}\` was not copied: ${copied.error.detail}`);
  }
  return { included, notes };
}
