/** What the user is asked and what a word of theirs does: several at once, and one that only a policy holds. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

function workspace(jobs: readonly object[]): string {
  const repo = throwawayRepo({ "README.md": "# approvals\n" });
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", concurrency: 2, defaults: { timeout: "1m" }, jobs }),
  );
  repo.commit("spec");
  return repo.path;
}

const careful = (id: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "mock",
  approval: "require",
  prompt: `look at ${id}`,
  expected_output: "x",
  mock: [{ say: "done" }],
  ...more,
});

describe("several words at once", () => {
  it("are all taken, whichever client's coordinator gets the run", async () => {
    const path = workspace([careful("first"), careful("second"), careful("third")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const { jobs } = stateOf(runDir);
    const words = [
      ["approve", "first"],
      ["deny", "second"],
      ["approve", "third"],
    ] as const;
    const answers = await Promise.all(
      words.map(([word, id]) =>
        tool().json([word, runDir, "--job", id, "--scope", jobs[id]?.block?.scope as string], { cwd: path }),
      ),
    );
    expect(answers.map(({ code, diagnostics }) => ({ code, diagnostics }))).toEqual(
      words.map(() => ({ code: 0, diagnostics: [] })),
    );
    await tool().json(["wait", runDir, "--for", "settled"], { cwd: path });
    expect(standingOf(stateOf(runDir))).toEqual({
      first: "success, accepted",
      second: "blocked, blocked",
      third: "success, accepted",
    });
    expect(
      stateOf(runDir)
        .approvals.map(({ jobId, decision }) => `${jobId} ${decision}`)
        .sort(),
    ).toEqual(["first approved", "second denied", "third approved"]);
  }, 120_000);
});

describe("an authority", () => {
  const policy = (): string => join(tool().env["HOME"] as string, ".orchestrate/policy.yaml");
  const holds = (words: string): void => {
    mkdirSync(join(policy(), ".."), { recursive: true });
    writeFileSync(
      policy(),
      `approvals:\n  - id: weekly-audit\n    words: ${JSON.stringify(words)}\n    until: 2030-01-31\n`,
    );
  };

  it("is shown with the request for approval, and grants nothing", async () => {
    holds("Look at everything, every week");
    const path = workspace([careful("look", { authority: "weekly-audit" })]);
    const run = await tool().json(["run", "jobs.json", "--yes"], { cwd: path });
    expect(run.code).toBe(3);
    expect(run.next.map(({ action }) => action)).toEqual(["request_approval"]);
    const shown =
      "names the authority `weekly-audit` (“Look at everything, every week”, until 2030-01-31), which grants nothing by itself";
    expect(run.next[0]?.reason).toContain(shown);
    const runDir = runDirOf(run);
    expect(stateOf(runDir).approvals).toEqual([]);
    const scope = stateOf(runDir).jobs["look"]?.block?.scope as string;

    // Taken out of the policy meanwhile, it is not shown as if it still held.
    rmSync(policy());
    await tool().json(["approve", runDir, "--job", "look", "--scope", scope], { cwd: path });
    const [approval] = stateOf(runDir).approvals;
    expect(approval?.words).toContain(
      "names the authority `weekly-audit`, which the home policy does not hold any more",
    );
    await tool().json(["wait", runDir, "--for", "settled"], { cwd: path });
    expect(standingOf(stateOf(runDir))).toEqual({ look: "success, accepted" });
  }, 120_000);

  it("asks for no approval where nothing else does", async () => {
    holds("Look at everything, every week");
    const path = workspace([careful("look", { authority: "weekly-audit", approval: "inherit" })]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(run.code).toBe(0);
    expect(stateOf(runDirOf(run)).approvals).toEqual([]);
  });

  it("that only the project's policy holds is none", async () => {
    rmSync(policy(), { force: true });
    const path = workspace([careful("look", { authority: "weekly-audit" })]);
    mkdirSync(join(path, ".orchestrate"), { recursive: true });
    writeFileSync(
      join(path, ".orchestrate/policy.yaml"),
      "approvals:\n  - id: weekly-audit\n    words: anything goes\n    until: 2030-01-31\n",
    );
    const refused = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(refused.code).toBe(2);
    expect(refused.diagnostics.map(({ code }) => code)).toContain("unknown-authority");
  });
});
