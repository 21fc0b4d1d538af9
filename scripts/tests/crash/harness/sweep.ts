/** Many crash points, several scenes of one kind at work at once. */
import { availableParallelism } from "node:os";
import { seeded } from "../../state/simulation/random.ts";
import type { Fault, FileOperation } from "../../support/fault-shim.ts";
import { crashPoint, type PointResult } from "./point.ts";
import { createScene, type Scene, type SceneName } from "./scenes.ts";

export interface SweepResult {
  /** Points whose operation was reached. */
  readonly hits: readonly FileOperation[];
  /** One text a violating point: what was broken, and the command that shows it again. */
  readonly failures: readonly string[];
}

export const LANES = Math.min(2, availableParallelism());

export async function createScenes(name: SceneName, main: string): Promise<Scene[]> {
  return Promise.all(Array.from({ length: LANES }, () => createScene(name, main)));
}

/** How many operations an undisturbed run has, as `mode` counts them. */
export async function countOperations(scene: Scene, mode: Fault["mode"]): Promise<number> {
  await crashPoint(scene, { mode, at: 0 });
  return scene.lane.operations().length;
}

/** All faults, or as many as there are until one is not reached any more. */
export async function sweep(scenes: readonly Scene[], faults: Iterable<Fault>): Promise<SweepResult> {
  const hits: FileOperation[] = [];
  const failures: string[] = [];
  const queue = faults[Symbol.iterator]();
  let over = false;
  const work = async (scene: Scene): Promise<void> => {
    while (!over && failures.length < FAILURES_MAX) {
      const { value: fault, done } = queue.next();
      if (done === true) return;
      const result = await crashPoint(scene, fault);
      if (result.hit !== null) hits.push(result.hit);
      else if (fault.at > 0) over = true;
      if (result.violations.length > 0) failures.push(failureText(scene, fault, result));
    }
  };
  await Promise.all(scenes.map(work));
  return { hits, failures };
}

const FAILURES_MAX = 10;

function failureText(scene: Scene, fault: Fault, result: PointResult): string {
  const at = result.hit === null ? "not reached" : `${result.hit.kind} ${result.hit.path}`;
  return [
    `operation ${fault.at} (${at}), ${fault.mode}:`,
    ...result.violations.map((v) => `  ${v}`),
    `  ${reproduction(scene.name, fault)}`,
  ].join("\n");
}

/** The command that runs exactly this point again. */
export function reproduction(scene: SceneName, fault: Fault): string {
  const flags = [
    ...(fault.sticky === true ? ["--sticky"] : []),
    ...(fault.only === undefined ? [] : ["--only", fault.only]),
  ];
  return ["npx tsx scripts/dev/crash-point.ts", scene, fault.mode, fault.at, ...flags].join(" ");
}

/** Every operation from the first one on; `sweep` ends with the first that is not reached. */
export function* everyOperation(mode: Fault["mode"], only?: string): Iterable<Fault> {
  for (let at = 1; ; at += 1) yield { mode, at, ...(only === undefined ? {} : { only }) };
}

/** `count` different operations of `total`, chosen by `seed`, in rising order. */
export function sampledOperations(o: {
  mode: Fault["mode"];
  total: number;
  count: number;
  seed: number;
  sticky?: boolean;
}): Fault[] {
  const chosen = new Set<number>();
  const random = seeded(o.seed);
  while (chosen.size < Math.min(o.count, o.total)) chosen.add(1 + random.int(o.total));
  return [...chosen]
    .sort((a, b) => a - b)
    .map((at) => ({ mode: o.mode, at, ...(o.sticky === true ? { sticky: true } : {}) }));
}
