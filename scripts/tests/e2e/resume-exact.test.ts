/** Resuming a finished run: what still holds is never run again, what does not runs again and says why. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();

/** `first` reads data.txt and makes out.txt; `second` stands on it; `apart` on nothing. Each run leaves a line in the ledger. */
async function accepted() {
  const repo = throwawayRepo({ "data.txt": "one\n", ".gitignore": "ledger\n.orchestrate/\n" });
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const ledger = join(repo.path, "..", "ledger");
  const job = (id: string, script: string, more: object): object => ({
    id,
    task: "scout",
    runtime: "sh",
    prompt: "run it",
    expected_output: "exit 0",
    invocation: { command: "sh", args: ["-c", `echo ${id} >> '${ledger}'; ${script}`] },
    ...more,
  });
  const jobs = [
    job("first", "cp data.txt out.txt", { inputs: [{ path: "data.txt" }], outputs: [{ path: "out.txt" }] }),
    job("second", "true", { depends_on: ["first"] }),
    job("apart", "true", {}),
  ];
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", concurrency: 1, defaults: { timeout: "1m" }, jobs }),
  );
  repo.commit("spec");
  const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
  await tool().json(["verdict", runDir, "--file", writeVerdict(runDir), "--handle", "reviewer-1"], {
    cwd: repo.path,
  });
  expect(stateOf(runDir).status).toBe("accepted");
  const runs = (): string[] => readFileSync(ledger, "utf8").trim().split("\n").sort();
  expect(runs()).toEqual(["apart", "first", "second"]);
  return { repo, runDir, runs };
}

describe("resuming a finished run", () => {
  it("runs nothing again while inputs and outputs are as recorded", async () => {
    const { repo, runDir, runs } = await accepted();
    const resumed = await tool().json(["resume", runDir], { cwd: repo.path });
    expect(resumed.code).toBe(0);
    expect(runs()).toEqual(["apart", "first", "second"]);
    expect(stateOf(runDir).status).toBe("accepted");
  });

  it("runs again what a changed input went into, with what stands on it, and says so", async () => {
    const { repo, runDir, runs } = await accepted();
    writeFileSync(join(repo.path, "data.txt"), "two\n");
    const resumed = await tool().json(["resume", runDir], { cwd: repo.path });
    expect(runs()).toEqual(["apart", "first", "first", "second", "second"]);
    expect(resumed.code).toBe(3);
    const state = stateOf(runDir);
    expect(standingOf(state)).toEqual({
      first: "success, blocked",
      second: "success, blocked",
      apart: "success, accepted",
    });
    expect(state.notes).toContain("first runs again because input `data.txt` changed.");
    expect(state.notes).toContain("second runs again because `first` runs again.");
    expect(readFileSync(join(runDir, "report.md"), "utf8")).toContain(
      "Attempt 2 (resume: runs again because input `data.txt` changed): success on ",
    );
    const told = await tool().run(["explain", runDir, "second"], { cwd: repo.path });
    expect(told.stdout).toContain("2 (resume: runs again because `first` runs again) on ");
  });

  it("runs again what lost its output", async () => {
    const { repo, runDir, runs } = await accepted();
    writeFileSync(join(repo.path, "out.txt"), "edited\n");
    await tool().json(["resume", runDir], { cwd: repo.path });
    expect(runs()).toEqual(["apart", "first", "first", "second", "second"]);
    expect(stateOf(runDir).notes).toContain("first runs again because output `out.txt` changed.");
  });

  it("reviews again what was made again", async () => {
    const repo = throwawayRepo({ ".gitignore": "plans/\n" });
    const mock = { runtime: "mock", prompt: "do it", expected_output: "as asked" };
    const jobs = [
      {
        ...{ ...mock, id: "made", task: "implement", checks: ["it is there"] },
        ...{ owned_paths: ["out.txt"], outputs: [{ path: "out.txt" }] },
        mock: [{ write: { path: "out.txt", content: "made\n" } }, { say: "wrote out.txt" }],
      },
      { ...mock, id: "look", task: "review", depends_on: ["made"], mock: [{ say: "No fault found." }] },
    ];
    writeFileSync(
      join(repo.path, "jobs.json"),
      JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "1m" }, jobs }),
    );
    repo.commit("spec");
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    expect(stateOf(runDir).status).toBe("accepted");
    const out = join(stateOf(runDir).jobs["made"]?.worktree ?? repo.path, "out.txt");
    writeFileSync(out, "edited\n");
    await tool().json(["resume", runDir], { cwd: repo.path });
    const { jobs: now, notes, status } = stateOf(runDir);
    expect(notes).toContain("made runs again because output `out.txt` changed.");
    expect(notes).toContain("look runs again because `made` runs again.");
    const attempts = (id: string): unknown[] =>
      (now[id]?.attemptRecords ?? []).map(({ attempt, relation, acceptance }) => [
        attempt,
        relation,
        acceptance,
      ]);
    expect([status, attempts("made"), attempts("look")]).toEqual([
      "accepted",
      [
        [1, "first", "accepted"],
        [2, "resume", "accepted"],
      ],
      [
        [1, "first", "accepted"],
        [2, "resume", "accepted"],
      ],
    ]);
  });
});
