/**
 * The built tool's own parts: scripts in one folder, each compiled at its first use, with what V8 made of them in an
 * earlier process where that was kept (`keep-compiled.ts`): compiling is a third of what a short command costs.
 */
import { accessSync, constants, lstatSync, readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
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
  const trusted = cache !== null && isOwnFolder(cache) ? cache : null;
  const load = (file: string): Readonly<Record<string, unknown>> => {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const part = compiled(folder + file, file, trusted);
    const module = { exports: {} };
    (part.script.runInThisContext() as Body)(module, module.exports, require, url + file);
    // Only now: no two parts need each other, and one that could not be run is tried again.
    modules.set(file, module);
    parts.set(file, part);
    return module.exports;
  };
  const require = (id: string): unknown =>
    id.startsWith("./") ? load(id.slice("./".length)) : process.getBuiltinModule(id);
  return { load, compiled: { cache, parts } };
}

function compiled(path: string, file: string, cache: string | null): CompiledPart {
  // A part that was edited or replaced is compiled anew; archives and copies may keep its size and mtime, never these.
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  const stamp = `orchestrate code 1 ${size} ${mtimeMs} ${ctimeMs} ${ino}\n`.padEnd(STAMP_BYTES);
  const text = readFileSync(path, "latin1");
  const small = size < WORTH_KEEPING;
  const cachedData = cache === null || small ? null : keptCode(`${cache}/${file}.code`, stamp);
  const script = new Script(text, { filename: path, ...(cachedData === null ? {} : { cachedData }) });
  const taken = cachedData === null || script.cachedDataRejected === true ? 0 : cachedData.length;
  return { script, stamp, taken: small ? null : taken };
}

function keptCode(path: string, stamp: string): Buffer | null {
  try {
    const bytes = readFileSync(path);
    return bytes.toString("latin1", 0, STAMP_BYTES) === stamp ? bytes.subarray(STAMP_BYTES) : null;
  } catch {
    return null;
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
 * `NODE_DISABLE_COMPILE_CACHE` is set, as for Node's own cache, or the user cannot write the parts themselves, so that
 * this would be a way to change code that is protected from them.
 */
export function codeCacheOf(o: { folder: string; version: string; env: Environment }): string | null {
  if (o.env.get("NODE_DISABLE_COMPILE_CACHE") !== undefined || !isAbsolute(o.env.home)) return null;
  try {
    accessSync(o.folder, constants.W_OK);
  } catch {
    return null;
  }
  const which = `${o.version}-node-${process.versions.node}-${process.arch}-${shortHash(o.folder)}`;
  return join(o.env.home, CONFIG_DIR, "compiled", which);
}

/** FNV-1a. Two places that share one only compile more often: what was compiled is told by its stamp. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16);
}
