/** The live inventory over executables made for the test. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { validate } from "../../src/core/generated/runtimes.validate.js";
import type { DeclaredRuntime } from "../../src/core/generated/runtimes-config.ts";
import type { Inventory, RuntimeRecord } from "../../src/core/runtime.ts";
import { systemClock } from "../../src/host/clock.ts";
import { exec } from "../../src/host/exec.ts";
import { type InventoryRequest, takeInventory } from "../../src/run/inventory.ts";
import { fakeCli } from "../support/fake-cli.ts";
import { testEnvironment } from "../support/test-environment.ts";

const help = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/help/${name}.txt`, import.meta.url));

let root: string;
let bin: string;
let home: string;
let tmp: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orc inventory ")));
  [bin, home, tmp] = ["bin", "home", "tmp"].map((name) => join(root, name)) as [string, string, string];
  for (const folder of [bin, home, tmp]) mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const environment = (variables: Record<string, string> = {}) =>
  testEnvironment({
    home,
    cwd: root,
    tmp,
    variables: { PATH: `${bin}:/usr/bin:/bin`, HOME: home, ...variables },
  });

const take = (o: Partial<InventoryRequest> = {}): Promise<Inventory> =>
  takeInventory({
    ids: [],
    full: false,
    declared: [],
    env: environment(),
    clock: systemClock,
    exec,
    harness: { name: "unknown", subagents: false },
    ...o,
  });
const record = async (id: string, o: Partial<InventoryRequest> = {}): Promise<RuntimeRecord> =>
  (await take({ ids: [id], ...o })).records.find((entry) => entry.id === id) as RuntimeRecord;

/** Answers as the real one does, and leaves a mark in its home as the real one does. */
const fakeClaude = (more: Record<string, string> = {}): string =>
  fakeCli(bin, "claude", {
    "--version": "echo '2.9.9 (Claude Code)'",
    "--help": `cat '${help("claude-2.1.197")}'`,
    "auth status": `echo x > "$HOME/.claude.json"; echo '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}'`,
    ...more,
  });
const calls = (name: string): string[] => {
  const path = join(bin, `${name}.calls`);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").sort() : [];
};

describe("a runtime that was asked for", () => {
  it("is probed once, at its version, help and status, and described by what it said", async () => {
    fakeClaude();
    const inventory = await take({ ids: ["claude"] });
    expect(validate(inventory)).toBe(true);
    const claude = inventory.records.find((entry) => entry.id === "claude") as RuntimeRecord;
    expect(claude).toMatchObject({
      state: "available",
      version: "2.9.9",
      authenticated: true,
      authSource: "subscription",
      gateway: false,
      provider: "anthropic",
      family: "anthropic",
      familySource: "adapter-default",
      capability: "C3",
      binary: join(bin, "claude"),
    });
    expect(calls("claude")).toEqual(["--help", "--version", "auth status"]);
    expect(claude.evidence.find((entry) => entry.source === "--help")?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it("leaves no trace in a home where it was never set up, and none in the temporary folder", async () => {
    fakeClaude();
    await take({ ids: ["claude"] });
    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(tmp)).toEqual([]);
  });

  it("shows version and help in an empty home even where it was set up, so that only its login is asked there", async () => {
    fakeClaude({
      "--version": `echo x > "$HOME/started"; echo 2.9.9`,
      "--help": `echo x > "$HOME/helped"; cat '${help("claude-2.1.197")}'`,
      "auth status": `cat "$HOME/.claude.json"`,
    });
    writeFileSync(join(home, ".claude.json"), '{"loggedIn": true, "authMethod": "claude.ai"}');
    expect(await record("claude")).toMatchObject({
      state: "available",
      version: "2.9.9",
      authenticated: true,
    });
    expect(readdirSync(home)).toEqual([".claude.json"]);
  });

  it("that finds its program by the home is asked again with the real one", async () => {
    fakeClaude({ "--version": `test -e "$HOME/.versions" || exit 127; echo 2.9.9` });
    mkdirSync(join(home, ".versions"));
    expect(await record("claude")).toMatchObject({ state: "available", version: "2.9.9" });
  });

  it("is asked with its own home where it was set up", async () => {
    fakeClaude({ "auth status": `cat "$HOME/.claude.json"` });
    writeFileSync(join(home, ".claude.json"), '{"loggedIn": false, "authMethod": "none"}');
    expect(await record("claude")).toMatchObject({
      state: "unavailable",
      reason: "not-authenticated",
      authSource: "none",
    });
  });

  it("is unavailable when nothing bears its name, or when nobody knows it", async () => {
    expect(await record("claude")).toMatchObject({ state: "unavailable", reason: "not-found", binary: null });
    expect(await record("nobody")).toMatchObject({ state: "unavailable", reason: "unknown-runtime" });
  });

  it("is unavailable when its help lacks what we would use", async () => {
    fakeClaude({ "--help": "echo '  -p, --print  print'" });
    const claude = await record("claude");
    expect(claude.state).toBe("unavailable");
    expect(claude.reason).toContain("flag-missing: --output-format stream-json");
  });

  it("is unavailable when it cannot be started or fails at its version", async () => {
    fakeClaude({ "--version": "exit 3" });
    expect(await record("claude")).toMatchObject({
      state: "unavailable",
      reason: "version-failed",
      version: null,
    });
    writeFileSync(join(bin, "claude"), "no program");
    expect(await record("claude")).toMatchObject({ state: "unavailable" });
  });

  it("sees only what its adapter passes of the environment, and no harness marker", async () => {
    fakeClaude({ "auth status": "env > \"$FAKE/seen\"; echo '{}'" });
    const env = environment({
      ANTHROPIC_API_KEY: "k",
      OPENAI_API_KEY: "other",
      CLAUDECODE: "1",
      GIT_DIR: "/x",
      SECRET: "s",
    });
    await take({ ids: ["claude"], env });
    const seen = readFileSync(join(bin, "seen"), "utf8");
    expect(seen).toContain("ANTHROPIC_API_KEY=k");
    for (const name of ["OPENAI_API_KEY", "CLAUDECODE", "GIT_DIR", "SECRET"])
      expect(seen).not.toContain(`${name}=`);
  });

  it("has its stdin closed", async () => {
    fakeClaude({ "--version": "cat; echo 1.0.0" });
    expect((await record("claude")).version).toBe("1.0.0");
  });

  it("is told apart from the vendor behind another endpoint", async () => {
    fakeClaude();
    const env = environment({ ANTHROPIC_BASE_URL: "http://127.0.0.1:9" });
    expect(await record("claude", { env })).toMatchObject({
      gateway: true,
      family: null,
      familySource: "unknown",
      provider: null,
      capability: "C2",
    });
  });

  it("is never one that the workspace put on a relative path", async () => {
    fakeCli(join(root, "evil"), "claude", { "*": "echo 6.6.6" });
    const env = environment({ PATH: "evil:./evil:" });
    expect(await record("claude", { env })).toMatchObject({ state: "unavailable", reason: "not-found" });
  });
});

describe("codex", () => {
  const CONFIG = 'model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://127.0.0.1:9"\n';
  const fakeCodex = (path = bin): string =>
    fakeCli(path, "codex", {
      "--version": "echo 'codex-cli 0.200.0'",
      "exec --help": `cat '${help("codex-0.171.0-exec")}'`,
      "exec resume --help": `cat '${help("codex-0.171.0-exec-resume")}'`,
      "login status": "echo 'Not logged in' >&2; exit 1",
      "debug models": "echo '{\"models\":[]}'",
      "sandbox -- touch orchestrate-probe":
        "echo \"touch: cannot touch 'x': Read-only file system\" >&2; exit 1",
    });

  it("is unavailable without a login, and available with a key in the environment", async () => {
    fakeCodex();
    expect(await record("codex")).toMatchObject({ state: "unavailable", reason: "not-authenticated" });
    expect(await record("codex", { env: environment({ CODEX_API_KEY: "k" }) })).toMatchObject({
      state: "available",
      authSource: "key",
    });
  });

  it("is behind another provider when its own configuration says so", async () => {
    fakeCodex();
    mkdirSync(join(home, ".codex"));
    writeFileSync(join(home, ".codex/config.toml"), CONFIG);
    expect(await record("codex")).toMatchObject({
      state: "available",
      authenticated: "unverified",
      gateway: true,
      provider: "mine",
      family: null,
    });
    const elsewhere = join(root, "elsewhere");
    mkdirSync(elsewhere);
    expect(await record("codex", { env: environment({ CODEX_HOME: elsewhere }) })).toMatchObject({
      gateway: false,
    });
  });

  it("is constrained where its sandbox does not hold", async () => {
    fakeCodex();
    const script = readFileSync(join(bin, "codex"), "utf8").replace("exit 1\n;;\nesac", "exit 0\n;;\nesac");
    writeFileSync(join(bin, "codex"), script);
    expect(await record("codex", { env: environment({ CODEX_API_KEY: "k" }) })).toMatchObject({
      state: "constrained",
      reason: "sandbox-missing",
      isolation: { value: "none", evidence: "verified" },
      writeBoundary: { value: "none", evidence: "verified" },
    });
  });

  it("is looked up behind its launcher, and asked there", async () => {
    const modules = join(root, "lib/node_modules/@openai");
    const vendor = `${process.arch === "x64" ? "x86_64" : "aarch64"}-unknown-linux-musl`;
    const native = join(modules, `codex-linux-${process.arch}/vendor/${vendor}/bin`);
    const program = fakeCodex(native);
    mkdirSync(join(modules, "codex/bin"), { recursive: true });
    writeFileSync(join(modules, "codex/bin/codex.js"), "#!/bin/sh\necho launcher; exit 9\n", { mode: 0o755 });
    symlinkSync(join(modules, "codex/bin/codex.js"), join(bin, "codex"));
    expect(await record("codex")).toMatchObject({
      version: "0.200.0",
      binary: join(bin, "codex"),
      binaryReal: program,
    });
  });
});

describe("runtimes that nobody asked for", () => {
  it("are named when they are there, but not asked", async () => {
    fakeClaude();
    const inventory = await take();
    expect(inventory.records.map((entry) => entry.id)).toEqual(["claude", "internal", "mock"]);
    expect(inventory.records[0]).toMatchObject({ state: "unverified", reason: "not-probed", version: null });
    expect(calls("claude")).toEqual([]);
  });

  it("are all asked in a full inventory", async () => {
    fakeClaude();
    expect((await take({ full: true })).records[0]).toMatchObject({ id: "claude", state: "available" });
  });

  it("stay out when they are only declared", async () => {
    const declared: DeclaredRuntime[] = [{ id: "mine", command: "mine" }];
    fakeCli(bin, "mine", { "*": "exit 0" });
    expect((await take({ declared, full: true })).records.map((entry) => entry.id)).not.toContain("mine");
    expect(calls("mine")).toEqual([]);
  });
});

describe("declared runtimes that are named", () => {
  it("are resolved on PATH or below the working folder", async () => {
    fakeCli(join(root, "tools"), "mine", { "--version": "echo 3.2.1" });
    const declared: DeclaredRuntime[] = [
      {
        id: "mine",
        command: "./tools/mine",
        version_args: ["--version"],
        controls: { toolGating: "coarse" },
      },
      { id: "shell", command: "sh", agent: false },
      { id: "claude", command: "./tools/mine" },
    ];
    const inventory = await take({ ids: ["mine", "shell"], declared });
    expect(validate(inventory)).toBe(true);
    expect(inventory.records.map((entry) => [entry.id, entry.role, entry.state, entry.version])).toEqual([
      ["internal", "agent", "unavailable", null],
      ["mock", "agent", "available", null],
      ["mine", "agent", "available", "3.2.1"],
      ["shell", "program", "available", null],
    ]);
  });
});

describe("a declared runtime, asked about its login and its models", () => {
  const entry: DeclaredRuntime = {
    id: "mine",
    command: "mine",
    auth_args: ["status"],
    models_args: ["models"],
    env_allow: ["MINE_HOME"],
    provider_env: ["MINE_KEY"],
  };
  const asked = (variables: Record<string, string>, o: Partial<InventoryRequest> = {}) =>
    record("mine", { declared: [entry], env: environment(variables), ...o });

  it("is given the variables that its jobs will be given, and no others", async () => {
    fakeCli(bin, "mine", {
      status: 'test "$MINE_HOME $MINE_KEY $OTHER" = "/its/home k " || exit 1',
      models: 'echo "m${MINE_HOME}"',
    });
    expect(await asked({ MINE_HOME: "/its/home", MINE_KEY: "k", OTHER: "x" })).toMatchObject({
      authenticated: true,
      models: ["m/its/home"],
    });
    expect(await asked({ MINE_KEY: "k" })).toMatchObject({ authenticated: false });
  });

  it("is asked again when one of them is set that was not", async () => {
    fakeCli(bin, "mine", { "*": "exit 0" });
    const inventory = await take({ ids: ["mine"], declared: [entry] });
    const earlier = { inventory, maxAgeMs: 600_000 };
    expect(await asked({}, { earlier })).toMatchObject({ reused: true });
    expect(await asked({ MINE_HOME: "/its/home" }, { earlier })).toMatchObject({ reused: false });
  });
});

describe("internal", () => {
  it.each([
    [{ name: "claude-code", subagents: true }, "available", "anthropic"],
    [{ name: "somebody", subagents: true }, "available", null],
    [{ name: "claude-code", subagents: false }, "unavailable", "anthropic"],
  ] as const)("is what the harness attests: %o", async (harness, state, family) => {
    expect(await record("internal", { harness })).toMatchObject({
      state,
      family,
      kind: "internal",
      capability: "C3",
      capabilitySource: "harness",
      toolGating: { value: "coarse", evidence: "attested" },
      timeout: { value: "accounting", evidence: "attested" },
    });
  });
});

describe("asking again", () => {
  it("asks a candidate once while the run holds its answers, and again when its file changed", async () => {
    fakeClaude();
    const cache = new Map();
    const first = await record("claude", { cache });
    expect(await record("claude", { cache })).toBe(first);
    expect(calls("claude")).toHaveLength(3);
    fakeClaude({ "--version": "echo 3.0.0 # another size" });
    expect((await record("claude", { cache })).version).toBe("3.0.0");
  });

  it("uses a young record of the same file where that is allowed, and says so", async () => {
    fakeClaude();
    const inventory = await take({ ids: ["claude"] });
    const earlier = { inventory, maxAgeMs: 600_000 };
    expect(await record("claude", { earlier })).toMatchObject({ reused: true, state: "available" });
    expect(calls("claude")).toHaveLength(3);
    const late = { now: () => Date.now() + 600_001, mono: () => 0 };
    expect(await record("claude", { earlier, clock: late })).toMatchObject({ reused: false });
    expect(calls("claude")).toHaveLength(6);
  });

  it("applies the operator's policy to every record", async () => {
    const rate = (entry: RuntimeRecord) => ({
      capability: "C1" as const,
      capabilitySource: "policy" as const,
      family: entry.id,
      familySource: "policy" as const,
    });
    expect(await record("mock", { rate })).toMatchObject({
      capability: "C1",
      capabilitySource: "policy",
      family: "mock",
    });
  });
});
