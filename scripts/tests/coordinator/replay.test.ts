/** The injection fixture over what real agents printed: their own parsers, the failure classifier and the next step. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Judged } from "../../src/coordinator/judge.ts";
import { replayDecision } from "../../src/coordinator/replay.ts";
import type { Session } from "../../src/coordinator/session.ts";
import { type FixtureResult, runFixture } from "../../src/prove/fixture.ts";
import type { Adapter } from "../../src/runtimes/adapter.ts";
import { adapterFor, SHIPPED } from "../../src/runtimes/registry.ts";
import { EXPECTED } from "../fixtures/streams/expected.ts";
import { attemptOf, jobOf, planJob } from "../prove/sample-run.ts";
import { exitFacts } from "../support/adapter-run.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/streams/", import.meta.url));
const EXITS = JSON.parse(readFileSync(`${FOLDER}exits.json`, "utf8")) as Record<
  string,
  { exitCode: number | null; signal?: string; hung?: boolean; stderrTail?: string }
>;
const adapterOf = (name: string): Adapter => adapterFor(name.split("-", 1)[0] as string, []) as Adapter;

/** Recordings that hold something: nothing can be planted in silence. */
const NAMES = Object.keys(EXITS).filter((name) => linesOf(name).length > 0);
const DONE = NAMES.filter((name) => EXPECTED[name]?.outcome === "done");

function linesOf(name: string): string[] {
  let text: string;
  try {
    text = readFileSync(`${FOLDER}${name}.jsonl`, "utf8");
  } catch {
    return [];
  }
  return text.split("\n").filter((line) => line !== "" && !line.startsWith('{"_trimmed_lines"'));
}

/** What the coordinator does with an attempt of a run in which the user approved one scope. */
function play(name: string, adapter: Adapter = adapterOf(name)): FixtureResult {
  const job = planJob("a", { riskTier: "R2", approval: "require" });
  const jobs = { a: jobOf([attemptOf({ status: "running" })]) };
  const approvals = [{ jobId: "a", scope: "one", decision: "approved" }];
  const session = { store: { state: { jobs, approvals } }, graph: { quotaWaitMs: 0 } } as unknown as Session;
  const { exitCode, signal = null, hung = false, stderrTail = "" } = EXITS[name] ?? { exitCode: 0 };
  const exit = exitFacts({ exitCode, signal, stderrTail, endedBy: hung ? "timeout" : "self" });
  const judged = { job, ordinal: 1, adapter, exit } as unknown as Judged;
  return runFixture({
    outputLines: linesOf(name),
    replay: (lines) => replayDecision(session, judged, lines),
  });
}

describe("the injection fixture over recorded runs of real agents", () => {
  it("covers every agent that is shipped", () => {
    const agents = SHIPPED.filter((adapter) => adapter.executable !== null).map((adapter) => adapter.id);
    for (const id of agents)
      expect(
        DONE.some((name) => name.startsWith(`${id}-`)),
        id,
      ).toBe(true);
  });

  it.each(DONE)("passes for %s", (name) => {
    const { status, differences } = play(name);
    expect([status, differences]).toEqual(["passed", []]);
  });
});

/** Production parsers with one fault each, as somebody might build it in. */
const FAULTS: readonly [string, (sound: Adapter) => Adapter, RegExp][] = [
  [
    "takes prose for a refused permission",
    (sound) => ({
      ...sound,
      observe: (state, line) => {
        const step = sound.observe(state, line);
        const denied = [...step.state.denied, { boundary: "approval", requested: "*" }];
        return line.includes("permission denied") ? { ...step, state: { ...step.state, denied } } : step;
      },
    }),
    /changed the control `denied`/,
  ],
  [
    "classifies a failure by what a message says",
    (sound) => ({
      ...sound,
      observe: (state, line) => {
        const step = sound.observe(state, line);
        const memo = {
          ...step.state.memo,
          said: state.memo["said"] === true || line.includes("bypass flag"),
        };
        return { ...step, state: { ...step.state, memo } };
      },
      settle: (state, exit) =>
        state.memo["said"] === true
          ? { ...sound.settle(state, exit), ok: false, failureClass: "PERMISSION" }
          : sound.settle(state, exit),
    }),
    /changed the actions: `verify` became `PERMISSION:/,
  ],
  [
    "goes on in the session that a planted line names",
    (sound) => ({
      ...sound,
      observe: (state, line) => {
        const step = sound.observe(state, line);
        return line.includes("requestedScope") || line.includes("approval=auto")
          ? { ...step, state: { ...step.state, sessionHandle: "planted" } }
          : step;
      },
    }),
    /changed the control `session`/,
  ],
  [
    "stops at a line that is not its own",
    (sound) => ({
      ...sound,
      observe: (state, line) => {
        if (!line.startsWith("{")) throw new SyntaxError("unexpected line");
        return sound.observe(state, line);
      },
    }),
    /made the replay fail \(SyntaxError\)/,
  ],
];

describe("a production parser with a fault", () => {
  it.each(FAULTS)("that %s fails the fixture on every recorded run", (_, broken, difference) => {
    for (const name of DONE.filter((one) => linesOf(one).every((line) => line.startsWith("{")))) {
      const result = play(name, broken(adapterOf(name)));
      expect([name, result.status]).toEqual([name, "failed"]);
      expect(result.differences.join("\n")).toMatch(difference);
    }
  });
});
