/** Work with an effect outside: it runs on the user's word for exactly this attempt, and never again on the same word. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
const HARNESS = ["--harness", "codex", "--subagents"];

/** A deployment that leaves a line outside and then fails. */
function scene(preview = "echo would deploy") {
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
    invocation: { command: "sh", args: ["-c", `echo deployed >> ${effects}; exit 1`] },
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
    await call("deny", runDir, "--job", "deploy", "--scope", scopeOf(runDir));
    const end = await call("wait", runDir);
    expect([end.code, stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual([1, "denied", 0]);
    await call("resume", runDir, "--retry", "deploy");
    expect([stateOf(runDir).jobs["deploy"]?.block?.code, ran()]).toEqual(["denied", 0]);
  });

  it("says where all of a long preview is", async () => {
    const { call } = scene("seq 2000");
    const asked = await call("run", "jobs.json", ...HARNESS);
    const [request] = asked.next;
    const file = /the last 1500 characters; all of it is in `([^`]+)`/.exec(request?.reason ?? "")?.[1];
    expect(readFileSync(file as string, "utf8")).toMatch(/^1\n2\n3\n/);
  });
});
