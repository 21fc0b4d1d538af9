/** Compiled code of the tool's parts in the user's home: who leaves it there, who never does, and that nothing hangs on it. */
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

const LOOKS = ["validate", "plan"].map((command) => [command, "examples/research.yaml"]);

function workspace(): string {
  const { path } = throwawayRepo();
  cpSync(join(ROOT, "examples"), join(path, "examples"), { recursive: true });
  return path;
}

const newHome = (): string => temporaryFolder("orchestrate-cache-home-");

/** File → when it was changed. */
function codeIn(home: string): Record<string, number> {
  const top = join(home, ".orchestrate/compiled");
  const [ignore, folder, ...others] = readdirSync(top).sort();
  expect([ignore, others]).toEqual([".gitignore", []]);
  const path = join(top, folder ?? "");
  return Object.fromEntries(readdirSync(path).map((name) => [name, statSync(join(path, name)).mtimeMs]));
}

it("is left by a run, taken by the next one, and by nobody who only looks", async () => {
  const [cwd, home] = [workspace(), newHome()];
  const env = { HOME: home };
  for (const command of LOOKS) expect((await tool().run(command, { cwd, env })).code).toBe(0);
  expect(readdirSync(home)).toEqual([]);
  for (const dry of [
    ["init", "--out", "-"],
    ["clean", "--dry-run"],
    ["calibrate", "--dry-run"],
  ]) {
    await tool().run(dry, { cwd, env });
    expect(readdirSync(home), dry.join(" ")).toEqual([]);
  }
  const refused = await tool().run(["run", "examples/nothing.yaml"], { cwd, env });
  expect(refused.code).toBe(2);
  expect(readdirSync(home)).toEqual([]);
  expect((await tool().run(["run", "examples/research.yaml"], { cwd, env })).code).toBe(0);
  const first = codeIn(home);
  expect(Object.keys(first)).toContain("dispatch.cjs.code");
  expect((await tool().run(["run", "examples/research.yaml"], { cwd, env })).code).toBe(0);
  expect(codeIn(home)).toEqual(first);
  for (const command of LOOKS) expect((await tool().run(command, { cwd, env })).code).toBe(0);
  expect(codeIn(home)).toEqual(first);
}, 120_000);

it.each(["switched off", "not possible, since a file lies in its place"])(
  "is missed by nothing when it is %s",
  async (why) => {
    const [cwd, home] = [workspace(), newHome()];
    const off = why === "switched off";
    if (!off) {
      mkdirSync(join(home, ".orchestrate"));
      writeFileSync(join(home, ".orchestrate/compiled"), "mine");
    }
    const env = { HOME: home, ...(off ? { NODE_DISABLE_COMPILE_CACHE: "1" } : {}) };
    const run = await tool().json(["run", "examples/research.yaml"], { cwd, env });
    expect(run.code).toBe(0);
    expect(stateOf(runDirOf(run)).status).toBe("accepted");
    expect(readdirSync(home)).toEqual(off ? [] : [".orchestrate"]);
  },
  120_000,
);
