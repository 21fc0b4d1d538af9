/** Keeps the compiled code of the tool's parts for later processes. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CODE_FOLDER, type CompiledParts, checksummed, isOwnFolder } from "./compiled-parts.ts";

/** Folders of other versions, runtimes and places of the tool that stay: several may be in use at once. */
const OTHERS_KEPT = 7;

/** A part is written again when so much more of it was compiled than was kept: another kind of spec, another path taken. */
const GROWN = 1.1;

/** Writes what is not kept yet. Never throws: without room or right, the next command compiles again. */
export function keepCompiled({ cache, parts }: CompiledParts): void {
  if (cache === null) return;
  try {
    const top = dirname(cache);
    mkdirSync(top, { recursive: true, mode: 0o700 });
    if (!isOwnFolder(top)) return;
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    if (!isOwnFolder(cache)) return;
    const missing = [...parts].flatMap(([file, { script, stamp, taken }]) => {
      const code = taken === null ? null : checksummed(() => script.createCachedData());
      return code === null || code.length <= (taken ?? 0) * GROWN ? [] : [{ file, stamp, code }];
    });
    if (missing.length === 0) return;
    for (const { file, stamp, code } of missing)
      writeWhole(`${cache}/${file}${CODE}`, [Buffer.from(stamp, "latin1"), code]);
    // The folder of the policy may be under version control.
    if (!existsSync(join(top, ".gitignore"))) writeWhole(join(top, ".gitignore"), [Buffer.from("*\n")]);
    forgetOthers(cache);
  } catch {
    // Said above.
  }
}

/** A half-written file must never have the name that is read. */
function writeWhole(path: string, parts: readonly Buffer[]): void {
  const temp = `${path}.${randomBytes(4).toString("hex")}`;
  const fd = openSync(temp, "wx", 0o600);
  try {
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

/** Takes away what the tool itself has written there, and nothing else: a folder with anything of somebody else's stays. */
function forgetOthers(cache: string): void {
  const top = dirname(cache);
  const others = readdirSync(top)
    .filter((name) => CODE_FOLDER.test(name))
    .map((name) => join(top, name))
    .filter((path) => path !== cache && isOwnFolder(path))
    .map((path) => ({ path, mtimeMs: statSync(path).mtimeMs }))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { path } of others.slice(OTHERS_KEPT)) {
    for (const name of readdirSync(path)) if (OWN_FILE.test(name)) rmSync(join(path, name), { force: true });
    if (readdirSync(path).length === 0) rmdirSync(path);
  }
}

const CODE = ".code";
const OWN_FILE = /\.cjs\.code(?:\.[0-9a-f]{8})?$/;
