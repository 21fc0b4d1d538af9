/** What a plan says beside its jobs: short, at its place in the spec, and before a run would find it out. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool } from "../support/tool.ts";

const tool = builtTool();
const program = "runtimes:\n  - {id: sh, command: sh, agent: false}\n";
const job = (id: string, more: string): string =>
  `  - {id: ${id}, expected_output: text, timeout: 1m, runtime: sh, prompt: x, invocation: {command: sh, args: [-c, "true"]}, ${more}}\n`;

const spec = (...jobs: string[]): string => `version: 1\njobs:\n${jobs.join("")}`;
const look = async (command: "plan" | "validate", text: string, args: readonly string[] = []) => {
  const { path } = throwawayRepo({
    "jobs.yaml": text,
    ".orchestrate/runtimes.yaml": program,
    "src/a.txt": "a\n",
  });
  return tool().json([command, "jobs.yaml", ...args], { cwd: path });
};

describe("a plan says", () => {
  it("which glob owns no file", async () => {
    const done = await look("plan", spec(job("w", 'task: implement, owned_paths: ["src/"], checks: [ok]')));
    expect(done.diagnostics.find((one) => one.code === "owns-no-file")).toMatchObject({
      severity: "warning",
      file: "jobs.yaml",
      line: 3,
      message: "job `w`: `src/` owns no file: a glob means files",
      fix: "write `src/**` for everything below the folder",
    });
  });

  it("what worktrees start without, but not that the spec itself is not committed", async () => {
    const text = spec(
      job("w", 'task: implement, effect: high-impact-write, owned_paths: ["src/**"], checks: [ok]'),
    );
    const { path } = throwawayRepo({ ".orchestrate/runtimes.yaml": program, "src/a.txt": "a\n" });
    writeFileSync(join(path, "jobs.yaml"), text);
    const dirty = async () =>
      (await tool().json(["plan", "jobs.yaml"], { cwd: path })).diagnostics.find(
        (one) => one.code === "dirty-base",
      )?.message ?? null;
    expect(await dirty()).toBeNull();
    writeFileSync(join(path, "src/a.txt"), "b\n");
    expect(await dirty()).toMatch(/ has 1 path with uncommitted changes: /);
  });

  it("which observers share what they see", async () => {
    const done = await look("plan", spec(job("a", "task: scout"), job("b", "task: scout")));
    expect(done.diagnostics.find((one) => one.code === "shared-observation")?.message).toBe(
      "`a`, `b` look at one checkout at the same time: a change there that nobody owns fails all of them (`isolation: worktree` keeps one apart)",
    );
  });

  it("when nobody at hand could judge R3 work, which then does not start", async () => {
    const r3 =
      'task: implement, effect: external-destructive, owned_paths: ["src/**"], checks: [ok], preview: {command: sh, args: [-c, "true"]}, rollback: {command: sh, args: [-c, "true"]}';
    const done = await look("plan", spec(job("deploy", r3)));
    expect(done.diagnostics.find((one) => one.code === "job-blocked")).toMatchObject({
      severity: "warning",
      message: expect.stringMatching(
        /^`deploy` would be blocked \(needs-arbiter\): R3 work needs an arbiter of capability C3; none is at hand, so `deploy` does not start\. To go on, name a harness that dispatches subagents \(`resume RUN --harness NAME --subagents`\), or set up a CLI agent of capability C3 \(`doctor` says what is missing\)/,
      ),
    });
  });

  it("each fault at its line, also with --only and in validate", async () => {
    const text = spec(
      job("a", "task: scout"),
      job("b", "task: implement, effect: high-impact-write, owned_paths: [src/a.txt]"),
    );
    for (const done of [await look("plan", text, ["--only", "b"]), await look("validate", text)])
      expect(done.diagnostics.find((one) => one.code === "r2-without-checks")).toMatchObject({
        severity: "error",
        path: "jobs[1].verification",
        file: "jobs.yaml",
        line: 4,
      });
  });

  it("its jobs in a line each, and one in full on request", async () => {
    const { path } = throwawayRepo({
      "jobs.yaml": spec(job("a", "task: scout"), job("b", "task: scout"), job("c", "task: scout")),
      ".orchestrate/runtimes.yaml": program,
    });
    const short = await tool().run(["plan", "jobs.yaml"], { cwd: path });
    expect(short.stdout).toContain(
      "(each value with its origin, every reject, every control: --only JOB, or --json)",
    );
    expect(short.stdout).not.toContain("from built-in");
    const full = await tool().run(["plan", "jobs.yaml", "--only", "a"], { cwd: path });
    expect(full.stdout).toContain("from built-in");
    expect(full.stdout).toContain("verified, as a program that can run nothing but its declared argv");
    // What holds for every spec that says nothing of it is in the document, not on the terminal.
    expect(short.stderr).not.toContain("calibration-off");
  });

  it("what is missing for in-session work, and how to lift it", async () => {
    const done = await look(
      "plan",
      "version: 1\njobs:\n  - {id: n, task: scout, runtime: internal, prompt: x, expected_output: t, timeout: 1m}\n",
    );
    expect(done.diagnostics.find((one) => one.code === "job-blocked")?.message).toMatch(
      /^`n` would be blocked \(no-harness\): .*resume it from a harness: --harness NAME --subagents$/,
    );
  });

  it("the same harness by each of its names", async () => {
    const family = async (name: string) => {
      const done = await look("plan", spec(job("a", "task: scout")), ["--harness", name, "--subagents"]);
      return (done.data as { plan: { harness: { name: string } } }).plan.harness.name;
    };
    expect([await family("claude"), await family("Claude-Code"), await family("gemini-cli")]).toEqual([
      "claude-code",
      "claude-code",
      "gemini",
    ]);
  });
});
