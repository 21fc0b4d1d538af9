/** Plain programs as runtimes: what an agent pays for a run, what a verdict does, and what a second look changes. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();

function workspace(jobs: readonly object[], concurrency = 2) {
  const repo = throwawayRepo({ "README.md": "# programs\n" });
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const intake = { outcome: "x", constraints: ["none"], acceptance: ["exit 0"] };
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, ...intake, concurrency, defaults: { timeout: "1m" }, jobs }),
  );
  repo.commit("spec");
  return repo;
}

const program = (id: string, script: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "sh",
  prompt: "run it",
  expected_output: "exit 0",
  invocation: { command: "sh", args: ["-c", script] },
  ...more,
});

const COMMIT = "git -c user.name=job -c user.email=job@example.invalid commit -q --allow-empty -m own";

describe("a run of plain programs", () => {
  it("costs an agent two calls and less than 4 KB of stdout for ten jobs", async () => {
    const { path } = workspace(
      Array.from({ length: 10 }, (_, at) =>
        program(`job-${at}`, "true", at > 5 ? { depends_on: [`job-${at - 5}`] } : {}),
      ),
    );
    const run = await tool().run(["run", "jobs.json"], { cwd: path });
    expect(run.code).toBe(3);
    const runDir = /^report: (.*)\/report\.md$/m.exec(run.stdout)?.[1] as string;
    const verdict = await tool().run(
      ["verdict", runDir, "--file", writeVerdict(runDir), "--handle", "reviewer-1"],
      { cwd: path },
    );
    expect(verdict.code).toBe(0);
    expect(stateOf(runDir).status).toBe("accepted");
    expect(Buffer.byteLength(run.stdout) + Buffer.byteLength(verdict.stdout)).toBeLessThanOrEqual(4_096);
  });

  it("settles at once where a job leaves a file that nobody could read in time", async () => {
    const maker = (id: string, name: string, isolation: string): object =>
      program(id, `truncate -s 8T ${name} && echo made`, {
        task: "implement",
        isolation,
        checks: ["it is there"],
        outputs: [{ path: name }],
        owned_paths: [name],
      });
    const repo = workspace([
      maker("branched", "big.bin", "worktree"),
      maker("ignored", "big.ignored.bin", "worktree"),
      maker("shared", "big.shared.bin", "none"),
      program("scratch", "truncate -s 8T scratch.ignored.bin && echo made > small.txt", {
        task: "implement",
        isolation: "worktree",
        checks: ["it is there"],
        outputs: [{ path: "small.txt" }],
      }),
    ]);
    repo.write(".gitignore", "*.ignored.bin\n");
    repo.commit("ignored");
    const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
    expect(run.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const { jobs } = stateOf(runDirOf(run));
    const last = (id: string) => jobs[id]?.attemptRecords.at(-1);
    const words = (path: string): string =>
      `\`${path}\` has ${8 * 1024 ** 4} bytes, more than the 2147483648 that a file of a job may have`;
    expect(["branched", "ignored", "shared"].map((id) => [last(id)?.reason, last(id)?.detail])).toEqual([
      ["file-too-large", words("big.bin")],
      ["file-too-large", words("big.ignored.bin")],
      ["file-too-large", words("big.shared.bin")],
    ]);
    // What git ignores in a job's own worktree is no work, and nobody reads it.
    expect(last("scratch")?.status).toBe("success");
  });

  it("says in the report where a job left its branch, and keeps its work all the same", async () => {
    const repo = workspace([
      program("stray", `git checkout -q --detach && ${COMMIT} && echo made > made.txt`, {
        task: "implement",
        isolation: "worktree",
        checks: ["it is there"],
        outputs: [{ path: "made.txt" }],
      }),
    ]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: repo.path }));
    const state = stateOf(runDir);
    const branch = state.jobs["stray"]?.branch ?? "";
    const note = `stray: the job left \`${branch}\`; its commits were put back on the branch`;
    expect(state.notes).toContain(note);
    expect(readFileSync(join(runDir, "report.md"), "utf8")).toContain(note);
    expect(repo.git("show", `${branch}:made.txt`)).toBe("made");
  });

  it("a rejected job rejects what stands on it and nothing else", async () => {
    const { path } = workspace([
      program("base", "true"),
      program("above", "true", { depends_on: ["base"] }),
      program("beside", "true"),
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    const file = writeVerdict(runDir, (id) => (id === "base" ? "fail" : "pass"));
    const verdict = await tool().json(["verdict", runDir, "--file", file, "--handle", "reviewer-1"], {
      cwd: path,
    });
    expect(verdict.code).toBe(0);
    expect(standingOf(stateOf(runDir))).toEqual({
      base: "success, rejected",
      above: "success, rejected",
      beside: "success, accepted",
    });
    expect(stateOf(runDir).status).toBe("ended");
    const again = await tool().json(["wait", runDir], { cwd: path });
    expect(again.code).toBe(1);
  });

  it("a verdict about other evidence is refused and leaves the call open", async () => {
    const { path } = workspace([program("only", "true")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const file = writeVerdict(runDir);
    const forged = { ...JSON.parse(readFileSync(file, "utf8")), bundleSha256: "0".repeat(64) };
    writeFileSync(file, JSON.stringify(forged));
    const refused = await tool().json(["verdict", runDir, "--file", file, "--handle", "reviewer-1"], {
      cwd: path,
    });
    expect(refused.code).toBe(2);
    expect(refused.diagnostics[0]?.code).toBe("stale-verdict");
    expect(refused.next.map((next) => next.action)).toEqual(["arbitrate_native"]);
    expect(standingOf(stateOf(runDir))).toEqual({ only: "success, blocked" });
  });

  it("a failed program fails its job, blocks its dependents, and runs again only when the user says so", async () => {
    const { path } = workspace([
      program("flaky", "test -e ready"),
      program("after", "true", { depends_on: ["flaky"] }),
    ]);
    const first = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(first);
    expect(first.code).toBe(1);
    expect(standingOf(stateOf(runDir))).toEqual({ flaky: "failed, failed", after: "blocked, blocked" });
    writeFileSync(join(path, "ready"), "");
    const resumed = await tool().json(["resume", runDir], { cwd: path });
    expect(resumed.code).toBe(1);
    expect(stateOf(runDir).jobs["flaky"]?.attempts).toBe(1);
    const retried = await tool().json(["resume", runDir, "--retry", "flaky"], { cwd: path });
    expect(retried.code).toBe(3);
    expect(standingOf(stateOf(runDir))).toEqual({ flaky: "success, blocked", after: "success, blocked" });
    expect(stateOf(runDir).jobs["flaky"]?.attemptRecords.map((a) => a.relation)).toEqual([
      "first",
      "user-retry",
    ]);
  });

  it("an observe job that changes a tracked file fails its boundary, ignored files included", async () => {
    const { path } = workspace([program("tracked", "echo more >> README.md")]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const job = stateOf(runDirOf(run)).jobs["tracked"];
    expect(job?.status).toBe("failed");
    expect(
      job?.attemptRecords[0]?.checks
        .filter((check) => !check.ok)
        .map((check) => check.detail)
        .join(" "),
    ).toContain("README.md");

    const hidden = workspace([program("ignored", "mkdir -p build && echo x > build/out")]);
    hidden.write(".gitignore", "build/\n");
    hidden.commit("ignore");
    const second = await tool().json(["run", "jobs.json"], { cwd: hidden.path });
    const ignored = stateOf(runDirOf(second)).jobs["ignored"];
    expect(ignored?.status).toBe("failed");
    expect(
      ignored?.attemptRecords[0]?.checks
        .filter((check) => !check.ok)
        .map((check) => check.detail)
        .join(" "),
    ).toContain("build/out");
  });

  it("cancel ends what runs and proves it", async () => {
    const { path } = workspace([
      program("long", "sleep 300"),
      program("after", "true", { depends_on: ["long"] }),
    ]);
    const started = await tool().json(["run", "jobs.json", "--detach"], { cwd: path });
    const runDir = runDirOf(started);
    while (stateOf(runDir).jobs["long"]?.attemptRecords[0]?.pid == null)
      await tool().json(["wait", runDir, "--for", "change", "--timeout", "1s"], { cwd: path });
    const pid = stateOf(runDir).jobs["long"]?.attemptRecords[0]?.pid as number;
    const cancelled = await tool().json(["cancel", runDir], { cwd: path });
    expect(cancelled.code).toBe(0);
    expect(() => process.kill(pid, 0)).toThrow();
    const settled = await tool().json(["wait", runDir, "--for", "settled"], { cwd: path });
    expect(settled.code).toBe(1);
    expect(stateOf(runDir).status).toBe("cancelled");
    expect(stateOf(runDir).jobs["long"]?.block?.code).toBe("cancelled");
  });
});
