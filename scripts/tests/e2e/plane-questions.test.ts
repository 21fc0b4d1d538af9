/** The questions that the plane is asked rarely: about runtimes, about pairs of jobs, and the sample of work that C3 sees anyway. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { DecisionRecord } from "../../src/core/generated/decision.ts";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { fakeAgents } from "../support/fake-agents.ts";
import { planeWorkspace, program, sure } from "../support/plane.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";

const tool = builtTool();
const home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-plane-home-")));
mkdirSync(join(home, ".orchestrate"));
const bin = join(home, "bin");
/** Says nothing of its controls, so that nothing about them is proven. */
const vague = fakeAgents(bin, [{ id: "vague" }]).replace(/^ *controls:.*\n/m, "");
writeFileSync(
  join(home, ".orchestrate/runtimes.yaml"),
  `runtimes:\n${fakeAgents(bin, [{ id: "judge", family: "blue" }])}${vague}`,
);
const env = { HOME: home };
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function confirmed(cwd: string): Promise<void> {
  const planned = await tool().json(["plan", "jobs.json"], { cwd, env });
  const asked = planned.diagnostics.find(({ code }) => code === "egress-unconfirmed");
  const id = /--egress ([0-9a-f]{64})/.exec(asked?.fix ?? "")?.[1] as string;
  expect((await tool().json(["approve", "jobs.json", "--egress", id], { cwd, env })).code).toBe(0);
}

const decisionsOf = (runDir: string): DecisionRecord[] =>
  readFileSync(join(runDir, "decisions.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const scout = (id: string): object => ({
  id,
  task: "scout",
  prompt: `[[say ${id} looked around.]]`,
  expected_output: "a report",
});

describe("questions about a plan", () => {
  it("fill a hint that sets nothing, and record how two jobs relate without merging them", async () => {
    const { path, spec, answers, calls } = planeWorkspace();
    spec({
      arbiter: { runtime: "judge" },
      jobs: [scout("north"), scout("south"), { ...scout("pinned"), model: "m", fallback_runtime: ["vague"] }],
    });
    await confirmed(path);
    answers({
      profiler: { supports_resume: 0.99, supports_tool_gating: 0.99 },
      graph_relation: { relation: sure("same_work", 0.97) },
    });
    // A dry run asks neither: hints and relations belong to a run's record.
    await tool().json(["plan", "jobs.json"], { cwd: path, env });
    expect(calls()).toEqual([]);
    const run = await tool().json(["run", "jobs.json"], { cwd: path, env });
    const runDir = runDirOf(run);
    const tasks = calls().map(({ task }) => task);
    expect(tasks.filter((task) => task === "graph_relation")).toHaveLength(1);

    const asked = calls().find(({ task }) => task === "graph_relation");
    expect(asked?.state.map(({ label }) => label)).toEqual([
      "first.intent",
      "first.expected_output",
      "second.intent",
      "second.expected_output",
    ]);
    const by = (decision: string) =>
      decisionsOf(runDir)
        .filter((one) => one.decision === decision)
        .map(({ reason, applied, outcomeRef, jobId }) => ({ reason, applied, outcomeRef, jobId }));
    expect(by("graph_relation")).toEqual([
      { reason: "ok", applied: false, outcomeRef: "pair:north+south", jobId: "north" },
    ]);
    expect(Object.keys(stateOf(runDir).jobs)).toEqual(["north", "pinned", "south"]);

    const { records } = JSON.parse(readFileSync(join(runDir, "runtimes.json"), "utf8")) as {
      records: RuntimeRecord[];
    };
    const hinted = records.filter((record) => record.classifier_hint !== null);
    expect(hinted).toMatchObject([
      {
        id: "vague",
        classifier_hint: { supports_resume: 0.99, supports_tool_gating: 0.99 },
        resume: "unsupported",
        toolGating: { value: "unverified", evidence: "unverified" },
      },
    ]);
    expect(by("profiler")).toEqual([
      { reason: "ok", applied: true, outcomeRef: "runtimes/vague/classifier_hint", jobId: null },
    ]);
  }, 240_000);
});

describe("work that C3 sees anyway", () => {
  it("is shown to the micro-arbiter every tenth time, and what it says changes nothing", async () => {
    const { path, spec, calls } = planeWorkspace();
    const important = (count: number): object[] =>
      Array.from({ length: count }, (_, at) =>
        program(`job-${String(at).padStart(2, "0")}`, undefined, { importance: "high" }),
      );
    spec({
      arbiter: { runtime: "judge" },
      concurrency: 8,
      calibration: { minimum_samples: 30 },
      jobs: important(20),
    });
    await confirmed(path);
    const run = await tool().json(["run", "jobs.json", "--harness", "none"], { cwd: path, env });
    const runDir = runDirOf(run);
    const state = stateOf(runDir);
    expect(calls().filter(({ task }) => task === "micro_arbiter")).toHaveLength(2);
    const modes = Object.values(state.jobs).map((job) => job.attemptRecords[0]?.microArbiter?.mode ?? null);
    expect(modes).toEqual(Array.from({ length: 20 }, (_, at) => ((at + 1) % 10 === 0 ? "shadow" : null)));
    expect(state.jobs["job-09"]?.attemptRecords[0]).toMatchObject({
      acceptedWithoutC3: false,
      microArbiter: { status: "ok", wellFormed: true },
    });
    expect(state.jobs["job-09"]?.attemptRecords[0]?.c3EscalationReason).toContain("importance-not-normal");
    // Both are asked at the same time, and noted as they are answered.
    const asked = decisionsOf(runDir).filter(({ decision }) => decision === "micro_arbiter");
    expect(asked.map(({ jobId, reason, applied }) => [jobId, reason, applied]).sort()).toEqual([
      ["job-09", "ok", false],
      ["job-19", "ok", false],
    ]);
    expect(standingOf(state)["job-09"]).toBe("success, accepted");
    expect(state.arbiters.map(({ via }) => via)).toEqual(["cli"]);

    // A record that says all that is needed, but that no `calibrate` of this user wrote, decides nothing.
    const record = {
      classifier: state.jobs["job-09"]?.attemptRecords[0]?.microArbiter?.classifier,
      threshold: 0.9,
      signals: ["artifact_matches_expected_output", "claims_supported_by_evidence", "materially_unresolved"],
      units: "probability in [0,1]",
      sampleCount: 500,
      minimum: 30,
      agreement: 1,
      measuredAt: new Date(Date.now() - 60_000).toISOString(),
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    };
    writeFileSync(
      join(path, ".orchestrate/calibration.json"),
      JSON.stringify({ schemaVersion: 1, records: [record] }),
    );
    spec({ arbiter: { runtime: "judge" }, calibration: { minimum_samples: 30 }, jobs: [program("plain")] });
    await confirmed(path);
    const trusting = runDirOf(await tool().json(["run", "jobs.json"], { cwd: path, env }));
    expect(stateOf(trusting).plane).toMatchObject({
      status: "on",
      calibration: "invalid",
      calibrationDetail: "not-written-by-calibrate",
    });
    expect(stateOf(trusting).jobs["plain"]).toMatchObject({
      outcome: "accepted",
      acceptedWithoutC3Count: 0,
      attemptRecords: [{ microArbiter: { mode: "observing" }, acceptedWithoutC3: false }],
    });
  }, 240_000);
});
