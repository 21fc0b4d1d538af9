/**
 * What a new coordinator finds: attempts that an earlier one left running. Their processes are found by identity and by
 * environment marker, ended and proven gone before anything else starts, so that no job ever has two live processes.
 */
import { SUPERVISION } from "../core/policy.ts";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import { bootId } from "../host/identity.ts";
import { decideAfterInterruption } from "../plan/resume.ts";
import { endTree, markedProcesses } from "../run/kill.ts";
import type { JournalRecord } from "../state/records.ts";
import { blockDependents } from "./dependents.ts";
import { attemptMarker, jobState, type Session } from "./session.ts";
import { knownWorkplace } from "./workplace.ts";

export async function reconcile(s: Session): Promise<void> {
  for (const job of s.graph.jobs) {
    const state = jobState(s, job.id);
    const last = state.attemptRecords.at(-1);
    if (last === undefined) continue;
    if (s.adapters.get(last.runtime)?.kind === "internal") {
      if (last.status === "queued" || last.status === "running") {
        s.nativeOpen.add(job.id);
        s.observation.enter(job, knownWorkplace(s, job, last).root);
      }
      continue;
    }
    if (last.status === "running" || last.status === "queued") await closeInterrupted(s, job, last);
    else if (last.status === "interrupted" && state.pendingAttempt === null && state.block === null)
      await decide(s, job, last, last.settlement !== "unsettled");
  }
}

/** An interrupted arbiter call is void: its process is ended, and the work is asked about again. */
export async function dropUnfinishedArbiters(s: Session): Promise<void> {
  for (const arbiter of s.store.state.arbiters.filter((a) => a.status === "running")) {
    await endOrphan(s, { marker: attemptMarker(s.runDir, arbiter.arbiterId, 1), ...arbiter });
    await s.commit([{ type: "arbiter", arbiter: { ...arbiter, status: "failed", reason: "interrupted" } }]);
  }
}

async function closeInterrupted(s: Session, job: PlanJob, attempt: Attempt): Promise<void> {
  const gone = await endOrphan(s, { marker: attemptMarker(s.runDir, job.id, attempt.attempt), ...attempt });
  await decide(s, job, attempt, gone);
}

/** True when nothing of it is alive. */
async function endOrphan(
  s: Session,
  attempt: Pick<Attempt, "pid" | "processStartTime" | "bootId"> & { readonly marker: string },
): Promise<boolean> {
  const { marker } = attempt;
  if (attempt.bootId !== null && bootId() !== null && attempt.bootId !== bootId()) return true;
  if (attempt.pid !== null) {
    const ended = await endTree({
      pid: attempt.pid,
      startTime: attempt.processStartTime,
      marker,
      graceMs: SUPERVISION.graceMs,
      clock: s.clock,
    });
    return ended.gone;
  }
  // The coordinator died between the start and the record of the pid: only the marker can tell.
  return endMarked(s, (found) => found === marker);
}

/** Ends every process whose marker matches; true when nothing of them is alive. */
export async function endMarked(
  s: Pick<Session, "clock">,
  matches: (marker: string) => boolean,
): Promise<boolean> {
  for (const { pid, marker } of await markedProcesses(matches)) {
    const ended = await endTree({
      pid,
      startTime: null,
      marker,
      graceMs: SUPERVISION.graceMs,
      clock: s.clock,
    });
    if (!ended.gone) return false;
  }
  return true;
}

async function decide(s: Session, job: PlanJob, attempt: Attempt, processGone: boolean): Promise<void> {
  const decision = decideAfterInterruption({ job, jobState: jobState(s, job.id), attempt, processGone });
  const ended = { endedAt: attempt.endedAt ?? isoTime(s.clock.now()), phase: null, detail: decision.detail };
  const records: JournalRecord[] = [];
  if (decision.action === "unsettled") {
    if (attempt.status !== "unsettled")
      records.push({
        type: "attempt",
        jobId: job.id,
        attempt: attempt.attempt,
        patch: { ...ended, status: "unsettled", settlement: "unsettled", reason: decision.reason },
      });
  } else {
    if (attempt.status !== "interrupted")
      records.push({
        type: "attempt",
        jobId: job.id,
        attempt: attempt.attempt,
        patch: { ...ended, status: "interrupted", settlement: "settled", reason: "interrupted" },
      });
    records.push({
      type: "job",
      jobId: job.id,
      patch:
        decision.action === "resume"
          ? {
              pendingAttempt: { relation: "resume", reason: decision.reason },
              resumes: jobState(s, job.id).resumes + 1,
            }
          : { block: { code: decision.reason, detail: decision.detail } },
    });
  }
  await s.commit(records);
  const below = blockDependents(s, job.id);
  if (below.length > 0) await s.commit(below);
}
