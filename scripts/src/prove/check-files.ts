/** Which files decide what a declared command does: those of the workspace that it names, and what else it runs. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { executedFile, onSearchPath } from "../host/executed.ts";
import { readNamedFile } from "../host/files.ts";
import { safeRelative } from "../host/inside.ts";
import { loadedUnnamed } from "./check-loads.ts";
import { isCode, programAt, shellWords, type WordRole, wordRoles } from "./check-roles.ts";

export interface CheckFile {
  /** Relative to the checkout's root. */
  readonly path: string;
  /** Null when it was deleted or cannot be read. Of a link: what it leads to. */
  readonly sha256: string | null;
  /** Not named on the argv, but read by the named program. */
  readonly implied: boolean;
  /** The command only looks at it: it is the work that is checked, not part of the check. */
  readonly reads: boolean;
}

/** What a command runs that is no file of the workspace. */
export interface OutsideFile {
  /** Absolute, or a bare name that is looked up on the search path. */
  readonly path: string;
  readonly sha256: string | null;
  /** False: known by real path, size and time. */
  readonly content: boolean;
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

/** Options that send such a program to another folder. */
const FOLDER_OPTION = /^(?:-C|--(?:prefix|directory|cwd|dir|working-directory))$/;

/** What the program reads by itself, in the folder where it works, and in those that the command sends it to. */
function impliedBy(argv: readonly string[]): readonly string[] {
  const names = [0, programAt(argv)].flatMap((at) => IMPLIED[basename(argv[at] ?? "")] ?? []);
  const folders = argv.flatMap((word, i) => {
    const [option = "", value] = word.split(/=(.*)/s);
    if (FOLDER_OPTION.test(option)) return [value ?? argv[i + 1] ?? ""];
    return /^-C./.test(word) ? [word.slice(2)] : [];
  });
  return [...new Set(["", ...folders].flatMap((folder) => names.map((name) => join(folder, name))))];
}

/** Programs that complete a name which is no file itself. */
const COMPLETING = /^(?:node|tsx|ts-node|bun|deno|python[\d.]*|ruby|npx)$/;
const EXTENSIONS = [
  ".js",
  ".mjs",
  ".cjs",
  ".ts",
  ".json",
  ".py",
  ".rb",
  ".sh",
  "/index.js",
  "/package.json",
  "/__main__.py",
];

/**
 * Files named on the argv (`scripts/check.sh`, `--config=x.json`, `node scripts/check` for `check.js`,
 * `python -m tests.check`), in a text for a shell those that can be run, links followed inside the root, plus what
 * well-known programs read by themselves. `deleted` makes a file that is gone count as named.
 */
export async function filesOfCommand(o: {
  readonly root: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly deleted: readonly string[];
  /** What the job changed: code in a folder that a runner is given (`node --test tests`), and settings that programs find by themselves, are part of it. */
  readonly changed?: readonly string[];
}): Promise<readonly CheckFile[]> {
  const deleted = new Set(o.deleted);
  const there = (path: string): boolean => deleted.has(path) || isFile(o.root, path);
  const named = new Map<string, WordRole>();
  for (const { word, role } of wordsOf(o.argv))
    for (const path of below(o.root, o.cwd, word))
      if (there(path))
        for (const real of [...withTarget(o.root, path), ...mainOf(o.root, path).filter(there)])
          named.set(real, stronger(named.get(real), role));
  const implied = new Set<string>();
  for (const name of impliedBy(o.argv))
    for (const path of below(o.root, o.cwd, name)) if (there(path) && !named.has(path)) implied.add(path);
  for (const path of [...inNamedFolders(o), ...loadedUnnamed(o.argv, { changed: o.changed ?? [] }).settings])
    if (!named.has(path)) implied.add(path);
  const inText = new Set(shellWords(o.argv).flatMap((word) => below(o.root, o.cwd, word)));
  const facts = await Promise.all([
    ...[...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, role]) => fact(o.root, { path, role })),
    ...[...implied].sort().map((path) => fact(o.root, { path, role: null })),
  ]);
  // Any word of a shell's text may be a file that is only written or looked at.
  return facts.filter((one) => !one.reads || !inText.has(one.path));
}

/** The folder where the command runs, and those above it, are no choice of tests: all work lies there. */
function inNamedFolders(o: {
  readonly argv: readonly string[];
  readonly root: string;
  readonly cwd: string;
  readonly changed?: readonly string[];
}): readonly string[] {
  const code = (o.changed ?? []).filter(isCode);
  if (code.length === 0) return [];
  const folders = wordsOf(o.argv).flatMap(({ word, role }) =>
    role === "reads" ? [] : below(o.root, o.cwd, word).map((path) => `${path}/`),
  );
  const own = `${relative(o.root, o.cwd).split(sep).join("/")}/`;
  const chosen = [...new Set(folders)].filter((folder) => !own.startsWith(folder));
  return code.filter((path) => chosen.some((folder) => path.startsWith(folder)));
}

/** What is run from outside the workspace: the program, a script of an interpreter, a configuration. */
export async function outsideFilesOfCommand(o: {
  readonly root: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  /** `PATH` of the command. */
  readonly searchPath: string;
  /** `all`: files that are only data too, such as a playbook or a sourced environment. Default: what can be run or decides. */
  readonly named?: "all";
}): Promise<readonly OutsideFile[]> {
  const found = new Map<string, OutsideFile>();
  const started = new Set([0, programAt(o.argv)].map((at) => o.argv[at] ?? ""));
  for (const name of new Set([...started, ...shellWords(o.argv)])) {
    const path = onSearchPath(name, o);
    if (path === null) continue;
    const file = await executedFile(path, { programs: "by-time" });
    // Any word of a shell's text may be a program's name by chance: there only what is a script counts.
    if (started.has(name) || file?.script === true)
      found.set(name, { path: name, sha256: file?.sha256 ?? null, content: file?.content === true });
  }
  for (const { word, role } of wordsOf(o.argv)) {
    const path = resolve(o.cwd, word);
    if (role === "reads" || isInside(o.root, path)) continue;
    const file = await executedFile(path);
    if (file === null || (role === "content" && o.named !== "all" && !file.script && !file.executable))
      continue;
    found.set(path, { path, sha256: file.sha256, content: file.content });
  }
  for (const name of impliedBy(o.argv)) {
    const path = resolve(o.cwd, name);
    const file = isInside(o.root, path) ? null : await executedFile(path);
    if (file !== null) found.set(path, { path, sha256: file.sha256, content: file.content });
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The digest of one of these files now, by the same rule. */
export async function digestNow(o: {
  readonly path: string;
  readonly cwd: string;
  readonly searchPath: string;
}): Promise<string | null> {
  const path = isAbsolute(o.path) ? o.path : onSearchPath(o.path, o);
  if (path === null) return null;
  const file = await executedFile(path, { programs: isAbsolute(o.path) ? "by-content" : "by-time" });
  return file?.sha256 ?? null;
}

/** By words. What git keeps for itself is none of the workspace's files. */
const isInside = (root: string, path: string): boolean => below(root, root, path).length > 0;

/** Every word that may name a file, as it may be completed, with what it is to the command. */
function wordsOf(argv: readonly string[]): { word: string; role: WordRole }[] {
  const completes = COMPLETING.test(basename(argv[0] ?? ""));
  const roles = wordRoles(argv);
  const words = [
    ...argv.flatMap((token, i) =>
      (i === 0 ? program(token) : candidates(token, completes)).map((word) => ({
        word,
        role: ranOr(roles[i] as WordRole, word),
      })),
    ),
    ...shellWords(argv).map((word) => ({ word, role: "content" as const })),
  ];
  return words.filter(({ word }) => word.length <= WORD_MAX);
}

/** A longer one is a text, and no path. */
const WORD_MAX = 1_000;

/** What the program completes to code, it loads: `python -m tests.check`. */
const ranOr = (role: WordRole, word: string): WordRole =>
  role === "content" && isCode(word) ? "decides" : role;

const STRENGTH: Readonly<Record<WordRole, number>> = { reads: 0, content: 1, decides: 2 };

const stronger = (a: WordRole | undefined, b: WordRole): WordRole =>
  a !== undefined && STRENGTH[a] >= STRENGTH[b] ? a : b;

/** A program without a slash is looked up on PATH, never in the workspace. */
const program = (token: string): string[] => (token.includes("/") ? [token] : []);

function candidates(token: string, completes: boolean): string[] {
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

/** The path from the root, when it lies there; one that leads out and back again does. */
function below(root: string, folder: string, candidate: string): string[] {
  const safe = safeRelative(relative(root, resolve(folder, candidate)));
  return safe.ok ? [safe.value] : [];
}

function isFile(root: string, path: string): boolean {
  try {
    const stat = lstatSync(`${root}/${path}`);
    return stat.isFile() || stat.isSymbolicLink();
  } catch {
    return false;
  }
}

const MANIFEST_MAX_BYTES = 1024 * 1024;

/** Of a folder's `package.json`: the files that `node FOLDER` may start by it. */
function mainOf(root: string, path: string): readonly string[] {
  if (basename(path) !== "package.json") return [];
  try {
    const { main } = JSON.parse(
      readNamedFile(`${root}/${path}`, MANIFEST_MAX_BYTES).head.toString("utf8"),
    ) as { main?: unknown };
    if (typeof main !== "string") return [];
    const folder = dirname(`${root}/${path}`);
    return ["", ...EXTENSIONS].flatMap((end) => below(root, folder, main + end));
  } catch {
    return [];
  }
}

/** A link is one of the files, and so is what it points at. */
function withTarget(root: string, path: string): string[] {
  try {
    const real = relative(realpathSync(root), realpathSync(`${root}/${path}`));
    return safeRelative(real).ok ? [path, real] : [path];
  } catch {
    return [path];
  }
}

/** `role` null: implied. What can be run is part of the check wherever it is named, but where nothing is run at all. */
async function fact(
  root: string,
  { path, role }: { readonly path: string; readonly role: WordRole | null },
): Promise<CheckFile> {
  const file = await executedFile(`${root}/${path}`);
  const runs =
    role === null ||
    role === "decides" ||
    (role === "content" && (file === null || file.script || file.executable));
  return { path, sha256: file?.sha256 ?? null, implied: role === null, reads: !runs };
}
