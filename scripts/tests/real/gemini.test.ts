/** The real gemini CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { expect } from "vitest";
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
