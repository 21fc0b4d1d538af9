/** Upstream sessions of the runtimes: which handle an attempt left, and which one a later job goes on with. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { ensureDir, readTextIfPresent, writePrivate } from "../host/files.ts";
import type { Adapter, AttemptUsage, ObservedState, StartInput } from "../runtimes/adapter.ts";
import { jobFile, jobState, type Session } from "./session.ts";
import type { Workplace } from "./workplace.ts";

/** `session.json` of a job: the session that its attempt worked in, for those who go on with it. */
interface SessionFile {
  readonly schemaVersion: 1;
  readonly jobId: string;
  readonly attempt: number;
  readonly runtime: string;
  readonly handle: string;
  /** Somebody may go on with it: the runtime was not told to leave nothing behind. */
  readonly kept: boolean;
  /** Folder that the process ran in; some runtimes find a session only there. */
  readonly folder: string;
  /** The run's own folder for it; null: where the runtime keeps sessions. */
  readonly store: string | null;
  readonly continued: {
    readonly fromJob: string;
    readonly mode: "continue" | "fork";
    readonly handle: string;
  } | null;
  /** All turns of the thread, where the runtime reports no other number. */
  readonly threadUsage: AttemptUsage | null;
}

export interface SessionPlan {
  readonly resume: StartInput["resumeSession"];
  readonly keep: boolean;
  readonly store: string | null;
  /** What the thread had used before this attempt. */
  readonly usedBefore: AttemptUsage | null;
}

/** What an attempt is to do about sessions. The error is a block: the session cannot go on here. */
export function planSession(
  s: Session,
  job: PlanJob,
  o: { readonly adapter: Adapter; readonly place: Workplace },
): Result<SessionPlan, { code: string; detail: string }> {
  const keep = (s.index.dependents.get(job.id) ?? []).some(
    (id) => s.index.byId.get(id)?.session?.fromJob === job.id,
  );
  const store = keep || job.session !== null ? storeFor(s, o.adapter.id) : null;
  if (job.session === null) return ok({ resume: null, keep, store, usedBefore: null });
  const { fromJob, mode } = job.session;
  const block = (why: string): ReturnType<typeof planSession> =>
    err({
      code: "session-unsupported",
      detail: `cannot ${mode} the session of \`${fromJob}\`: ${why}`,
    });
  const last = jobState(s, fromJob).attemptRecords.at(-1);
  const from = readSession(s, fromJob);
  if (last === undefined || from === null || from.attempt !== last.attempt)
    return block("no session of its last attempt is recorded");
  if (from.runtime !== o.adapter.id)
    return block(`it ended on \`${from.runtime}\`, and this job is planned on \`${o.adapter.id}\``);
  if (!from.kept) return block("it was not kept");
  const scope = o.adapter.sessionScope?.[mode];
  if (scope === undefined) return block(`nobody proved that \`${o.adapter.id}\` can`);
  if (scope === "folder" && from.folder !== o.place.cwd)
    return block(
      `\`${o.adapter.id}\` goes on only in the folder it was made in, \`${from.folder}\`, and this job works in \`${o.place.cwd}\``,
    );
  return ok({ resume: { handle: from.handle, mode }, keep, store, usedBefore: from.threadUsage });
}

/** Writes the handle down, private, beside the job's other files. Nothing when the runtime named none. */
export function recordSession(
  s: Session,
  job: PlanJob,
  o: {
    readonly attempt: number;
    readonly adapter: Adapter;
    readonly place: Workplace;
    readonly plan: SessionPlan;
    readonly observed: ObservedState;
  },
): void {
  const handle = o.observed.sessionHandle;
  if (handle === null) return;
  const file: SessionFile = {
    schemaVersion: 1,
    jobId: job.id,
    attempt: o.attempt,
    runtime: o.adapter.id,
    handle,
    kept: o.plan.keep || o.plan.resume !== null,
    folder: o.place.cwd,
    store: o.plan.store,
    continued:
      job.session === null || o.plan.resume === null
        ? null
        : { fromJob: job.session.fromJob, mode: job.session.mode, handle: o.plan.resume.handle },
    threadUsage: o.adapter.usageCounts === "thread" ? o.observed.usage : null,
  };
  writePrivate(jobFile(s.runDir, job.id, "session"), `${JSON.stringify(file)}\n`);
}

/** The usage of this attempt alone, where its runtime reports that of the whole thread; null where that cannot be told. */
export function ownUsage(adapter: Adapter, plan: SessionPlan, usage: Attempt["usage"]): Attempt["usage"] {
  if (usage === null || adapter.usageCounts !== "thread" || plan.resume === null) return usage;
  const before = plan.usedBefore;
  const less = (field: "inputTokens" | "outputTokens" | "cachedTokens"): number | null => {
    const total = usage[field];
    const was = before?.[field] ?? null;
    return total === null || was === null ? null : Math.max(0, total - was);
  };
  return {
    ...usage,
    inputTokens: less("inputTokens"),
    outputTokens: less("outputTokens"),
    cachedTokens: less("cachedTokens"),
    source:
      before === null ? `${usage.source ?? "thread total"}, not divided` : `${usage.source}, its last turn`,
  };
}

function storeFor(s: Session, runtime: string): string {
  const folder = join(s.runDir, RUN_FILES.supervisor, "sessions", runtime);
  ensureDir(folder);
  return folder;
}

function readSession(s: Session, jobId: string): SessionFile | null {
  const text = readTextIfPresent(jobFile(s.runDir, jobId, "session"));
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as SessionFile;
    return value.schemaVersion === 1 && typeof value.handle === "string" ? value : null;
  } catch {
    return null;
  }
}
