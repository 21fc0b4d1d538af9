/** A folder without git: work is measured by comparing its files, and nobody writes where that is too much. */
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

it("lets a writer work in a small one, and blocks it in one of more than 2 GiB, where an observer still may look", async () => {
  const path = temporaryFolder();
  mkdirSync(join(path, ".orchestrate"));
  writeFileSync(
    join(path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
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
    job("observer", "echo looked", { task: "scout", depends_on: ["writer"] }),
  ];
  const spec = (value: readonly object[]): void =>
    writeFileSync(
      join(path, "jobs.json"),
      JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "1m" }, jobs: value }),
    );
  spec(jobs);
  const small = stateOf(runDirOf(await tool().json(["run", "jobs.json"], { cwd: path })));
  expect(small.jobs["writer"]?.attemptRecords[0]).toMatchObject({
    status: "success",
    changedPaths: ["made.txt"],
  });

  writeFileSync(join(path, "big.bin"), "");
  truncateSync(join(path, "big.bin"), 2 * 1024 ** 3 + 1);
  spec(jobs.map((one) => ({ ...one, depends_on: [] })));
  const large = stateOf(runDirOf(await tool().json(["run", "jobs.json"], { cwd: path })));
  expect(large.jobs["writer"]).toMatchObject({ status: "blocked", block: { code: "no-diff-evidence" } });
  expect(large.jobs["observer"]?.attemptRecords[0]).toMatchObject({ status: "success" });
}, 120_000);
