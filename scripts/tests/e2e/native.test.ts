/** Work in the harness's hands: handed out once, recorded as it was, measured like any other, never invented. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandOutput } from "../../src/core/generated/output.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();
const HARNESS = ["--harness", "claude-code", "--subagents"];

function workspace(jobs: readonly object[]) {
  const repo = throwawayRepo({ "README.md": "# native\n" });
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, outcome: "x", concurrency: 2, defaults: { timeout: "5m" }, jobs }),
  );
  repo.commit("spec");
  return repo.path;
}

const internal = (id: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "internal",
  prompt: `Look at ${id}.`,
  expected_output: "What is there.",
  ...more,
});

const dispatches = (output: CommandOutput): string[] =>
  output.next
    .filter((next) => next.action === "dispatch_native")
    .map((next) => `${next.jobId}#${next.attempt}`);

function resultFile(output: CommandOutput, jobId: string): string {
  const action = output.next.find((next) => next.jobId === jobId && next.resultFile !== undefined);
  if (action?.resultFile === undefined) throw new Error(`no result file for ${jobId}`);
  return action.resultFile;
}

describe("native jobs in one checkout", () => {
  it("that only look are not blamed for what another one owns and wrote meanwhile", async () => {
    const path = workspace([
      internal("writer", {
        task: "implement",
        isolation: "none",
        owned_paths: ["out/**"],
        outputs: [{ path: "out/a.txt" }],
      }),
      internal("scout"),
    ]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json", ...HARNESS], { cwd: path }));
    mkdirSync(join(path, "out"));
    writeFileSync(join(path, "out/a.txt"), "done\n");
    for (const id of ["writer", "scout"]) {
      const next = await tool().json(["next", runDir], { cwd: path });
      const file = resultFile(next, id);
      writeFileSync(file, `${id} is done.`);
      await tool().json(["native", "finish", runDir, "--job", id, "--attempt", "1", "--result", file], {
        cwd: path,
      });
    }
    expect(Object.entries(stateOf(runDir).jobs).map(([id, job]) => `${id} ${job.status}`)).toEqual([
      "scout success",
      "writer success",
    ]);
  });

  it("bring their answer in a file: nothing else is read, and nothing waits for a pipe", async () => {
    const path = workspace([internal("one")]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json", ...HARNESS], { cwd: path }));
    const pipe = join(path, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const [file, code] of [
      [pipe, "ENOTREG"],
      ["/dev/zero", "ENOTREG"],
      [path, "EISDIR"],
    ]) {
      const argv = ["native", "finish", runDir, "--job", "one", "--attempt", "1", "--result", file as string];
      const finished = await tool().json(argv, { cwd: path });
      expect([finished.code, finished.diagnostics[0]?.message]).toEqual([
        2,
        `Cannot read the result \`${file}\`: ${code}.`,
      ]);
      const verdict = await tool().json(["verdict", runDir, "--file", file as string, "--handle", "h"], {
        cwd: path,
      });
      expect([verdict.code, verdict.diagnostics[0]?.message]).toEqual([
        2,
        `Cannot read \`${file}\`: ${code}.`,
      ]);
    }
  });
});

describe("native jobs", () => {
  it("are offered together, answered one by one, and open what depends on them", async () => {
    const path = workspace([
      internal("left"),
      internal("right"),
      internal("both", { depends_on: ["left", "right"] }),
    ]);
    const run = await tool().json(["run", "jobs.json", ...HARNESS], { cwd: path });
    const runDir = runDirOf(run);
    expect(run.code).toBe(3);
    expect(dispatches(run)).toEqual(["left#1", "right#1"]);
    expect(dispatches(await tool().json(["next", runDir], { cwd: path }))).toEqual(["left#1", "right#1"]);

    const started = await tool().json(
      ["native", "start", runDir, "--job", "left", "--attempt", "1", "--handle", "agent-1"],
      { cwd: path },
    );
    expect(started.code).toBe(0);
    expect(started.next.map((next) => `${next.action} ${next.jobId}`)).toContain("record_native left");

    for (const id of ["left", "right"]) {
      const next = await tool().json(["next", runDir], { cwd: path });
      writeFileSync(resultFile(next, id), `${id} holds a README.`);
      const finished = await tool().json(
        ["native", "finish", runDir, "--job", id, "--attempt", "1", "--result", resultFile(next, id)],
        { cwd: path },
      );
      expect(finished.code).toBe(0);
    }
    const next = await tool().json(["next", runDir], { cwd: path });
    expect(dispatches(next)).toEqual(["both#1"]);
    expect(readFileSync(next.next[0]?.promptFile as string, "utf8")).toContain("left holds a README.");

    writeFileSync(resultFile(next, "both"), "Both hold a README.");
    await tool().json(
      ["native", "finish", runDir, "--job", "both", "--attempt", "1", "--result", resultFile(next, "both")],
      { cwd: path },
    );
    const state = stateOf(runDir);
    expect(standingOf(state)).toEqual({
      left: "success, blocked",
      right: "success, blocked",
      both: "success, blocked",
    });
    expect(state.jobs["left"]?.attemptRecords[0]).toMatchObject({
      exitCode: null,
      pid: null,
      nativeHandle: "agent-1",
      flags: [],
    });
    expect(state.jobs["right"]?.attemptRecords[0]?.flags).toEqual(["no-start"]);

    const file = writeVerdict(runDir);
    const byProducer = await tool().json(["verdict", runDir, "--file", file, "--handle", "agent-1"], {
      cwd: path,
    });
    expect(byProducer.code).toBe(0);
    expect(stateOf(runDir).jobs["left"]?.outcomeBlock?.code).toBe("not-independent");
    const again = await tool().json(["resume", runDir, ...HARNESS], { cwd: path });
    expect(again.next.map((one) => one.action)).toEqual(["arbitrate_native"]);
    await tool().json(["verdict", runDir, "--file", writeVerdict(runDir), "--handle", "agent-9"], {
      cwd: path,
    });
    expect(stateOf(runDir).status).toBe("accepted");
    expect(stateOf(runDir).jobs["both"]?.attemptRecords[0]?.arbitration?.independence).toBe(
      "not-independent-substituted",
    );
  });

  it("that changed what they may not change fail; a failed one blocks what stands on it; a late answer is kept and not used", async () => {
    const path = workspace([
      internal("nosy"),
      internal("unable"),
      internal("after", { depends_on: ["unable"] }),
    ]);
    const run = await tool().json(["run", "jobs.json", ...HARNESS], { cwd: path });
    const runDir = runDirOf(run);
    writeFileSync(join(path, "README.md"), "# changed\n");
    const file = resultFile(run, "nosy");
    writeFileSync(file, "I only looked.");
    await tool().json(["native", "finish", runDir, "--job", "nosy", "--attempt", "1", "--result", file], {
      cwd: path,
    });
    expect(stateOf(runDir).jobs["nosy"]?.status).toBe("failed");

    await tool().json(
      [
        "native",
        "fail",
        runDir,
        "--job",
        "unable",
        "--attempt",
        "1",
        "--class",
        "TOOL_FAILURE",
        "--message",
        "no web access",
      ],
      { cwd: path },
    );
    expect(standingOf(stateOf(runDir))).toEqual({
      nosy: "failed, failed",
      unable: "failed, failed",
      after: "blocked, blocked",
    });

    const late = await tool().json(
      ["native", "finish", runDir, "--job", "unable", "--attempt", "1", "--result", file],
      { cwd: path },
    );
    expect(late.code).toBe(2);
    expect(late.diagnostics[0]?.code).toBe("attempt-closed");
    expect(existsSync(join(runDir, "unable/native-late-1.json"))).toBe(true);
    await tool().json(["wait", runDir, "--for", "settled"], { cwd: path });
    expect(stateOf(runDir).status).toBe("ended");
  });

  it("wait for a harness, and get their route when one resumes the run", async () => {
    const path = workspace([internal("look")]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(stateOf(runDir).jobs["look"]?.block?.code).toBe("no-harness");
    const still = await tool().json(["resume", runDir], { cwd: path });
    expect(still.code).toBe(3);
    expect(stateOf(runDir).jobs["look"]?.block?.code).toBe("no-harness");
    const resumed = await tool().json(["resume", runDir, ...HARNESS], { cwd: path });
    expect(resumed.code).toBe(3);
    expect(dispatches(resumed)).toEqual(["look#1"]);
    expect(stateOf(runDir).harness).toEqual({ name: "claude-code", subagents: true });
  });
});

describe("approval", () => {
  it("is asked for exactly one scope, refused for another, and lets the job run", async () => {
    const path = workspace([
      {
        id: "careful",
        task: "scout",
        runtime: "mock",
        approval: "require",
        prompt: "p",
        expected_output: "x",
        mock: [{ say: "done" }],
      },
    ]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(run.code).toBe(3);
    const scope = stateOf(runDir).jobs["careful"]?.block?.scope as string;
    expect(run.next[0]).toMatchObject({ action: "request_approval", jobId: "careful" });
    const wrong = await tool().json(["approve", runDir, "--job", "careful", "--scope", "0".repeat(64)], {
      cwd: path,
    });
    expect([wrong.code, wrong.diagnostics]).toEqual([
      2,
      [
        {
          severity: "error",
          code: "scope-not-asked",
          message: `\`careful\` asks for another scope: \`${scope}\`. Read \`next\` again.`,
        },
      ],
    ]);
    const right = await tool().json(
      ["approve", runDir, "--job", "careful", "--scope", scope, "--note", "agreed"],
      { cwd: path },
    );
    expect(right.code).toBe(0);
    await tool().json(["wait", runDir, "--for", "settled"], { cwd: path });
    const never = await tool().json(["deny", runDir, "--job", "careful", "--scope", "0".repeat(64)], {
      cwd: path,
    });
    expect([never.code, never.diagnostics]).toEqual([
      2,
      [{ severity: "error", code: "scope-not-asked", message: "`careful` waits for no approval." }],
    ]);
    const state = stateOf(runDir);
    expect(standingOf(state)).toEqual({ careful: "success, accepted" });
    expect(state.approvals).toMatchObject([
      { jobId: "careful", scope, decision: "approved", via: "command", note: "agreed", attested: true },
    ]);
  });

  it("denied, blocks the job for good", async () => {
    const path = workspace([
      {
        id: "careful",
        task: "scout",
        runtime: "mock",
        approval: "require",
        prompt: "p",
        expected_output: "x",
        mock: [{ say: "done" }],
      },
    ]);
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const scope = stateOf(runDir).jobs["careful"]?.block?.scope as string;
    await tool().json(["deny", runDir, "--job", "careful", "--scope", scope], { cwd: path });
    const settled = await tool().json(["wait", runDir], { cwd: path });
    expect(settled.code).toBe(1);
    expect(standingOf(stateOf(runDir))).toEqual({ careful: "blocked, blocked" });
    expect(stateOf(runDir).jobs["careful"]?.block?.code).toBe("denied");
  });

  it("of external work comes after a preview, which stops it when it fails", async () => {
    const deploy = (id: string, preview: string): object => ({
      id,
      task: "implement",
      runtime: "mock",
      effect: "external-destructive",
      owned_paths: ["deployed.txt"],
      checks: ["the file says what was deployed"],
      preview: { command: "sh", args: ["-c", preview] },
      rollback: "Remove deployed.txt again and tell the team.",
      prompt: "p",
      expected_output: "x",
      mock: [{ write: { path: "deployed.txt", content: "v1\n" } }, { say: "deployed" }],
    });
    const path = workspace(
      [deploy("shown", "echo would deploy v1"), deploy("broken", "echo no access >&2; exit 3")].map(
        (job, at) => ({ ...job, owned_paths: [`deployed-${at}.txt`] }),
      ),
    );
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const { jobs } = stateOf(runDir);
    expect(jobs["shown"]?.block).toMatchObject({ code: "needs-approval" });
    expect(jobs["shown"]?.block?.detail).toMatch(
      /; the preview, run in a worktree like the job's own \([0-9a-f]{12}, without uncommitted changes\), printed: would deploy v1/,
    );
    expect(jobs["broken"]?.block?.code).toBe("preview-failed");
    expect(jobs["broken"]?.block?.detail).toContain("ended with 3: no access");
    expect(jobs["shown"]?.attempts).toBe(0);
  });
});
