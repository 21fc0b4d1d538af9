/** The real pi CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startModelServer } from "../support/model-server.ts";
import { realCli, WIRINGS } from "../support/real-run.ts";
import { realSuite } from "../support/real-suite.ts";

realSuite({
  name: "pi",
  record: {
    state: "available",
    reason: null,
    version: "0.74.2",
    authenticated: true,
    models: ["stub/stub-model"],
    capability: "C2",
    approval: { value: "auto", evidence: "verified" },
    toolGating: { value: "granular", evidence: "verified" },
    writeBoundary: { value: "none", evidence: "verified" },
    capture: { value: "structured", evidence: "verified" },
    effortLevels: ["minimal", "low", "medium", "high", "xhigh"],
  },
  write: ["read", "search", "edit", "write"],
  shell: ["shell"],
  // It has no permissions to refuse with: a tool that was not granted is not there.
  denied: { prompt: "[[stub: run touch ran.txt]]" },
  refusal: (run) => {
    expect(run.settlement.ok).toBe(true);
    expect(run.read("ran.txt")).toBeNull();
    expect(run.events.filter((event) => event.kind === "tool")).toEqual([]);
  },
  errorExit: () => 0,
  resumes: true,
  silence: "settles",
});

/** Where a session is gone on with decides where the work lands. */
if (process.env["ORCHESTRATE_SOAK"] === "1")
  describe("pi, with sessions in the run's own folder", { timeout: 600_000 }, () => {
    it("forks into the new folder, but continues in the old one, which is why that is not done elsewhere", async () => {
      const server = await startModelServer();
      const cli = await realCli("pi", WIRINGS.pi(server));
      const sessionDir = mkdtempSync(join(tmpdir(), "orc-sessions-"));
      try {
        const tools = ["read", "shell"];
        const first = await cli.run({ prompt: "[[stub: say one]]", keepSession: true, sessionDir, tools });
        const handle = first.state.sessionHandle as string;
        const go = (mode: "continue" | "fork") =>
          cli.run({
            prompt: `[[stub: run touch ${mode}.txt]] [[stub: say ${mode}]]`,
            resume: { handle, mode },
            sessionDir,
            tools,
          });
        const forked = await go("fork");
        expect(forked.settlement).toMatchObject({ ok: true, resultText: "fork" });
        expect([forked.read("fork.txt"), existsSync(join(first.cwd, "fork.txt"))]).toEqual(["", false]);
        const continued = await go("continue");
        expect([continued.read("continue.txt"), existsSync(join(first.cwd, "continue.txt"))]).toEqual([
          null,
          true,
        ]);
        expect(readdirSync(sessionDir)).toHaveLength(2);
      } finally {
        cli.close();
        await server.close();
        rmSync(sessionDir, { recursive: true, force: true });
      }
    });
  });
