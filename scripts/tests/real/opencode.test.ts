/** The real opencode CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { expect } from "vitest";
import { realSuite } from "../support/real-suite.ts";

realSuite({
  name: "opencode",
  record: {
    state: "available",
    reason: null,
    version: "1.18.33",
    models: ["stub/stub-model", "stub/stub-small"],
    capability: "C2",
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
    expect(run.read("ran.txt")).toBeNull();
    expect(run.state.denied).toEqual([{ boundary: "tool:bash", requested: "touch ran.txt" }]);
  },
  errorExit: () => 1,
  resumes: true,
  silence: "settles",
});
