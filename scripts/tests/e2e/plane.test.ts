/** The decision plane from the outside: leave, signals, calibration, and the one path by which work is accepted without C3. */
import { createHash } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeCalibration } from "../../src/coordinator/calibration-file.ts";
import type { DecisionRecord } from "../../src/core/generated/decision.ts";
import { type ClassifierIdentity, measure } from "../../src/plane/calibration.ts";
import { fakeAgents } from "../support/fake-agents.ts";
import { planeWorkspace, program, sure, TAP } from "../support/plane.ts";
import { builtTool, runDirOf, standingOf, stateOf } from "../support/tool.ts";
import { writeVerdict } from "../support/verdict.ts";

const tool = builtTool();

const decisionsOf = (runDir: string): DecisionRecord[] =>
  readFileSync(join(runDir, "decisions.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

async function confirm(cwd: string): Promise<void> {
  const planned = await tool().json(["plan", "jobs.json"], { cwd });
  const asked = planned.diagnostics.find(({ code }) => code === "egress-unconfirmed");
  const id = /--egress ([0-9a-f]{64})/.exec(asked?.fix ?? "")?.[1] as string;
  const confirmed = await tool().json(["approve", "jobs.json", "--egress", id], { cwd });
  expect(confirmed.code).toBe(0);
}

const jobs = (count: number): object[] => Array.from({ length: count }, (_, at) => program(`job-${at}`));

describe("acceptance without C3", () => {
  it("works end to end once, and only once, thirty audited outcomes agree", async () => {
    const { path, spec, calls } = planeWorkspace();
    const calibrated = { calibration: { minimum_samples: 30 } };
    spec({ ...calibrated, concurrency: 8, jobs: jobs(29) });

    await confirm(path);
    const first = await tool().json(["run", "jobs.json"], { cwd: path });
    const firstDir = runDirOf(first);
    expect(first.next.map(({ action }) => action)).toEqual(["arbitrate_native"]);
    const asked = calls().filter(({ task }) => task === "micro_arbiter");
    expect(asked).toHaveLength(29);
    const observed = Object.values(stateOf(firstDir).jobs).map((job) => job.attemptRecords[0]?.microArbiter);
    expect(new Set(observed.map((micro) => micro?.mode))).toEqual(new Set(["observing"]));
    await tool().json(["verdict", firstDir, "--file", writeVerdict(firstDir), "--handle", "judge-1"], {
      cwd: path,
    });
    expect(stateOf(firstDir).status).toBe("accepted");

    // Twenty-nine audited outcomes are not enough.
    const early = await tool().json(["calibrate"], { cwd: path });
    expect(early.data).toMatchObject({
      measured: [{ record: { sampleCount: 29, agreement: 1 }, state: { clause: "too-few-samples" } }],
    });
    // Nor do they become more by being copied, nor by run folders that came with a checkout.
    const [copied, foreign] = [`${firstDir}-copy`, `${firstDir}-foreign`];
    for (const folder of [copied, foreign]) cpSync(firstDir, folder, { recursive: true });
    chmodSync(foreign, 0o755);
    const repeated = await tool().json(["calibrate", "--dry-run"], { cwd: path });
    expect(repeated.data).toMatchObject({ runs: 1, measured: [{ record: { sampleCount: 29 } }] });
    expect(repeated.diagnostics.map(({ code, message }) => [code, message])).toEqual([
      [
        "run-left-out",
        `\`${copied}\` is left out: is a copy of the run \`${stateOf(firstDir).runId}\`, which is counted already`,
      ],
      ["run-left-out", `\`${foreign}\` is left out: is not private, so this tool did not make it here`],
    ]);
    for (const folder of [copied, foreign]) rmSync(folder, { recursive: true });
    spec({ ...calibrated, jobs: [program("thirtieth")] });
    await confirm(path);
    const second = await tool().json(["run", "jobs.json"], { cwd: path });
    const secondDir = runDirOf(second);
    expect(second.code).toBe(3);
    expect(stateOf(secondDir).plane).toMatchObject({
      status: "on",
      calibration: "invalid",
      calibrationDetail: "too-few-samples",
    });
    await tool().json(["verdict", secondDir, "--file", writeVerdict(secondDir), "--handle", "judge-2"], {
      cwd: path,
    });

    // The thirtieth agrees too: from here on the same kind of work needs no C3 call.
    const calibrate = await tool().json(["calibrate"], { cwd: path });
    expect(calibrate.data).toMatchObject({
      measured: [{ record: { sampleCount: 30, agreement: 1 }, state: { status: "valid" } }],
    });
    spec({
      ...calibrated,
      jobs: [program("trusted"), program("after", "echo after is done", { depends_on: ["trusted"] })],
    });
    await confirm(path);
    const third = await tool().json(["run", "jobs.json"], { cwd: path });
    const thirdDir = runDirOf(third);
    expect(third.code).toBe(0);
    const state = stateOf(thirdDir);
    expect(standingOf(state)).toEqual({ trusted: "success, accepted", after: "success, accepted" });
    expect(state.arbiters).toEqual([]);
    expect(state.jobs["trusted"]).toMatchObject({ acceptedWithoutC3Count: 1 });
    expect(state.jobs["trusted"]?.attemptRecords[0]).toMatchObject({
      acceptedWithoutC3: true,
      c3EscalationReason: [],
      c3Verdict: null,
      microArbiter: { mode: "deciding", status: "ok" },
    });
    const report = readFileSync(join(thirdDir, "report.md"), "utf8");
    expect(report).toContain("2 of 2");
    expect(report).toContain("on (tester at tester; calibration valid; signals for 2 attempts, 0 proposals)");
    const copy = JSON.parse(readFileSync(join(thirdDir, "calibration.json"), "utf8"));
    expect(copy.records).toHaveLength(1);
    expect(
      decisionsOf(thirdDir).map(({ decision, reason, applied }) => ({ decision, reason, applied })),
    ).toEqual(expect.arrayContaining([{ decision: "micro_arbiter", reason: "ok", applied: true }]));
  }, 240_000);
});

describe("jobs that say the opposite of each other", () => {
  it("go to C3, however sure the micro-arbiter is, and what nobody contradicts does not", async () => {
    const { path, outside, spec } = planeWorkspace();
    const home = tool().env["HOME"] as string;
    mkdirSync(join(home, ".orchestrate"), { recursive: true });
    writeFileSync(
      join(home, ".orchestrate/runtimes.yaml"),
      `runtimes:\n${fakeAgents(join(outside, "bin"), [{ id: "scout", family: "red" }])}`,
    );
    const says = (id: string, text: string): object => ({
      ...{ id, task: "scout", runtime: "scout", prompt: `[[say ${text}]]`, expected_output: "a report" },
    });
    const calibrated = { calibration: { minimum_samples: 30 }, arbiter: { runtime: "internal" } };
    const run = async (...jobs: object[]) => {
      spec({ ...calibrated, jobs });
      await confirm(path);
      return stateOf(runDirOf(await tool().json(["run", "jobs.json"], { cwd: path })));
    };
    const asked = await run(says("first", "`npm test`: passed"));
    const classifier = asked.jobs["first"]?.attemptRecords[0]?.microArbiter?.classifier as ClassifierIdentity;
    const record = measure({ classifier, attempts: [], minimum: 30, now: Date.now() });
    writeCalibration({ home, root: path, records: [{ ...record, sampleCount: 30, agreement: 1 }] });

    const { jobs } = await run(
      says("sure", "`npm test`: passed"),
      says("other", "`npm test`: failed"),
      says("alone", "`npm run lint`: passed"),
    );
    const last = (id: string) => jobs[id]?.attemptRecords.at(-1);
    expect(
      ["sure", "other", "alone"].map((id) => [id, jobs[id]?.outcome, last(id)?.c3EscalationReason]),
    ).toEqual([
      ["sure", "blocked", ["contradiction", "no-signals"]],
      ["other", "blocked", ["contradiction", "no-signals"]],
      ["alone", "accepted", []],
    ]);
    rmSync(join(home, ".orchestrate/runtimes.yaml"));
  }, 240_000);
});

describe("leave to send content", () => {
  it("nothing is sent before the user confirmed it, and the run does not wait for that", async () => {
    const { path, spec, calls } = planeWorkspace();
    spec({ jobs: [program("only")] });
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(calls()).toEqual([]);
    expect(run.next.map(({ action }) => action)).toEqual(["arbitrate_native", "confirm_egress"]);
    expect(run.next[1]?.reason).toBe(
      "Ask the user, who alone may decide, and run the choice that they made; the command only shows the run. `tester` may send prompt, result and trace to `tester`, with the key from `absent`, by runs of this spec? Without it the decision plane is off and the run goes on.",
    );
    const runDir = runDirOf(run);
    expect(stateOf(runDir).plane).toMatchObject({ status: "off", reason: "egress-unconfirmed" });
    const id = stateOf(runDir).plane?.egress[0]?.id as string;
    // The action itself gives no leave: only a choice does, that the user made.
    expect(run.next[1]?.argv).toEqual(["status", runDir]);
    expect(run.next[1]?.choices?.map(({ argv }) => argv)).toEqual([
      ["approve", runDir, "--egress", id],
      ["deny", runDir, "--egress", id],
    ]);

    expect((await tool().json(["deny", runDir, "--egress", id], { cwd: path })).code).toBe(0);
    expect((await tool().json(["deny", runDir, "--egress", "0".repeat(64)], { cwd: path })).code).toBe(2);
    const denied = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(calls()).toEqual([]);
    expect(denied.next.map(({ action }) => action)).toEqual(["arbitrate_native"]);
    expect(stateOf(runDirOf(denied)).plane?.reason).toBe("egress-denied");

    // A leave for runs does not cover a dry run.
    expect((await tool().json(["approve", runDir, "--egress", id], { cwd: path })).code).toBe(0);
    await tool().json(["plan", "jobs.json"], { cwd: path });
    expect(calls()).toEqual([]);
    await tool().json(["run", "jobs.json"], { cwd: path });
    expect(calls().map(({ task }) => task)).toEqual(["router", "micro_arbiter"]);

    // Another text of the spec is asked about again.
    spec({ jobs: [program("other")] });
    const changed = await tool().json(["plan", "jobs.json"], { cwd: path });
    expect(changed.diagnostics.map(({ code }) => code)).toContain("egress-unconfirmed");
  }, 240_000);
});

describe("what an answer does", () => {
  it("a router raises floors and thereby forces C3; a lower target changes nothing", async () => {
    const { path, spec, answers } = planeWorkspace();
    spec({ calibration: { minimum_samples: 30 }, jobs: [program("raised")] });
    await confirm(path);
    answers({ router: { target_capability: sure("C2"), target_risk: sure("R1") } });
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    expect(stateOf(runDir).jobs["raised"]?.attemptRecords[0]).toMatchObject({
      riskTier: "R1",
      riskFloorDelta: 1,
      capabilityFloorDelta: 1,
      tierDerivation: ["task:scout→R0", "router→R1"],
    });
    expect(stateOf(runDir).jobs["raised"]?.attemptRecords[0]?.c3EscalationReason).toContain(
      "risk-floor-raised",
    );
    expect(decisionsOf(runDir)[0]).toMatchObject({
      decision: "router",
      reason: "ok",
      applied: true,
      outcomeRef: "jobs/raised/floors",
      riskTier: "R0",
    });
  }, 120_000);

  it("triage proposes beside the failure, which stays what it is; a malformed answer ends the plane for the run", async () => {
    const { path, spec, answers } = planeWorkspace();
    spec({ jobs: [program("breaks", "echo no; exit 3")] });
    await confirm(path);
    answers({ triage: { recovery_class: sure("retry_same") } });
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(run.code).toBe(1);
    expect(stateOf(runDirOf(run)).jobs["breaks"]).toMatchObject({
      status: "failed",
      attempts: 1,
      attemptRecords: [{ failureClass: "TOOL_FAILURE", proposal: { from: "triage", kind: "retry" } }],
    });
    expect(run.next).toMatchObject([
      {
        action: "read_report",
        choices: [
          {
            label: "the decision plane proposes: run again `breaks`",
            argv: ["resume", runDirOf(run), "--retry", "breaks"],
          },
        ],
      },
    ]);

    answers({ triage: { retryability: 2 } });
    const odd = await tool().json(["run", "jobs.json"], { cwd: path });
    const oddDir = runDirOf(odd);
    expect(stateOf(oddDir).plane).toMatchObject({ status: "off", reason: "malformed" });
    expect(stateOf(oddDir).jobs["breaks"]?.attemptRecords[0]?.proposal ?? null).toBe(null);
    expect(
      decisionsOf(oddDir).map(({ decision, reason, scores }) => [
        decision,
        reason,
        Object.keys(scores).length > 0,
      ]),
    ).toEqual([
      ["router", "ok", true],
      ["triage", "malformed", false],
    ]);
  }, 120_000);

  it("the watchdog looks at silent work once, and its proposal is gone with the attempt", async () => {
    const { path, spec, answers, calls } = planeWorkspace();
    spec({
      jobs: [program("silent", "sleep 30", { stall_after: "4s" })],
    });
    await confirm(path);
    answers({ watchdog: { recommended_action: sure("abort") } });
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    expect(calls().map(({ task }) => task)).toEqual(["router", "watchdog", "triage"]);
    expect(stateOf(runDirOf(run)).jobs["silent"]).toMatchObject({
      status: "failed",
      attemptRecords: [{ failureClass: "STALLED", proposal: { from: "watchdog", kind: "end" } }],
    });
    expect(run.next).toMatchObject([{ action: "read_report" }]);
    expect(run.next[0]?.choices).toBe(undefined);
  }, 120_000);
});

describe("the provider key", () => {
  it("reaches the classifier's environment and no byte of run folder, terminal, home or temporary files", async () => {
    const key = "zq-K3y".concat("x7".repeat(12));
    const { path, outside, spec, calls } = planeWorkspace({
      classifier: { provider: "typesafe", provider_env: ["TYPESAFE_API_KEY"] },
      tap: `${TAP}test -n "$TYPESAFE_API_KEY" && printf yes > "$1/key-seen"\n`,
    });
    // A project's own declaration is given no credential before its user confirmed it.
    const declared = readFileSync(join(path, ".orchestrate/runtimes.yaml"));
    const digest = createHash("sha256").update(declared).digest("hex");
    expect((await tool().run(["approve", "--policy", digest], { cwd: path })).code).toBe(0);
    writeFileSync(join(path, ".env"), `OTHER=never-read\nTYPESAFE_API_KEY=${key}\n`);
    const egress = [
      {
        provider: "typesafe",
        credential_source: "project-env",
        content_classes: ["prompt", "result", "trace"],
        scope: "project",
      },
    ];
    const seen = 'test -z "$TYPESAFE_API_KEY" && cat .env && echo leaks is done';
    spec({ egress, jobs: [program("leaks", seen), program("breaks", "cat .env >&2; exit 3")] });
    await confirm(path);
    const printed: string[] = [];
    for (const args of [
      ["plan", "jobs.json"],
      ["run", "jobs.json"],
      ["credentials"],
      ["credentials", "--json"],
      ["logs"],
      ["report"],
      ["status", "--json"],
    ]) {
      const { stdout, stderr } = await tool().run(args, { cwd: path });
      printed.push(stdout, stderr);
    }
    expect(readFileSync(join(outside, "key-seen"), "utf8")).toBe("yes");
    expect(calls().length).toBeGreaterThan(2);
    expect(JSON.stringify(calls())).not.toContain(key);
    expect(printed.join("\n")).not.toContain(key);
    expect(printed.join("\n")).toContain("project-env");
    const runDir = runDirOf(await tool().json(["status"], { cwd: path }));
    expect(stateOf(runDir).plane).toMatchObject({
      status: "on",
      credentialSource: "project-env",
      credentialTrust: "working-tree",
      credentialShadowed: [],
    });
    expect(stateOf(runDir).jobs["leaks"]?.status).toBe("success");
    const holders = [path, outside, tool().env["HOME"] as string].flatMap((root) => filesHolding(root, key));
    expect(holders).toEqual([join(path, ".env")]);
  }, 240_000);
});

describe("a key that nobody is given", () => {
  it("is masked in what jobs and checks print without its name, and so is the one that it shadows", async () => {
    const [own, shadowed] = ["zq-0wn".concat("x7".repeat(9)), "zq-5hadow".concat("y8".repeat(9))];
    const { path, spec } = planeWorkspace();
    writeFileSync(join(path, ".env"), `TYPESAFE_API_KEY="${shadowed}"\n`);
    // In a file that git ignores, as the key of the environment may be: what prints them holds neither.
    writeFileSync(join(path, "plane-key"), `${own}\n`);
    const print = `cat '${join(path, "plane-key")}'; sed 's/.*="//; s/"//' '${join(path, ".env")}'`;
    const writer = {
      ...{ id: "writer", task: "implement", runtime: "mock", isolation: "worktree", prompt: "write" },
      ...{ expected_output: "out.txt", owned_paths: ["out.txt"], outputs: [{ path: "out.txt" }] },
      verification: [{ command: "sh", args: ["-c", print] }],
      mock: [{ write: { path: "out.txt", content: "x\n" } }, { say: "done" }],
    };
    spec({ egress: [], jobs: [program("leaks", print), writer] });
    const env = { TYPESAFE_API_KEY: own };
    const run = await tool().json(["run", "jobs.json"], { cwd: path, env });
    const runDir = runDirOf(run);
    expect(stateOf(runDir).plane?.status).toBe("off");
    const applied = await tool().json(["integrate", runDir, "--apply", "--job", "writer"], {
      cwd: path,
      env,
    });
    expect(applied.code).toBe(0);
    const masked = "[REDACTED]\n[REDACTED]\n";
    for (const file of [
      "leaks/stdout.txt",
      "writer/checks/verification-1.stdout.txt",
      "writer/checks/integrate-1.stdout.txt",
    ])
      expect([file, readFileSync(join(runDir, file), "utf8")]).toEqual([file, masked]);
    for (const key of [own, shadowed])
      expect([runDir, tool().env["HOME"] as string].flatMap((root) => filesHolding(root, key))).toEqual([]);
    expect(JSON.stringify([run, applied])).not.toContain(shadowed);
  }, 120_000);
});

function filesHolding(root: string, text: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}
