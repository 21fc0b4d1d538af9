/** The real pi CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { expect } from "vitest";
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
