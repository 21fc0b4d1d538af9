/** What `verdict` says: what was recorded, and of each job that is not accepted why. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/core/generated/verdict.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();

const program = (id: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "sh",
  prompt: "run it",
  expected_output: "exit 0",
  invocation: { command: "sh", args: ["-c", `echo ${id}`] },
  ...more,
});

async function waiting(jobs: readonly object[]): Promise<{ path: string; runDir: string }> {
  const repo = throwawayRepo({
    "README.md": "# verdict\n",
    ".orchestrate/runtimes.yaml": "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
    "jobs.json": JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "1m" }, jobs }),
  });
  const run = await tool().json(["run", "jobs.json"], { cwd: repo.path });
  expect(run.next.map(({ action }) => action)).toEqual(["arbitrate_native"]);
  return { path: repo.path, runDir: runDirOf(run) };
}

const verdict = (at: { path: string; runDir: string }, file: string, handle = "judge-1") =>
  tool().run(["verdict", at.runDir, "--file", file, "--handle", handle], { cwd: at.path });

const firstLine = (text: string): string => text.split("\n")[0] as string;

function edit(file: string, change: (verdict: Verdict) => void): void {
  const value = JSON.parse(readFileSync(file, "utf8")) as Verdict;
  change(value);
  writeFileSync(file, JSON.stringify(value));
}

/** The same answer with the opposite word. */
function writeFail(file: string): string {
  edit(file, (value) => {
    value.overall = "fail";
    for (const job of value.jobs) job.verdict = "fail";
  });
  return file;
}

describe("the message of `verdict`", () => {
  it("names jobs that did not pass, five at most, each with what decided", async () => {
    const at = await waiting([
      program("bad"),
      program("above", { depends_on: ["bad"] }),
      program("unsure"),
      program("doubted"),
      program("over", { depends_on: ["doubted"] }),
      program("last"),
      program("good"),
    ]);
    const failed = new Set(["bad", "last"]);
    const file = writeVerdict(at.runDir, (id) =>
      failed.has(id) ? "fail" : id === "unsure" ? "blocked" : "pass",
    );
    edit(file, (value) => {
      for (const job of value.jobs) {
        if (failed.has(job.jobId)) job.reasons = ["it says the opposite"];
        if (job.jobId === "unsure") job.reasons = ["the log is cut off!"];
        if (job.jobId === "doubted") job.unsupportedClaims = ["that it is fast"];
      }
    });
    const { code, stdout } = await verdict(at, file);
    expect(code).toBe(0);
    expect(firstLine(stdout)).toBe(
      [
        "Verdict recorded: 1 accepted, 3 rejected, 3 blocked.",
        "`bad` arbiter-rejected: it says the opposite.",
        "`doubted` arbiter-blocked: `arbiter-1` could not decide: unsupported claim: that it is fast.",
        "`last` arbiter-rejected: it says the opposite.",
        "`unsure` arbiter-blocked: `arbiter-1` could not decide: the log is cut off!",
        "`above` dependency-rejected: it stands on `bad`, whose work did not pass (fail).",
        "And 1 more.",
      ].join(" "),
    );
    const state = stateOf(at.runDir);
    expect(standingOf(state)).toEqual({
      bad: "success, rejected",
      above: "success, rejected",
      unsure: "success, blocked",
      doubted: "success, blocked",
      over: "success, blocked",
      last: "success, rejected",
      good: "success, accepted",
    });
    expect(state.jobs["over"]?.outcomeBlock).toEqual({
      code: "arbiter-blocked",
      detail: "It stands on `doubted`, which is not accepted.",
    });
  }, 120_000);

  it("says of a handle that names nobody that such an answer decides nothing", async () => {
    const at = await waiting([program("a")]);
    const { code, stdout } = await verdict(at, writeVerdict(at.runDir), "<handle>");
    expect(code).toBe(0);
    expect(firstLine(stdout)).toBe(
      "Verdict recorded: 0 accepted, 0 rejected, 1 blocked. `a` not-independent: `arbiter-1` answered without a handle of its own, or with one that did work in this run: an independent context must judge it.",
    );
    expect(stateOf(at.runDir).arbiters[0]?.independence).toBe("not-independent");
  }, 120_000);

  it("says why an answer is refused while the call stays open, and then counts what passed", async () => {
    const at = await waiting([program("a"), program("b")]);
    const good = writeVerdict(at.runDir);
    const nonce = join(at.runDir, "other-nonce.json");
    const value = JSON.parse(readFileSync(good, "utf8")) as Verdict;
    writeFileSync(nonce, JSON.stringify({ ...value, nonce: "0".repeat(value.nonce.length) }));
    const prose = join(at.runDir, "prose.md");
    writeFileSync(prose, "It passes, I think.");
    for (const [args, code] of [
      [["--file", nonce, "--handle", "judge-1"], "stale-verdict"],
      [["--file", prose, "--handle", "judge-1"], "malformed-verdict"],
      [["--file", join(at.runDir, "none.json"), "--handle", "judge-1"], "verdict-unreadable"],
      [["--file", good], "missing-flag"],
      [["--file", good, "--handle", " "], "missing-flag"],
    ] as const) {
      const refused = await tool().json(["verdict", at.runDir, ...args], { cwd: at.path });
      expect([refused.code, refused.diagnostics.map((one) => one.code)]).toEqual([2, [code]]);
    }
    expect(stateOf(at.runDir).arbiters.map(({ status }) => status)).toEqual(["offered"]);
    const { code, stdout } = await verdict(at, good);
    expect(code).toBe(0);
    expect(firstLine(stdout)).toBe("Verdict recorded: 2 accepted, 0 rejected, 0 blocked.");
    const again = writeFail(good);
    const late = await tool().json(["verdict", at.runDir, "--file", again, "--handle", "judge-2"], {
      cwd: at.path,
    });
    expect([late.code, late.diagnostics]).toEqual([
      2,
      [
        {
          severity: "error",
          code: "already-answered",
          message: "`arbiter-1` has its verdict already.",
        },
      ],
    ]);
    expect(standingOf(stateOf(at.runDir))).toEqual({ a: "success, accepted", b: "success, accepted" });
  }, 120_000);
});
