/** After the process: measure, keep, commit, verify, and record success or failure. The same for a CLI's and for a harness's work. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { sha256, sha256File, writePrivate } from "../host/files.ts";
import { familyOfProvider, MOCK } from "../plan/capability.ts";
import { escalationFacts, escalationReasons } from "../prove/escalate.ts";
import { treeSha256 } from "../prove/fingerprint.ts";
import { runFixture } from "../prove/fixture.ts";
import { gatherLayerOne } from "../prove/gather.ts";
import { FINDING_FLAG, findsFault, isReview, readReview } from "../prove/review-findings.ts";
import { type LayerOneResult, verifyLayerOne, type WindowPeer } from "../prove/verify.ts";
import { type Changes, compareFingerprints, type Fingerprint } from "../run/changes.ts";
import { keepArtifacts, removeMaterial, writeResultOutput } from "../run/handoff.ts";
import { reversePatch } from "../run/reverse-patch.ts";
import { tooLargeFile } from "../run/work-size.ts";
import type { CommittedWorktree } from "../run/worktree-commit.ts";
import type { Adapter, ExitFacts, ObservedState, Settlement } from "../runtimes/adapter.ts";
import { isRequestedModel } from "../runtimes/model-match.ts";
import { boundaryClass } from "../runtimes/settle.ts";
import type { Briefing } from "./briefing.ts";
import { writeScripts } from "./check-scripts.ts";
import { commitWork } from "./commit-work.ts";
import { consumedBy, inputsFile } from "./consumed.ts";
import { endWithFailure, type FailedEnd } from "./failure.ts";
import type { Startup } from "./look-again.ts";
import { replayDecision } from "./replay.ts";
import { verificationRunner } from "./run-command.ts";
import { attemptRecord, jobFile, type Session } from "./session.ts";
import { writeJobStatus } from "./status-file.ts";
import { tooLargeWork } from "./too-large-work.ts";
import type { Workplace } from "./workplace.ts";

export interface Judged {
  readonly job: PlanJob;
  readonly ordinal: number;
  readonly adapter: Adapter;
  readonly place: Workplace;
  readonly briefing: Pick<Briefing, "sha256" | "inputs">;
  readonly before: Fingerprint;
  readonly observed: ObservedState;
  readonly settlement: Settlement;
  readonly exit: ExitFacts;
  readonly peers: readonly WindowPeer[];
  /** Facts of the exit. */
  readonly patch: Partial<Attempt>;
  readonly treeGone: boolean;
  readonly stdoutTruncated: boolean;
  /** Usage of this attempt alone; absent: as observed. */
  readonly usage?: Attempt["usage"];
  readonly startup?: Startup;
}

export async function judgeAttempt(s: Session, o: Judged): Promise<void> {
  const { job, ordinal, settlement } = o;
  const resultText = settlement.resultText === null ? null : s.redact(settlement.resultText);
  const seen = { ...o.patch, ...observedPatch(s, o, resultText) };
  if (resultText !== null && o.adapter.agent) writePrivate(jobFile(s.runDir, job.id, "result"), resultText);
  if (!o.treeGone) await recordUnsettled(s, job, ordinal, seen);
  else if (!settlement.ok) await recordRuntimeFailure(s, o, seen);
  else await verify(s, o, { seen, resultText });
  writeJobStatus(s, job.id);
}

async function recordUnsettled(
  s: Session,
  job: PlanJob,
  ordinal: number,
  seen: Partial<Attempt>,
): Promise<void> {
  await s.commit([
    {
      type: "attempt",
      jobId: job.id,
      attempt: ordinal,
      patch: {
        ...seen,
        status: "unsettled",
        phase: null,
        settlement: "unsettled",
        reason: "unsettled",
        detail: "A process of this attempt could not be proven gone. Its files stay reserved.",
      },
    },
  ]);
}

async function recordRuntimeFailure(s: Session, o: Judged, seen: Partial<Attempt>): Promise<void> {
  await removeMaterial({ cwd: o.place.cwd, jobId: o.job.id });
  const shared = o.job.writer && o.place.worktree === null;
  const changes = shared ? compareFingerprints(o.before, await s.observation.measure(o.place)) : null;
  if (changes !== null) await keepReversePatch(s, o, changes);
  await endWithFailure(s, o.job, o.ordinal, {
    failureClass: o.settlement.failureClass ?? "UNKNOWN",
    detail: o.settlement.detail,
    ...(changes === null ? {} : { unchanged: isUnchanged(changes) }),
    resetAt: o.settlement.resetAt,
    patch: seen,
    ...(o.startup === undefined ? {} : { startup: o.startup }),
  });
}

/** A writer that died in the shared checkout may be tried again only when it left the checkout as it was. */
const isUnchanged = (changes: Changes): boolean =>
  changes.measured &&
  [...changes.created, ...changes.modified, ...changes.deleted].length === 0 &&
  changes.headMoved === null;

/** Its edits are in the checkout already, accepted or not: this is what stands for an undo. */
async function keepReversePatch(s: Session, o: Judged, changes: Changes): Promise<void> {
  const { place, job } = o;
  if (place.worktree !== null || place.gitDir === null || !job.writer || !changes.measured) return;
  if ([...changes.created, ...changes.modified, ...changes.deleted].length === 0) return;
  if (tooLargeFile(place.root, [...changes.created, ...changes.modified]) !== null)
    return s.commit([
      {
        type: "run",
        patch: {},
        note: `${job.id}: a changed file is too large, so no patch takes its edits back`,
      },
    ]);
  const made = await reversePatch({ root: place.root, gitDir: place.gitDir, before: o.before, changes });
  if (!made.ok || made.value.missing.length > 0)
    await s.commit([
      {
        type: "run",
        patch: {},
        note: made.ok
          ? `${job.id}: the former content of ${made.value.missing.length} changed file(s) is not known to git, so no patch takes them back: ${s.redact(made.value.missing.slice(0, 5).join(", "))}`
          : `${job.id}: no patch could be made that takes its edits back: ${s.redact(made.error.detail)}`,
      },
    ]);
  if (made.ok && made.value.patch.length > 0)
    writePrivate(jobFile(s.runDir, job.id, "reversePatch"), made.value.patch);
}

async function verify(
  s: Session,
  o: Judged,
  facts: { seen: Partial<Attempt>; resultText: string | null },
): Promise<void> {
  const { job, ordinal, place } = o;
  if (job.verification.length > 0)
    await s.commit([{ type: "attempt", jobId: job.id, attempt: ordinal, patch: { phase: "verifying" } }]);
  await removeMaterial({ cwd: place.cwd, jobId: job.id });
  const changes = compareFingerprints(o.before, await s.observation.measure(place));
  await keepReversePatch(s, o, changes);
  const tooLarge = tooLargeWork(job, place, changes);
  if (tooLarge !== null)
    return endWithFailure(s, job, ordinal, {
      failureClass: "BAD_OUTPUT",
      reason: "file-too-large",
      detail: tooLarge,
      patch: facts.seen,
    });
  const written = await writeResults(job, place, facts.resultText);
  if (written !== null)
    return endWithFailure(s, job, ordinal, {
      failureClass: "BAD_OUTPUT",
      reason: "output-not-written",
      detail: written,
      patch: facts.seen,
    });
  const committed = await commitWork(s, o, changes);
  if (!committed.ok)
    return endWithFailure(s, job, ordinal, {
      failureClass: "TOOL_FAILURE",
      reason: committed.code,
      detail: committed.detail,
      patch: facts.seen,
    });
  const notes = committed.value?.notes ?? [];
  if (notes.length > 0)
    await s.commit(notes.map((note) => ({ type: "run", patch: {}, note: `${job.id}: ${note}` })));
  const judged = await layerOne(s, o, { changes, resultText: facts.resultText });
  const evidence = await evidencePatch(s, o, { judged, committed: committed.value });
  const patch: Partial<Attempt> = {
    ...facts.seen,
    ...evidence,
    flags: [
      ...new Set([...(facts.seen.flags ?? []), ...judged.flags, ...findingFlag(job, facts.resultText)]),
    ],
  };
  if (!judged.ok) return endWithFailure(s, job, ordinal, { ...whyNotEnough(o, judged), patch });
  const kept = await keepArtifacts({
    cwd: place.cwd,
    artifacts: judged.artifacts,
    artifactsDir: jobFile(s.runDir, job.id, "artifacts"),
  });
  if (!kept.ok)
    return endWithFailure(s, job, ordinal, {
      failureClass: "BAD_OUTPUT",
      reason: kept.error.code,
      detail: kept.error.detail,
      patch,
    });
  const success: Partial<Attempt> = { ...patch, status: "success", phase: null, settlement: "settled" };
  const c3EscalationReason = escalationReasons(
    escalationFacts(job, { ...attemptRecord(s, job.id, ordinal), ...success }),
  );
  await s.commit([
    { type: "attempt", jobId: job.id, attempt: ordinal, patch: { ...success, c3EscalationReason } },
  ]);
}

/** Work that is not there because the runtime was refused what it needed: the boundary is the reason, not the output. */
const NOT_THERE = new Set(["missing-artifact", "no-change", "empty-result"]);

function whyNotEnough(
  o: Judged,
  judged: LayerOneResult,
): Pick<FailedEnd, "failureClass" | "reason" | "detail"> {
  const denied = o.observed.denied.at(-1);
  if (denied !== undefined && judged.reason !== null && NOT_THERE.has(judged.reason))
    return {
      failureClass: boundaryClass(denied.boundary),
      detail: `the runtime was refused at the boundary \`${denied.boundary}\`: ${denied.requested}; ${judged.detail ?? judged.reason}`,
    };
  return {
    failureClass: judged.failureClass ?? "BAD_OUTPUT",
    ...(judged.reason === null ? {} : { reason: judged.reason }),
    detail: judged.detail,
  };
}
const findingFlag = (job: PlanJob, text: string | null): Attempt["flags"] =>
  isReview(job) && text !== null && findsFault(readReview(text)) ? [FINDING_FLAG] : [];

/** Outputs declared `from: result` are the coordinator's to write: an agent without write tools can still deliver a file. */
async function writeResults(job: PlanJob, place: Workplace, text: string | null): Promise<string | null> {
  for (const output of job.outputs) {
    if (!output.fromResult || text === null || text === "") continue;
    const written = await writeResultOutput({ cwd: place.cwd, path: output.path, text });
    if (!written.ok) return written.error.detail;
  }
  return null;
}

async function layerOne(
  s: Session,
  o: Judged,
  facts: { changes: Changes; resultText: string | null },
): Promise<LayerOneResult> {
  const { job, place } = o;
  const lines = outputLines(s, job.id, o);
  const evidence = await gatherLayerOne({
    job,
    agent: o.adapter.agent,
    ownWorktree: place.worktree !== null,
    root: place.root,
    cwd: place.cwd,
    settled: true,
    settledBy: o.adapter.kind === "internal" ? "harness" : "process",
    suspect: o.settlement.suspect,
    resultText: facts.resultText,
    resultTruncated: o.stdoutTruncated && o.adapter.output === "text",
    toolEvents: o.adapter.output === "jsonl" ? toolEvents(o.observed) : null,
    changes: facts.changes,
    peers: o.peers,
    fixture: runFixture({ outputLines: lines, replay: (replayed) => replayDecision(s, o, replayed) }),
    mapCwd: (command) => mapCwd(place, job, command.cwd),
    searchPath: s.env.get("PATH") ?? "",
    runCommand: verificationRunner(s, job, o.ordinal),
  });
  return verifyLayerOne(evidence);
}

const toolEvents = (observed: ObservedState): number | null => {
  const count = observed.memo["toolEvents"];
  return typeof count === "number" ? count : null;
};

/** The captured stream, to be replayed; null when nothing was printed or part of it is missing. */
function outputLines(s: Session, jobId: string, o: Judged): string[] | null {
  if (o.adapter.kind === "internal")
    return o.settlement.resultText === null ? null : o.settlement.resultText.split("\n");
  if (o.exit.stdoutBytes === 0 || o.stdoutTruncated) return null;
  try {
    return readFileSync(jobFile(s.runDir, jobId, "stdout"), "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return null;
  }
}

function mapCwd(place: Workplace, job: PlanJob, cwd: string | null): string {
  if (cwd === null) return place.cwd;
  if (place.worktree === null) return cwd;
  const below = cwd.startsWith(`${place.worktree.repo}/`) || cwd === place.worktree.repo;
  return below ? join(place.root, cwd.slice(place.worktree.repo.length)) : job.cwd === cwd ? place.cwd : cwd;
}

async function evidencePatch(
  s: Session,
  o: Judged,
  facts: { judged: LayerOneResult; committed: CommittedWorktree | null },
): Promise<Partial<Attempt>> {
  const { judged, committed } = facts;
  const fingerprint = consumedBy(s, o.job, { baseCommit: o.place.baseCommit, inputs: o.briefing.inputs });
  writePrivate(inputsFile(s.runDir, o.job.id), `${JSON.stringify(fingerprint.parts)}\n`);
  if (judged.scripts.length > 0) writeScripts(s.runDir, o.job.id, judged.scripts);
  return {
    // A name in the workspace is text of the job like what it prints.
    checks: judged.checks.map((check) => ({ ...check, detail: s.redact(check.detail) })),
    artifacts: [...judged.artifacts],
    changedPaths: judged.changedPaths.slice(0, 1_000).map(s.redact),
    question: judged.question === null ? null : s.redact(judged.question),
    injectionFixture: judged.injectionFixture,
    inputFingerprint: fingerprint.sha256,
    baseCommit: o.place.baseCommit,
    commit: committed?.commit ?? null,
    diffStat: committed?.diffStat ?? null,
    treeSha256: committed?.tree ?? (await sharedTree(o.place, judged)),
  };
}

async function sharedTree(place: Workplace, judged: LayerOneResult): Promise<string> {
  const files = await Promise.all(
    judged.changedPaths.map(async (path) => ({
      path,
      sha256: (await sha256File(join(place.root, path)))?.sha256 ?? null,
    })),
  );
  return treeSha256([
    ...files,
    ...judged.artifacts.map(({ path, sha256 }) => ({ path: `artifact:${path}`, sha256 })),
  ]);
}

function observedPatch(s: Session, o: Judged, resultText: string | null): Partial<Attempt> {
  const attempt = attemptRecord(s, o.job.id, o.ordinal);
  return {
    model: o.observed.model,
    ...(o.observed.provider === null ? {} : { provider: o.observed.provider }),
    ...observedFamily(s, o, attempt),
    sessionHandle: o.observed.sessionHandle,
    usage: o.usage === undefined ? o.observed.usage : o.usage,
    resultBytes: resultText === null ? null : Buffer.byteLength(resultText),
    resultSha256: resultText === null ? null : sha256(resultText),
    flags: [
      ...(o.patch.flags ?? []),
      ...(isOtherModel(s, o, attempt) ? (["model-mismatch"] as const) : []),
      ...(o.settlement.suspect ? (["suspect"] as const) : []),
    ],
  };
}

/** Another model answered than the one that was asked for, by all names that runtimes have for the same thing. */
function isOtherModel(s: Session, o: Judged, attempt: Attempt): boolean {
  const observed = o.observed.model;
  if (attempt.modelRequested === null || observed === null) return false;
  return !isRequestedModel({
    requested: attempt.modelRequested,
    observed,
    provider: o.observed.provider ?? attempt.provider,
    aliases: s.records.get(attempt.runtime)?.modelAliases ?? [],
  });
}

/** A CLI of several providers may have answered from another one than planned; what the operator said of it stands. */
function observedFamily(s: Session, o: Judged, attempt: Attempt): Pick<Attempt, "family"> | null {
  const { adapter, observed, job } = o;
  const candidate = job.route.chain.find(
    (member) => member.runtime === attempt.runtime && member.model === attempt.modelRequested,
  );
  const open = adapter.agent && adapter.kind === "cli" && adapter.vendor === null && adapter.id !== MOCK.id;
  if (!open || observed.provider === null || candidate?.familySource === "policy") return null;
  const gateway = s.records.get(adapter.id)?.gateway === true;
  return { family: gateway ? null : familyOfProvider(observed.provider) };
}
