/** One question to a classifier: one process, one envelope, one answer, one deadline. Nothing is tried twice. */
import { PLANE_LIMITS } from "../core/policy.ts";
import { exec } from "../host/exec.ts";
import { type AnswerOf, readAnswer } from "./answer.ts";
import type { Envelope } from "./envelope.ts";
import type { PlaneTask } from "./tasks.ts";

export type CallResult<T extends PlaneTask> =
  | { readonly reason: "ok"; readonly answers: AnswerOf<T> }
  | { readonly reason: "timeout" | "malformed"; readonly answers: null };

/** A start that fails and a non-zero exit are malformed answers: the classifier did not do what it was declared to do. */
export async function askClassifier<T extends PlaneTask>(o: {
  readonly task: T;
  readonly envelope: Envelope;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process; the key is passed in here and nowhere else. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}): Promise<CallResult<T>> {
  const [command, ...args] = o.argv as [string, ...string[]];
  const run = await exec(command, args, {
    cwd: o.cwd,
    env: o.env,
    stdin: `${o.envelope.text}\n`,
    timeoutMs: o.timeoutMs ?? PLANE_LIMITS.timeoutMs,
    maxBytes: PLANE_LIMITS.outputMaxBytes + 1,
  });
  if (run.timedOut) return { reason: "timeout", answers: null };
  if (run.exitCode !== 0 || run.spawnError !== null) return { reason: "malformed", answers: null };
  const read = readAnswer(o.task, run.stdout.toString("utf8"));
  return read.ok ? { reason: "ok", answers: read.value } : { reason: "malformed", answers: null };
}
