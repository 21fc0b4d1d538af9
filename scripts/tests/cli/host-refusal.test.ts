/** A host on which jobs could not be surely ended: what only reads goes on, what would start something refuses by name. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf } from "../support/tool.ts";

const tool = builtTool();
const SPEC = JSON.stringify({
  version: 1,
  outcome: "x",
  defaults: { timeout: "1m" },
  jobs: [
    {
      id: "one",
      task: "scout",
      runtime: "mock",
      prompt: "look",
      expected_output: "text",
      mock: [{ say: "x" }],
    },
  ],
});

/** Node believes that it runs on Windows. */
const windows = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent('Object.defineProperty(process,"platform",{value:"win32"})')}`,
};

it("on Windows `run` and `resume` refuse before anything is written, and point to WSL", async () => {
  const { path } = throwawayRepo({ "jobs.json": SPEC });
  const refusal = {
    code: 4,
    data: null,
    diagnostics: [
      {
        severity: "error",
        code: "host-not-supported",
        message:
          "Windows has no process groups and signals by which a job is surely ended, so nothing was started.",
        fix: "Run the same command inside WSL (Windows Subsystem for Linux).",
      },
    ],
  };
  expect(await tool().json(["run", "jobs.json"], { cwd: path, env: windows })).toMatchObject(refusal);
  expect(existsSync(join(path, "plans"))).toBe(false);
  const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
  for (const args of [
    ["resume", runDir],
    ["run", "--resume", runDir],
    ["resume", runDir, "--retry", "one"],
  ])
    expect(await tool().json(args, { cwd: path, env: windows })).toMatchObject(refusal);
  expect(await tool().json(["validate", "jobs.json"], { cwd: path, env: windows })).toMatchObject({
    code: 0,
  });
  expect(await tool().json(["status", runDir], { cwd: path, env: windows })).toMatchObject({ code: 0 });
});
