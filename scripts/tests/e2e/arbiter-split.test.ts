/** More finished work than one arbiter may be shown: it is asked about in several calls, each with its own evidence. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { POLICY } from "../../src/core/policy.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();
const MOST = POLICY.ARBITER_MAX_ATTEMPTS.value;

describe("work for more than one arbiter call", () => {
  it("is divided over calls, each answered by itself, and none is left out", async () => {
    const ids = Array.from({ length: MOST + 2 }, (_, n) => `job-${String(n).padStart(2, "0")}`);
    const job = (id: string): object => ({
      ...{ id, task: "scout", runtime: "sh", prompt: "run it", expected_output: "exit 0" },
      invocation: { command: "echo", args: [id] },
    });
    const repo = throwawayRepo({ "README.md": "# many\n", ".gitignore": "plans/\n" });
    repo.write(".orchestrate/runtimes.yaml", "runtimes:\n  - id: sh\n    command: echo\n    agent: false\n");
    const spec = { version: 1, outcome: "x", concurrency: 8, defaults: { timeout: "2m" } };
    writeFileSync(join(repo.path, "jobs.json"), JSON.stringify({ ...spec, jobs: ids.map(job) }));
    repo.commit("spec");
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    const runDir = runDirOf(run);
    expect(run.next.map((next) => next.action)).toEqual(["arbitrate_native", "arbitrate_native"]);
    const calls = stateOf(runDir).arbiters;
    expect(calls.map((call) => call.attempts.length)).toEqual([MOST, 2]);
    expect(calls.flatMap((call) => call.attempts.map((one) => one.jobId)).sort()).toEqual(ids);
    expect(new Set(calls.map((call) => `${call.bundleSha256} ${call.nonce}`)).size).toBe(2);
    const brief = (n: number): string => readFileSync(join(runDir, `arbiter-${n}/prompt.md`), "utf8");
    expect(brief(1)).not.toContain(ids.at(-1));
    expect(brief(2)).toContain(ids.at(-1));

    const answer = async (handle: string): Promise<void> => {
      const given = ["verdict", runDir, "--file", writeVerdict(runDir), "--handle", handle];
      expect((await tool().json(given, { cwd: repo.path })).code).toBe(0);
    };
    await answer("reviewer-1");
    const accepted = (): number =>
      Object.values(stateOf(runDir).jobs).filter((one) => one.outcome === "accepted").length;
    expect(accepted()).toBe(MOST);
    await answer("reviewer-2");
    expect([accepted(), stateOf(runDir).status]).toEqual([MOST + 2, "accepted"]);
  }, 180_000);
});
