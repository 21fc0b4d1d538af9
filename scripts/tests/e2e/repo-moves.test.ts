/** A worktree shares the repository's git folder: what moves there while a job runs is told in the report, and blamed on nobody. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();

function scene(jobs: (o: { first: string; branch: string }) => readonly object[]) {
  const repo = throwawayRepo({ "README.md": "# moves\n" });
  const first = repo.head();
  const branch = repo.git("symbolic-ref", "HEAD");
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "2m" }, jobs: jobs({ first, branch }) }),
  );
  const second = repo.commit("spec");
  const call = (...args: string[]) => tool().json(args, { cwd: repo.path });
  return { repo, call, first: first.slice(0, 12), second: second.slice(0, 12), branch };
}

const shell = (id: string, script: string): object => ({
  id,
  task: "implement",
  runtime: "sh",
  isolation: "worktree",
  prompt: id,
  expected_output: "x",
  owned_paths: [`${id}.txt`],
  verification: [{ command: "test", args: ["-s", `${id}.txt`] }],
  invocation: { command: "sh", args: ["-c", `echo x > ${id}.txt; ${script}`] },
});

it("a job that moved a branch and changed settings succeeds, and the report says what moved", async () => {
  const { call, first, second, branch } = scene((base) => [
    shell("quiet", "true"),
    {
      ...shell(
        "mover",
        `git update-ref ${base.branch} ${base.first}; git config core.hooksPath /tmp/elsewhere`,
      ),
      depends_on: ["quiet"],
    },
  ]);
  const runDir = runDirOf(await call("run", "jobs.json", "--harness", "codex", "--subagents"));
  const state = stateOf(runDir);
  expect([state.jobs["quiet"]?.status, state.jobs["mover"]?.status]).toEqual(["success", "success"]);
  const what = `\`${branch}\` (${second} to ${first}), the settings in \`.git/config\``;
  expect(state.notes.filter((note) => note.includes("moved in"))).toEqual([
    `mover: moved in the repository while attempt 1 ran, by this job or by somebody else: ${what}`,
  ]);
  const report = readFileSync(join(runDir, "report.md"), "utf8");
  expect(report).toContain(`Note: mover: moved in the repository while attempt 1 ran`);
}, 120_000);

it("the same is told of work in the harness's hands, whoever coordinates when it ends", async () => {
  const { repo, call, second, branch } = scene(() => [
    {
      id: "agent",
      task: "docs",
      runtime: "internal",
      isolation: "worktree",
      prompt: "write",
      expected_output: "x",
      owned_paths: ["agent.txt"],
    },
  ]);
  const run = await call("run", "jobs.json", "--harness", "codex", "--subagents");
  const runDir = runDirOf(run);
  await call("native", "start", runDir, "--job", "agent", "--attempt", "1");
  const file = run.next.find((next) => next.jobId === "agent")?.resultFile as string;
  writeFileSync(join(stateOf(runDir).jobs["agent"]?.worktree as string, "agent.txt"), "done\n");
  writeFileSync(file, "It is written.");
  const third = repo.commit("the user goes on").slice(0, 12);
  await call("native", "finish", runDir, "--job", "agent", "--attempt", "1", "--result", file);
  const state = stateOf(runDir);
  expect(state.jobs["agent"]?.status).toBe("success");
  expect(state.notes.filter((note) => note.includes("moved in"))).toEqual([
    `agent: moved in the repository while attempt 1 ran, by this job or by somebody else: \`${branch}\` (${second} to ${third})`,
  ]);
}, 120_000);
