/** The real gemini CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { describe, expect, it } from "vitest";
import { startModelServer } from "../support/model-server.ts";
import { realCli, WIRINGS } from "../support/real-run.ts";
import { realSuite } from "../support/real-suite.ts";

realSuite({
  name: "gemini",
  record: {
    state: "available",
    reason: null,
    version: "0.61.0",
    authenticated: true,
    authSource: "key",
    gateway: true,
    family: null,
    approval: { value: "scoped", evidence: "verified" },
    toolGating: { value: "granular", evidence: "verified" },
    writeBoundary: { value: "enforced", evidence: "verified" },
    capture: { value: "structured", evidence: "verified" },
  },
  write: ["read", "search", "edit", "write"],
  shell: ["shell"],
  denied: {
    prompt: "[[stub: run echo granted]] [[stub: run touch ran.txt]]",
    tools: ["read", "shell(echo granted)"],
  },
  refusal: (run) => {
    expect(run.settlement.ok).toBe(true);
    expect(run.read("ran.txt")).toBeNull();
    expect(run.state.denied).toEqual([{ boundary: "tool:run_shell_command", requested: "touch ran.txt" }]);
  },
  // The HTTP status, less 256.
  errorExit: (status) => status - 256,
  resumes: false,
  silence: "asks-again",
});

if (process.env["ORCHESTRATE_SOAK"] === "1")
  describe("gemini, that stops its model over a repetition", { timeout: 600_000 }, () => {
    it("is no success, though it reports one and leaves with 0", async () => {
      const server = await startModelServer();
      const cli = await realCli("gemini", WIRINGS.gemini(server));
      try {
        const run = await cli.run({ prompt: "[[stub: big 60]]" });
        expect(run.result.exitCode).toBe(0);
        expect(run.settlement).toMatchObject({
          ok: false,
          failureClass: "UNKNOWN",
          detail: "Loop detected, stopping execution",
          resultText: null,
        });
      } finally {
        cli.close();
        await server.close();
      }
    });
  });
