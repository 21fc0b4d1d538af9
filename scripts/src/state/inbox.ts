/** Commands for a coordinator: one synced file each, idempotent by content. */
import type { InboxCommand } from "../core/generated/inbox.ts";

export type { InboxCommand };

export interface PendingCommand {
  readonly id: string;
  readonly command: InboxCommand;
  readonly path: string;
}

/** Resolves with the command's id once its file is durable. The same command twice gives the same id. */
export function submit(_runDir: string, _command: InboxCommand): Promise<string> {
  throw new Error("not built yet");
}

/** Oldest first. */
export function pendingCommands(_runDir: string): PendingCommand[] {
  throw new Error("not built yet");
}

export function answerCommand(_runDir: string, _id: string, _result: unknown): void {
  throw new Error("not built yet");
}

/** Null when the time is over, or when nobody coordinates any more and there is no answer. */
export function awaitAnswer(
  _runDir: string,
  _id: string,
  _o: { timeoutMs: number; coordinatorAlive: () => boolean },
): Promise<unknown | null> {
  throw new Error("not built yet");
}
