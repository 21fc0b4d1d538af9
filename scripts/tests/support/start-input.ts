/** A start input to change from. */
import type { StartInput } from "../../src/runtimes/adapter.ts";
import { recordOf } from "./probe-answers.ts";

export const CANDIDATE: StartInput["candidate"] = {
  runtime: "any",
  kind: "cli",
  model: null,
  effort: null,
  provider: null,
  family: null,
  capability: "C2",
  capabilitySource: "adapter-default",
  familySource: "unknown",
  independence: null,
  strength: [],
  weaker: [],
};

export const JOB: StartInput["job"] = {
  id: "job",
  effect: "observe",
  tools: { allowed: ["read", "search"], disallowed: [], origin: "spec" },
  riskTier: "R0",
  verification: [],
  invocation: null,
  session: null,
  mock: null,
  task: null,
  maxOutputBytes: 1_048_576,
  outputs: [],
};

export const startInput = (
  id: string,
  o: { job?: Partial<StartInput["job"]> } & Partial<Omit<StartInput, "job">> = {},
): StartInput => ({
  attempt: 1,
  candidate: { ...CANDIDATE, runtime: id },
  record: recordOf(id),
  cwd: "/code space/repo",
  prompt: "# Task\n\nDo it.\n",
  promptFile: "/runs/job/prompt.md",
  scratch: "/runs/scratch",
  self: ["node", "/tool.mjs"],
  worktree: false,
  resumeSession: null,
  ...o,
  job: { ...JOB, ...o.job },
});
