/** Keeps the compiled code of the tool's parts for later processes. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type CompiledParts, isOwnFolder } from "./compiled-parts.ts";

/** Folders of other versions, runtimes and places of the tool that stay: several may be in use at once. */
const OTHERS_KEPT = 3;

/** A part is written again when so much more of it was compiled than was kept: another kind of spec, another path taken. */
const GROWN = 1.1;

/** Writes what is not kept yet. Never throws: without room or right, the next command compiles again. */
export function keepCompiled({ cache, parts }: CompiledParts): void {
  if (cache === null) return;
  try {
    const missing = [...parts].flatMap(([file, { script, stamp, taken }]) => {
      const code = taken === null ? null : script.createCachedData();
      return code === null || code.length <= (taken ?? 0) * GROWN ? [] : [{ file, stamp, code }];
    });
    if (missing.length === 0) return;
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    if (!isOwnFolder(cache)) return;
    for (const { file, stamp, code } of missing)
      writeWhole(`${cache}/${file}.code`, [Buffer.from(stamp, "latin1"), code]);
    // The folder of the policy may be under version control.
    writeWhole(join(dirname(cache), ".gitignore"), [Buffer.from("*\n")]);
    forgetOthers(cache);
  } catch {
    // Said above.
  }
}

/** V8 does not look whether its data is damaged, so a half-written file must never have the name that is read. */
function writeWhole(path: string, parts: readonly Buffer[]): void {
  const temp = `${path}.${process.pid}`;
  try {
    const fd = openSync(temp, "w", 0o600);
    try {
      for (const part of parts) for (let at = 0; at < part.length; ) at += writeSync(fd, part, at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temp, path);
  } catch (fault) {
    rmSync(temp, { force: true });
    throw fault;
  }
}

function forgetOthers(cache: string): void {
  const top = dirname(cache);
  const others = readdirSync(top)
    .map((name) => join(top, name))
    .filter((path) => path !== cache && isOwnFolder(path))
    .map((path) => ({ path, mtimeMs: statSync(path).mtimeMs }))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { path } of others.slice(OTHERS_KEPT)) rmSync(path, { recursive: true, force: true });
}
