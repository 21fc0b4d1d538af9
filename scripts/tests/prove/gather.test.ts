import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import picomatch from "picomatch";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/host/files.ts";
import { filesOfCommand, outsideFilesOfCommand } from "../../src/prove/check-files.ts";
import {
  type CommandRun,
  type GatherInput,
  gatherLayerOne,
  type RunCommand,
} from "../../src/prove/gather.ts";
import { outputOf, ownedBy } from "../../src/prove/ownership.ts";
import { verifyLayerOne } from "../../src/prove/verify.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";
import { NO_CHANGES } from "./layer-one.ts";

const PASSED: CommandRun = {
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdoutTail: "",
  stderrTail: "",
  wallMs: 3.4,
  spawnError: null,
};

function folder(files: Readonly<Record<string, string>> = {}): string {
  const root = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const command = (...argv: string[]): GatherInput["job"]["verification"][number] => ({
  command: argv[0] ?? "",
  args: argv.slice(1),
  timeoutMs: 1_000,
  cwd: null,
});

const declared = (path: string, o: Partial<GatherInput["job"]["outputs"][number]> = {}) => ({
  path,
  sha256: null,
  required: true,
  fromResult: false,
  ...o,
});

function input(
  root: string,
  o: Partial<Omit<GatherInput, "job">> & { job?: Partial<GatherInput["job"]> } = {},
): GatherInput {
  const { job, ...rest } = o;
  const cwd = o.cwd ?? root;
  return {
    job: {
      id: "job",
      task: "implement",
      effect: "scoped-write",
      writer: true,
      riskTier: "R1",
      ownedPaths: ["src/**"],
      isolation: "none",
      dependsOn: [],
      outputs: [],
      verification: [],
      cwd,
      ...job,
    },
    agent: true,
    ownWorktree: false,
    root,
    cwd,
    settled: true,
    settledBy: "process",
    suspect: false,
    resultText: "Done as asked, in one file.",
    resultTruncated: false,
    toolEvents: 3,
    changes: { ...NO_CHANGES, modified: ["src/a.ts"] },
    peers: [],
    fixture: { status: "passed", detail: "", differences: [] },
    mapCwd: () => cwd,
    searchPath: "/usr/bin:/bin",
    runCommand: async () => PASSED,
    ...rest,
  };
}

const outcome = async (o: GatherInput): Promise<[boolean, string | null, string | null]> => {
  const result = verifyLayerOne(await gatherLayerOne(o));
  return [result.ok, result.reason, result.detail];
};

describe("the evidence of a job", () => {
  it("is all that was handed in, and what was found beside it", async () => {
    const root = folder({ "pkg/src/a.ts": "a" });
    const given = input(root, {
      cwd: join(root, "pkg"),
      suspect: true,
      resultTruncated: true,
      ownWorktree: true,
      job: { verification: [command("true")] },
    });
    expect(await gatherLayerOne(given)).toEqual({
      job: given.job,
      agent: true,
      ownWorktree: true,
      cwdPrefix: "pkg",
      settled: true,
      settledBy: "process",
      suspect: true,
      resultText: "Done as asked, in one file.",
      resultTruncated: true,
      toolEvents: 3,
      changes: given.changes,
      peers: [],
      outputs: [],
      verification: [
        {
          index: 1,
          argv: ["true"],
          files: [],
          outside: [{ path: "true", sha256: expect.any(String), content: false }],
          installed: [],
          ran: true,
          reason: null,
          ...PASSED,
          wallMs: 3,
        },
      ],
      claims: [],
      fixture: given.fixture,
    });
  });

  it("is of a folder inside the checkout", async () => {
    const root = folder();
    for (const cwd of ["/elsewhere", join(root, "..")])
      await expect(gatherLayerOne(input(root, { cwd }))).rejects.toThrow(
        `cwd ${cwd} lies outside of ${root}`,
      );
  });
});

describe("declared outputs", () => {
  it("are read from the job's folder, hashed, and never through a link", async () => {
    const root = folder({ "pkg/out.md": "text\n", "pkg/empty.md": "" });
    symlinkSync("/etc/hostname", join(root, "pkg/link.md"));
    mkdirSync(join(root, "pkg/folder.md"));
    const outputs = ["./out.md", "empty.md", "link.md", "folder.md", "missing.md"].map((path) =>
      declared(path),
    );
    const evidence = await gatherLayerOne(input(root, { cwd: join(root, "pkg"), job: { outputs } }));
    expect(evidence.cwdPrefix).toBe("pkg");
    expect(evidence.outputs.map(({ path, found, fault }) => [path, found, fault])).toEqual([
      ["./out.md", { sha256: sha256("text\n"), bytes: 5 }, null],
      ["empty.md", { sha256: sha256(""), bytes: 0 }, null],
      ["link.md", null, "`pkg/link.md` is a symbolic link"],
      ["folder.md", null, "`pkg/folder.md` is a folder, not a file"],
      ["missing.md", null, null],
    ]);
  });

  it("are not looked for outside when the job replaced its folder by a link", async () => {
    const outside = folder({ "out.md": "secret\n" });
    const root = folder({ "pkg/x": "x" });
    rmSync(join(root, "pkg"), { recursive: true });
    symlinkSync(outside, join(root, "pkg"));
    expect(
      await outcome(input(root, { cwd: join(root, "pkg"), job: { outputs: [declared("out.md")] } })),
    ).toEqual([false, "unsafe-artifact", "`pkg/out.md` leads through a symbolic link"]);
  });

  it("are missing when the job removed its folder", async () => {
    const root = folder();
    expect(
      await outcome(input(root, { cwd: join(root, "gone"), job: { outputs: [declared("out.md")] } })),
    ).toEqual([false, "missing-artifact", "`out.md` does not exist"]);
  });
});

describe("declared verification", () => {
  it("runs each command once, as declared, in order, in the folder it is mapped to", async () => {
    const root = folder();
    const calls: unknown[] = [];
    const runCommand: RunCommand = async (asked) => {
      calls.push(asked);
      return calls.length === 2 ? { ...PASSED, exitCode: 3, stdoutTail: "two\nlines\n" } : PASSED;
    };
    const verification = [command("node", "-e", "1"), { ...command("false"), timeoutMs: 5 }, command("true")];
    const evidence = await gatherLayerOne(
      input(root, { job: { verification }, runCommand, mapCwd: () => `${root}/sub` }),
    );
    expect(calls).toEqual([
      { argv: ["node", "-e", "1"], cwd: `${root}/sub`, timeoutMs: 1_000, label: "verification-1" },
      { argv: ["false"], cwd: `${root}/sub`, timeoutMs: 5, label: "verification-2" },
      { argv: ["true"], cwd: `${root}/sub`, timeoutMs: 1_000, label: "verification-3" },
    ]);
    expect(evidence.verification.map((v) => [v.index, v.ran, v.exitCode, v.wallMs])).toEqual([
      [1, true, 0, 3],
      [2, true, 3, 3],
      [3, true, 0, 3],
    ]);
    expect(verifyLayerOne(evidence).detail).toBe("`false` exited 3: lines");
  });

  it("is not run when the job changed its script without owning it", async () => {
    const root = folder({ "scripts/check.js": "process.exit(0)\n" });
    const runCommand: RunCommand = () => {
      throw new Error("must not run");
    };
    const job = { verification: [command("node", "scripts/check.js")] };
    const changes = { ...NO_CHANGES, modified: ["scripts/check.js", "src/a.ts"] };
    const evidence = await gatherLayerOne(input(root, { job, changes, runCommand }));
    expect(evidence.verification[0]).toMatchObject({
      ran: false,
      reason: "the job changed `scripts/check.js` and does not own it",
    });
    expect(
      verifyLayerOne(evidence)
        .checks.filter((check) => !check.ok)
        .map((check) => check.code),
    ).toEqual(["out-of-bounds", "check-changed", "check-not-run"]);
  });

  it("that is not run has no result at all", async () => {
    const root = folder({ "check.js": "1" });
    const job = { verification: [command("node", "check.js")] };
    const changes = { ...NO_CHANGES, created: ["check.js"] };
    const [fact] = (await gatherLayerOne(input(root, { job, changes }))).verification;
    expect(fact).toEqual({
      index: 1,
      argv: ["node", "check.js"],
      files: [{ path: "check.js", sha256: sha256("1"), implied: false, reads: false }],
      outside: fact?.outside,
      installed: [],
      ran: false,
      reason: "the job changed `check.js` and does not own it",
      exitCode: null,
      signal: null,
      timedOut: false,
      spawnError: null,
      wallMs: null,
      stdoutTail: "",
      stderrTail: "",
    });
  });

  it.each<[string, Partial<GatherInput["changes"]>, boolean]>([
    ["deleted the script", { deleted: ["check.js"] }, false],
    ["made another file", { created: ["other.js"] }, true],
    ["changed what the program reads by itself", { modified: ["package.json"] }, true],
    ["declared the script as its output", { created: ["made/check.js"] }, true],
    ["changed no file at all", {}, true],
  ])("of a job that %s", async (_, changed, ran) => {
    const root = folder({ "package.json": "{}", "made/check.js": "1" });
    const job = {
      outputs: [declared("made/check.js")],
      verification: [command("npx", "check.js", "made/check.js")],
    };
    const evidence = await gatherLayerOne(input(root, { job, changes: { ...NO_CHANGES, ...changed } }));
    expect(evidence.verification[0]?.ran).toBe(ran);
  });

  it("is run in the checkout itself, below it, and where it was mapped outside", async () => {
    const root = folder({ "pkg/a": "a" });
    const job = { verification: [command("true")] };
    for (const cwd of [root, join(root, "pkg"), join(root, ".."), "/"])
      expect((await gatherLayerOne(input(root, { job, mapCwd: () => cwd }))).verification[0]?.ran).toBe(true);
  });

  it("is not run where the job put a link in the place of its folder", async () => {
    const root = folder({ "src/a.ts": "a" });
    symlinkSync(folder(), join(root, "pkg"));
    const evidence = await gatherLayerOne(
      input(root, { cwd: join(root, "pkg"), job: { verification: [command("true")] } }),
    );
    expect(evidence.verification[0]).toMatchObject({
      ran: false,
      reason: "`pkg` leads through a symbolic link",
    });
  });

  it("is run, and flagged, when the job owns the script that it changed", async () => {
    const root = folder({ "src/check.js": "process.exit(0)\n" });
    const job = { verification: [command("node", "src/check.js")] };
    const result = verifyLayerOne(
      await gatherLayerOne(input(root, { job, changes: { ...NO_CHANGES, modified: ["src/check.js"] } })),
    );
    expect([result.ok, result.flags]).toEqual([true, ["check-edited"]]);
  });
});

describe("a check that the job could bend without naming it", () => {
  const flagged = async (
    o: { argv: string[]; path: string; ignored?: boolean },
    more: Parameters<typeof input>[1] = {},
  ) => {
    const root = folder({ "package.json": "{}", [o.path]: "changed" });
    const job = { verification: [command(o.argv[0] ?? "", ...o.argv.slice(1))], ...more?.job };
    const changes = {
      ...NO_CHANGES,
      modified: [o.path],
      ignored: o.ignored === false ? [] : [o.path],
    };
    const result = verifyLayerOne(
      await gatherLayerOne(input(root, { ownWorktree: true, ...more, job, changes })),
    );
    return [result.flags, result.checks.filter((one) => one.id.startsWith("check-packages:"))];
  };

  it("by a package that git ignores is flagged, and says which", async () => {
    const path = "node_modules/.bin/lint";
    for (const argv of [
      ["npm", "test"],
      ["npx", "lint", "docs"],
      ["sh", "-c", "npm test"],
    ])
      expect(await flagged({ argv, path })).toEqual([
        ["check-edited"],
        [
          {
            id: "check-packages:1",
            ok: true,
            detail: "the job changed `node_modules/.bin/lint` of the packages that the check may load",
            code: null,
            exitCode: null,
            wallMs: null,
          },
        ],
      ]);
  });

  it("by settings that a program finds by itself is flagged, ignored or owned", async () => {
    expect(await flagged({ argv: ["npm", "test"], path: ".npmrc" })).toEqual([["check-edited"], []]);
    const owned = { job: { ownedPaths: ["**"] } };
    expect(await flagged({ argv: ["tsc"], path: "tsconfig.json", ignored: false }, owned)).toEqual([
      ["check-edited"],
      [],
    ]);
  });

  it("is flagged also when more ignored files changed than are listed", async () => {
    const root = folder({ ".npmrc": "x" });
    const many = Array.from({ length: 200 }, (_, i) => `-cache/${i}`);
    const changes = { ...NO_CHANGES, created: [...many, "zz/.npmrc"], ignored: [...many, "zz/.npmrc"] };
    mkdirSync(join(root, "zz"));
    writeFileSync(join(root, "zz/.npmrc"), "x");
    const job = { verification: [command("npm", "--prefix", "zz", "test")] };
    const result = verifyLayerOne(await gatherLayerOne(input(root, { ownWorktree: true, job, changes })));
    expect(result.flags).toEqual(["check-edited"]);
  });

  it("is not flagged for a neighbour's change in the shared checkout, nor for a command that only looks", async () => {
    const path = "node_modules/x/index.js";
    const peer = {
      jobId: "peer",
      effect: "scoped-write" as const,
      cwdPrefix: "",
      ownedPaths: ["node_modules/**"],
      outputs: [],
    };
    expect(await flagged({ argv: ["npm", "test"], path }, { ownWorktree: false, peers: [peer] })).toEqual([
      [],
      [],
    ]);
    expect(await flagged({ argv: ["test", "-s", "package.json"], path })).toEqual([[], []]);
  });
});

describe("the files of a check", () => {
  const root = () =>
    folder({
      "check.sh": "1",
      "scripts/run.mjs": "2",
      "scripts/lib/index.js": "3",
      "tests/test_x.py": "4",
      "vitest.config.ts": "5",
      "package.json": "{}",
      "pkg/package.json": "{}",
      Makefile: "x",
      "app/package.json": '{"main":"./src/start"}',
      "app/src/start.js": "6",
    });

  it.each<[string, string[], string[]]>([
    ["a script by its path", ["./check.sh", "a"], ["check.sh"]],
    ["a script of an interpreter", ["sh", "check.sh"], ["check.sh"]],
    ["a module without its extension", ["node", "scripts/run"], ["scripts/run.mjs"]],
    ["a folder with an index", ["node", "scripts/lib"], ["scripts/lib/index.js"]],
    ["a folder with a manifest", ["node", "app"], ["app/package.json", "app/src/start.js"]],
    ["a dotted module", ["python", "-m", "unittest", "tests.test_x"], ["tests/test_x.py"]],
    [
      "an option with a file",
      ["npx", "vitest", "--config=vitest.config.ts"],
      ["vitest.config.ts", "package.json*"],
    ],
    ["the manifest of a package manager", ["npm", "test"], ["package.json*"]],
    ["the manifest beside the command", ["/usr/bin/make", "check"], ["Makefile*"]],
    ["a path that goes up and comes back", ["sh", "scripts/../check.sh"], ["check.sh"]],
    ["a deleted script", ["node", "gone.js"], ["gone.js"]],
    ["a program that is looked up on PATH", ["check.sh"], []],
    ["a path out of the checkout", ["sh", "../../etc/passwd"], []],
    ["a folder", ["eslint", "scripts"], []],
    ["nothing", ["true"], []],
  ])("%s", async (_, argv, files) => {
    const at = root();
    const found = await filesOfCommand({ root: at, cwd: at, argv, deleted: ["gone.js"] });
    expect(found.map((file) => `${file.path}${file.implied ? "*" : ""}`)).toEqual(files);
    expect(found.every((file) => (file.sha256 === null) === (file.path === "gone.js"))).toBe(true);
  });

  it("are looked up from the command's own folder, by absolute paths too", async () => {
    const at = root();
    const found = await filesOfCommand({
      root: at,
      cwd: join(at, "pkg"),
      argv: ["npm", "run", join(at, "check.sh")],
      deleted: [],
    });
    expect(found.map((file) => file.path)).toEqual(["check.sh", "pkg/package.json"]);
    expect(await filesOfCommand({ root: at, cwd: "/etc", argv: ["sh", "passwd"], deleted: [] })).toEqual([]);
  });

  it("include what a link in the workspace points at", async () => {
    const at = root();
    symlinkSync("check.sh", join(at, "linked.sh"));
    const found = await filesOfCommand({ root: at, cwd: at, argv: ["sh", "linked.sh"], deleted: [] });
    expect(found.map((file) => file.path)).toEqual(["check.sh", "linked.sh"]);
  });
});

describe("what a command only looks at", () => {
  it.each<[string, string[], string[]]>([
    ["what a looker is given", ["test", "-s", "out.md"], []],
    ["code that a linter reads", ["npx", "eslint", "src/a.js"], []],
    ["code that a compiler reads", ["python3", "-m", "py_compile", "gen.py"], []],
    ["syntax that is checked", ["node", "--check", "src/a.js"], []],
    ["data for a script", ["node", "check.mjs", "out.json", "out.md"], ["check.mjs"]],
    ["data in a text for a shell", ["sh", "-c", "grep -q done out.md && ./check.mjs"], ["check.mjs"]],
    ["a script of any name", ["sh", "recipe"], ["recipe"]],
    ["the rules of a linter", ["eslint", "--config", "rules.json", "src/a.js"], ["rules.json"]],
    ["the configuration of a tool", ["tool", "--config=rules.json", "out.json"], ["rules.json"]],
    ["tests that are named", ["npx", "vitest", "run", "src/a.js"], ["src/a.js"]],
    ["what a wrapper starts", ["env", "A=1", "timeout", "60", "sh", "recipe"], ["recipe"]],
  ])("is no part of the check: %s", async (_, argv, decides) => {
    const at = folder({
      "out.md": "x",
      "out.json": "{}",
      "src/a.js": "1",
      "gen.py": "1",
      "check.mjs": "1",
      recipe: "true",
      "rules.json": "{}",
    });
    chmodSync(join(at, "check.mjs"), 0o755);
    const found = await filesOfCommand({ root: at, cwd: at, argv, deleted: [] });
    expect(found.filter((file) => !file.reads).map((file) => file.path)).toEqual(decides);
  });

  it.each<[string, string[], boolean]>([
    ["tests in a folder that is named", ["node", "--test", "pkg/tests/"], true],
    ["tests in a folder that an option names", ["vitest", "run", "--dir=pkg/tests"], true],
    ["work in a folder that a linter reads", ["eslint", "pkg/tests"], false],
    ["work in the folder where the check runs", ["pytest", "."], false],
    ["another folder", ["node", "--test", "pkg/test"], false],
  ])("is told from what it runs: %s", async (_, argv, edited) => {
    const root = folder({ "pkg/tests/deep/a.test.js": "1", "pkg/tests/data.txt": "1", "pkg/test/b.js": "1" });
    const [name = "", ...args] = argv;
    const job = { ownedPaths: ["pkg/**"], verification: [command(name, ...args)] };
    const flagsOf = async (modified: string[]) =>
      verifyLayerOne(
        await gatherLayerOne(input(root, { job, changes: { ...NO_CHANGES, modified, tracked: modified } })),
      ).flags;
    expect(await flagsOf(["pkg/tests/deep/a.test.js"])).toEqual(edited ? ["check-edited"] : []);
    expect(await flagsOf(["pkg/tests/data.txt"])).toEqual([]);
  });

  it("raises no flag when the job made it", async () => {
    const root = folder({ "out.md": "x" });
    const job = { outputs: [declared("out.md")], verification: [command("test", "-s", "out.md")] };
    const made = input(root, { job, changes: { ...NO_CHANGES, created: ["out.md"] } });
    const result = verifyLayerOne(await gatherLayerOne(made));
    expect([result.ok, result.flags]).toEqual([true, []]);
  });
});

describe("what a command runs from outside", () => {
  const scene = () => {
    const root = folder({ "in.sh": "1" });
    const outside = folder({
      "deploy.sh": "echo 1\n",
      "notes.txt": "n",
      "bin/lint": "#!/bin/sh\n",
      "bin/native": "ELF",
    });
    for (const name of ["lint", "native"]) chmodSync(join(outside, "bin", name), 0o755);
    const ask = (...argv: string[]) =>
      outsideFilesOfCommand({ root, cwd: root, argv, searchPath: join(outside, "bin") });
    return { root, outside, ask };
  };

  it("is known by its bytes: a script by its path, a script on the search path", async () => {
    const { outside, ask } = scene();
    const script = join(outside, "deploy.sh");
    const asked = () => ask("lint", script, join(outside, "notes.txt"), "in.sh");
    const before = await asked();
    expect(before).toEqual([
      { path: script, sha256: sha256("echo 1\n"), content: true },
      { path: "lint", sha256: sha256("#!/bin/sh\n"), content: true },
    ]);
    writeFileSync(script, "echo 2\n");
    writeFileSync(join(outside, "bin/lint"), "#!/bin/bash\n");
    expect((await asked()).map((file) => file.sha256)).toEqual([sha256("echo 2\n"), sha256("#!/bin/bash\n")]);
  });

  it("is known by path, size and time when the system installed it", async () => {
    const { outside, ask } = scene();
    const [before] = await ask("native");
    expect(before?.content).toBe(false);
    expect(await ask("native")).toEqual([before]);
    utimesSync(join(outside, "bin/native"), 1, 1);
    expect(await ask("native")).not.toEqual([before]);
  });

  it("is found behind a wrapper, in a text for a shell, and from a folder outside", async () => {
    const { root, outside, ask } = scene();
    expect((await ask("env", "A=1", "lint")).map((file) => file.path)).toEqual(["lint"]);
    const text = `cd / && ${join(outside, "bin/lint")} >${join(outside, "notes.txt")}`;
    expect((await ask("sh", "-c", text)).map((file) => file.path)).toEqual([join(outside, "bin/lint")]);
    const from = await outsideFilesOfCommand({
      root,
      cwd: outside,
      argv: ["sh", "deploy.sh"],
      searchPath: "",
    });
    expect(from.map((file) => file.path)).toEqual([join(outside, "deploy.sh")]);
  });

  it("is a script among the words that a shell runs, and data only when all that is named is asked for", async () => {
    const { root, outside, ask } = scene();
    expect((await ask("sh", "-c", "lint prod && native x")).map((file) => file.path)).toEqual(["lint"]);
    const notes = join(outside, "notes.txt");
    const o = { root, cwd: root, argv: ["native", notes], searchPath: "" };
    expect(await outsideFilesOfCommand(o)).toEqual([]);
    expect((await outsideFilesOfCommand({ ...o, named: "all" })).map((file) => file.path)).toEqual([notes]);
  });

  it.each([
    [["make", "-C", "DIR", "deploy"], "Makefile"],
    [["make", "-CDIR", "deploy"], "Makefile"],
    [["env", "A=1", "make", "--directory=DIR"], "Makefile"],
    [["npm", "--prefix", "DIR", "run", "deploy"], "package.json"],
  ])("is what %j reads in the folder where it is sent", async (argv, name) => {
    const inside = folder({ "in/Makefile": "all:\n", "in/package.json": "{}\n" });
    const other = folder({ Makefile: "all:\n", "package.json": "{}\n" });
    const at = (place: string) => argv.map((word) => word.replace("DIR", place));
    const outsideOf = async (place: string) =>
      (await outsideFilesOfCommand({ root: inside, cwd: inside, argv: at(place), searchPath: "" })).map(
        (file) => file.path,
      );
    const insideOf = async (place: string) =>
      (await filesOfCommand({ root: inside, cwd: inside, argv: at(place), deleted: [] })).map(
        (file) => file.path,
      );
    expect([await outsideOf(other), await insideOf(other)]).toEqual([[join(other, name)], []]);
    expect([await outsideOf("in"), await insideOf("in")]).toEqual([[], [`in/${name}`]]);
  });

  it("is what a link of the workspace leads to, and another when the link is turned", async () => {
    const { root, outside } = scene();
    symlinkSync(join(outside, "deploy.sh"), join(root, "linked.sh"));
    const asked = async () =>
      (await filesOfCommand({ root, cwd: root, argv: ["sh", "linked.sh"], deleted: [] })).map(
        ({ path, sha256: digest }) => [path, digest],
      );
    expect(await asked()).toEqual([["linked.sh", sha256("echo 1\n")]]);
    rmSync(join(root, "linked.sh"));
    symlinkSync(join(outside, "notes.txt"), join(root, "linked.sh"));
    expect(await asked()).toEqual([["linked.sh", sha256("n")]]);
  });
});

describe("claims in the final text", () => {
  const files = { "pkg/src/a.md": "a\n", "top.md": "t\n" };
  const claimed = async (resultText: string, o: Parameters<typeof input>[1] = {}) => {
    const root = folder(files);
    return gatherLayerOne(input(root, { cwd: join(root, "pkg"), resultText, ...o }));
  };

  it("are compared with what is on disk and what was recorded", async () => {
    const text = [
      `${sha256("a\n")}  src/a.md`,
      `${sha256("wrong")}  top.md`,
      `${sha256("x")}  nowhere.md`,
      "- Created `src/a.md`",
      "- Created `src/none.md`",
      "- Deleted `top.md`",
      "- `npm test`: failed",
      "- `never declared`: failed",
    ].join("\n");
    const evidence = await claimed(text, { job: { verification: [command("npm", "test")] } });
    expect(
      evidence.claims.map(({ subject, recorded, contradicts }) => [subject, recorded, contradicts]),
    ).toEqual([
      ["src/a.md", `SHA-256 ${sha256("a\n")}`, false],
      ["top.md", `SHA-256 ${sha256("t\n")}`, true],
      ["src/a.md", "the file exists", false],
      ["src/none.md", "there is no such file", true],
      ["top.md", "the file exists", true],
      ["npm test", "passed", true],
    ]);
  });

  it("of checks are about one that ran, and the only one of its words", async () => {
    const about = async (text: string, exitCode: number, ...verification: ReturnType<typeof command>[]) =>
      (
        await claimed(text, { job: { verification }, runCommand: async () => ({ ...PASSED, exitCode }) })
      ).claims.map(({ recorded, contradicts }) => [recorded, contradicts]);
    const npm = command("npm", "test");
    expect(await about("- `npm test`: passed", 0, npm)).toEqual([["passed", false]]);
    expect(await about("- `npm test`: passed", 1, npm)).toEqual([["failed", true]]);
    expect(await about("- `npm test`: failed", 1, npm)).toEqual([["failed", false]]);
    expect(await about("- `npm test`: failed", 1, command("true"), npm)).toEqual([["failed", false]]);
    expect(await about("- `npm test`: passed", 1, npm, npm)).toEqual([]);
    const changes = { ...NO_CHANGES, deleted: ["pkg/check.js"] };
    const verification = [command("node", "check.js")];
    expect((await claimed("- `node check.js`: failed", { job: { verification }, changes })).claims).toEqual(
      [],
    );
  });

  it("name files from the job's folder, from the top and by their whole path", async () => {
    const root = folder(files);
    const ask = async (resultText: string, o: Parameters<typeof input>[1] = {}) =>
      (await gatherLayerOne(input(root, { cwd: join(root, "pkg"), resultText, ...o }))).claims.map(
        ({ kind, recorded, contradicts }) => [kind, recorded, contradicts],
      );
    const a = sha256("a\n");
    expect(await ask(`${a}  src/a.md`)).toEqual([["hash", `SHA-256 ${a}`, false]]);
    expect(await ask(`${a}  pkg/src/a.md`)).toEqual([["hash", `SHA-256 ${a}`, false]]);
    expect(await ask(`${a}  ${join(root, "pkg/src/a.md")}`)).toEqual([["hash", `SHA-256 ${a}`, false]]);
    expect(await ask(`${a}  src/a.md`, { job: { effect: "observe" } })).toEqual([
      ["hash", `SHA-256 ${a}`, false],
    ]);
    expect(await ask("- Deleted `none.md`")).toEqual([["file-deleted", "there is no such file", false]]);
  });

  it("are none where nothing was said", async () => {
    expect((await claimed("x", { resultText: null })).claims).toEqual([]);
  });

  it("about files are not held against one who only observes", async () => {
    const evidence = await claimed("- Created `src/none.md`", { job: { effect: "observe" } });
    expect(evidence.claims).toEqual([]);
  });

  it("of a program are not read", async () => {
    expect((await claimed("- Created `src/none.md`", { agent: false })).claims).toEqual([]);
  });

  it("that lead out of the checkout are not followed", async () => {
    const text = `${sha256("x")}  /etc/hostname\n${sha256("x")}  ../../etc/hostname`;
    expect((await claimed(text)).claims).toEqual([]);
  });
});

describe("ownership", () => {
  it("reads a glob as the plan does: relative to the folder, dots included, exact without wildcards", () => {
    const owns = ownedBy({ cwdPrefix: "pkg", ownedPaths: ["./src//**", "docs/*.md", "one.txt", "dir/"] });
    for (const path of ["pkg/src/a", "pkg/src/.x/y", "pkg/docs/a.md", "pkg/one.txt", "pkg/dir"])
      expect([path, owns(path)]).toEqual([path, true]);
    for (const path of ["src/a", "pkg/docs/x/a.md", "pkg/one.txt.bak", "pkg/dir/x", "pkgsrc/a", "pkg"])
      expect([path, owns(path)]).toEqual([path, false]);
    expect(picomatch("src/**", { dot: true })("src/.x/y")).toBe(true);
    expect(ownedBy({ cwdPrefix: "", ownedPaths: ["."] })("any/thing")).toBe(true);
    expect(outputOf({ cwdPrefix: "a/b", outputs: ["./c.md"] })("a/b/c.md")).toBe(true);
  });
});
