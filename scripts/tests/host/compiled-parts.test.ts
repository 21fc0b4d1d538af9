/** Parts of the built tool, and the compiled code that is kept of them: real files, V8's own data. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { codeCacheOf, openParts, type Parts, STAMP_BYTES } from "../../src/host/compiled-parts.ts";
import { testEnvironment } from "../support/test-environment.ts";

const program = join(mkdtempSync(join(tmpdir(), "orchestrate-program-")), "load-parts.mjs");
beforeAll(async () => {
  await build({
    entryPoints: [join(import.meta.dirname, "../fixtures/programs/load-parts.ts")],
    outfile: program,
    bundle: true,
    format: "esm",
    platform: "node",
  });
  return () => rmSync(dirname(program), { recursive: true, force: true });
});

let top = "";
let folder = "";
let cache = "";
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate parts ")));
  folder = `${join(top, "parts")}/`;
  cache = join(top, "cache", "one");
  mkdirSync(folder);
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

/** Long enough to be kept. */
const FILLER = `// ${"x".repeat(8_000)}\n`;

function part(name: string, body: string, filler = FILLER): void {
  writeFileSync(
    join(folder, name),
    `(function (module, exports, require, moduleUrl) {\n${filler}${body}\n})\n`,
  );
}

const open = (): Parts => openParts({ folder, url: pathToFileURL(folder).href, cache: null });

describe("parts", () => {
  it("are run once, at their first use, with what they need, builtins and their own URL", () => {
    part(
      "a.cjs",
      'globalThis.ran = (globalThis.ran ?? 0) + 1; module.exports = { b: require("./b.cjs").b, url: moduleUrl };',
    );
    part("b.cjs", 'module.exports = { b: require("node:path").basename("/x/y") };');
    const parts = open();
    const [first, second] = [parts.load("a.cjs"), parts.load("a.cjs")];
    expect(first).toEqual({ b: "y", url: `${pathToFileURL(folder).href}a.cjs` });
    expect(second).toBe(first);
    expect(Reflect.get(globalThis, "ran")).toBe(1);
    Reflect.deleteProperty(globalThis, "ran");
  });

  it("that are not there throw what reading them throws, each time, and a part that needs one too", () => {
    part("needs.cjs", 'require("./gone.cjs");');
    const parts = open();
    for (const name of ["gone.cjs", "gone.cjs", "needs.cjs", "needs.cjs"])
      expect(() => parts.load(name)).toThrow(`ENOENT: no such file or directory, stat '${folder}gone.cjs'`);
  });

  it("that need themselves, or a module that this Node has not, say so", () => {
    part("round.cjs", 'require("./trip.cjs");');
    part("trip.cjs", 'require("./round.cjs");');
    part("future.cjs", 'require("node:future");');
    const parts = open();
    expect(() => parts.load("round.cjs")).toThrow("the part round.cjs needs itself");
    expect(() => parts.load("future.cjs")).toThrow("this Node has no module node:future");
  });

  it("that throw are run again when they are asked for again", () => {
    part(
      "once.cjs",
      'if (globalThis.ready !== true) throw new Error("not yet"); module.exports = { is: "ready" };',
    );
    const parts = open();
    expect(() => parts.load("once.cjs")).toThrow("not yet");
    Reflect.set(globalThis, "ready", true);
    expect(parts.load("once.cjs")).toEqual({ is: "ready" });
    Reflect.deleteProperty(globalThis, "ready");
  });
});

/** A process of its own for each: in one process, V8 remembers by itself what it compiled. */
describe("compiled code", () => {
  it("is taken by the next process, for each part that is worth it", () => {
    part("a.cjs", saying("a"));
    part("small.cjs", saying("small"), "");
    expect(inProcess("keep", "a.cjs", "small.cjs")).toEqual([
      { name: "a.cjs", said: "a", taken: false },
      { name: "small.cjs", said: "small", taken: null },
    ]);
    expect(readdirSync(cache)).toEqual(["a.cjs.code"]);
    expect(inProcess("look", "a.cjs")).toEqual([{ name: "a.cjs", said: "a", taken: true }]);
  });

  it("is written again when a process has compiled more than was kept, and not when it has not", () => {
    const body = Array.from({ length: 200 }, (_, n) => `if (process.env.MORE) x = x * ${n} + ${n};`).join(
      " ",
    );
    const much = `const more = () => { let x = 0; ${body} return x; };`;
    part(
      "a.cjs",
      `${much} module.exports = { say: () => (process.env.MORE ? String(typeof more()) : "little") };`,
    );
    const file = join(cache, "a.cjs.code");
    inProcess("keep", "a.cjs");
    const little = statSync(file);
    inProcess("keep", "a.cjs");
    expect(statSync(file).ino).toBe(little.ino);
    vi.stubEnv("MORE", "1");
    inProcess("keep", "a.cjs");
    const grown = statSync(file);
    expect(grown.size).toBeGreaterThan(little.size * 1.1);
    vi.unstubAllEnvs();
    inProcess("keep", "a.cjs");
    expect(statSync(file).ino).toBe(grown.ino);
  });

  it("is written by nobody who only loads", () => {
    part("a.cjs", saying("a"));
    inProcess("look", "a.cjs");
    expect(readdirSync(top)).toEqual(["parts"]);
  });

  it("of a text that changed since is not taken, even when it is as long and as old as before", () => {
    part("a.cjs", saying("old"));
    utimesSync(join(folder, "a.cjs"), AN_AGE, AN_AGE);
    inProcess("keep", "a.cjs");
    const before = statSync(join(folder, "a.cjs"));
    part("a.cjs", saying("new"));
    utimesSync(join(folder, "a.cjs"), before.atime, AN_AGE);
    const now = statSync(join(folder, "a.cjs"));
    expect([now.size, now.mtimeMs]).toEqual([before.size, before.mtimeMs]);
    expect(inProcess("keep", "a.cjs")).toEqual([{ name: "a.cjs", said: "new", taken: false }]);
    expect(inProcess("look", "a.cjs")).toEqual([{ name: "a.cjs", said: "new", taken: true }]);
  });

  it.each([0, 1, STAMP_BYTES - 1, STAMP_BYTES, STAMP_BYTES + 1, STAMP_BYTES + 40, -1])(
    "cut off at byte %i is not taken, the part is compiled all the same, and the next keeper mends it",
    (at) => {
      part("a.cjs", saying("whole"));
      inProcess("keep", "a.cjs");
      const file = join(cache, "a.cjs.code");
      truncateSync(file, at < 0 ? statSync(file).size + at : at);
      expect(inProcess("keep", "a.cjs")).toEqual([{ name: "a.cjs", said: "whole", taken: false }]);
      expect(inProcess("look", "a.cjs")).toEqual([{ name: "a.cjs", said: "whole", taken: true }]);
    },
  );

  it("of a Node with other settings, which V8 refuses, is compiled again and replaced", () => {
    part("a.cjs", saying("mine"));
    inProcess("keep", "a.cjs");
    const other = (end: "keep" | "look"): unknown => loaded(["--no-opt"], cache, end, "a.cjs");
    expect(other("keep")).toEqual([{ name: "a.cjs", said: "mine", taken: false }]);
    expect(other("look")).toEqual([{ name: "a.cjs", said: "mine", taken: true }]);
  });

  it("is not taken from a folder that others may write, that is a link, or that is none; nor is it written there", () => {
    part("a.cjs", saying("a"));
    inProcess("keep", "a.cjs");
    const file = join(cache, "a.cjs.code");
    const written = readFileSync(file);
    const compiledAnew = [{ name: "a.cjs", said: "a", taken: false }];
    chmodSync(cache, 0o770);
    expect(inProcess("keep", "a.cjs")).toEqual(compiledAnew);
    chmodSync(cache, 0o700);
    const link = join(top, "link");
    symlinkSync(cache, link);
    truncateSync(file, STAMP_BYTES);
    expect(loaded([], link, "keep", "a.cjs")).toEqual(compiledAnew);
    expect(readFileSync(file)).toEqual(written.subarray(0, STAMP_BYTES));
    expect(loaded([], join(folder, "a.cjs"), "keep", "a.cjs")).toEqual(compiledAnew);
    expect(readdirSync(folder)).toEqual(["a.cjs"]);
  });

  it.each(["one bit", "a sector of zeros"])(
    "that is damaged by %s anywhere never ends the process: it is compiled anew",
    (how) => {
      part(
        "a.cjs",
        `const used = () => [${Array.from({ length: 400 }, (_, n) => `"word ${n}"`).join()}].length; module.exports = { say: () => String(used()) };`,
      );
      inProcess("keep", "a.cjs");
      const file = join(cache, "a.cjs.code");
      const whole = readFileSync(file);
      for (let at = STAMP_BYTES; at < whole.length; at += Math.ceil(whole.length / 12)) {
        const bytes = Buffer.from(whole);
        if (how === "one bit") bytes[at] = (bytes[at] ?? 0) ^ 4;
        else bytes.fill(0, at, at + 512);
        if (bytes.equals(whole)) continue;
        writeFileSync(file, bytes);
        expect(inProcess("look", "a.cjs"), `byte ${at}`).toEqual([
          { name: "a.cjs", said: "400", taken: false },
        ]);
      }
    },
  );

  it("leaves no half-written file behind, is this user's alone, and keeps seven folders of its own kind beside its own", () => {
    const names = Array.from({ length: 9 }, (_, n) => `1.0.${n}-node-20.19.0-abc${n}`);
    for (const [index, name] of [...names, "mine"].entries()) {
      const other = join(top, "cache", name);
      mkdirSync(other, { recursive: true });
      writeFileSync(join(other, "a.cjs.code"), name);
      if (index === 1) writeFileSync(join(other, "notes.txt"), "mine");
      utimesSync(other, index, index);
    }
    part("a.cjs", saying("a"));
    inProcess("keep", "a.cjs");
    expect(readdirSync(join(top, "cache")).sort()).toEqual([".gitignore", ...names.slice(1), "mine", "one"]);
    expect(readdirSync(join(top, "cache", names[1] ?? ""))).toEqual(["notes.txt"]);
    expect(readdirSync(join(top, "cache/mine"))).toEqual(["a.cjs.code"]);
    expect(readdirSync(cache)).toEqual(["a.cjs.code"]);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(statSync(join(cache, "a.cjs.code")).mode & 0o777).toBe(0o600);
  });

  it("is neither read nor written, and nothing is taken away, where the folder of all of it is a link", () => {
    const elsewhere = join(top, "elsewhere");
    const names = Array.from({ length: 9 }, (_, n) => `1.0.${n}-node-20.19.0-abc${n}`);
    for (const name of names) mkdirSync(join(elsewhere, name), { recursive: true });
    symlinkSync(elsewhere, join(top, "cache"));
    part("a.cjs", saying("a"));
    expect(inProcess("keep", "a.cjs")).toEqual([{ name: "a.cjs", said: "a", taken: false }]);
    expect(readdirSync(elsewhere).sort()).toEqual(names);
  });

  it("is passed over when what has its name is no file", () => {
    part("a.cjs", saying("a"));
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    execFileSync("mkfifo", [join(cache, "a.cjs.code")]);
    expect(inProcess("look", "a.cjs")).toEqual([{ name: "a.cjs", said: "a", taken: false }]);
  });
});

/** As archives give it to every file. */
const AN_AGE = new Date("1985-10-26T08:15:00Z");

const saying = (word: string): string => `module.exports = { say: () => "${word}" };`;

const inProcess = (end: "keep" | "look", ...names: string[]): unknown => loaded([], cache, end, ...names);

function loaded(flags: readonly string[], to: string, end: "keep" | "look", ...names: string[]): unknown {
  const argv = [...flags, program, folder, to, end, ...names];
  return JSON.parse(execFileSync(process.execPath, argv, { encoding: "utf8" }));
}

describe("the folder for compiled code", () => {
  const whereFor = (variables: Record<string, string>, at = folder): string | null =>
    codeCacheOf({
      folder: at,
      version: "1.2.3",
      env: testEnvironment({ home: join(top, "home"), cwd: top, variables }),
    });
  const name = new RegExp(`^1\\.2\\.3-node-${process.versions.node}-[0-9a-f]{1,8}$`);

  const of = (variables: Record<string, string>, at?: string): string => whereFor(variables, at) ?? "none";

  it("is beside the user's policy, one for each version, runtime and place of the tool", () => {
    const [own, elsewhere] = [of({}), of({}, `${top}/`)];
    for (const path of [own, elsewhere]) {
      expect(dirname(path)).toBe(join(top, "home/.orchestrate/compiled"));
      expect(basename(path)).toMatch(name);
    }
    expect(elsewhere).not.toBe(own);
    expect(of({ NODE_OPTIONS: "--max-semi-space-size=1" })).not.toBe(own);
  });

  it("is none when it is switched off as Node's own is, or where the parts themselves cannot be written", () => {
    expect(whereFor({ NODE_DISABLE_COMPILE_CACHE: "1" })).toBeNull();
    expect(whereFor({}, `${join(top, "not there")}/`)).toBeNull();
  });
});
