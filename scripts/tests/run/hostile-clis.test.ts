/** Programs on PATH that answer a probe in the worst way: none holds it up, misleads it, or keeps another one out. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
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
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { systemClock } from "../../src/host/clock.ts";
import { exec } from "../../src/host/exec.ts";
import { takeInventory } from "../../src/run/inventory.ts";
import { fakeCli } from "../support/fake-cli.ts";
import { testEnvironment } from "../support/test-environment.ts";

const HELP = fileURLToPath(new URL("../fixtures/help/claude-2.1.197.txt", import.meta.url));
/** A probe waits half a minute for each answer; here it waits as long as a loaded machine needs to start a shell. */
const PATIENCE_MS = 6_000;

let root: string;
let bin: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orc hostile ")));
  bin = join(root, "bin");
  for (const folder of [bin, join(root, "home"), join(root, "tmp")]) mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const fake = (more: Readonly<Record<string, string>> = {}, folder = bin): string =>
  fakeCli(folder, "claude", {
    "--version": "echo 2.9.9",
    "--help": `cat '${HELP}'`,
    "auth status": `echo '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}'`,
    ...more,
  });

async function probeAll(path = `${bin}:/usr/bin:/bin`): Promise<Record<string, RuntimeRecord>> {
  const inventory = await takeInventory({
    ids: ["claude"],
    full: false,
    declared: [],
    env: testEnvironment({
      home: join(root, "home"),
      cwd: root,
      tmp: join(root, "tmp"),
      variables: { PATH: path, HOME: join(root, "home") },
    }),
    clock: systemClock,
    exec: (file, args, options) => exec(file, args, { ...options, timeoutMs: PATIENCE_MS }),
    harness: { name: "unknown", subagents: false },
  });
  expect([validate(inventory), validate.errors]).toEqual([true, null]);
  return Object.fromEntries(inventory.records.map((record) => [record.id, record]));
}
const claude = async (path?: string): Promise<RuntimeRecord> =>
  (await probeAll(path))["claude"] as RuntimeRecord;

describe("answers", () => {
  it.each<[string, Record<string, string>, string]>([
    ["a version in colour", { "--version": String.raw`printf '\033[1;32mv2.1.7\033[0m\n'` }, "2.1.7"],
    ["a version behind a title", { "--version": String.raw`printf '\033]0;9.9.9\007tool 2.1.7\n'` }, "2.1.7"],
    ["a version on stderr", { "--version": "echo 2.1.7 >&2" }, "2.1.7"],
    [
      "a megabyte before its version",
      { "--version": "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo 2.1.7" },
      "2.1.7",
    ],
    ["a help on stderr", { "--help": `cat '${HELP}' >&2` }, "2.9.9"],
    ["a help and a failure", { "--help": `cat '${HELP}'; exit 3` }, "2.9.9"],
    [
      "a help in colour",
      { "--help": String.raw`printf '\033[1m'; sed 's/--/\x1b[36m--/g' '${HELP}'` },
      "2.9.9",
    ],
    [
      "bytes that are no text around its help",
      { "--help": `head -c 4096 /dev/urandom; echo; cat '${HELP}'` },
      "2.9.9",
    ],
  ])("with %s are read all the same", async (_what, more, version) => {
    fake(more);
    expect(await claude()).toMatchObject({ state: "available", reason: null, version });
  });

  it.each<[string, Record<string, string>, string]>([
    ["fails at its version", { "--version": "exit 3" }, "version-failed"],
    ["dies of a signal", { "--version": "kill -9 $$" }, "version-failed"],
    ["says nothing at all", { "--help": "exit 0", "--version": "exit 1" }, "version-failed"],
    ["has no help", { "--help": "exit 1" }, "help-failed"],
    [
      "prints ten megabytes of something else",
      { "--help": "yes 'lorem ipsum' | head -c 10000000" },
      "flag-missing: ",
    ],
  ])("of a program that %s make it unavailable, with the reason", async (_what, more, reason) => {
    fake(more);
    const record = await claude();
    expect(record.state).toBe("unavailable");
    expect(record.reason).toContain(reason);
  });

  it("that never come cost the patience for one, not for each", async () => {
    fake({
      "*": "exec sleep 300",
      "--version": "exec sleep 300",
      "--help": "exec sleep 300",
      "auth status": "exec sleep 300",
    });
    const started = performance.now();
    expect(await claude()).toMatchObject({
      state: "unavailable",
      reason: "probe-timeout",
      authenticated: "unverified",
    });
    expect(performance.now() - started).toBeLessThan(2 * PATIENCE_MS);
  });

  it("leave no process behind, whoever holds the pipes", async () => {
    const left = join(root, "left");
    fake({
      "--version": `sleep 300 & echo $! >> '${left}'; echo 2.9.9`,
      "--help": `sleep 300 > /dev/null 2>&1 & echo $! >> '${left}'; cat '${HELP}'`,
    });
    expect(await claude()).toMatchObject({ state: "available" });
    const pids = readFileSync(left, "utf8").trim().split("\n");
    expect(pids).toHaveLength(2);
    for (const pid of pids) await expect.poll(() => running(pid), { timeout: 5_000 }).toBe(false);
  });

  it("with a key in them are kept nowhere", async () => {
    const key = ["sk", "ant", "api03", "A".repeat(40)].join("-");
    fake({
      "--version": `echo "2.9.9 ${key}"`,
      "auth status": `echo '{"loggedIn": true, "apiKey": "${key}"}'`,
    });
    expect(JSON.stringify(await probeAll())).not.toContain(key);
  });
});

/** A zombie that nobody reaped yet runs no more. */
function running(pid: string): boolean {
  const stat = `/proc/${pid}/stat`;
  try {
    return existsSync(stat) && !/^\d+ \(.*\) Z/.test(readFileSync(stat, "utf8"));
  } catch {
    return false;
  }
}

describe("PATH", () => {
  const other = (): string => {
    const folder = join(root, "other bin");
    fake({ "--version": "echo 3.3.3" }, folder);
    return folder;
  };

  it("holds a folder of that name, a file that cannot be run and a dangling link: the next one counts", async () => {
    const [folder, plain, dangling, loop] = ["a", "b", "c", "d"].map((name) => join(root, name)) as [
      string,
      string,
      string,
      string,
    ];
    for (const one of [folder, plain, dangling, loop]) mkdirSync(one);
    mkdirSync(join(folder, "claude"));
    writeFileSync(join(plain, "claude"), "#!/bin/sh\necho 6.6.6\n", { mode: 0o644 });
    symlinkSync(join(root, "nothing"), join(dangling, "claude"));
    symlinkSync(join(loop, "claude"), join(loop, "claude"));
    const path = [folder, plain, dangling, loop, "", "/no/such/folder", other(), "/usr/bin", "/bin"].join(
      ":",
    );
    expect(await claude(path)).toMatchObject({ state: "available", version: "3.3.3" });
    expect(await claude([folder, plain, dangling, loop].join(":"))).toMatchObject({
      state: "unavailable",
      reason: "not-found",
    });
  });

  it("is followed through links, and both ends are named", async () => {
    const real = join(other(), "claude");
    symlinkSync(real, join(root, "middle"));
    symlinkSync(join(root, "middle"), join(bin, "claude"));
    expect(await claude()).toMatchObject({
      version: "3.3.3",
      binary: join(bin, "claude"),
      binaryReal: real,
    });
  });

  it("is not there, or empty: nothing is found and nothing else goes wrong", async () => {
    expect(await claude("")).toMatchObject({ state: "unavailable", reason: "not-found" });
    expect(await claude("relative:./also")).toMatchObject({ state: "unavailable", reason: "not-found" });
  });

  it("leads to a script without an interpreter: it is unavailable, and says so", async () => {
    writeFileSync(join(bin, "claude"), "#!/no/such/interpreter\n");
    chmodSync(join(bin, "claude"), 0o755);
    expect(await claude()).toMatchObject({ state: "unavailable", reason: "version-failed" });
  });
});
