/** A finished run is resumed by looking alone; whatever might have to be done again starts a coordinator. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../src/core/exit-codes.ts";
import type { Lane } from "../crash/harness/lane.ts";
import { createScene, stateOf } from "../crash/harness/scenes.ts";
import { treeDigest } from "../crash/harness/tree.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";

let built: BuiltPayload;
let lane: Lane;

beforeAll(async () => {
  built = await builtPayload();
  lane = (await createScene("verdict", built.main)).lane;
  lane.reset();
  expect(await lane.coordinate({ resume: true }).ended).toMatchObject({ code: 0 });
  expect(stateOf(lane).status).toBe("accepted");
  lane.keep();
});

afterAll(() => {
  lane.remove();
  built.remove();
});

beforeEach(() => lane.reset());

const resume = (...args: string[]) => lane.client("resume", lane.runDir, "--json", ...args).ended;
const coordinators = (): number => readdirSync(join(lane.runDir, "supervisor")).length;

describe("resume of a finished run", () => {
  it("says how it stands, starts nobody and writes nothing, detached as well", async () => {
    const before = treeDigest(lane.runDir);
    for (const args of [[], ["--detach"]]) {
      const { code, stdout } = await resume(...args);
      expect([code, JSON.parse(stdout).data.status]).toEqual([EXIT.done, "accepted"]);
      expect(JSON.parse(stdout).next.map((one: { action: string }) => one.action)).toEqual(["read_report"]);
    }
    expect(treeDigest(lane.runDir)).toEqual(before);
  });

  it("makes a report that is missing", async () => {
    rmSync(join(lane.runDir, "report.html"));
    expect((await resume()).code).toBe(EXIT.done);
    expect(existsSync(join(lane.runDir, "report.html"))).toBe(true);
  });

  it("by another harness is taken up by a coordinator, which records it", async () => {
    const before = coordinators();
    expect((await resume("--harness", "codex")).code).toBe(EXIT.done);
    expect(stateOf(lane).harness.name).toBe("codex");
    expect(coordinators()).toBeGreaterThan(before);
  });

  it("with a journal that was torn is repaired", async () => {
    appendFileSync(join(lane.runDir, "journal.jsonl"), '{"seq":9');
    expect((await resume()).code).toBe(EXIT.done);
    expect(readFileSync(join(lane.runDir, "journal.jsonl"), "utf8")).toBe("");
  });
});
