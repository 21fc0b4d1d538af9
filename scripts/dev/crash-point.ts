/**
 * Runs one crash point again and says what was broken; the tests print this command for each failure.
 *
 *   npx tsx scripts/dev/crash-point.ts SCENE MODE N [--sticky] [--only KIND:PATH-END,...] [--keep]
 *
 * SCENE: small, large, verdict, worktrees, troubled. MODE: kill-before, kill-after, torn, eio, enospc, eacces, short. N: the operation, from 1.
 * `--keep` leaves the folder and prints its path.
 */
import { crashPoint } from "../tests/crash/harness/point.ts";
import { createScene, SCENES, type SceneName } from "../tests/crash/harness/scenes.ts";
import { builtPayload } from "../tests/support/built-tool.ts";
import { FAULT_MODES, type Fault, type FaultMode } from "../tests/support/fault-shim.ts";
import { isMain } from "./is-main.ts";

export interface PointArguments {
  readonly scene: SceneName;
  readonly fault: Fault;
  readonly keep: boolean;
}

/** Throws when the words are no point. */
export function readPoint(argv: readonly string[]): PointArguments {
  const [scene, mode, at, ...flags] = argv;
  const only = flags.includes("--only") ? flags[flags.indexOf("--only") + 1] : undefined;
  if (!SCENES.includes(scene as SceneName)) throw new Error(`no scene ${scene}: one of ${SCENES.join(", ")}`);
  if (!FAULT_MODES.includes(mode as FaultMode))
    throw new Error(`no mode ${mode}: one of ${FAULT_MODES.join(", ")}`);
  if (!Number.isInteger(Number(at))) throw new Error(`no operation number: ${at}`);
  return {
    scene: scene as SceneName,
    fault: {
      mode: mode as FaultMode,
      at: Number(at),
      ...(flags.includes("--sticky") ? { sticky: true } : {}),
      ...(only === undefined ? {} : { only }),
    },
    keep: flags.includes("--keep"),
  };
}

async function main(): Promise<void> {
  const { scene: name, fault, keep } = readPoint(process.argv.slice(2));
  const built = await builtPayload();
  const scene = await createScene(name, built.main);
  const { hit, first, violations } = await crashPoint(scene, fault);
  console.log(hit === null ? "the operation was not reached" : `hit: ${hit.kind} ${hit.path}`);
  console.log(`first coordinator: exit ${first.exit.code ?? first.exit.signal}\n${first.exit.stderr.trim()}`);
  for (const line of scene.lane.ledger()) console.log(`  ${Object.values(line).join(" ")}`);
  for (const violation of violations) console.log(`BROKEN ${violation}`);
  console.log(violations.length === 0 ? "all rules hold" : `${violations.length} rules broken`);
  if (keep) console.log(`kept: ${scene.lane.top}`);
  else scene.lane.remove();
  built.remove();
  process.exitCode = violations.length === 0 ? 0 : 1;
}

if (isMain(import.meta.url)) await main();
