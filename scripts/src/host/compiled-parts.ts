/**
 * The built tool's own parts: scripts in one folder, each compiled at its first use, with what V8 made of them in an
 * earlier process where that was kept (`keep-compiled.ts`): compiling is a third of what a short command costs.
 */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { CONFIG_DIR } from "../core/layout.ts";
import type { Environment } from "./env.ts";

export interface Parts {
  /** Exports of a part; loads it, and what it stands on, at the first call. Throws what reading or running it throws. */
  load(file: string): Readonly<Record<string, unknown>>;
  readonly compiled: CompiledParts;
}

export interface CompiledParts {
  /** Folder for compiled code, or null: nothing is read from it or written. */
  readonly cache: string | null;
  /** File name → what came of it. */
  readonly parts: ReadonlyMap<string, CompiledPart>;
}

export interface CompiledPart {
  readonly script: Script;
  /** What tells the text that it was compiled from. */
  readonly stamp: string;
  /** Bytes of compiled code that were taken from the cache; 0: none. Null: the part is too small to be kept. */
  readonly taken: number | null;
}

/** What each part is: a function of these. */
type Body = (
  module: { exports: Readonly<Record<string, unknown>> },
  exports: Readonly<Record<string, unknown>>,
  require: (id: string) => unknown,
  url: string,
) => void;

/** Below this many characters a part is compiled in less time than a file is read. */
const WORTH_KEEPING = 8_000;
const OTHERS_WRITE = 0o022;
/** Major versions of Node in which damaged code was seen to be refused. */
const CHECKSUMMING: ReadonlySet<string> = new Set(["20", "22", "24"]);
/** Folders of compiled code, as `codeCacheOf` names them. */
export const CODE_FOLDER = /^\d+\.\d+\.\d+\S*-node-\d\S*-[0-9a-f]{1,8}$/;
/** In front of the compiled code. A multiple of what V8 wants its data aligned to. */
export const STAMP_BYTES = 128;

/** Of the parts in `folder`, a path that ends with a slash; `url` is the same as a file URL. */
export function openParts({
  folder,
  url,
  cache,
}: {
  folder: string;
  url: string;
  cache: string | null;
}): Parts {
  const modules = new Map<string, { exports: Readonly<Record<string, unknown>> }>();
  const parts = new Map<string, CompiledPart>();
  const starting = new Set<string>();
  const trusted = cache !== null && isOwnFolder(dirname(cache)) && isOwnFolder(cache) ? cache : null;
  const load = (file: string): Readonly<Record<string, unknown>> => {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    if (starting.has(file)) throw new Error(`the part ${file} needs itself`);
    starting.add(file);
    try {
      return started(file);
    } finally {
      starting.delete(file);
    }
  };
  const started = (file: string): Readonly<Record<string, unknown>> => {
    const part = compiled(folder + file, file, trusted);
    const module = { exports: {} };
    (part.script.runInThisContext() as Body)(module, module.exports, require, url + file);
    // Only now: no two parts need each other, and one that could not be run is tried again.
    modules.set(file, module);
    parts.set(file, part);
    return module.exports;
  };
  const require = (id: string): unknown => {
    const found = id.startsWith("./") ? load(id.slice("./".length)) : process.getBuiltinModule(id);
    if (found === undefined) throw new Error(`this Node has no module ${id}`);
    return found;
  };
  return { load, compiled: { cache, parts } };
}

function compiled(path: string, file: string, cache: string | null): CompiledPart {
  // A part that was edited or replaced is compiled anew; archives and copies may keep its size and mtime, never these.
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  const stamp = `orchestrate code 1 ${size} ${mtimeMs} ${ctimeMs} ${ino}\n`.padEnd(STAMP_BYTES);
  const text = readFileSync(path, "latin1");
  const small = size < WORTH_KEEPING;
  const cachedData = cache === null || small ? null : keptCode(`${cache}/${file}.code`, stamp);
  const script =
    cachedData === null
      ? new Script(text, { filename: path })
      : checksummed(() => new Script(text, { filename: path, cachedData }));
  const taken = cachedData === null || script.cachedDataRejected === true ? 0 : cachedData.length;
  return { script, stamp, taken: small ? null : taken };
}

function keptCode(path: string, stamp: string): Buffer | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(fd).isFile()) return null;
      const bytes = readFileSync(fd);
      return bytes.toString("latin1", 0, STAMP_BYTES) === stamp ? bytes.subarray(STAMP_BYTES) : null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

/**
 * V8 writes a checksum into its data and compares it only with this setting; without, one flipped bit ends the process. For
 * this moment alone, since Node's own compiled code has no checksum and would be compiled anew.
 */
export function checksummed<T>(work: () => T): T {
  setFlagsFromString("--verify-snapshot-checksum");
  try {
    return work();
  } finally {
    setFlagsFromString("--no-verify-snapshot-checksum");
  }
}

/** Code is run from there: it must be this user's alone to write. */
export function isOwnFolder(path: string): boolean {
  try {
    const about = lstatSync(path);
    return about.isDirectory() && about.uid === process.getuid?.() && (about.mode & OTHERS_WRITE) === 0;
  } catch {
    return false;
  }
}

/**
 * Folder for the compiled code of the parts in `folder`: beside the user's own policy, since whoever may write that may have
 * the tool run anything, and a general cache folder is open to more. Null where there shall be none:
 * `NODE_DISABLE_COMPILE_CACHE` is set, as for Node's own cache; the user cannot write the parts themselves, so that this
 * would be a way to change code that is protected from them; or this Node was not seen to compare checksums.
 */
export function codeCacheOf(o: { folder: string; version: string; env: Environment }): string | null {
  if (o.env.get("NODE_DISABLE_COMPILE_CACHE") !== undefined || !isAbsolute(o.env.home)) return null;
  if (process.getuid === undefined || !CHECKSUMMING.has(process.versions.node.split(".", 1)[0] ?? ""))
    return null;
  try {
    accessSync(o.folder, constants.W_OK);
  } catch {
    return null;
  }
  // V8 refuses what was compiled with other settings, and may not notice another build of the same version.
  const options = [...process.execArgv, o.env.get("NODE_OPTIONS") ?? ""];
  const place = shortHash(
    [o.folder, process.execPath, process.platform, process.arch, ...options].join("\n"),
  );
  const which = `${o.version}-node-${process.versions.node}-${place}`;
  return join(o.env.home, CONFIG_DIR, "compiled", which);
}

/** FNV-1a. Two that share one only compile more often: what was compiled is told by its stamp. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16);
}
