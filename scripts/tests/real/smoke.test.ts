/** `doctor --smoke` with real CLIs, two of them or in a soak all five: one tiny question each, in a worktree that none of them ever saw. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { type RealHome, realHome } from "../support/real-home.ts";
import { REAL_TIMEOUT } from "../support/real-run.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool } from "../support/tool.ts";

const tool = builtTool();
const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const MORE = SOAK ? (["gemini", "opencode", "pi"] as const) : [];
let server: ModelServer;
let home: RealHome;
beforeAll(async () => {
  server = await startModelServer();
  home = await realHome(["claude", "codex", ...MORE], server);
}, 600_000);
afterAll(async () => {
  home?.remove();
  await server?.close();
});

/** In the protocol that each of them is set up to speak; opencode asks once more, for a title of its session. */
const REQUESTS = { gemini: ["gemini"], opencode: ["chat", "chat"], pi: ["chat"] } as const;

interface Asked {
  readonly smoke: readonly {
    runtime: string;
    ok: boolean;
    failureClass: string | null;
    model: string | null;
  }[];
  readonly faults: readonly { subject: string; weight: string; what: string; fix: string | null }[];
}

const ask = async (path: string, env: Record<string, string> = home.env) => {
  const before = server.calls.length;
  const done = await tool().json(["doctor", "--smoke"], { cwd: path, env });
  return { code: done.code, ...(done.data as Asked), calls: server.calls.slice(before) };
};

describe("one tiny question to real agents", { timeout: 2 * REAL_TIMEOUT }, () => {
  it("is answered by all of them in a fresh worktree, spends no further request, and leaves nothing", async () => {
    const { path, git } = throwawayRepo({ "README.md": "# smoke\n" });
    const { smoke, faults, calls } = await ask(path);
    expect(smoke).toMatchObject([
      { runtime: "claude", ok: true, failureClass: null },
      { runtime: "codex", ok: true, failureClass: null, model: null },
      ...MORE.map((runtime) => ({ runtime, ok: true, failureClass: null })),
    ]);
    expect(smoke[0]?.model).toMatch(/^claude-/);
    expect(faults.filter((one) => one.weight === "fault")).toEqual([]);
    const questions = calls.filter(({ prompt }) => prompt.includes("single word `ready`"));
    expect(questions.map((one) => one.protocol).sort()).toEqual(
      ["anthropic", "responses", ...MORE.flatMap((runtime) => REQUESTS[runtime])].sort(),
    );
    // The question was asked with no tool that could change anything.
    for (const one of questions)
      for (const name of one.tools) expect(name).not.toMatch(/^(?:Write|Edit|Bash)$/);
    const reports = join(path, "plans/reports");
    expect(existsSync(reports) ? readdirSync(reports) : []).toEqual([]);
    expect(git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  it("that is refused names the login, of that one alone", async () => {
    const { path } = throwawayRepo({ "README.md": "# smoke\n" });
    const { code, smoke, faults } = await ask(path, {
      ...home.env,
      ANTHROPIC_BASE_URL: `${server.base}/refused`,
    });
    expect(code).toBe(1);
    expect(smoke.map((one) => [one.runtime, one.ok])).toEqual([
      ["claude", false],
      ["codex", true],
      ...MORE.map((runtime) => [runtime, true]),
    ]);
    expect(smoke[0]?.failureClass).toBe("AUTH");
    const hard = faults.filter((one) => one.weight === "fault");
    expect(hard.map((one) => [one.subject, one.fix])).toEqual([["claude", "claude auth login"]]);
    expect(hard[0]?.what).toMatch(/^its login was refused/);
  });
});
