/** One crash point: the prepared run, one fault, a clean resume, and the judgement over both. */
import { readdirSync } from "node:fs";
import type { Fault, FileOperation } from "../../support/fault-shim.ts";
import { exitText, type History, type Life, violations } from "./invariants.ts";
import type { Coordinator, Lane } from "./lane.ts";
import { dueActions, type Scene, workFaults } from "./scenes.ts";

export interface PointResult {
  /** The operation that was hit; null when the run was over before it. */
  readonly hit: FileOperation | null;
  /** How the coordinator with the fault ended. */
  readonly first: Life;
  readonly violations: readonly string[];
}

export async function crashPoint(scene: Scene, fault: Fault): Promise<PointResult> {
  const { lane } = scene;
  lane.reset();
  const first = await liveOnce(lane, lane.coordinate({ fault }));
  const operations = lane.operations();
  const second = await liveOnce(lane, lane.coordinate({ resume: true }));
  const found = violations(historyOf(scene, [first, second]));
  const due = typeof second.state === "string" ? [] : dueActions(lane);
  const wanted = scene.finished.status === "accepted" ? "read_report" : "arbitrate_native";
  if (!due.includes(wanted)) found.push(`what is due: ${due.join(", ")} instead of ${wanted}`);
  if (typeof second.state !== "string") found.push(...workFaults(lane));
  return {
    hit: hitOf(fault, operations),
    first,
    violations: [...found, ...refusals(fault, operations, first)],
  };
}

const hitOf = (fault: Fault, operations: readonly FileOperation[]): FileOperation | null =>
  operations.find((operation) => operation.number === fault.at) ?? null;

/** Waits for a coordinator's end and reads what it left. */
export async function liveOnce(lane: Lane, coordinator: Coordinator): Promise<Life> {
  const exit = await coordinator.ended;
  const read = lane.read();
  return { pid: coordinator.pid, exit, state: read.ok ? read.value.state : read.error.message };
}

export function historyOf(scene: Pick<Scene, "lane" | "finished">, lives: readonly Life[]): History {
  const { lane, finished } = scene;
  const read = lane.read();
  const untidy = [
    ...(read.ok ? read.value.repairs : []),
    ...readdirSync(lane.runDir).filter((name) => /\.tmp$|^lock/.test(name)),
  ];
  return { jobs: lane.jobs, ledger: lane.ledger(), lives, survivors: lane.survivors(), untidy, finished };
}

const ERRNO: Partial<Record<Fault["mode"], string>> = { eio: "EIO", enospc: "ENOSPC", eacces: "EACCES" };

/** What may fail without ending the run: evidence that is not state, and what is made up for at once or by whoever comes next. */
const MAY_FAIL = [
  /^\w+ .*\/(?:events|trace|metrics)\.jsonl[^/]*$/,
  // The same plan stays where it was frozen, and is copied where it cannot be linked.
  /^link .*\/graph\.json$/,
  /^unlink .*\/lock$/,
] as const;
/** A temporary name that cannot be removed may end the coordinator or not: it holds nothing. */
const EITHER_WAY = /^unlink .*\.tmp$/;

/** A refused change of the run ends the coordinator with the path and the errno, in a sentence. */
function refusals(fault: Fault, operations: readonly FileOperation[], life: Life): string[] {
  const hit = hitOf(fault, operations);
  const errno = ERRNO[fault.mode];
  if (errno === undefined || hit === null) return [];
  const { code, stderr } = life.exit;
  const said = stderr.trim();
  const found = /^ {4}at /m.test(stderr) ? ["a stack trace was printed"] : [];
  // The sync of a folder belongs to the file that was renamed into it.
  const before = operations.find(({ number }) => number === hit.number - 1);
  const about = hit.kind === "fsync" && before?.kind === "rename" ? before : hit;
  const minor = MAY_FAIL.some((pattern) => pattern.test(`${about.kind} ${about.path}`));
  if (code === 0)
    return minor || EITHER_WAY.test(`${hit.kind} ${hit.path}`)
      ? found
      : [...found, `${errno} of ${hit.kind} ${hit.path} was swallowed`];
  if (minor && fault.sticky !== true)
    found.push(`lost evidence ended the run: ${exitText(life.exit)}, ${said}`);
  if (code !== 4) found.push(`${exitText(life.exit)} after ${errno}`);
  if (!stderr.includes(errno)) found.push(`the message does not say ${errno}: ${said}`);
  if (!/[`']\/[^`']+[`']/.test(stderr)) found.push(`the message names no path: ${said}`);
  return found;
}
