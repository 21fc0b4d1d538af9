/** A CLI as an arbiter: one child in an empty folder of its own, with the bundle as its only input and nothing to write with. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Candidate, FailureClass, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import { ensureDir, writePrivate } from "../host/files.ts";
import { superviseProcess } from "../run/supervise.ts";
import type { Adapter, AttemptUsage } from "../runtimes/adapter.ts";
import { arbiterSteps } from "../runtimes/mock.ts";
import { type PreparedCall, writeFiles } from "./arbiter-call.ts";
import { childEnvFor } from "./child-env-for.ts";
import { renderCommand } from "./command-text.ts";
import { attemptMarker, jobDir, type Session, supervisorScratch } from "./session.ts";

export interface ArbiterAnswer {
  /** The final text; null when the call gave none. */
  readonly text: string | null;
  /** Null: it settled with a text, or was stopped. */
  readonly failureClass: FailureClass | null;
  readonly detail: string | null;
  readonly resetAt: number | null;
  readonly stopped: boolean;
  readonly handle: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly usage: AttemptUsage | null;
  readonly exitCode: number | null;
  readonly wallMs: number;
}

export interface ArbiterProcess {
  readonly call: PreparedCall;
  readonly adapter: Adapter;
  readonly record: RuntimeRecord;
  readonly candidate: Candidate;
  /** Receives the way to end the process, once there is one. */
  readonly onLive: (cancel: (mode: "graceful" | "hard") => void) => void;
}

const MAX_OUTPUT_BYTES = 4_194_304;

export async function runArbiter(s: Session, o: ArbiterProcess): Promise<ArbiterAnswer> {
  const id = o.call.arbiter.arbiterId;
  const scratch = supervisorScratch(s, id, 1);
  // Outside of the workspace: instruction files there were perhaps written by whoever is judged.
  const cwd = mkdtempSync(join(s.env.tmp, "orchestrate-arbiter-"));
  try {
    writeFiles(cwd, o.call.files);
    return await inFolder(s, o, { cwd, scratch });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
    rmSync(cwd, { recursive: true, force: true });
  }
}

async function inFolder(
  s: Session,
  o: ArbiterProcess,
  place: { readonly cwd: string; readonly scratch: string },
): Promise<ArbiterAnswer> {
  const { adapter, call } = o;
  const id = call.arbiter.arbiterId;
  const job = arbiterJob(s, id);
  const planned = adapter.start({
    job,
    attempt: 1,
    candidate: o.candidate,
    record: o.record,
    cwd: place.cwd,
    prompt: call.bundle.prompt,
    promptFile: call.promptFile,
    scratch: place.scratch,
    self: s.self,
    worktree: false,
    resumeSession: null,
  });
  if (!planned.ok) return refused(`${planned.error.code}: ${planned.error.detail}`);
  const plan = planned.value;
  mkdirSync(place.scratch, { recursive: true });
  for (const file of plan.files) {
    const path = resolve(place.scratch, file.path);
    ensureDir(dirname(path));
    writePrivate(path, file.content);
  }
  const marker = attemptMarker(s.runDir, id, 1);
  const dir = jobDir(s.runDir, id);
  writePrivate(
    join(dir, "command.txt"),
    renderCommand(s, { argv: plan.argv, cwd: place.cwd, stdin: plan.stdin !== null }),
  );
  let observed = adapter.initial();
  const supervised = superviseProcess({
    argv: plan.argv,
    cwd: place.cwd,
    env: childEnvFor(s, { adapter, job, plan, marker }),
    stdin: plan.stdin,
    marker,
    timeoutMs: s.graph.arbiter.timeoutMs,
    stallAfterMs: null,
    stdoutPath: join(dir, "stdout.txt"),
    stderrPath: join(dir, "stderr.txt"),
    maxOutputBytes: MAX_OUTPUT_BYTES,
    secretValues: s.secretValues,
    clock: s.clock,
    onStart: (identity) =>
      s.commit([
        {
          type: "arbiter",
          arbiter: {
            ...call.arbiter,
            pid: identity.pid,
            processStartTime: identity.startTime,
            bootId: identity.bootId,
          },
        },
      ]),
    onLine: (line) => {
      observed = adapter.observe(observed, line).state;
    },
  });
  o.onLive((mode) => supervised.cancel(mode));
  const unregister = s.onHardStop(() => supervised.cancel("hard"));
  const result = await supervised.done;
  unregister();
  if (result.captureError !== null)
    s.fail(new Error(`cannot write \`${result.captureError.path}\`: ${result.captureError.code}`));
  const settlement = adapter.settle(observed, {
    exitCode: result.exitCode,
    signal: result.signal,
    endedBy: result.endedBy,
    spawnError: result.spawnError,
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    stdoutBytes: result.stdout.bytes,
    now: s.clock.now(),
  });
  // A suspect answer, or one of a process that may go on, is none.
  const whole = settlement.ok && !settlement.suspect && result.treeGone;
  const text = whole ? (settlement.resultText ?? "") : null;
  writePrivate(join(dir, "result.md"), s.redact(text ?? ""));
  return {
    text,
    failureClass: whole || result.endedBy === "cancel" ? null : (settlement.failureClass ?? "UNKNOWN"),
    detail: whole ? null : s.redact(settlement.detail ?? "it gave no answer that counts"),
    resetAt: settlement.resetAt,
    stopped: result.endedBy === "cancel",
    handle: observed.sessionHandle,
    model: observed.model,
    provider: observed.provider,
    usage: observed.usage,
    exitCode: result.exitCode,
    wallMs: Math.round(result.wallMs),
  };
}

const refused = (detail: string): ArbiterAnswer => ({
  text: null,
  failureClass: "BAD_FLAG",
  detail,
  resetAt: null,
  stopped: false,
  handle: null,
  model: null,
  provider: null,
  usage: null,
  exitCode: null,
  wallMs: 0,
});

/** The call in the shape an adapter starts: read-only, nothing declared, the mock's script from `arbiter.mock`. */
function arbiterJob(s: Session, id: string): PlanJob {
  const any = s.graph.jobs[0] as PlanJob;
  return {
    ...any,
    id,
    task: "review",
    effect: "observe",
    writer: false,
    riskTier: "R0",
    tools: { allowed: ["read", "search"], disallowed: ["edit", "write", "shell"], origin: "tier" },
    verification: [],
    invocation: null,
    session: null,
    outputs: [],
    inputs: [],
    ownedPaths: [],
    mock: [...arbiterSteps(s.graph.arbiter.mock)],
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
}
