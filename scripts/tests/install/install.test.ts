/**
 * Every install path that works without an account: what arrives is the payload, byte for byte, and it runs there with
 * Node alone, without a network where the machine lets us take it away.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PAYLOAD, ROOT, repoFiles } from "../../dev/repo.ts";
import { VERSION } from "../../src/core/generated/version.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { installCli } from "../support/clis.ts";

const SKILLS = join(ROOT, "node_modules/skills/bin/cli.mjs");
const SPEC = `version: 1
jobs:
  - id: look
    task: scout
    prompt: Look around.
    expected_output: What is there.
    timeout: 5m
`;

let built: BuiltPayload;
let lab: string;
let origin: string;
let offline: readonly string[];

beforeAll(async () => {
  built = await builtPayload();
  lab = mkdtempSync(join(tmpdir(), "orchestrate-install-"));
  offline = spawnSync("unshare", ["-n", "true"]).status === 0 ? ["unshare", "-n"] : [];
  origin = makeOrigin();
});
afterAll(() => {
  built.remove();
  rmSync(lab, { recursive: true, force: true });
});

/** A bare repository that holds what the working tree would commit, with the payload freshly built. */
function makeOrigin(): string {
  const tree = join(lab, "tree");
  for (const path of repoFiles())
    if (!path.startsWith(`${PAYLOAD}/`) && !path.startsWith("scripts/"))
      cpSync(join(ROOT, path), join(tree, path), { verbatimSymlinks: true });
  cpSync(built.skill, join(tree, PAYLOAD), { recursive: true });
  git(tree, "init", "-q", "-b", "main");
  git(tree, "add", "-A");
  git(tree, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "all");
  const bare = join(lab, "origin.git");
  git(lab, "clone", "-q", "--bare", tree, bare);
  writeFileSync(
    join(lab, "gitconfig"),
    `[url "file://${bare}"]\n\tinsteadOf = https://github.com/sample/orchestrate.git\n[protocol "file"]\n\tallow = always\n`,
  );
  return bare;
}

function git(cwd: string, ...args: string[]): void {
  mkdirSync(cwd, { recursive: true });
  execFileSync("git", args, { cwd, env: environment(join(lab, "git-home")) });
}

const environment = (home: string): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: home,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: join(lab, "gitconfig"),
  DISABLE_TELEMETRY: "1",
  DO_NOT_TRACK: "1",
  CI: "1",
});

interface Place {
  readonly project: string;
  readonly home: string;
}

/** A new project of a new user. */
function place(name: string): Place {
  const project = join(lab, name, "project");
  const home = join(lab, name, "home");
  mkdirSync(home, { recursive: true });
  git(project, "init", "-q");
  return { project, home };
}

/** The genuine `skills add owner/repo`, which git is told to find here. */
function skillsAdd({ project, home }: Place, ...flags: string[]): void {
  const result = spawnSync(process.execPath, [SKILLS, "add", "sample/orchestrate", "-y", ...flags], {
    cwd: project,
    env: environment(home),
    encoding: "utf8",
  });
  expect(result.status, result.stdout + result.stderr).toBe(0);
}

/** Relative path → content of every file below; a symlink inside fails. */
function contents(dir: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (at: string): void => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name);
      expect(lstatSync(path).isSymbolicLink(), `${path} is a symlink`).toBe(false);
      if (lstatSync(path).isDirectory()) visit(path);
      else found.set(relative(dir, path), readFileSync(path, "base64"));
    }
  };
  visit(dir);
  return found;
}

interface CallOptions {
  readonly cwd?: string;
  readonly node?: readonly string[];
}

/** One call of an installed tool, offline where possible, from a folder that has nothing to do with it. */
function call(skill: string, argv: readonly string[], { cwd = lab, node = [] }: CallOptions = {}): string {
  const home = join(lab, "caller-home");
  mkdirSync(home, { recursive: true });
  const command = [...offline, process.execPath, ...node, join(skill, "scripts/orchestrate.mjs"), ...argv];
  const result = spawnSync(command[0] ?? "", command.slice(1), {
    cwd,
    env: environment(home),
    encoding: "utf8",
  });
  expect({ argv, status: result.status, stderr: result.stderr }).toEqual({ argv, status: 0, stderr: "" });
  return result.stdout;
}

/** What arrived is what was built, it runs, and running it writes nothing beside it. */
function expectWorks(skill: string, options: CallOptions = {}): void {
  const before = contents(`${skill}/`);
  expect([...before.keys()]).toEqual([...contents(built.skill).keys()]);
  expect(before).toEqual(contents(built.skill));
  const cwd = mkdtempSync(join(lab, "elsewhere "));
  writeFileSync(join(cwd, "jobs.yaml"), SPEC);
  expect(call(skill, ["--version"], { cwd, ...options })).toBe(`${VERSION}\n`);
  expect(JSON.parse(call(skill, ["schema", "jobs"], { cwd, ...options })).title).toBe("JobsSpec");
  expect(JSON.parse(call(skill, ["validate", "jobs.yaml", "--json"], { cwd, ...options })).ok).toBe(true);
  expect(readdirSync(cwd)).toEqual(["jobs.yaml"]);
  expect(contents(`${skill}/`)).toEqual(before);
}

describe("the payload works after", () => {
  it("a copy into a folder with a space in its name", () => {
    const { project } = place("a copy");
    const skill = join(project, ".claude/skills/orchestrate");
    cpSync(built.skill, skill, { recursive: true });
    expectWorks(skill);
  });

  it("a copy that nobody may write to", () => {
    const skill = join(lab, "read-only/orchestrate");
    cpSync(built.skill, skill, { recursive: true });
    execFileSync("chmod", ["-R", "a-w", skill]);
    expectWorks(skill);
    execFileSync("chmod", ["-R", "u+w", skill]);
  });

  it("a symlink to it", () => {
    const { project } = place("symlinked");
    mkdirSync(join(project, ".claude/skills"), { recursive: true });
    symlinkSync(built.skill, join(project, ".claude/skills/orchestrate"));
    expectWorks(join(project, ".claude/skills/orchestrate"));
  });

  it("a checkout of the repository, through skills/orchestrate at its top", () => {
    const clone = join(lab, "clone");
    git(lab, "clone", "-q", origin, clone);
    expect(lstatSync(join(clone, "skills/orchestrate")).isSymbolicLink()).toBe(true);
    expectWorks(join(clone, "skills/orchestrate"));
  });

  it("an archive of the payload's folder", () => {
    const skill = join(lab, "archive/orchestrate");
    mkdirSync(skill, { recursive: true });
    const tar = execFileSync("git", ["archive", `HEAD:${PAYLOAD}`], { cwd: origin, maxBuffer: 2 ** 28 });
    execFileSync("tar", ["-x", "-C", skill], { input: tar });
    expectWorks(skill);
  });

  it("`skills add -a claude-code`", () => {
    const at = place("skills-claude");
    skillsAdd(at, "-a", "claude-code");
    expectWorks(join(at.project, ".claude/skills/orchestrate"));
    expect(readdirSync(join(at.project, ".claude/skills"))).toEqual(["orchestrate"]);
  });

  it("`skills add -a codex`", () => {
    const at = place("skills-codex");
    skillsAdd(at, "-a", "codex");
    expectWorks(join(at.project, ".agents/skills/orchestrate"));
  });

  it("`skills add -a claude-code -a codex`, which links one to the other", () => {
    const at = place("skills-both");
    skillsAdd(at, "-a", "claude-code", "-a", "codex");
    expect(lstatSync(join(at.project, ".claude/skills/orchestrate")).isSymbolicLink()).toBe(true);
    expectWorks(join(at.project, ".claude/skills/orchestrate"));
    expectWorks(join(at.project, ".agents/skills/orchestrate"));
  });

  it("`skills add --copy`, which copies twice", () => {
    const at = place("skills-copy");
    skillsAdd(at, "-a", "claude-code", "-a", "codex", "--copy");
    expect(lstatSync(join(at.project, ".claude/skills/orchestrate")).isSymbolicLink()).toBe(false);
    expectWorks(join(at.project, ".claude/skills/orchestrate"));
  });

  it("`skills add -g`, into the user's home", () => {
    const at = place("skills-global");
    skillsAdd(at, "-g", "-a", "claude-code", "-a", "codex");
    expectWorks(join(at.home, ".claude/skills/orchestrate"));
  });
});

describe("as a plugin, the payload works after", { timeout: 180_000 }, () => {
  let claude: string;
  let codex: string;
  beforeAll(async () => {
    claude = await installCli("claude");
    codex = await installCli("codex");
  }, 900_000);

  /** One command of a real CLI in `at`, without a terminal. */
  function cli(bin: string, name: string, args: readonly string[], at: Place): string {
    const result = spawnSync(join(bin, name), args, {
      cwd: at.project,
      env: {
        ...environment(at.home),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
      },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect(result.status, `${name} ${args.join(" ")}: ${result.stdout}${result.stderr}`).toBe(0);
    return result.stdout;
  }

  it("`claude plugin install`, whose own validator takes both manifests", () => {
    const at = place("claude-plugin");
    const tree = join(lab, "tree");
    cli(claude, "claude", ["plugin", "validate", "--strict", tree], at);
    cli(claude, "claude", ["plugin", "validate", "--strict", join(tree, "plugins/orchestrate")], at);
    cli(claude, "claude", ["plugin", "marketplace", "add", "sample/orchestrate"], at);
    cli(claude, "claude", ["plugin", "install", "orchestrate@orchestrate"], at);
    const installed = JSON.parse(
      readFileSync(join(at.home, ".claude/plugins/installed_plugins.json"), "utf8"),
    );
    const { installPath, version } = installed.plugins["orchestrate@orchestrate"][0];
    expect(version).toBe(VERSION);
    expectWorks(join(installPath, "skills/orchestrate"));
  });

  it("`codex plugin add`, from the same marketplace file", () => {
    const at = place("codex-plugin");
    cli(codex, "codex", ["plugin", "marketplace", "add", join(lab, "tree")], at);
    cli(codex, "codex", ["plugin", "add", "orchestrate@orchestrate"], at);
    const cache = join(at.home, ".codex/plugins/cache/orchestrate/orchestrate");
    const [version = ""] = readdirSync(cache);
    expectWorks(join(cache, version, "skills/orchestrate"));
  });
});

describe("an installed tool", () => {
  it("runs where generating code from strings is forbidden", () => {
    expectWorks(built.skill, { node: ["--disallow-code-generation-from-strings"] });
  });

  it("never loads a module of the project that it is installed in", () => {
    const { project } = place("hostile");
    const skill = join(project, ".claude/skills/orchestrate");
    cpSync(built.skill, skill, { recursive: true });
    const marker = join(project, "loaded");
    const planted = `require("node:fs").appendFileSync(${JSON.stringify(marker)}, __filename + "\\n"); module.exports = {};`;
    for (const name of [
      "yaml",
      "ajv",
      "ajv-formats",
      "leven",
      "picomatch",
      "ulid",
      "supports-color",
      "debug",
    ]) {
      const folder = join(project, "node_modules", name);
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, "package.json"),
        JSON.stringify({ name, version: "99.0.0", main: "index.js" }),
      );
      writeFileSync(join(folder, "index.js"), planted);
    }
    writeFileSync(join(project, "jobs.yaml"), SPEC);
    for (const argv of [
      ["validate", "jobs.yaml"],
      ["plan", "jobs.yaml"],
      ["schema"],
      ["help"],
      ["init", "--out", "-"],
    ])
      call(skill, [...argv, "--json"], { cwd: project });
    expect(existsSync(marker)).toBe(false);
  });
});
