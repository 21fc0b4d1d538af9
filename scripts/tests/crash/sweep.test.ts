/**
 * The built tool, ended or refused at each change it makes to its run folder, then resumed: nothing lost, nothing doubled,
 * nothing left behind, and every refusal said. CI: each operation once killed before, samples of the rest; soak: all.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { FAULT_MODES, type Fault, type FaultMode } from "../support/fault-shim.ts";
import type { Scene, SceneName } from "./harness/scenes.ts";
import {
  countOperations,
  createScenes,
  everyOperation,
  type SweepResult,
  sampledOperations,
  sweep,
} from "./harness/sweep.ts";

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const SEED = 20_261_129;
const LONG = { timeout: SOAK ? 6 * 3_600_000 : 1_200_000 };

let built: BuiltPayload;
const made = new Map<SceneName, Promise<Scene[]>>();

beforeAll(async () => {
  built = await builtPayload();
});

afterAll(async () => {
  for (const scenes of made.values()) for (const { lane } of await scenes) lane.remove();
  built.remove();
});

function scenes(name: SceneName): Promise<Scene[]> {
  const known = made.get(name) ?? createScenes(name, built.main);
  made.set(name, known);
  return known;
}

/** Each failure ends with the command that shows it again. */
function expectSound(result: SweepResult, least: number): void {
  expect(result.failures.join("\n")).toBe("");
  expect(result.hits.length).toBeGreaterThanOrEqual(least);
}

async function sampled(
  name: SceneName,
  mode: FaultMode,
  o: { count: number; sticky?: boolean },
): Promise<void> {
  const places = await scenes(name);
  const total = await countOperations(places[0] as Scene, mode);
  // Points with worktrees take several times as long as the others.
  const count = SOAK ? (name === "worktrees" ? Math.min(100, total) : total) : Math.min(o.count, total);
  // The last few may not be there: records that come together are written together.
  expectSound(await sweep(places, sampledOperations({ mode, total, seed: SEED, ...o, count })), count - 10);
}

const every = async (name: SceneName, mode: FaultMode, only?: string): Promise<SweepResult> =>
  sweep(await scenes(name), everyOperation(mode, only));

describe("a run of four plain programs", () => {
  it("goes on from every single change of its folder that a kill prevented", LONG, async () => {
    expectSound(await every("small", "kill-before"), 100);
  });

  it("is killed after every journal record in turn, and nothing is lost or run twice", LONG, async () => {
    expectSound(await every("large", "kill-after", "fdatasync:/journal.jsonl"), 8);
    expectSound(await every("large", "kill-after", "write:/journal.jsonl"), 8);
    expectSound(await every("small", "kill-after", "rename:/state.json"), 8);
  });

  it("is killed right before and right after the start of every process", LONG, async () => {
    expectSound(await every("small", "kill-before", "spawn:"), 4);
    expectSound(await every("small", "kill-after", "spawn:"), 4);
  });

  it.each(FAULT_MODES.filter((mode) => mode !== "kill-before"))(
    "survives %s at any operation",
    LONG,
    async (mode) => {
      await sampled("small", mode, { count: 40 });
    },
  );

  it(
    "stops with path and reason on a disk that is full from some operation on, and goes on when it is not",
    LONG,
    async () => {
      await sampled("small", "enospc", { count: 12, sticky: true });
    },
  );
});

describe("a run whose state is written as a journal", () => {
  it.each(["kill-before", "torn", "eio"] as const)("survives %s at any operation", LONG, async (mode) => {
    await sampled("large", mode, { count: 8 });
  });

  it("cuts off every record that was torn", LONG, async () => {
    expectSound(await every("large", "torn", "write:/journal.jsonl"), 8);
  });
});

describe("a verdict that accepts the work", () => {
  it.each(["kill-before", "kill-after", "enospc"] as const)(
    "is applied once in spite of %s, and nothing accepted runs again",
    LONG,
    async (mode) => {
      await sampled("verdict", mode, { count: 8 });
    },
  );
});

describe("a run of writers in worktrees", () => {
  it.each(["kill-before", "kill-after"] as const)(
    "keeps every committed change in spite of %s, and the checkout as it was",
    LONG,
    async (mode) => {
      await sampled("worktrees", mode, { count: 5 });
    },
  );
});

describe("a run with a job that is retried and one that fails", () => {
  it.each(["kill-before", "torn"] as const)(
    "counts its attempts right in spite of %s, and runs nothing again that failed",
    LONG,
    async (mode) => {
      await sampled("troubled", mode, { count: 6 });
    },
  );
});

if (SOAK)
  describe("soak", () => {
    const crashes = ["kill-before", "kill-after", "torn"] as const;
    const points = [
      ...(["large", "verdict"] as const).flatMap((name) => FAULT_MODES.map((mode) => [name, mode] as const)),
      ...crashes.map((mode) => ["troubled", mode] as const),
    ];
    it.each(points)("%s: %s at every operation", LONG, async (name, mode) => {
      expectSound(await every(name, mode), 50);
    });

    it.each(["small", "large", "verdict"] as const)(
      "%s: a disk that fails for good at every operation",
      LONG,
      async (name) => {
        const faults = function* (): Iterable<Fault> {
          for (const fault of everyOperation("enospc")) yield { ...fault, sticky: true };
        };
        expectSound(await sweep(await scenes(name), faults()), 50);
      },
    );
  });
