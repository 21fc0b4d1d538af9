/** Hands a command to the run: a live coordinator applies it; with none, one is started, applies it, and goes on if it can. */
import { EXIT } from "../core/exit-codes.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { awaitAnswer, type InboxCommand, submit } from "../state/inbox.ts";
import { lockOwner } from "../state/lock.ts";
import type { CommandAnswer } from "./inbox-apply.ts";
import { type CoordinatorProcess, startCoordinator } from "./start.ts";
import { isCoordinated } from "./view.ts";

export interface Sent {
  readonly answer: CommandAnswer | null;
  /** The coordinator that was started for it, if one was. */
  readonly started: CoordinatorProcess | null;
}

const ANSWER_TIMEOUT_MS = 120_000;
/** A lock that nobody can be seen to hold and nobody can take is no race any more. */
const LOST_STARTS_MAX = 5;

export async function sendCommand(o: {
  runDir: string;
  self: readonly string[];
  env: Environment;
  clock: Clock;
  command: InboxCommand;
  /** Arguments of the coordinator that is started when there is none. */
  args?: readonly string[];
}): Promise<Sent> {
  const id = await submit(o.runDir, o.command);
  for (let lost = 0; ; ) {
    const started = isCoordinated(o.runDir)
      ? null
      : startCoordinator({ runDir: o.runDir, self: o.self, env: o.env, args: o.args ?? [] });
    let exitCode: number | null | undefined;
    void started?.exited.then((exit) => (exitCode = exit.exitCode));
    const answer = await awaitAnswer(o.runDir, id, {
      timeoutMs: ANSWER_TIMEOUT_MS,
      coordinatorAlive: () => (started === null ? isCoordinated(o.runDir) : exitCode === undefined),
    });
    // Of clients that start one at the same time, one gets the lock: it answers all of them.
    const beaten = exitCode === undefined ? isOthers(o.runDir, started) : exitCode === EXIT.owned;
    if (answer !== null) return { answer: answer as CommandAnswer, started: beaten ? null : started };
    // A coordinator that was just ending may have missed the file: one of our own will not.
    if (started !== null && (!beaten || ++lost === LOST_STARTS_MAX)) return { answer: null, started };
  }
}

/** Whether somebody else coordinates while ours has yet to learn that it came too late. */
function isOthers(runDir: string, started: CoordinatorProcess | null): boolean {
  const owner = lockOwner(runDir);
  return owner !== null && owner.pid !== started?.pid;
}
