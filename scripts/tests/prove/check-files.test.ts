import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/host/files.ts";
import { digestNow, filesOfCommand, outsideFilesOfCommand } from "../../src/prove/check-files.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

function folder(files: Readonly<Record<string, string>>, executable: readonly string[] = []): string {
  const root = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  for (const path of executable) chmodSync(join(root, path), 0o755);
  return root;
}

/** Paths, with `*` what is implied and with `?` what is only read. */
async function found(
  root: string,
  argv: readonly string[],
  o: {
    readonly cwd?: string;
    readonly deleted?: readonly string[];
    readonly changed?: readonly string[];
  } = {},
): Promise<string[]> {
  const files = await filesOfCommand({ root, cwd: root, deleted: [], ...o, argv });
  return files.map(({ path, implied, reads }) => `${path}${implied ? "*" : ""}${reads ? "?" : ""}`);
}

describe("files of the workspace that a command names", () => {
  it("are one each, with all that is known of them", async () => {
    const root = folder({ Makefile: "all:\n", GNUmakefile: "all:\n", "a.txt": "a", "z.sh": "z" });
    expect(
      await filesOfCommand({
        root,
        cwd: root,
        argv: ["make", "-f", "Makefile", "z.sh", "a.txt", "./a.txt", "gone.py"],
        deleted: ["gone.py"],
      }),
    ).toEqual([
      { path: "Makefile", sha256: sha256("all:\n"), implied: false, reads: false },
      { path: "a.txt", sha256: sha256("a"), implied: false, reads: true },
      { path: "gone.py", sha256: null, implied: false, reads: false },
      { path: "z.sh", sha256: sha256("z"), implied: false, reads: false },
      { path: "GNUmakefile", sha256: sha256("all:\n"), implied: true, reads: false },
    ]);
  });

  it("are told in order, those that a program reads by itself last", async () => {
    const root = folder({ makefile: "", Makefile: "", GNUmakefile: "", b: "", a: "" });
    expect(await found(root, ["make", "-f", "b", "-f", "a"])).toEqual([
      "a?",
      "b?",
      "GNUmakefile*",
      "Makefile*",
      "makefile*",
    ]);
  });

  it("are found wherever the command runs, outside of the workspace too", async () => {
    const root = folder({
      "check.sh": "1",
      "pkg/check.sh": "2",
      "pkg/..odd/x.sh": "3",
      "a b\\c/check.sh": "4",
    });
    const name = root.slice(root.lastIndexOf("/") + 1);
    expect(await found(root, ["sh", "check.sh"], { cwd: join(root, "pkg") })).toEqual(["pkg/check.sh"]);
    expect(await found(root, ["sh", "../check.sh"], { cwd: join(root, "pkg") })).toEqual(["check.sh"]);
    expect(await found(root, ["sh", `../${name}/check.sh`])).toEqual(["check.sh"]);
    expect(await found(root, ["sh", `${name}/check.sh`], { cwd: dirname(root) })).toEqual(["check.sh"]);
    expect(await found(root, ["sh", join(root, "check.sh")], { cwd: "/" })).toEqual(["check.sh"]);
    expect(await found(root, ["sh", "..odd/x.sh"], { cwd: join(root, "pkg") })).toEqual(["pkg/..odd/x.sh"]);
    expect(await found(root, ["sh", "check.sh"], { cwd: "/" })).toEqual([]);
  });

  it("are part of the check when they can be run, and when nobody can tell any more", async () => {
    const root = folder({ prep: "#!/bin/sh\n", plain: "x", tool: "ELF", "data.txt": "x" }, ["tool"]);
    const argv = ["runner", "prep", "plain", "tool", "data.txt", "gone.txt"];
    expect(await found(root, argv, { deleted: ["gone.txt"] })).toEqual([
      "data.txt?",
      "gone.txt",
      "plain?",
      "prep",
      "tool",
    ]);
    expect(await found(root, ["cat", "prep", "gone.txt"], { deleted: ["gone.txt"] })).toEqual([
      "gone.txt?",
      "prep?",
    ]);
  });

  it("count as the strongest of what they are to the command", async () => {
    const root = folder({ "rules.json": "{}" });
    const both = ["eslint", "rules.json", "--config", "rules.json"];
    expect(await found(root, both)).toEqual(["rules.json"]);
    expect(await found(root, ["eslint", "--config", "rules.json", "rules.json"])).toEqual(["rules.json"]);
    expect(await found(root, ["eslint", "rules.json"])).toEqual(["rules.json?"]);
    expect(await found(root, ["tool", "--config=rules.json", "rules.json"])).toEqual(["rules.json"]);
    expect(await found(root, ["tool", "rules.json", "--config=rules.json"])).toEqual(["rules.json"]);
  });

  it("are among the words of a text for a shell only when they can be run", async () => {
    const root = folder({ "out.md": "x", "check.mjs": "1", "run.sh": "1" }, ["check.mjs"]);
    expect(await found(root, ["sh", "-c", "echo done > out.md && ./check.mjs out.md"])).toEqual([
      "check.mjs",
    ]);
    expect(await found(root, ["sh", "run.sh", "out.md"])).toEqual(["out.md?", "run.sh"]);
  });

  it("may have any name that is no option, and a text is no name", async () => {
    const root = folder({ "check-": "1", "-x": "1", "=": "1", "a=b": "1", b: "1" });
    expect(await found(root, ["sh", "check-"])).toEqual(["check-"]);
    expect(await found(root, ["tool", "-x", "--file=check-", "a=b", "", "x\0y"])).toEqual([
      "a=b?",
      "b?",
      "check-?",
    ]);
    const long = (length: number): string => `${"./".repeat(length)}check-`.slice(-length);
    expect(await found(root, ["sh", long(1_000)])).toEqual(["check-"]);
    expect(await found(root, ["sh", long(1_002)])).toEqual([]);
    expect(await found(root, ["sh", "-c", `cat ${long(1_002)}`])).toEqual([]);
  });

  it("are modules by their dotted name, and that name only", async () => {
    const root = folder({
      "tests/deep/check.py": "1",
      "lib/tests/deep/check.py": "1",
      "tests/deep/check-all.py": "1",
      "tests/one.py": "1",
    });
    expect(await found(root, ["python3", "-m", "tests.deep.check"])).toEqual(["tests/deep/check.py"]);
    expect(await found(root, ["python", "-m", "tests.one"])).toEqual(["tests/one.py"]);
    expect(await found(root, ["python", "lib/tests.deep.check"])).toEqual([]);
    expect(await found(root, ["python", "tests.deep.check-all"])).toEqual([]);
    expect(await found(root, ["pytest", "tests.one"])).toEqual([]);
  });

  it("include what the manifest of a folder starts, and no other file says that", async () => {
    const root = folder({
      "app/package.json": '{"main":"./src/start.js"}',
      "app/src/start.js": "1",
      "up/package.json": '{"main":"../app/src/start"}',
      "out/package.json": '{"main":"../../x.js"}',
      "bad/package.json": '{"main":',
      "conf.json": '{"main":"x.js"}',
      "x.js": "1",
      "start.js": "1",
    });
    expect(await found(root, ["node", "app"])).toEqual(["app/package.json", "app/src/start.js"]);
    expect(await found(root, ["node", "up"])).toEqual(["app/src/start.js", "up/package.json"]);
    expect(await found(root, ["node", "out"])).toEqual(["out/package.json"]);
    expect(await found(root, ["node", "bad"])).toEqual(["bad/package.json"]);
    expect(await found(root, ["node", "conf.json"])).toEqual(["conf.json"]);
  });

  it("that are links are what they lead to as well, inside", async () => {
    const root = folder({ "check.sh": "1" });
    const outside = folder({ "deploy.sh": "2" });
    symlinkSync("check.sh", join(root, "in.sh"));
    symlinkSync(join(outside, "deploy.sh"), join(root, "out.sh"));
    symlinkSync("nowhere", join(root, "broken.sh"));
    expect(await found(root, ["sh", "in.sh"])).toEqual(["check.sh", "in.sh"]);
    expect(await found(root, ["sh", "out.sh"])).toEqual(["out.sh"]);
    expect(await found(root, ["sh", "broken.sh"])).toEqual(["broken.sh"]);
  });

  it("are looked for in the folders that the command is sent to", async () => {
    const files = { Makefile: "", "in/Makefile": "", "x-C/Makefile": "", "package.json": "{}" };
    const root = folder(files);
    for (const argv of [
      ["make", "-C", "in"],
      ["make", "-Cin"],
      ["make", "--directory=in"],
      ["env", "A=1", "make", "--directory", "in"],
    ])
      expect([argv, await found(root, argv)]).toEqual([argv, ["Makefile*", "in/Makefile*"]]);
    for (const argv of [
      ["make", "-C"],
      ["make", "--directory="],
      ["make", "-C", "no\0where"],
      ["make", "in"],
    ])
      expect([argv, await found(root, argv)]).toEqual([argv, ["Makefile*"]]);
    expect(await found(root, ["tool", "-C", "in"])).toEqual([]);
    expect(await found(root, ["npx", "make"])).toEqual(["Makefile*", "package.json*"]);
  });

  it("are those of tests in a named folder that the job changed", async () => {
    const root = folder({ "pkg/tests/a.test.js": "1", "pkg/tests/data.txt": "1", "pkg/src/b.js": "1" });
    const changed = ["pkg/tests/a.test.js", "pkg/tests/data.txt", "pkg/src/b.js"];
    const at = (cwd: string, ...argv: string[]) => found(root, argv, { cwd: join(root, cwd), changed });
    expect(await at("", "pytest", "pkg/tests")).toEqual(["pkg/tests/a.test.js*"]);
    expect(await at("", "pytest", "pkg/tests/a.test.js", "pkg/tests")).toEqual(["pkg/tests/a.test.js"]);
    expect(await at("pkg", "pytest", "tests")).toEqual(["pkg/tests/a.test.js*"]);
    expect(await at("pkg", "pytest", "../pkg")).toEqual([]);
    expect(await at("pkg/tests", "pytest", ".", "..")).toEqual([]);
    expect(await at("pkg/tests", "pytest", "../src")).toEqual(["pkg/src/b.js*"]);
    expect(await at("pkg", "eslint", "tests")).toEqual([]);
    expect(await found(root, ["pytest", "pkg/tests"])).toEqual([]);
  });
});

describe("what a command runs from outside of the workspace", () => {
  const scene = () => {
    const root = folder({ "in.sh": "1", ".git/hooks/check": "#!/bin/sh\n", "..odd/x.sh": "1" });
    const outside = folder(
      {
        "b.sh": "echo b\n",
        "a.sh": "echo a\n",
        "n.txt": "n",
        "bin/lint": "#!/bin/sh\n",
        "bin/native": "ELF",
      },
      ["bin/lint", "bin/native"],
    );
    const searchPath = join(outside, "bin");
    const ask = async (...argv: string[]) =>
      (await outsideFilesOfCommand({ root, cwd: root, argv, searchPath })).map(({ path }) =>
        path.replace(outside, "OUT").replace(root, "ROOT"),
      );
    return { root, outside, searchPath, ask };
  };

  it("is told in order, and none of the workspace is among it but what git keeps there", async () => {
    const { outside, ask } = scene();
    const [a, b] = [join(outside, "a.sh"), join(outside, "b.sh")];
    expect(await ask("native", b, a, "in.sh", "lint")).toEqual(["OUT/a.sh", "OUT/b.sh", "native"]);
    expect(await ask("lint", a, b, a)).toEqual(["OUT/a.sh", "OUT/b.sh", "lint"]);
    expect(await ask("sh", "..odd/x.sh")).toEqual([]);
    expect(await ask("sh", ".git/hooks/check")).toEqual(["ROOT/.git/hooks/check"]);
  });

  it("is nothing that is only read, and no word that is no path", async () => {
    const { outside, ask } = scene();
    const a = join(outside, "a.sh");
    expect(await ask("cat", a)).toEqual([]);
    expect(await ask("eslint", a)).toEqual([]);
    expect(await ask("eslint", "--config", a)).toEqual(["OUT/a.sh"]);
    expect(await ask("native", `${a}\0`, join(outside, "none.sh"), outside)).toEqual(["native"]);
  });

  it("is its program by time and what it names by content", async () => {
    const { root, outside, searchPath } = scene();
    const files = await outsideFilesOfCommand({
      root,
      cwd: root,
      argv: ["native", join(outside, "bin/native"), join(outside, "a.sh")],
      searchPath,
    });
    expect(files).toEqual([
      { path: join(outside, "a.sh"), sha256: sha256("echo a\n"), content: true },
      { path: join(outside, "bin/native"), sha256: sha256("ELF"), content: true },
      { path: "native", sha256: expect.any(String), content: false },
    ]);
  });

  it("is known again by the same rule, and changed when it is another", async () => {
    const { root, outside, searchPath } = scene();
    const argv = ["native", join(outside, "a.sh"), join(outside, "bin/lint")];
    const now = async () =>
      Promise.all(
        (await outsideFilesOfCommand({ root, cwd: root, argv: [...argv, "lint"], searchPath })).map(
          async ({ path, sha256: before }) => [
            path.replace(outside, "OUT"),
            before === (await digestNow({ path, cwd: root, searchPath })),
          ],
        ),
      );
    expect(await now()).toEqual([
      ["OUT/a.sh", true],
      ["OUT/bin/lint", true],
      ["native", true],
    ]);
    const digest = (path: string) => digestNow({ path, cwd: root, searchPath });
    const native = await digest("native");
    utimesSync(join(outside, "bin/native"), 1, 1);
    expect(await digest("native")).not.toBe(native);
    expect(await digest(join(outside, "bin/native"))).toBe(sha256("ELF"));
    expect(await digest("lint")).toBe(sha256("#!/bin/sh\n"));
    writeFileSync(join(outside, "a.sh"), "echo c\n");
    expect(await digest(join(outside, "a.sh"))).toBe(sha256("echo c\n"));
    for (const gone of ["nowhere", join(outside, "nowhere"), outside]) expect(await digest(gone)).toBeNull();
  });
});
