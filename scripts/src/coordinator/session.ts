/** Everything one coordinator holds while it advances one run. Built once, handed to each step. */
import { join } from "node:path";
import { JOB_FILES, RUN_FILES } from "../core/layout.ts";
import type { Attempt, Graph, Inventory, Job, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import type { EventsLog } from "../evidence/events-log.ts";
import type { Trace } from "../evidence/trace.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import type { BundledUnion } from "../prove/bundle.ts";
import type { Claim } from "../prove/claims.ts";
import type { Adapter } from "../runtimes/adapter.ts";
import type { JournalRecord } from "../state/records.ts";
import type { Store } from "../state/store.ts";
import type { Observation } from "./observation.ts";
import type { Plane } from "./plane.ts";
import type { JobIndex } from "./readiness.ts";

export interface Session {
  readonly runDir: string;
  readonly runId: string;
  readonly supervisorRunId: string;
  readonly graph: Graph;
  readonly index: JobIndex;
  readonly store: Store;
  readonly clock: Clock;
  readonly env: Environment;
  readonly self: readonly string[];
  readonly inventory: Inventory;
  readonly records: ReadonlyMap<string, RuntimeRecord>;
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly events: EventsLog;
  readonly trace: Trace;
  /** Values that must never be written: credentials of our own environment. */
  readonly secretValues: readonly string[];
  /** Jobs that a user's command is ending: their end is `cancelled`, not an interruption. */
  readonly cancelledJobs: Set<string>;
  readonly observation: Observation;
  /** The optional decision plane; off unless a classifier takes part. */
  readonly plane: Plane;
  redact(text: string): string;
  /** A runtime was asked again: its new record counts from here on. */
  renew(record: RuntimeRecord): void;
  /** Trial merges that held, by what was merged. */
  readonly unions: Map<string, BundledUnion>;
  /** Claims of final texts, by `job#attempt`. */
  readonly claims: Map<string, readonly Claim[]>;
  /** Jobs whose native attempt is in a harness's hands. */
  readonly nativeOpen: Set<string>;
  /** Registers what must be ended when the user asks a second time; returns how to take it back. */
  onHardStop(end: () => void): () => void;
  commit(records: readonly JournalRecord[]): Promise<void>;
  /** A fault that ends this coordinator: a failed write, or a bug. */
  fail(error: Error): void;
}

export function jobState(s: Session, id: string): Job {
  const job = s.store.state.jobs[id];
  if (job === undefined) throw new Error(`state.json has no job ${id}`);
  return job;
}

export function planJob(s: Session, id: string): PlanJob {
  const job = s.index.byId.get(id);
  if (job === undefined) throw new Error(`graph.json has no job ${id}`);
  return job;
}

export function attemptRecord(s: Session, id: string, attempt: number): Attempt {
  const record = jobState(s, id).attemptRecords.find((a) => a.attempt === attempt);
  if (record === undefined) throw new Error(`${id} has no attempt ${attempt}`);
  return record;
}

/** Value of the environment marker that every process of an attempt carries. */
export const attemptMarker = (runDir: string, jobId: string, attempt: number): string =>
  `${runDir}#${jobId}#${attempt}`;

export const jobDir = (runDir: string, jobId: string): string => join(runDir, jobId);

export const jobFile = (runDir: string, jobId: string, file: keyof typeof JOB_FILES): string =>
  join(runDir, jobId, JOB_FILES[file]);

export const worktreePath = (runDir: string, jobId: string): string =>
  join(runDir, RUN_FILES.worktrees, jobId);

export const branchName = (runId: string, jobId: string): string => `orchestrate/${runId}/${jobId}`;

/** Private files that a runtime needs while an attempt runs; gone when it settled. */
export const supervisorScratch = (s: Session, jobId: string, attempt: number): string =>
  join(s.runDir, RUN_FILES.supervisor, s.supervisorRunId, `scratch-${jobId}-${attempt}`);

export const nativeFile = (runDir: string, jobId: string, attempt: number): string =>
  join(jobDir(runDir, jobId), `native-${attempt}.json`);
