/** Runs a command that the spec declares (verification, setup, preview) under the same supervision as a job. */
import { join } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { ensureDir } from "../host/files.ts";
import type { CommandRun, RunCommand } from "../prove/gather.ts";
import { superviseProcess } from "../run/supervise.ts";
import { commandEnv } from "./child-env-for.ts";
import { attemptMarker, jobDir, type Session } from "./session.ts";

/** Output goes to `<job>/checks/<label>.{stdout,stderr}.txt`, bounded and redacted like a job's. */
export function verificationRunner(s: Session, job: PlanJob, attempt: number): RunCommand {
  return (command) =>
    runDeclaredCommand(s, { ...command, jobId: job.id, attempt, maxOutputBytes: job.maxOutputBytes });
}

/** What running a command needs of a session, so that a command line can do it too. */
export type CommandHost = Pick<Session, "runDir" | "secretValues" | "clock" | "env" | "onHardStop" | "fail">;

export async function runDeclaredCommand(
  s: CommandHost,
  o: {
    argv: readonly string[];
    cwd: string;
    timeoutMs: number;
    label: string;
    jobId: string;
    attempt: number;
    maxOutputBytes: number;
  },
): Promise<CommandRun> {
  const marker = attemptMarker(s.runDir, o.jobId, o.attempt);
  const dir = join(jobDir(s.runDir, o.jobId), "checks");
  ensureDir(dir);
  const supervised = superviseProcess({
    argv: o.argv,
    cwd: o.cwd,
    env: commandEnv(s, marker),
    stdin: null,
    marker,
    timeoutMs: o.timeoutMs,
    stallAfterMs: null,
    stdoutPath: join(dir, `${o.label}.stdout.txt`),
    stderrPath: join(dir, `${o.label}.stderr.txt`),
    maxOutputBytes: o.maxOutputBytes,
    secretValues: s.secretValues,
    clock: s.clock,
  });
  const unregister = s.onHardStop(() => supervised.cancel("hard"));
  const result = await supervised.done;
  unregister();
  // A capture with holes is no evidence, and what is still alive may still change files: neither may pass as an exit code.
  if (result.captureError !== null)
    s.fail(new Error(`cannot write \`${result.captureError.path}\`: ${result.captureError.code}`));
  const alive = result.treeGone ? null : "SURVIVORS";
  return {
    exitCode: result.exitCode,
    signal: result.signal,
    timedOut: result.endedBy === "timeout",
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    wallMs: Math.round(result.wallMs),
    spawnError: result.spawnError ?? alive,
  };
}
