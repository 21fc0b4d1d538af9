/** The repository as the checks see it: tracked files plus new ones that git does not ignore. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const PAYLOAD = "plugins/orchestrate/skills/orchestrate";

let listed: readonly string[] | null = null;

/** Paths relative to the root, sorted; files only (a symlink counts as one). */
export function repoFiles(): readonly string[] {
  if (listed === null) {
    const out = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
      encoding: "utf8",
    });
    listed = [...new Set(out.split("\0"))].filter((path) => path !== "" && present(path)).sort();
  }
  return listed;
}

function present(path: string): boolean {
  try {
    return !lstatSync(join(ROOT, path)).isDirectory();
  } catch {
    return false;
  }
}

export function readRepoFile(path: string): string;
export function readRepoFile(path: string, missing: null): string | null;
export function readRepoFile(path: string, missing?: null): string | null {
  const file = join(ROOT, path);
  if (missing === null && !existsSync(file)) return null;
  return readFileSync(file, "utf8");
}

/** Markdown that people or agents read; test fixtures are not documents. */
export const productMarkdown = (): string[] =>
  repoFiles().filter((path) => path.endsWith(".md") && !path.startsWith("scripts/") && !isLink(path));

export const isLink = (path: string): boolean => lstatSync(join(ROOT, path)).isSymbolicLink();
