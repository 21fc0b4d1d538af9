/** What a refusal tells a person to type does what it says, typed as printed. */
import { execFile } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { EXIT } from "../../src/core/exit-codes.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf } from "../support/tool.ts";
import { violations } from "./harness/invariants.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { createScene, type Scene, WAITING } from "./harness/scenes.ts";

const LONG = { timeout: 300_000 };
const tool = builtTool();
let scene: Scene;

beforeAll(async () => {
  scene = await createScene("large", tool().main);
}, LONG.timeout);
afterAll(() => scene.lane.remove());
beforeEach(() => scene.lane.reset());

/** The commands between backticks in the fix of the only finding. */
async function printed(code: string): Promise<string[]> {
  const run = await scene.lane.client("status", scene.lane.runDir, "--json").ended;
  expect(run.code).toBe(EXIT.environment);
  const { diagnostics } = JSON.parse(run.stdout);
  expect(diagnostics).toMatchObject([{ severity: "error", code }]);
  const people = await scene.lane.client("status", scene.lane.runDir).ended;
  expect(people.stderr).toContain(`    fix: ${diagnostics[0].fix}`);
  return [...(diagnostics[0].fix as string).matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}

const typed = (line: string): Promise<number> =>
  new Promise((resolve) =>
    execFile("/bin/sh", ["-c", line], { cwd: scene.lane.work, env: { ...scene.lane.env } }, (error) =>
      resolve(error === null ? 0 : Number(error.code)),
    ),
  );

/** A run that was killed when the journal held three records of its coordinator. */
async function cutOff() {
  const fault = { mode: "kill-after", at: 3, only: "fdatasync:/journal.jsonl" } as const;
  return liveOnce(scene.lane, scene.lane.coordinate({ fault }));
}

const file = (name: string): string => join(scene.lane.runDir, name);

describe("a command in a refusal", () => {
  it("takes the checksum out of a state that somebody changed, and goes on", LONG, async () => {
    await cutOff();
    const text = readFileSync(file("state.json"), "utf8");
    writeFileSync(file("state.json"), text.replace(/"notes":\["x/, '"notes":["y'));
    const [stand] = await printed("state-damaged");
    expect(await typed(stand as string)).toBe(EXIT.actionDue);
    expect(await typed(`${(stand as string).split(" && ")[1]}`)).toBe(EXIT.actionDue);
  });

  it("starts again from the frozen spec of a run whose state is lost", LONG, async () => {
    const life = await cutOff();
    writeFileSync(file("state.json"), "");
    const [again] = await printed("state-damaged");
    expect(again).toMatch(/^node '.*\/orchestrate\.mjs' run \S+\/jobs\.yaml$/);
    expect(await typed(again as string)).toBe(EXIT.actionDue);
    expect(life.exit.signal).toBe("SIGKILL");
  });

  it("goes on from the snapshot when the journal is gone", LONG, async () => {
    await cutOff();
    rmSync(file("journal.jsonl"));
    const [on] = await printed("journal-missing");
    expect(await typed(on as string)).toBe(EXIT.actionDue);
  });

  it("goes on from the last good record when a later one is damaged", LONG, async () => {
    const first = await cutOff();
    const bytes = readFileSync(file("journal.jsonl"));
    const second = bytes.indexOf("\n") + 20;
    bytes[second] = (bytes[second] as number) ^ 1;
    writeFileSync(file("journal.jsonl"), bytes);
    const [on] = await printed("journal-damaged");
    expect(await typed(on as string)).toBe(EXIT.actionDue);
    const read = scene.lane.read();
    expect(read.ok && read.value.state.status).toBe("waiting");
    expect(scene.lane.survivors()).toEqual([]);
    expect(first.exit.signal).toBe("SIGKILL");
  });

  it("resumes a run whose coordinator is gone, as `next` and the findings print it", LONG, async () => {
    const first = await cutOff();
    const { stdout } = await scene.lane.client("next", scene.lane.runDir, "--json").ended;
    const [action] = JSON.parse(stdout).next;
    expect(action.action).toBe("resume");
    expect(await typed(action.shell)).toBe(EXIT.actionDue);
    const read = scene.lane.read();
    const last = {
      pid: 0,
      exit: { code: 0, signal: null, stderr: "" },
      state: read.ok ? read.value.state : "",
    };
    expect(violations(historyOf({ lane: scene.lane, finished: WAITING }, [first, last]))).toEqual([]);
  });
});

describe("the frozen spec of a run", () => {
  it.each(["implement-review", "sample"])("%s: is a valid spec by itself", LONG, async (name) => {
    const repo = throwawayRepo({ "README.md": "# clone\n" });
    cpSync(join(ROOT, "examples"), join(repo.path, "examples"), { recursive: true });
    repo.commit("examples");
    const run = await tool().json(["run", `examples/${name}.yaml`], { cwd: repo.path });
    const frozen = join(runDirOf(run), "jobs.yaml");
    const checked = await tool().json(["validate", frozen], { cwd: repo.path });
    expect(checked.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(checked.code).toBe(EXIT.done);
    const planned = await tool().json(["plan", frozen], { cwd: repo.path });
    expect(planned.code).toBe(EXIT.done);
  });
});
