/** Hands a command to the run: a live coordinator applies it; with none, one is started, applies it, and goes on if it can. */
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { awaitAnswer, type InboxCommand, submit } from "../state/inbox.ts";
import type { CommandAnswer } from "./inbox-apply.ts";
import { type CoordinatorProcess, startCoordinator } from "./start.ts";
import { isCoordinated } from "./view.ts";

export interface Sent {
  readonly answer: CommandAnswer | null;
  /** The coordinator that was started for it, if one was. */
  readonly started: CoordinatorProcess | null;
}

const ANSWER_TIMEOUT_MS = 120_000;

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
  let started: CoordinatorProcess | null = null;
  for (;;) {
    let gone = false;
    if (!isCoordinated(o.runDir)) {
      started = startCoordinator({ runDir: o.runDir, self: o.self, env: o.env, args: o.args ?? [] });
      void started.exited.then(() => (gone = true));
    }
    const own = started !== null;
    const answer = await awaitAnswer(o.runDir, id, {
      timeoutMs: ANSWER_TIMEOUT_MS,
      coordinatorAlive: () => (own ? !gone : isCoordinated(o.runDir)),
    });
    if (answer !== null) return { answer: answer as CommandAnswer, started };
    // A coordinator that was just ending may have missed the file: one of our own will not.
    if (own) return { answer: null, started };
  }
}
