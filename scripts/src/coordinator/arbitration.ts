/** Asks for verdicts and applies them: nothing is accepted because somebody said so, the producer least of all. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Arbiter } from "../core/generated/state.ts";
import type { Candidate, PlanJob } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import { ensureDir, writePrivate } from "../host/files.ts";
import {
  type AttemptRef,
  type Bundle,
  buildBundle,
  judgeableTogether,
  pendingArbitration,
} from "../prove/bundle.ts";
import { MOCK_RUNTIME } from "../prove/current-attempt.ts";
import { superviseProcess } from "../run/supervise.ts";
import type { Adapter } from "../runtimes/adapter.ts";
import { arbiterSteps } from "../runtimes/mock.ts";
import { childEnvFor } from "./child-env-for.ts";
import { renderCommand } from "./command-text.ts";
import { attemptEvidence } from "./evidence-of.ts";
import { arbiterFiles } from "./next-actions.ts";
import { attemptMarker, jobDir, jobState, type Session, supervisorScratch } from "./session.ts";
import { applyVerdictText, blockOutcomes } from "./verdicts.ts";

/**
 * Called when nothing runs and nothing can start. Work done only by the mock runtime is judged by the mock arbiter, a real
 * child; everything else is handed out as `arbitrate_native`. True when something changed that the loop should look at.
 */
export async function arbitrate(s: Session, o: { askAgain: boolean }): Promise<boolean> {
  const group = (mock: boolean): AttemptRef[] => {
    const pending = pendingArbitration(
      s.graph,
      s.store.state,
      (id) => isMockWork(s, id) === mock && mayAsk(s, id, o.askAgain),
    );
    return judgeableTogether(pending, s.graph, s.store.state);
  };
  const native = group(false);
  let changed = native.length > 0 && (await offerNative(s, native));
  const mock = group(true);
  if (mock.length > 0) {
    await askMock(s, mock);
    changed = true;
  }
  return changed;
}

const isMockWork = (s: Session, jobId: string): boolean =>
  jobState(s, jobId).attemptRecords.at(-1)?.runtime === MOCK_RUNTIME;

/** Asked and answered without a usable verdict: only a resume or a verdict opens it again. */
function mayAsk(s: Session, jobId: string, askAgain: boolean): boolean {
  const state = jobState(s, jobId);
  const code = state.outcomeBlock?.code;
  if (askAgain || code === undefined) return true;
  // External work needs more than an attested substitute: one such answer does not lead to the next call.
  const attested =
    code === "needs-arbiter" && state.riskTier === "R3" && state.attemptRecords.at(-1)?.arbitration !== null;
  return code !== "arbiter-blocked" && code !== "not-independent" && !attested;
}

/** One open call at a time names all that waits; a call about other work than that is superseded. */
async function offerNative(s: Session, refs: readonly AttemptRef[]): Promise<boolean> {
  const open = s.store.state.arbiters.filter((a) => a.status === "offered");
  const call = await newCall(s, refs);
  if (open.some((a) => sameAttempts(a, call.bundle.attempts))) return false;
  const arbiter = arbiterOf(s, call, { via: "native", runtime: null, family: null });
  writeCall(s, arbiter.arbiterId, call.bundle);
  await s.commit([
    ...open.map((a) => ({ type: "arbiter" as const, arbiter: { ...a, status: "superseded" as const } })),
    { type: "arbiter", arbiter },
    ...blockOutcomes(s, refs, {
      code: "needs-arbiter",
      detail:
        "The work passed its checks; an independent reviewer has to judge it before it counts as accepted.",
    }),
  ]);
  return true;
}

const sameAttempts = (a: Arbiter, attempts: readonly AttemptRef[]): boolean =>
  a.attempts.length === attempts.length &&
  attempts.every((ref) => a.attempts.some((x) => x.jobId === ref.jobId && x.attempt === ref.attempt));

interface Call {
  readonly bundle: Bundle;
  readonly nonce: string;
}

async function newCall(s: Session, refs: readonly AttemptRef[]): Promise<Call> {
  const nonce = randomBytes(12).toString("base64url");
  const evidence = new Map<string, Awaited<ReturnType<typeof attemptEvidence>>>();
  for (const ref of refs) evidence.set(`${ref.jobId}#${ref.attempt}`, await attemptEvidence(s, ref));
  const bundle = buildBundle({
    graph: s.graph,
    state: s.store.state,
    attempts: refs,
    evidence: (jobId, attempt) =>
      evidence.get(`${jobId}#${attempt}`) ?? { resultText: null, diff: null, checkTails: [] },
    redact: s.redact,
    nonce,
  });
  return { bundle, nonce };
}

/** Returns the brief's path. */
function writeCall(s: Session, arbiterId: string, bundle: Bundle): string {
  const { promptFile } = arbiterFiles(s.runDir, arbiterId);
  ensureDir(dirname(promptFile));
  writePrivate(promptFile, bundle.prompt);
  writePrivate(join(dirname(promptFile), "bundle.json"), bundle.text);
  return promptFile;
}

function arbiterOf(
  s: Session,
  call: Call,
  o: { via: Arbiter["via"]; runtime: string | null; family: string | null },
): Arbiter {
  return {
    arbiterId: `arbiter-${s.store.state.arbiters.length + 1}`,
    status: o.via === "native" ? "offered" : "running",
    via: o.via,
    runtime: o.runtime,
    family: o.family,
    model: null,
    independence: null,
    bundleSha256: call.bundle.sha256,
    nonce: call.nonce,
    createdAt: isoTime(s.clock.now()),
    answeredAt: null,
    overall: null,
    handle: null,
    reason: null,
    pid: null,
    processStartTime: null,
    bootId: null,
    attempts: call.bundle.attempts.map((a) => ({
      jobId: a.jobId,
      attempt: a.attempt,
      treeSha256: a.treeSha256,
      verdict: null,
      reasons: [],
    })),
  };
}

async function askMock(s: Session, refs: readonly AttemptRef[]): Promise<void> {
  const adapter = s.adapters.get("mock");
  const record = s.records.get("mock");
  if (adapter === undefined || record === undefined)
    throw new Error("mock work without a mock runtime in the inventory");
  const call = await newCall(s, refs);
  const arbiter = arbiterOf(s, call, { via: "mock", runtime: MOCK_RUNTIME, family: MOCK_ARBITER.family });
  const promptFile = writeCall(s, arbiter.arbiterId, call.bundle);
  await s.commit([{ type: "arbiter", arbiter }]);
  const text = await runArbiter(s, { arbiter, adapter, record, prompt: call.bundle.prompt, promptFile });
  await applyVerdictText(s, {
    arbiterId: arbiter.arbiterId,
    text,
    handle: null,
    independence: "independent",
  });
}

async function runArbiter(
  s: Session,
  o: {
    arbiter: Arbiter;
    adapter: Adapter;
    record: NonNullable<ReturnType<Session["records"]["get"]>>;
    prompt: string;
    promptFile: string;
  },
): Promise<string> {
  const id = o.arbiter.arbiterId;
  const scratch = supervisorScratch(s, id, 1);
  const candidate: Candidate = { ...MOCK_ARBITER };
  const planned = o.adapter.start({
    job: arbiterJob(s, id),
    attempt: 1,
    candidate,
    record: o.record,
    cwd: s.graph.workspaceRoots[0] as string,
    prompt: o.prompt,
    promptFile: o.promptFile,
    scratch,
    self: s.self,
    worktree: false,
    resumeSession: null,
  });
  if (!planned.ok) return "";
  const plan = planned.value;
  const marker = attemptMarker(s.runDir, id, 1);
  for (const file of plan.files) {
    const path = resolve(scratch, file.path);
    ensureDir(dirname(path));
    writePrivate(path, file.content);
  }
  const dir = jobDir(s.runDir, id);
  writePrivate(
    join(dir, "command.txt"),
    renderCommand(s, { argv: plan.argv, cwd: dir, stdin: plan.stdin !== null }),
  );
  let observed = o.adapter.initial();
  const supervised = superviseProcess({
    argv: plan.argv,
    cwd: dir,
    env: childEnvFor(s, { adapter: o.adapter, job: arbiterJob(s, id), plan, marker }),
    stdin: plan.stdin,
    marker,
    timeoutMs: s.graph.arbiter.timeoutMs,
    stallAfterMs: null,
    stdoutPath: join(dir, "stdout.txt"),
    stderrPath: join(dir, "stderr.txt"),
    maxOutputBytes: 1_048_576,
    secretValues: s.secretValues,
    clock: s.clock,
    onStart: (identity) =>
      s.commit([
        {
          type: "arbiter",
          arbiter: {
            ...o.arbiter,
            pid: identity.pid,
            processStartTime: identity.startTime,
            bootId: identity.bootId,
          },
        },
      ]),
    onLine: (line) => {
      observed = o.adapter.observe(observed, line).state;
    },
  });
  const unregister = s.onHardStop(() => supervised.cancel("hard"));
  const result = await supervised.done;
  unregister();
  rmSync(scratch, { recursive: true, force: true });
  const settlement = o.adapter.settle(observed, {
    exitCode: result.exitCode,
    signal: result.signal,
    endedBy: result.endedBy,
    spawnError: result.spawnError,
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    stdoutBytes: result.stdout.bytes,
    now: s.clock.now(),
  });
  const text = settlement.ok ? (settlement.resultText ?? "") : "";
  writePrivate(join(dir, "result.md"), s.redact(text));
  return text;
}

const MOCK_ARBITER: Candidate = {
  runtime: "mock",
  kind: "cli",
  model: "mock-b",
  effort: null,
  provider: "mock",
  family: "mock-b",
  capability: "C3",
  capabilitySource: "adapter-default",
  familySource: "adapter-default",
  independence: "independent",
  weaker: [],
};

/** The arbiter's call in the shape an adapter starts: read-only, nothing declared, its script from `arbiter.mock`. */
function arbiterJob(s: Session, id: string): PlanJob {
  const any = s.graph.jobs[0] as PlanJob;
  return {
    ...any,
    id,
    task: "review",
    effect: "observe",
    riskTier: "R0",
    tools: { allowed: ["read", "search"], disallowed: ["edit", "write", "shell"], origin: "tier" },
    verification: [],
    invocation: null,
    session: null,
    outputs: [],
    mock: [...arbiterSteps(s.graph.arbiter.mock)],
    maxOutputBytes: 1_048_576,
  };
}

/** What an interrupted arbiter call leaves is void: the work is asked about again. */
export async function dropUnfinishedArbiters(s: Session): Promise<void> {
  const open = s.store.state.arbiters.filter((a) => a.status === "running");
  if (open.length > 0)
    await s.commit(
      open.map((a) => ({
        type: "arbiter" as const,
        arbiter: { ...a, status: "failed" as const, reason: "interrupted" },
      })),
    );
}
