/** Which files of the workspace decide what a verification command does. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, isAbsolute, relative } from "node:path";
import { safeRelative } from "../host/inside.ts";
import { hashInside } from "../host/safe-path.ts";

export interface CheckFile {
  /** Relative to the checkout's root. */
  readonly path: string;
  /** Null when it was deleted or cannot be read. */
  readonly sha256: string | null;
  /** Not named on the argv, but read by the named program. */
  readonly implied: boolean;
}

const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  npm: ["package.json"],
  npx: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
  make: ["Makefile", "makefile", "GNUmakefile"],
  gmake: ["Makefile", "makefile", "GNUmakefile"],
  just: ["justfile", "Justfile", ".justfile"],
  task: ["Taskfile.yml", "Taskfile.yaml"],
  rake: ["Rakefile"],
  tox: ["tox.ini"],
  nox: ["noxfile.py"],
};

/** Programs that complete a name which is no file itself. */
const COMPLETING = /^(?:node|tsx|ts-node|bun|deno|python[\d.]*|ruby|npx)$/;
const EXTENSIONS = [".js", ".mjs", ".cjs", ".ts", ".json", ".py", ".rb", ".sh", "/index.js", "/__main__.py"];

/**
 * Files named on the argv (`scripts/check.sh`, `--config=x.json`, `node scripts/check` for `check.js`,
 * `python -m tests.check`), links followed inside the root, plus what well-known programs read by themselves.
 * `deleted` makes a file that is gone count as named.
 */
export async function filesOfCommand(o: {
  readonly root: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly deleted: readonly string[];
}): Promise<readonly CheckFile[]> {
  const prefix = relative(o.root, o.cwd).split("\\").join("/");
  if (prefix.startsWith("..") || isAbsolute(prefix)) return [];
  const deleted = new Set(o.deleted);
  const there = (path: string): boolean => deleted.has(path) || isFile(o.root, path);
  const completes = COMPLETING.test(basename(o.argv[0] ?? ""));
  const named = new Set<string>();
  const implied = new Set<string>();
  for (const [i, token] of o.argv.entries())
    for (const candidate of i === 0 ? program(token) : candidates(token, completes))
      for (const path of below(o.root, prefix, candidate))
        if (there(path)) for (const real of withTarget(o.root, path)) named.add(real);
  for (const name of IMPLIED[basename(o.argv[0] ?? "")] ?? [])
    for (const path of below(o.root, prefix, name)) if (there(path) && !named.has(path)) implied.add(path);
  return Promise.all([
    ...[...named].sort().map((path) => fact(o.root, path, false)),
    ...[...implied].sort().map((path) => fact(o.root, path, true)),
  ]);
}

/** A program without a slash is looked up on PATH, never in the workspace. */
const program = (token: string): string[] => (token.includes("/") ? [token] : []);

function candidates(token: string, completes: boolean): string[] {
  if (token === "" || token.length > 1_000 || token.includes("\0")) return [];
  const equals = token.indexOf("=");
  const words = (equals === -1 ? [token] : [token, token.slice(equals + 1)]).filter(
    (word) => word !== "" && !word.startsWith("-"),
  );
  if (!completes) return words;
  return words.flatMap((word) => [
    word,
    ...EXTENSIONS.map((extension) => word + extension),
    ...(/^\w+(?:\.\w+)+$/.test(word) ? [`${word.replaceAll(".", "/")}.py`] : []),
  ]);
}

/** The path from the root, when it lies there. */
function below(root: string, prefix: string, candidate: string): string[] {
  const from = isAbsolute(candidate) ? relative(root, candidate) : normal(prefix, candidate);
  if (from === null) return [];
  const safe = safeRelative(from);
  return safe.ok ? [safe.value] : [];
}

/** Resolves `..` by words; null when it leads out. */
function normal(prefix: string, path: string): string | null {
  const out: string[] = [];
  for (const part of `${prefix}/${path}`.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") out.push(part);
    else if (out.pop() === undefined) return null;
  }
  return out.join("/");
}

function isFile(root: string, path: string): boolean {
  try {
    const stat = lstatSync(`${root}/${path}`);
    return stat.isFile() || stat.isSymbolicLink();
  } catch {
    return false;
  }
}

/** A link is one of the files, and so is what it points at. */
function withTarget(root: string, path: string): string[] {
  try {
    const real = relative(realpathSync(root), realpathSync(`${root}/${path}`));
    return real.startsWith("..") || isAbsolute(real) || real === path ? [path] : [path, real];
  } catch {
    return [path];
  }
}

async function fact(root: string, path: string, implied: boolean): Promise<CheckFile> {
  const found = await hashInside(root, path);
  return { path, sha256: found.ok ? found.value.sha256 : null, implied };
}
