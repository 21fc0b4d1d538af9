/** A folder without git: work is measured by comparing its files, and nobody writes where that is too much. */
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { State } from "../../src/core/runtime.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

function workspace(): string {
  const path = temporaryFolder();
  mkdirSync(join(path, ".orchestrate"));
  writeFileSync(
    join(path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  return path;
}

/** A writer and an observer. */
async function run(path: string): Promise<State["jobs"]> {
  const job = (id: string, script: string, more: object): object => ({
    id,
    runtime: "sh",
    prompt: "do it",
    expected_output: "done",
    invocation: { command: "sh", args: ["-c", script] },
    ...more,
  });
  const jobs = [
    job("writer", "echo hello > made.txt", { task: "mechanical", owned_paths: ["made.txt"] }),
    job("observer", "echo looked", { task: "scout" }),
  ];
  writeFileSync(
    join(path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", concurrency: 1, defaults: { timeout: "1m" }, jobs }),
  );
  return stateOf(runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }))).jobs;
}

it("lets a writer work in a small one and knows what it changed", async () => {
  const jobs = await run(workspace());
  expect(jobs["writer"]?.attemptRecords[0]).toMatchObject({ status: "success", changedPaths: ["made.txt"] });
}, 120_000);

it.each([
  [
    "2 GiB",
    (path: string) => {
      writeFileSync(join(path, "big.bin"), "");
      truncateSync(join(path, "big.bin"), 2 * 1024 ** 3 + 1);
    },
  ],
  [
    "20,000 files",
    (path: string) => {
      for (let i = 0; i < 20_001; i++) {
        if (i % 1_000 === 0) mkdirSync(join(path, `d${i / 1_000}`));
        writeFileSync(join(path, `d${Math.floor(i / 1_000)}/${i}`), "");
      }
    },
  ],
])(
  "blocks a writer in one of more than %s, where an observer still may look",
  async (_, fill) => {
    const path = workspace();
    fill(path);
    const jobs = await run(path);
    expect(jobs["writer"]).toMatchObject({ status: "blocked", block: { code: "no-diff-evidence" } });
    expect(jobs["observer"]?.attemptRecords[0]).toMatchObject({ status: "success" });
  },
  120_000,
);
