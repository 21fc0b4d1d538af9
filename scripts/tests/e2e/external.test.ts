/** Work with an effect outside: it runs on the user's word for exactly this attempt, and never again on the same word. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockOwner } from "../../src/state/lock.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
const HARNESS = ["--harness", "codex", "--subagents"];

/** A deployment that leaves a line outside and then fails. */
function scene(preview = "echo would deploy", work = "exit 1") {
  const repo = throwawayRepo({ "README.md": "# external\n" });
  const effects = join(repo.path, "..", "effects.txt");
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const deploy = {
    id: "deploy",
    task: "implement",
    effect: "external-destructive",
    runtime: "sh",
    prompt: "deploy",
    expected_output: "deployed",
    owned_paths: ["out/**"],
    checks: ["it is deployed"],
    preview: { command: "sh", args: ["-c", preview] },
    rollback: { command: "sh", args: ["-c", "echo rolled back"] },
    invocation: { command: "sh", args: ["-c", `echo deployed >> ${effects}; ${work}`] },
  };
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, defaults: { timeout: "1m" }, jobs: [deploy] }),
  );
  repo.commit("spec");
  const call = (...args: string[]) => tool().json(args, { cwd: repo.path });
  return {
    call,
    ran: () => (existsSync(effects) ? readFileSync(effects, "utf8").split("\n").length - 1 : 0),
    scopeOf: (runDir: string) => stateOf(runDir).jobs["deploy"]?.block?.scope as string,
  };
}

describe("work with an effect outside", () => {
  it("asks again for each further attempt, and takes no old word for it", async () => {
    const { call, ran, scopeOf } = scene();
    const asked = await call("run", "jobs.json", ...HARNESS);
    const runDir = runDirOf(asked);
    expect([asked.code, asked.next.map((next) => next.action), ran()]).toEqual([3, ["request_approval"], 0]);
    const first = scopeOf(runDir);
    await call("approve", runDir, "--job", "deploy", "--scope", first);
    const failed = await call("wait", runDir);
    expect([failed.code, ran()]).toEqual([1, 1]);

    const again = await call("resume", runDir, "--retry", "deploy");
    expect([again.code, again.next.map((next) => next.action), ran()]).toEqual([3, ["request_approval"], 1]);
    const second = scopeOf(runDir);
    expect(second).not.toBe(first);
    const old = await call("approve", runDir, "--job", "deploy", "--scope", first);
    expect([old.code, ran()]).toEqual([2, 1]);
    await call("approve", runDir, "--job", "deploy", "--scope", second);
    expect([(await call("wait", runDir)).code, ran()]).toEqual([1, 2]);
  });

  it("tells each of several clients that answer at once what became of its answer, and runs once", async () => {
    const { call, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const decide = (word: string) => call(word, runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    const told = await Promise.all(["approve", "deny", "approve"].map(decide));
    const codes = told.map(({ code, diagnostics }) => [code, diagnostics.map((one) => one.code)]);
    // Whoever came first decided; nobody is told that the answer still waits for a coordinator.
    for (const one of codes)
      expect([
        [0, []],
        [2, ["scope-not-asked"]],
        [2, ["scope-denied"]],
      ]).toContainEqual(one);
    expect(codes).toContainEqual([0, []]);
    await call("wait", runDir);
    expect(ran()).toBe(stateOf(runDir).jobs["deploy"]?.reason === "denied" ? 0 : 1);
  });

  it("takes --yes for its first attempt alone", async () => {
    const { call, ran } = scene();
    const run = await call("run", "jobs.json", "--yes", ...HARNESS);
    expect([run.code, ran()]).toEqual([1, 1]);
    const again = await call("resume", runDirOf(run), "--retry", "deploy");
    expect([again.code, again.next.map((next) => next.action), ran()]).toEqual([3, ["request_approval"], 1]);
  });

  it("never runs after a no", async () => {
    const { call, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const said = await call("deny", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    expect((said.data as { message: string }).message).toMatch(
      /^`deploy` is blocked: denied\. The user denied this scope \(\S+\), and the same scope is not asked for again in this run\. A changed spec needs a new run; .*`resume --retry deploy` asks for the new scope\.$/,
    );
    const end = await call("wait", runDir);
    expect([end.code, stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual([1, "denied", 0]);
    await call("resume", runDir, "--retry", "deploy");
    expect([stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual(["denied", 0]);
  });

  it("is started by an approval that does not wait for its end", async () => {
    const { call, scopeOf } = scene("true", "exec sleep 12");
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const approved = await call("approve", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    expect([approved.code, stateOf(runDir).jobs["deploy"]?.status]).toEqual([0, "running"]);
    await call("cancel", runDir);
  });

  it("waits, with the words for what is missing, where nobody could accept it, and goes on once somebody can", async () => {
    const { call, ran } = scene();
    const waiting = await call("run", "jobs.json");
    const runDir = runDirOf(waiting);
    expect([waiting.code, stateOf(runDir).status, waiting.next.length]).toEqual([3, "waiting", 1]);
    expect(waiting.next[0]).toMatchObject({
      action: "resume",
      reason: expect.stringMatching(
        /`deploy` \(needs-arbiter\): R3 work needs an arbiter of capability C3; none is at hand, so `deploy` does not start\. To go on, name a harness that dispatches subagents \(`resume RUN --harness NAME --subagents`\)/,
      ),
    });
    const asked = await call("resume", runDir, ...HARNESS);
    expect([asked.next.map((next) => next.action), ran()]).toEqual([["request_approval"], 0]);
  });

  it("says where all of a long preview is", async () => {
    const { call } = scene("seq 2000");
    const asked = await call("run", "jobs.json", ...HARNESS);
    const [request] = asked.next;
    const file = /the last 1500 characters; all of it is in `([^`]+)`/.exec(request?.reason ?? "")?.[1];
    expect(readFileSync(file as string, "utf8")).toMatch(/^1\n2\n3\n/);
  });
});

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

async function eventually<T>(look: () => T | null): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A process that ended and that nobody has collected yet is not alive. */
function isAlive(pid: number): boolean {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat !== "" && !/^\d+ \(.*\) Z/.test(stat);
}

/** A job builds the script that the deployment runs; what lies in the checkout meanwhile is nobody's business. */
function builtScene(o: { readonly preview: string; readonly setup?: (outside: string) => string }) {
  const repo = throwawayRepo({ "README.md": "# external\n" });
  const outside = join(repo.path, "..", "outside");
  const effects = join(outside, "effects.txt");
  mkdirSync(outside);
  writeFileSync(join(outside, "deploy.sh"), `echo one >> ${effects}\n`);
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const script = join(outside, "deploy.sh");
  const build = {
    id: "build",
    task: "implement",
    runtime: "mock",
    prompt: "build",
    expected_output: "built.sh",
    owned_paths: ["built.sh"],
    outputs: [{ path: "built.sh" }],
    verification: [{ command: "test", args: ["-s", "built.sh"] }],
    mock: [{ write: { path: "built.sh", content: "cat README.md\n" } }, { say: "built" }],
  };
  const deploy = {
    id: "deploy",
    task: "implement",
    effect: "external-destructive",
    runtime: "sh",
    prompt: "deploy",
    expected_output: "deployed",
    depends_on: ["build"],
    owned_paths: ["out/**"],
    checks: ["it is deployed"],
    preview: { command: "sh", args: ["-c", o.preview] },
    rollback: { command: "sh", args: ["-c", "echo rolled back"] },
    verification: [{ command: "test", args: ["-d", "."] }],
    invocation: { command: "sh", args: [script] },
  };
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({
      version: 1,
      defaults: { timeout: "1m" },
      ...(o.setup === undefined
        ? {}
        : { worktree_setup: [{ command: "sh", args: ["-c", o.setup(outside)] }] }),
      jobs: [build, deploy],
    }),
  );
  repo.commit("spec");
  return {
    repo,
    outside,
    call: (...args: string[]) => tool().json(args, { cwd: repo.path }),
    ran: () => (existsSync(effects) ? readFileSync(effects, "utf8") : ""),
    scopeOf: (runDir: string) => stateOf(runDir).jobs["deploy"]?.block?.scope as string,
    /** Folders, registrations and branches of scratch places. */
    left: (runDir: string) => [
      ...readdirSync(join(runDir, "worktrees")).filter((name) => name.startsWith("_")),
      ...repo
        .git("worktree", "list", "--porcelain")
        .split("\n")
        .filter((line) => line.includes("/_")),
      ...repo
        .git("branch", "--list", "orchestrate/*")
        .split("\n")
        .filter((line) => line.includes("/_")),
    ],
  };
}

describe("the preview", () => {
  it("runs in a tree like the job's own: with the work of dependencies, without uncommitted work, gone afterwards", async () => {
    const { repo, call, scopeOf, left } = builtScene({ preview: "sh ./built.sh; ls; pwd" });
    writeFileSync(join(repo.path, "README.md"), "not committed\n");
    writeFileSync(join(repo.path, "loose.txt"), "not committed\n");
    const asked = await call("run", "jobs.json", ...HARNESS);
    const runDir = runDirOf(asked);
    const [request] = asked.next;
    expect([asked.code, request?.action]).toEqual([3, "request_approval"]);
    const { printed, commit } =
      /the preview, run in a worktree like the job's own \((?<commit>[0-9a-f]{12}) with the work of `build`, without uncommitted changes\), printed: (?<printed>[\s\S]*)/.exec(
        request?.reason ?? "",
      )?.groups ?? {};
    expect(printed?.split("\n").slice(0, 4)).toEqual(["# external", "README.md", "built.sh", "jobs.json"]);
    expect(left(runDir)).toEqual([]);
    await call("approve", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    await call("wait", runDir, "--timeout", "30s");
    const state = stateOf(runDir).jobs["deploy"];
    expect(state?.baseCommit?.slice(0, 12)).toBe(commit);
    expect([state?.status, left(runDir)]).toEqual(["success", []]);
  });

  it("leaves nothing behind when the coordinator dies in it", async () => {
    const outside = temporaryFolder();
    const pidFile = join(outside, "pid");
    const once = join(outside, "once");
    // The first time it says who it is and stays; the second time it ends.
    const preview = `if [ -e ${once} ]; then echo again; else touch ${once}; echo $$ > ${pidFile}; exec sleep 300; fi`;
    const { repo, call, left } = builtScene({ preview });
    await call("run", "jobs.json", "--detach", ...HARNESS);
    const runs = join(repo.path, "plans/reports");
    const runDir = join(runs, readdirSync(runs)[0] as string);
    const pid = await eventually(() => Number(readIfThere(pidFile).trim()) || null);
    expect(left(runDir)).not.toEqual([]);
    process.kill(lockOwner(runDir)?.pid as number, "SIGKILL");
    const asked = await call("resume", runDir, ...HARNESS);
    expect(asked.next.map((next) => next.action)).toEqual(["request_approval"]);
    expect([left(runDir), isAlive(pid)]).toEqual([[], false]);
  });
});

describe("a script outside the project", () => {
  it("belongs to what is approved: another one is asked for again", async () => {
    const { outside, call, ran, scopeOf } = builtScene({ preview: "true" });
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const first = scopeOf(runDir);
    writeFileSync(join(outside, "deploy.sh"), `echo two >> ${join(outside, "effects.txt")}\n`);
    const old = await call("approve", runDir, "--job", "deploy", "--scope", first);
    expect([old.next.map((next) => next.action), ran()]).toEqual([["request_approval"], ""]);
    const second = scopeOf(runDir);
    expect(second).not.toBe(first);
    await call("approve", runDir, "--job", "deploy", "--scope", second);
    await call("wait", runDir, "--timeout", "30s");
    expect(ran()).toBe("two\n");
  });

  it("is looked at again right before the start: one that a setup takes time to change is not run", async () => {
    // Stands for somebody who writes meanwhile: in the job's own worktree only, not where the preview is made.
    const { outside, call, ran, scopeOf } = builtScene({
      preview: "true",
      setup: (folder) =>
        `case $PWD in */worktrees/deploy) echo "echo two >> ${folder}/effects.txt" > ${folder}/deploy.sh;; esac`,
    });
    const asked = await call("run", "jobs.json", ...HARNESS);
    const runDir = runDirOf(asked);
    const words = asked.next[0]?.reason ?? "";
    expect(words).toMatch(
      /; after `sh -c 'case \$PWD in .* esac'`; may write `out\/\*\*`; checked by `test -d \.`;/,
    );
    await call("approve", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    await call("wait", runDir, "--timeout", "30s");
    expect(stateOf(runDir).jobs["deploy"]).toMatchObject({
      status: "blocked",
      block: {
        code: "approval-outdated",
        detail: `\`${outside}/deploy.sh\`: changed between the approval and the start, so \`deploy\` was not started. \`resume --retry deploy\` asks for approval of what is there now.`,
      },
    });
    const again = await call("resume", runDir, "--retry", "deploy");
    expect([again.next.map((next) => next.action), ran()]).toEqual([["request_approval"], ""]);
    await call("approve", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    await call("wait", runDir, "--timeout", "30s");
    expect(ran()).toBe("two\n");
  });
});
