/** The commands that look at a run: what each shows, page by page and line by line, and that none of them drives the terminal. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf } from "../support/tool.ts";

const tool = builtTool();

function workspace() {
  const repo = throwawayRepo({ "README.md": "# looking\n" });
  mkdirSync(join(repo.path, ".orchestrate"));
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: sh\n    command: sh\n    agent: false\n",
  );
  const program = (id: string, script: string, more: object = {}): object => ({
    id,
    task: "scout",
    runtime: "sh",
    prompt: "run it",
    expected_output: "exit 0",
    invocation: { command: "sh", args: ["-c", script] },
    ...more,
  });
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({
      version: 1,
      outcome: "x",
      constraints: ["none"],
      acceptance: ["exit 0"],
      defaults: { timeout: "1m" },
      jobs: [
        program("talks", "printf 'one\\ntwo\\033[2Jthree\\n'; echo warn >&2"),
        program("leaves-one", "sleep 60 & echo left"),
        program("fails", "echo no >&2; exit 7"),
        program("waits", "true", { depends_on: ["fails"] }),
      ],
    }),
  );
  repo.commit("spec");
  return repo;
}

describe("looking at a run", () => {
  it("shows how it stands, why, what was printed and what happened", async () => {
    const { path } = workspace();
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const look = async (...args: string[]) => {
      const result = await tool().run(args, { cwd: path });
      expect([args, result.code, result.stderr]).toEqual([args, 0, ""]);
      return result.stdout;
    };

    const status = await look("status");
    expect(status).toContain("  talks  success, blocked (needs-arbiter)  sh\n");
    expect(status).toContain("  fails  failed (tool-failure)  sh\n");
    expect(status).toContain("  waits  blocked (dependency-failed)  sh\n");

    const explained = await look("explain", "leaves-one");
    expect(explained).toMatch(/^leaves-one: success, blocked; needs-arbiter: /);
    expect(explained).toContain(
      "  attempt 1 (first) on sh: success [leaky, group-survivors]; acceptance pending",
    );
    expect((await look("explain")).match(/^\S+: /gm)).toEqual([
      "fails: ",
      "leaves-one: ",
      "talks: ",
      "waits: ",
    ]);

    // What a program printed is shown and never sent: no escape sequence reaches the terminal.
    expect(await look("logs", "talks")).toBe(
      "== talks stdout\none\ntwo\\u001b[2Jthree\n== talks stderr\nwarn\n",
    );
    expect(await look("logs", "talks", "--lines", "1")).toBe(
      `== talks stdout (4 bytes before this are in ${runDir}/talks/stdout.txt)\ntwo\\u001b[2Jthree\n== talks stderr\nwarn\n`,
    );
    expect(await look("logs", "--follow")).toBe(
      "fails ! no\nleaves-one | left\ntalks | one\ntalks | two\\u001b[2Jthree\ntalks ! warn\n",
    );
    expect(await look("logs", "fails", "--follow", "--json")).toBe(
      '{"job":"fails","stream":"stderr","line":"no"}\n',
    );

    const watched = (await look("watch")).trimEnd().split("\n");
    expect(watched.slice(0, -1).sort()).toEqual([
      "[4/4] fails: failed: tool-failure",
      "[4/4] leaves-one: success, not judged yet",
      "[4/4] talks: success, not judged yet",
      "[4/4] waits: blocked: dependency-failed",
    ]);
    expect(watched.at(-1)).toMatch(/^waiting/);
  });

  it("pages through events without losing or repeating one", async () => {
    const { path } = workspace();
    await tool().json(["run", "jobs.json"], { cwd: path });
    const page = async (...args: string[]) =>
      (await tool().run(["events", "--json", ...args], { cwd: path })).stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { cursor: number; has_more?: boolean; jobId?: string });
    const all = await page();
    expect(all.at(-1)).toEqual({ cursor: all.length - 1, has_more: false });
    const collected: unknown[] = [];
    for (let after = 0; ; ) {
      const part = await page("--after", String(after), "--limit", "3");
      const end = part.pop() as { cursor: number; has_more: boolean };
      expect(part.length).toBeLessThanOrEqual(3);
      collected.push(...part);
      after = end.cursor;
      if (!end.has_more) break;
    }
    expect(collected).toEqual(all.slice(0, -1));
    const mine = (await page("--job", "talks")).slice(0, -1);
    expect(mine.length).toBeGreaterThan(0);
    expect(new Set(mine.map((event) => event.jobId))).toEqual(new Set(["talks"]));
  });

  it("counts the events of all coordinators in the report, and says the same whenever it is written again", async () => {
    const { path } = workspace();
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    const line = () => /^- Events: (.*)$/m.exec(readFileSync(join(runDir, "report.md"), "utf8"))?.[1];
    const counted = async () => {
      const listed = await tool().run(["events", "--json", "--limit", "1000"], { cwd: path });
      return listed.stdout.trimEnd().split("\n").length - 1;
    };
    const first = await counted();
    const says = (written: number) => `${written} written, 0 dropped, 0 that no adapter could read`;
    expect(line()).toBe(says(first));
    expect((await tool().run(["report"], { cwd: path })).code).toBe(0);
    expect(line()).toBe(says(first));
    await tool().json(["resume", "--retry", "fails"], { cwd: path });
    const both = await counted();
    expect(both).toBeGreaterThan(first);
    expect(line()).toBe(says(both));
    await tool().run(["report"], { cwd: path });
    expect(line()).toBe(says(both));
  });

  it("names the jobs there are when one is asked for that is not", async () => {
    const { path } = workspace();
    const runDir = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path }));
    for (const args of [
      ["explain", runDir, "talk"],
      ["logs", "talk"],
    ]) {
      const asked = await tool().run(args, { cwd: path });
      expect([asked.code, asked.stdout]).toEqual([2, ""]);
      expect(asked.stderr).toContain("has no job `talk`; it has `fails`, `leaves-one`, `talks`, `waits`.");
    }
  });
});
