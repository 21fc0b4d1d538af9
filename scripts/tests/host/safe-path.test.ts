import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/host/files.ts";
import { safeRelative } from "../../src/host/inside.ts";
import { hashInside, namesInside, readInside, resolveInside } from "../../src/host/safe-path.ts";
import { copyInside, removeEmptyDirInside, removeInside, writeInside } from "../../src/host/safe-write.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";
import { fault, value } from "../support/worktrees.ts";

const soak = process.env["ORCHESTRATE_SOAK"] === "1";

describe("the words of a relative path", () => {
  it.each([
    ["", "empty", "the path is empty"],
    [".", "empty", "`.` names the folder itself"],
    ["./", "empty", "`./` names the folder itself"],
    ["/etc/passwd", "absolute", "`/etc/passwd` must be relative"],
    ["\\\\host\\share", "absolute", "`\\\\host\\share` must be relative"],
    ["C:/x", "absolute", "`C:/x` must be relative"],
    ["c:x", "absolute", "`c:x` must be relative"],
    ["../x", "traversal", "`../x` must not contain `..`"],
    ["a/../../x", "traversal", "`a/../../x` must not contain `..`"],
    ["a\\..\\x", "traversal", "`a\\..\\x` must not contain `..`"],
    ["a/..", "traversal", "`a/..` must not contain `..`"],
    ["a\0b", "nul", "the path contains a NUL character"],
    [".git/config", "git-dir", "`.git/config` leads into git's own folder"],
    ["sub/.GIT/config", "git-dir", "`sub/.GIT/config` leads into git's own folder"],
    [".git. /x", "git-dir", "`.git. /x` leads into git's own folder"],
    ["git~1/x", "git-dir", "`git~1/x` leads into git's own folder"],
    [".g\u200cit/x", "git-dir", "`.g\u200cit/x` leads into git's own folder"],
    [".git::$INDEX_ALLOCATION/x", "git-dir", "`.git::$INDEX_ALLOCATION/x` leads into git's own folder"],
  ])("%j is refused as %s", (path, code, detail) => {
    expect(safeRelative(path)).toEqual({ ok: false, error: { code, path, detail } });
  });

  it.each([
    ["a", "a"],
    ["./a//b/", "a/b"],
    ["a\\b", "a/b"],
    [".gitignore", ".gitignore"],
    ["..a/b..", "..a/b.."],
    ["-x", "-x"],
    ["文件 é", "文件 é"],
  ])("%j is %j", (path, plain) => {
    expect(safeRelative(path)).toEqual({ ok: true, value: plain });
  });

  it("are too long beyond what a file system takes", () => {
    expect(fault(safeRelative("x".repeat(256))).code).toBe("too-long");
    expect(fault(safeRelative("x/".repeat(2_100))).code).toBe("too-long");
  });

  it("never lead out of the root, whatever they are", () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "a", ".git", "\\", "~", "C:"),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.constantFrom("/", "\\"), (parts, separator) => {
        const result = safeRelative(parts.join(separator));
        if (!result.ok) return;
        expect(join("/top", result.value).startsWith("/top/")).toBe(true);
      }),
      { seed: 7, numRuns: soak ? 200_000 : 5_000 },
    );
  });
});

function scene(): { root: string; outside: string } {
  const root = join(temporaryFolder(), "root");
  const outside = temporaryFolder();
  mkdirSync(join(root, "sub"), { recursive: true });
  writeFileSync(join(root, "sub/a.txt"), "inside\n");
  writeFileSync(join(outside, "secret.txt"), "outside\n");
  symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
  symlinkSync(outside, join(root, "linked"));
  symlinkSync("a.txt", join(root, "sub/near.txt"));
  return { root, outside };
}

describe("reading inside a root", () => {
  it("gives content and digest of a regular file", async () => {
    const { root } = scene();
    expect(value(await readInside(root, "sub/a.txt", { maxBytes: 100 })).toString()).toBe("inside\n");
    expect(value(await hashInside(root, "./sub//a.txt"))).toMatchObject({
      sha256: sha256("inside\n"),
      bytes: 7,
    });
  });

  it.each([
    ["link.txt", "symlink"],
    ["linked/secret.txt", "symlink"],
    ["sub/near.txt", "symlink"],
    ["sub", "not-regular"],
    ["missing.txt", "missing"],
    ["missing/x.txt", "missing"],
    ["sub/a.txt/x", "symlink"],
    ["../other/sub/a.txt", "traversal"],
    ["/proc/self/fd/0", "absolute"],
  ])("%s is refused as %s", async (path, code) => {
    const { root } = scene();
    expect(fault(await readInside(root, path, { maxBytes: 100 })).code).toBe(code);
    expect(fault(await hashInside(root, path)).code).toBe(code);
  });

  it("a pipe, a socket and a device are refused at once", async () => {
    const { root } = scene();
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    expect(fault(await hashInside(root, "pipe")).detail).toBe("`pipe` is a named pipe, not a file");
    expect(fault(await hashInside(root, "socket")).detail).toBe("`socket` is a socket, not a file");
    expect(fault(await hashInside("/dev", "zero")).detail).toBe("`zero` is a device, not a file");
    server.close();
  });

  it("more than was asked for is refused", async () => {
    const { root } = scene();
    expect(fault(await readInside(root, "sub/a.txt", { maxBytes: 6 })).detail).toBe(
      "`sub/a.txt` has 7 bytes, more than 6",
    );
  });

  it("a hard link is read as the file it is", async () => {
    const { root, outside } = scene();
    linkSync(join(outside, "secret.txt"), join(root, "hard.txt"));
    expect(value(await readInside(root, "hard.txt", { maxBytes: 100 })).toString()).toBe("outside\n");
  });

  it("a folder that is swapped for a link meanwhile never leads out", async () => {
    const { root, outside } = scene();
    mkdirSync(join(outside, "in"));
    writeFileSync(join(outside, "in/a.txt"), "outside\n");
    mkdirSync(join(root, "in"));
    writeFileSync(join(root, "in/a.txt"), "inside\n");
    const swapper = startSwapper(join(root, "in"), join(root, "parked"), join(outside, "in"));
    const seen = new Set<string>();
    for (let i = 0; i < (soak ? 20_000 : 1_000); i++) {
      const read = await readInside(root, "in/a.txt", { maxBytes: 100 });
      seen.add(read.ok ? read.value.toString() : read.error.code);
      if (i % 10 > 0) continue;
      const written = await writeInside(root, "in/w.txt", `${i}`, { replace: true });
      seen.add(written.ok ? "written" : written.error.code);
    }
    await swapper.stop();
    expect([...seen].filter((what) => !["inside\n", "written", "symlink", "missing"].includes(what))).toEqual(
      [],
    );
    expect(seen.has("inside\n")).toBe(true);
    expect(readdirSync(join(outside, "in"))).toEqual(["a.txt"]);
  });
});

/** Another process that goes on replacing a folder by a link to the outside and back. */
function startSwapper(path: string, parked: string, target: string): { stop(): Promise<void> } {
  const script = `const fs=require("fs");const [p,k,t]=process.argv.slice(1);for(;;){try{fs.renameSync(p,k);fs.symlinkSync(t,p);fs.unlinkSync(p);fs.renameSync(k,p)}catch{}}`;
  const child = execLoop(script, [path, parked, target]);
  return {
    async stop() {
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("close", resolve));
      if (existsSync(parked)) {
        rmSync(path, { force: true, recursive: true });
        renameSync(parked, path);
      }
    },
  };
}

const execLoop = (script: string, args: string[]): ChildProcess =>
  spawn(process.execPath, ["-e", script, ...args], { stdio: "ignore" });

describe("writing inside a root", () => {
  it("creates parents, says what it wrote, and leaves no temporary file", async () => {
    const { root } = scene();
    expect(value(await writeInside(root, "new/deep/x.txt", "x", { replace: false }))).toEqual({
      sha256: sha256("x"),
      bytes: 1,
      written: true,
    });
    expect(readFileSync(join(root, "new/deep/x.txt"), "utf8")).toBe("x");
    expect(readdirSync(join(root, "new/deep"))).toEqual(["x.txt"]);
  });

  it("leaves the same content alone and never overwrites other content unless told to", async () => {
    const { root } = scene();
    expect(value(await writeInside(root, "sub/a.txt", "inside\n", { replace: false })).written).toBe(false);
    expect(fault(await writeInside(root, "sub/a.txt", "other\n", { replace: false }))).toEqual({
      code: "exists",
      path: "sub/a.txt",
      detail: "`sub/a.txt` exists with different content",
    });
    expect(readFileSync(join(root, "sub/a.txt"), "utf8")).toBe("inside\n");
    expect(value(await writeInside(root, "sub/a.txt", "other\n", { replace: true })).written).toBe(true);
    expect(readdirSync(join(root, "sub")).sort()).toEqual(["a.txt", "near.txt"]);
  });

  it.each([
    ["link.txt", "symlink"],
    ["linked/new.txt", "symlink"],
    ["sub", "not-regular"],
    ["sub/a.txt/x", "symlink"],
    [".git/hooks/pre-commit", "git-dir"],
  ])("%s is refused as %s and nothing outside changes", async (path, code) => {
    const { root, outside } = scene();
    expect(fault(await writeInside(root, path, "evil", { replace: true })).code).toBe(code);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("outside\n");
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
  });

  it("never writes through a hard link", async () => {
    const { root, outside } = scene();
    linkSync(join(outside, "secret.txt"), join(root, "hard.txt"));
    value(await writeInside(root, "hard.txt", "new\n", { replace: true }));
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("outside\n");
  });

  it("sets the mode it is told", async () => {
    const { root } = scene();
    value(await writeInside(root, "private", "x", { replace: false, mode: 0o600 }));
    expect(statSync(join(root, "private")).mode & 0o777).toBe(0o600);
  });
});

describe("copying between roots", () => {
  it("copies bytes and mode, and refuses what is not expected before anything is placed", async () => {
    const { root } = scene();
    const target = temporaryFolder();
    const from = { root, path: "sub/a.txt" };
    const to = { root: target, path: "x/copy.txt" };
    const refused = await copyInside(from, to, { replace: false, expect: "0".repeat(64) });
    expect(fault(refused)).toEqual({
      code: "content",
      path: "sub/a.txt",
      detail: `\`sub/a.txt\` has SHA-256 ${sha256("inside\n")}, expected ${"0".repeat(64)}`,
    });
    expect(readdirSync(join(target, "x"))).toEqual([]);
    expect(value(await copyInside(from, to, { replace: false, expect: sha256("inside\n") })).written).toBe(
      true,
    );
    expect(readFileSync(join(target, "x/copy.txt"), "utf8")).toBe("inside\n");
  });
});

describe("removing inside a root", () => {
  it("removes a folder without following the links in it", () => {
    const { root, outside } = scene();
    symlinkSync(outside, join(root, "sub/out"));
    expect(removeInside(root, "sub").ok).toBe(true);
    expect(existsSync(join(root, "sub"))).toBe(false);
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(removeInside(root, "sub").ok).toBe(true);
    expect(fault(removeInside(root, "linked/secret.txt")).code).toBe("symlink");
  });

  it("removes an empty folder and leaves one that is not", () => {
    const { root } = scene();
    mkdirSync(join(root, "empty"));
    expect(removeEmptyDirInside(root, "empty").ok && removeEmptyDirInside(root, "sub").ok).toBe(true);
    expect(existsSync(join(root, "empty"))).toBe(false);
    expect(existsSync(join(root, "sub/a.txt"))).toBe(true);
    expect(namesInside(root, "sub")).toContain("a.txt");
    expect(namesInside(root, "linked")).toEqual([]);
  });
});

describe("resolving a path", () => {
  it("names the place of a file that need not exist, and refuses links on the way", () => {
    const { root } = scene();
    expect(resolveInside(root, "sub/new.txt")).toEqual({ ok: true, value: join(root, "sub/new.txt") });
    expect(resolveInside(root, "not/there/yet")).toEqual({ ok: true, value: join(root, "not/there/yet") });
    expect(fault(resolveInside(root, "linked/x"))).toEqual({
      code: "symlink",
      path: "linked/x",
      detail: "`linked/x` leads through a symbolic link",
    });
  });
});
