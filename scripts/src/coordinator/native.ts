/** Work that the harness does with its own subagents: handed out as an action, recorded when it answers, never invented. */
import { existsSync, readFileSync } from "node:fs";
import { POLICY } from "../core/policy.ts";
import type { Attempt, Candidate, FailureClass, PlanJob } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import { ensureDir, readTextIfPresent, replaceFile, writePrivate } from "../host/files.ts";
import type { WindowPeer } from "../prove/verify.ts";
import { decodeFingerprint, encodeFingerprint, type Fingerprint } from "../run/changes.ts";
import type { RepoMarks } from "../run/repo-marks.ts";
import type { ExitFacts, Settlement } from "../runtimes/adapter.ts";
import { changedSinceApproval } from "./approval.ts";
import { blankAttempt } from "./blank.ts";
import { makeBriefing } from "./briefing.ts";
import { archiveCapture } from "./capture-files.ts";
import type { ScopeFile } from "./check-scripts.ts";
import { endWithBlock, endWithFailure } from "./failure.ts";
import { judgeAttempt } from "./judge.ts";
import { nativeFiles } from "./next-actions.ts";
import { peerOf } from "./observation.ts";
import { marksOf, noteMoves } from "./repo-moves.ts";
import { attemptRecord, jobDir, jobFile, jobState, nativeFile, type Session } from "./session.ts";
import { traceDispatch, traceEnd } from "./trace-points.ts";
import { baseCommitOf, knownWorkplace, makeWorkplace } from "./workplace.ts";
import { setUpWorktree } from "./worktree-setup.ts";

/** What must survive until the harness answers, perhaps to another coordinator. */
interface NativeFile {
  readonly jobId: string;
  readonly attempt: number;
  readonly briefSha256: string;
  readonly inputs: { path: string; sha256: string; bytes: number; fromJob: string | null }[];
  readonly fingerprint: string;
  /** Absent without a worktree, and in files of older versions. */
  readonly marks?: RepoMarks;
}

export async function openNativeAttempt(
  s: Session,
  job: PlanJob,
  approved: readonly ScopeFile[] | null,
): Promise<void> {
  const state = jobState(s, job.id);
  const ordinal = state.attemptRecords.length + 1;
  const candidate = job.route.chain[state.candidateIndex] as Candidate;
  archiveCapture(s.runDir, job.id, ordinal - 1);
  await s.commit([
    {
      type: "attempt-open",
      jobId: job.id,
      attempt: blankAttempt({
        attempt: ordinal,
        relation: state.pendingAttempt?.relation ?? (ordinal === 1 ? "first" : "resume"),
        ...(state.pendingAttempt === null ? {} : { relationReason: state.pendingAttempt.reason }),
        runtime: candidate.runtime,
        provider: candidate.provider,
        modelRequested: candidate.model,
        family: candidate.family,
        effortLevel: candidate.effort,
        status: "queued",
        createdAt: isoTime(s.clock.now()),
        tierDerivation: [...job.tierDerivation],
        capabilityFloorDelta: job.capabilityFloorDelta ?? 0,
        riskFloorDelta: job.riskFloorDelta ?? 0,
        riskTier: job.riskTier,
        baseCommit: baseCommitOf(s, job),
        supervisorRunId: s.supervisorRunId,
      }),
    },
    { type: "job", jobId: job.id, patch: { pendingAttempt: null, notBefore: null, detail: null } },
  ]);
  const place = await makeWorkplace(s, job, ordinal);
  if (!place.ok) return endWithBlock(s, job, ordinal, place.error);
  if (place.value.worktree !== null) {
    await s.commit([
      {
        type: "job",
        jobId: job.id,
        patch: {
          worktree: place.value.worktree.path,
          branch: place.value.worktree.branch,
          baseCommit: place.value.baseCommit,
        },
      },
      { type: "attempt", jobId: job.id, attempt: ordinal, patch: { baseCommit: place.value.baseCommit } },
    ]);
    const setUp = await setUpWorktree(s, job, ordinal, place.value);
    if (setUp !== null) return endWithBlock(s, job, ordinal, setUp);
  }
  const briefing = await makeBriefing(s, job, place.value);
  if (!briefing.ok) return endWithBlock(s, job, ordinal, briefing.error);
  const outdated = await changedSinceApproval(s, job, { approved, place: place.value });
  if (outdated !== null) return endWithBlock(s, job, ordinal, outdated);
  ensureDir(jobDir(s.runDir, job.id));
  writePrivate(nativeFiles(s.runDir, job.id, ordinal).promptFile, briefing.value.text);
  s.observation.enter(job, place.value.root);
  const [before, marks] = await Promise.all([s.observation.measure(place.value), marksOf(place.value)]);
  const kept: NativeFile = {
    jobId: job.id,
    attempt: ordinal,
    briefSha256: briefing.value.sha256,
    inputs: [...briefing.value.inputs],
    fingerprint: encodeFingerprint(before),
    ...(marks === null ? {} : { marks }),
  };
  replaceFile(nativeFile(s.runDir, job.id, ordinal), `${JSON.stringify(kept)}\n`);
  s.nativeOpen.add(job.id);
  traceDispatch(s, job, {
    attempt: ordinal,
    candidate,
    native: true,
    promptSha256: briefing.value.sha256,
    droppedEnv: [],
  });
}

/** The harness dispatched it. */
export async function startNative(
  s: Session,
  job: PlanJob,
  ordinal: number,
  handle: string | null,
): Promise<void> {
  await s.commit([
    {
      type: "attempt",
      jobId: job.id,
      attempt: ordinal,
      patch: { status: "running", phase: "working", startedAt: isoTime(s.clock.now()), nativeHandle: handle },
    },
  ]);
}

/** The harness brought an answer: judged exactly like a CLI's. */
export async function finishNative(
  s: Session,
  job: PlanJob,
  o: { ordinal: number; text: string; truncated: boolean; usage: Attempt["usage"] },
): Promise<void> {
  const attempt = attemptRecord(s, job.id, o.ordinal);
  if (attempt.status === "queued")
    await s.commit([
      {
        type: "attempt",
        jobId: job.id,
        attempt: o.ordinal,
        patch: { status: "running", phase: "working", startedAt: attempt.createdAt, flags: ["no-start"] },
      },
    ]);
  s.nativeOpen.delete(job.id);
  s.observation.leave(job);
  const adapter = s.adapters.get(attempt.runtime);
  const kept = readKept(s, job.id, o.ordinal);
  if (adapter === undefined || kept === null)
    return endWithFailure(s, job, o.ordinal, {
      failureClass: "UNKNOWN",
      reason: "native-record-missing",
      detail: `\`${nativeFile(s.runDir, job.id, o.ordinal)}\` is missing or damaged, so what the subagent changed cannot be measured.`,
    });
  await noteNativeMoves(s, job, o.ordinal, kept);
  const now = s.clock.now();
  const settlement: Settlement = {
    ok: true,
    failureClass: null,
    detail: null,
    resultText: o.text,
    suspect: false,
    resetAt: null,
  };
  const exit: ExitFacts = {
    exitCode: null,
    signal: null,
    endedBy: "self",
    spawnError: null,
    stdoutTail: "",
    stderrTail: "",
    stdoutBytes: 0,
    now,
  };
  const started = attemptRecord(s, job.id, o.ordinal);
  const place = knownWorkplace(s, job, started);
  await judgeAttempt(s, {
    job,
    ordinal: o.ordinal,
    adapter,
    place,
    briefing: { sha256: kept.file.briefSha256, inputs: kept.file.inputs },
    before: kept.fingerprint,
    observed: { ...adapter.initial(), usage: o.usage },
    settlement,
    exit,
    peers: peersOnRecord(s, job, { since: started.createdAt, root: place.root }),
    patch: {
      endedAt: isoTime(now),
      wallMs: started.startedAt === null ? null : Math.max(0, now - Date.parse(started.startedAt)),
      flags: [...started.flags, ...(o.truncated ? (["truncated"] as const) : [])],
    },
    treeGone: true,
    stdoutTruncated: o.truncated,
  });
  traceEnd(s, job, {
    attempt: o.ordinal,
    events: 0,
    unknown: 0,
    bytes: Buffer.byteLength(o.text),
    firstEventMs: null,
    endedBy: "native",
  });
}

/** Who worked in the same checkout since then. From the record: coordinators come and go while the harness works. */
function peersOnRecord(
  s: Session,
  job: PlanJob,
  own: { since: string; root: string },
): readonly WindowPeer[] {
  const overlaps = ({ endedAt }: Attempt): boolean => endedAt === null || endedAt >= own.since;
  return s.graph.jobs
    .filter(
      (other) =>
        other.id !== job.id &&
        jobState(s, other.id).attemptRecords.some(
          (attempt) => overlaps(attempt) && knownWorkplace(s, other, attempt).root === own.root,
        ),
    )
    .map((other) => peerOf(other, own.root));
}

export async function failNative(
  s: Session,
  job: PlanJob,
  o: { ordinal: number; failureClass: FailureClass; message: string },
): Promise<void> {
  s.nativeOpen.delete(job.id);
  await noteNativeMoves(s, job, o.ordinal, readKept(s, job.id, o.ordinal));
  await endWithFailure(s, job, o.ordinal, { failureClass: o.failureClass, detail: o.message });
}

export async function cancelNative(s: Session, job: PlanJob, ordinal: number): Promise<void> {
  s.nativeOpen.delete(job.id);
  await noteNativeMoves(s, job, ordinal, readKept(s, job.id, ordinal));
  await endWithBlock(s, job, ordinal, {
    code: "cancelled",
    detail: "The harness confirmed that it stopped the subagent.",
  });
}

/** Work that the harness has not started is closed; running work is the harness's to stop (`cancel_native`). */
export async function stopNative(s: Session, id: string): Promise<void> {
  const last = jobState(s, id).attemptRecords.at(-1);
  const job = s.index.byId.get(id);
  if (last === undefined || job === undefined) return;
  if (last.status === "queued") await cancelNative(s, job, last.attempt);
  else await s.commit([{ type: "attempt", jobId: id, attempt: last.attempt, patch: { phase: "stopping" } }]);
}

/** Bounds of the contract, applied by whichever command next touches the run. */
export async function expireNative(s: Session): Promise<string[]> {
  const expired: string[] = [];
  const now = s.clock.now();
  for (const jobId of [...s.nativeOpen]) {
    const job = s.index.byId.get(jobId);
    const last = jobState(s, jobId).attemptRecords.at(-1);
    if (job === undefined || last === undefined) continue;
    if (last.status === "queued" && now > Date.parse(last.createdAt) + POLICY.NATIVE_DISPATCH_BOUND.value) {
      s.nativeOpen.delete(jobId);
      await endWithBlock(s, job, last.attempt, {
        code: "not-dispatched",
        detail: "No harness dispatched this attempt within 24 hours.",
      });
      expired.push(jobId);
    } else if (
      last.status === "running" &&
      last.startedAt !== null &&
      now > Date.parse(last.startedAt) + job.timeoutMs + POLICY.NATIVE_GRACE.value
    ) {
      s.nativeOpen.delete(jobId);
      await s.commit([
        {
          type: "attempt",
          jobId,
          attempt: last.attempt,
          patch: {
            status: "unsettled",
            phase: null,
            settlement: "unsettled",
            reason: "unsettled",
            endedAt: isoTime(now),
            timedOut: true,
            detail: "The harness reported no end within the job's timeout and the grace period.",
          },
        },
      ]);
      expired.push(jobId);
    }
  }
  return expired;
}

/** A result that came after the attempt was closed is kept, and never used. */
export function keepLateResult(s: Session, jobId: string, text: string): string {
  for (let n = 1; ; n++) {
    const path = jobFile(s.runDir, jobId, "result").replace(/result\.md$/, `native-late-${n}.json`);
    if (existsSync(path)) continue;
    ensureDir(jobDir(s.runDir, jobId));
    replaceFile(
      path,
      `${JSON.stringify({ jobId, receivedAt: isoTime(s.clock.now()), text: s.redact(text).slice(0, 1_048_576) })}\n`,
    );
    return path;
  }
}

async function noteNativeMoves(s: Session, job: PlanJob, ordinal: number, kept: Kept | null): Promise<void> {
  const attempt = attemptRecord(s, job.id, ordinal);
  if (attempt.startedAt === null) return;
  const place = knownWorkplace(s, job, attempt);
  await noteMoves(s, job, { ordinal, place, before: kept?.file.marks ?? null });
}

interface Kept {
  readonly file: NativeFile;
  readonly fingerprint: Fingerprint;
}

function readKept(s: Session, jobId: string, ordinal: number): Kept | null {
  try {
    const text = readTextIfPresent(nativeFile(s.runDir, jobId, ordinal));
    if (text === null) return null;
    const file = JSON.parse(text) as NativeFile;
    const fingerprint = decodeFingerprint(file.fingerprint);
    return fingerprint === null ? null : { file, fingerprint };
  } catch {
    return null;
  }
}

/** Text of a finished native attempt: inline, or from a file inside the run directory. */
export function contentText(
  content: { path: string | null; text: string | null },
  maxBytes: number,
): { text: string; truncated: boolean } {
  const text = content.text ?? (content.path === null ? "" : readFileSync(content.path, "utf8"));
  const bytes = Buffer.from(text);
  return bytes.length <= maxBytes
    ? { text, truncated: false }
    : { text: bytes.subarray(0, maxBytes).toString("utf8"), truncated: true };
}
