/** A client that leaves: what it leaves behind is a run that somebody coordinates, however slowly the coordinator starts. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf } from "../support/tool.ts";

const tool = builtTool();

it("returns once the coordinator owns the run, so that nobody takes the run for interrupted", async () => {
  const { path: cwd } = throwawayRepo();
  cpSync(join(ROOT, "examples"), join(cwd, "examples"), { recursive: true });
  const slow = join(temporaryFolder(), "slow.cjs");
  const wait = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)";
  writeFileSync(slow, `if (process.argv.includes("__coordinate")) ${wait};`);
  const env = { NODE_OPTIONS: `--require ${slow}` };
  const left = await tool().json(["run", "examples/research.yaml", "--detach"], { cwd, env });
  const seen = await tool().json(["status"], { cwd });
  expect([left.code, left.next.map(({ action }) => action)]).toEqual([0, ["wait"]]);
  expect(seen.next.map(({ action }) => action)).not.toContain("resume");
  expect((await tool().run(["wait", runDirOf(left)], { cwd })).code).toBe(0);
}, 120_000);
