/** Work with an effect outside: it runs on the user's word for exactly this attempt, and never again on the same word. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandOutput } from "../../src/core/generated/output.ts";
import { systemClock } from "../../src/host/clock.ts";
import { pendingCommands } from "../../src/state/inbox.ts";
import { acquireLock, lockOwner } from "../../src/state/lock.ts";
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
    path: repo.path,
    ran: () => (existsSync(effects) ? readFileSync(effects, "utf8").split("\n").length - 1 : 0),
    scopeOf: (runDir: string) => stateOf(runDir).jobs["deploy"]?.block?.scope as string,
  };
}

/** Holds the run until each of several clients has put its command down: none is answered before all are there. */
async function atOnce<T>(runDir: string, clients: number, start: () => Promise<T>[]): Promise<T[]> {
  const lock = await eventually(() => {
    const got = acquireLock({ runDir, clock: systemClock });
    return got.ok ? got.value : null;
  });
  const answers = start();
  await eventually(() => (pendingCommands(runDir).length === clients ? true : null));
  lock.release();
  return Promise.all(answers);
}

interface Said {
  readonly exit: number | null;
  readonly applied: boolean;
  readonly code: string;
  readonly message: string;
}

function said(output: { readonly code: number | null; readonly data: unknown }): Said {
  const { applied, code, message } = output.data as Said;
  return { exit: output.code, applied, code, message };
}

const byCode = (a: Said, b: Said): number => a.code.localeCompare(b.code);

const alreadyText = (decision: string, at: string | undefined): string =>
  `This scope of \`deploy\` was ${decision} already (${at}); nothing changed.`;
const tooLateText = (at: string): string =>
  `This scope of \`deploy\` was approved already (${at}), so a denial comes too late. While the job runs, \`cancel --job deploy\` stops it.`;
const deniedText = (at: string | undefined): string =>
  `The user denied this scope (${at}), and the same scope is not asked for again in this run. A changed spec needs a new run; when what \`deploy\` depends on or a script that it runs changed, \`resume --retry deploy\` asks for the new scope.`;

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
    expect([said(old), ran()]).toEqual([
      {
        exit: 2,
        applied: false,
        code: "scope-not-asked",
        message: `\`deploy\` asks for another scope: \`${second}\`. Read \`next\` again.`,
      },
      1,
    ]);
    await call("approve", runDir, "--job", "deploy", "--scope", second);
    expect([(await call("wait", runDir)).code, ran()]).toEqual([1, 2]);
  });

  it("takes the same word of two clients at once as one, and runs once", async () => {
    const { call, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const scope = scopeOf(runDir);
    const told = await atOnce(runDir, 2, () =>
      ["one", "two"].map((note) =>
        call("approve", runDir, "--job", "deploy", "--scope", scope, "--note", note),
      ),
    );
    const [approval] = stateOf(runDir).approvals;
    expect(told.map(said).sort(byCode)).toEqual([
      { exit: 0, applied: true, code: "already-decided", message: alreadyText("approved", approval?.at) },
      { exit: 0, applied: true, code: "applied", message: "`deploy` may run with exactly this scope." },
    ]);
    expect(told.map(({ diagnostics }) => diagnostics)).toEqual([[], []]);
    await call("wait", runDir);
    expect([stateOf(runDir).approvals.length, ran()]).toEqual([1, 1]);
  });

  it("tells the client whose word came after the opposite one what was decided", async () => {
    const { call, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const scope = scopeOf(runDir);
    const decide = (word: string) => call(word, runDir, "--job", "deploy", "--scope", scope);
    const told = await atOnce(runDir, 2, () => ["approve", "deny"].map(decide));
    const { approvals } = stateOf(runDir);
    const [{ decision, at } = { decision: null, at: "" }] = approvals;
    const approved = decision === "approved";
    expect(told.map(said)).toEqual(
      approved
        ? [
            { exit: 0, applied: true, code: "applied", message: "`deploy` may run with exactly this scope." },
            { exit: 2, applied: false, code: "scope-approved", message: tooLateText(at) },
          ]
        : [
            {
              exit: 2,
              applied: false,
              code: "scope-denied",
              message: `This scope of \`deploy\` cannot be approved any more. ${deniedText(at)}`,
            },
            {
              exit: 0,
              applied: true,
              code: "applied",
              message: `\`deploy\` is blocked: denied. ${deniedText(at)}`,
            },
          ],
    );
    await call("wait", runDir);
    expect([approvals.length, ran()]).toEqual([1, approved ? 1 : 0]);
  });

  it("takes a word given again later for the same one, starts nothing by it, and refuses the opposite", async () => {
    const { call, path, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const scope = scopeOf(runDir);
    const decide = (word: string) => call(word, runDir, "--job", "deploy", "--scope", scope);
    await decide("approve");
    await call("wait", runDir);
    const { approvals, seq } = stateOf(runDir);
    const at = approvals[0]?.at as string;
    expect([said(await decide("approve")), said(await decide("deny"))]).toEqual([
      { exit: 0, applied: true, code: "already-decided", message: alreadyText("approved", at) },
      { exit: 2, applied: false, code: "scope-approved", message: tooLateText(at) },
    ]);
    // A job of another run may be the harness of this one.
    const nested = { cwd: path, env: { ORCHESTRATE_JOB: "/another/run#lead#1" } };
    const again = await tool().json(["approve", runDir, "--job", "deploy", "--scope", scope], nested);
    expect(said(again).code).toBe("already-decided");
    expect([stateOf(runDir).seq, ran()]).toEqual([seq, 1]);
  });

  it("takes --yes for its first attempt alone", async () => {
    const { call, ran } = scene();
    const run = await call("run", "jobs.json", "--yes", ...HARNESS);
    expect([run.code, ran()]).toEqual([1, 1]);
    const again = await call("resume", runDirOf(run), "--retry", "deploy");
    expect([again.code, again.next.map((next) => next.action), ran()]).toEqual([3, ["request_approval"], 1]);
  });

  it("is not started by the word of another job of the run, even of one that sheds its marker", async () => {
    const { call, ran, scopeOf, path } = scene();
    const asked = join(path, "..", "scope");
    const main = tool().main;
    const words = (run: string): string =>
      ["approve", "deny"]
        .map((word) => `${run} node '${main}' ${word} --job deploy --scope "$(cat ${asked})" --json`)
        .join("; ");
    const verdict = join(path, "..", "verdict.json");
    const judged = { jobId: "mallory", attempt: 1, treeSha256: null, verdict: "pass", reasons: ["fine"] };
    writeFileSync(
      verdict,
      JSON.stringify({
        ...{ schemaVersion: 1, bundleSha256: "0".repeat(64), nonce: "0".repeat(32), overall: "pass" },
        jobs: [{ ...judged, unsupportedClaims: [], contradictions: [], unresolved: [] }],
      }),
    );
    const judge = `node '${main}' verdict --file ${verdict} --handle somebody --json`;
    const policy = `node '${main}' approve --policy ${"0".repeat(64)} --json; node '${main}' policy set sh --capability C3 --json`;
    writeFileSync(
      join(path, "jobs.json"),
      JSON.stringify({
        ...(JSON.parse(readFileSync(join(path, "jobs.json"), "utf8")) as object),
        jobs: [
          ...(JSON.parse(readFileSync(join(path, "jobs.json"), "utf8")) as { jobs: object[] }).jobs,
          {
            ...{ id: "mallory", task: "scout", runtime: "sh", prompt: "look", expected_output: "exit 0" },
            invocation: {
              command: "sh",
              args: [
                "-c",
                `until [ -s ${asked} ]; do sleep 0.1; done; ${words("")}; ${words("env -u ORCHESTRATE_JOB -u ORCHESTRATE_JOB_ANCESTORS")}; ${judge}; ${policy}; exit 0`,
              ],
            },
          },
        ],
      }),
    );
    const started = await call("run", "jobs.json", "--detach", ...HARNESS);
    const runDir = runDirOf(started);
    writeFileSync(asked, await eventually(() => scopeOf(runDir) ?? null));
    await eventually(() => (stateOf(runDir).jobs["mallory"]?.status === "success" ? true : null));
    const told = readFileSync(join(runDir, "mallory/stdout.txt"), "utf8").trimEnd().split("\n");
    const refused = told.map((line) => (JSON.parse(line) as CommandOutput).diagnostics[0]);
    expect(refused).toEqual(
      ["approve", "deny", "approve", "deny", "verdict", "approve --policy", "policy set"].map((command) => ({
        severity: "error",
        code: "inside-job",
        message: `\`${command}\` is not taken from inside a job, here \`mallory\`: what a job runs is nobody else's word.`,
        fix: "leave it to the harness outside of the run, which asks the user",
      })),
    );
    expect([stateOf(runDir).approvals, stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual([
      [],
      "needs-approval",
      0,
    ]);
  }, 90_000);

  it("never runs after a no", async () => {
    const { call, ran, scopeOf } = scene();
    const runDir = runDirOf(await call("run", "jobs.json", ...HARNESS));
    const answer = await call("deny", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    expect(said(answer).message).toBe(
      `\`deploy\` is blocked: denied. ${deniedText(stateOf(runDir).approvals[0]?.at)}`,
    );
    const end = await call("wait", runDir);
    expect([end.code, stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual([1, "denied", 0]);
    const [denial] = stateOf(runDir).approvals;
    const decide = (word: string) =>
      call(word, runDir, "--job", "deploy", "--scope", denial?.scope as string);
    expect([said(await decide("deny")), said(await decide("approve"))]).toEqual([
      { exit: 0, applied: true, code: "already-decided", message: alreadyText("denied", denial?.at) },
      {
        exit: 2,
        applied: false,
        code: "scope-denied",
        message: `This scope of \`deploy\` cannot be approved any more. ${deniedText(denial?.at)}`,
      },
    ]);
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
