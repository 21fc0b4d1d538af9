/** The decision plane of one run: its standing as state knows it, its questions, and the record of each. */
import { join } from "node:path";
import canonicalize from "canonicalize";
import type { DecisionRecord } from "../core/generated/decision.ts";
import { CONFIG_DIR, RUN_FILES } from "../core/layout.ts";
import { POLICY } from "../core/policy.ts";
import { type LineLogLimits, openLineLog } from "../evidence/line-log.ts";
import { spanIdOf, traceRef } from "../evidence/trace.ts";
import { replaceFile } from "../host/files.ts";
import type { AnswerOf } from "../plane/answer.ts";
import { type CalibrationState, calibrationState } from "../plane/calibration.ts";
import type { EgressEntry } from "../plane/egress.ts";
import { type DecisionInput, decisionRecord } from "../plane/record.ts";
import type { PlaneTask } from "../plane/tasks.ts";
import { isOwnRecord, readCalibrationFile, recordFor } from "./calibration-file.ts";
import { loadConfig } from "./load-config.ts";
import { type Asked, askPlane, type Question } from "./plane-ask.ts";
import { frozenClassifiers, type PlaneInput, type PlaneStanding, planeStanding } from "./plane-setup.ts";
import type { Session } from "./session.ts";

const DECISION_LIMITS: LineLogLimits = {
  maxRecords: POLICY.TRACE_MAX_RECORDS.value,
  maxBytes: POLICY.TRACE_MAX_BYTES.value,
  rotateAtBytes: null,
};

/** One answered or unanswered question. `settle` records it, once, with what became of it. */
export interface Decision<T extends PlaneTask> {
  readonly answers: AnswerOf<T> | null;
  /** Nothing was sent: the plane is off, or the leave does not cover the question. */
  readonly unasked: boolean;
  /** Why there is no answer, when something was sent. */
  readonly failure: "timeout" | "malformed";
  /** Its record: `decisions.jsonl#` and the record's span. */
  readonly ref: string;
  settle(o: {
    readonly applied: boolean;
    readonly outcomeRef: string | null;
    readonly lowConfidence?: boolean;
  }): void;
}

export interface Plane {
  /** Looks again at home record, keys and calibration, and tells state when something changed. */
  refresh(): Promise<PlaneView>;
  ask<T extends PlaneTask>(question: Question<T>): Promise<Decision<T>>;
  close(): void;
}

export const decisionRef = (spanId: string): string => `${RUN_FILES.decisions}#${spanId}`;

export interface PlaneView extends PlaneStanding {
  readonly calibration: CalibrationState;
  /** Of the record, when it is valid. */
  readonly threshold: number | null;
}

export function createPlane(s: Session): Plane {
  const root = s.graph.workspaceRoots[0] as string;
  const file = join(s.runDir, RUN_FILES.decisions);
  let log: ReturnType<typeof openLineLog>["log"] | null = null;
  let asked = 0;
  let malformed = s.store.state.plane?.reason === "malformed";
  const told = new Set<PlaneTask>();

  const append = (record: DecisionRecord): void => {
    log ??= openLineLog(file, DECISION_LIMITS).log;
    log.append(JSON.stringify(record));
    log.flush();
  };

  const look = (): PlaneView => {
    const standing = planeStanding(inputOf(s, root), { records: [...s.records.values()], malformed });
    return { ...standing, ...calibrationOf(s, root, standing) };
  };

  const refresh = async (): Promise<PlaneView> => {
    const view = look();
    const state = {
      ...view.state,
      calibration: view.calibration.status,
      calibrationDetail: view.calibration.clause,
    };
    if (canonicalize(state) !== canonicalize(s.store.state.plane ?? null))
      await s.commit([{ type: "run", patch: { plane: state } }]);
    return view;
  };

  return {
    refresh,
    async ask<T extends PlaneTask>(question: Question<T>): Promise<Decision<T>> {
      const view = await refresh();
      asked += 1;
      const ordinal = asked;
      const result: Asked<T> =
        view.setup === null
          ? nobody(question)
          : await askPlane(
              {
                setup: view.setup,
                env: s.env,
                root,
                marker: `${s.runDir}#plane#${ordinal}`,
                redact: withKey(s, view.setup.credential.value),
                dryRun: false,
              },
              question,
            );
      if (result.decision.reason === "malformed") {
        malformed = true;
        await refresh();
      }
      const repeated = result.decision.reason === "disabled" && told.has(question.task);
      told.add(question.task);
      const silent = repeated || view.setup === null;
      const spanId = spanIdOf(s.runId, "decide", s.supervisorRunId, String(ordinal));
      return {
        answers: result.answers,
        unasked: result.decision.reason === "disabled" || result.decision.reason === "skipped",
        failure: result.decision.reason === "timeout" ? "timeout" : "malformed",
        ref: decisionRef(spanId),
        settle({ applied, outcomeRef, lowConfidence }) {
          if (silent) return;
          const reason =
            lowConfidence === true && result.decision.reason === "ok"
              ? "low_confidence"
              : result.decision.reason;
          const input: DecisionInput = {
            ...result.decision,
            runId: s.runId,
            spanId,
            jobId: question.jobId,
            reason,
            applied,
            outcomeRef: traceRef(outcomeRef),
          };
          const record = decisionRecord(input);
          if (record === null) return;
          append(record);
          traceDecision(s, record);
        },
      };
    },
    close: () => log?.close(),
  };
}

const nobody = <T extends PlaneTask>(question: Question<T>): Asked<T> => ({
  answers: null,
  decision: {
    jobId: question.jobId,
    attempt: question.attempt,
    decision: question.task,
    candidate: null,
    reason: "disabled",
    inputRef: null,
    egressAuthority: null,
    scores: {},
  },
});

/** A key that came from a file is not among the environment's secrets that the session masks. */
function withKey(s: Session, key: string | null): (text: string) => string {
  return (text) => {
    const masked = s.redact(text);
    return key === null ? masked : masked.replaceAll(key, "[redacted]");
  };
}

/** The frozen classifier, with the home's present word about it. */
function inputOf(s: Session, root: string): PlaneInput {
  const config = loadConfig({ root, home: s.env.home, now: s.clock.now() });
  return {
    declared: frozenClassifiers(s.graph).map((entry) => {
      const now = config.declared.find((source) => source.entry.id === entry.id);
      // Of a declaration that is gone or changed only the plan's own form counts, and as the project's.
      const same = now !== undefined && canonicalize(now.entry) === canonicalize(entry);
      return same ? now : { entry, source: "project", confirmed: false, path: CONFIG_DIR, sha256: "" };
    }),
    specEgress: s.graph.egress as unknown as readonly EgressEntry[],
    policyEgress: config.egress,
    specSha256: s.graph.specSha256,
    root,
    script: s.self.at(-1) ?? "",
    env: s.env,
  };
}

function calibrationOf(
  s: Session,
  root: string,
  standing: PlaneStanding,
): Pick<PlaneView, "calibration" | "threshold"> {
  const none = { status: "missing", clause: "no-record" } as const;
  if (standing.setup === null) return { calibration: none, threshold: null };
  const { identity } = standing.setup;
  const file = readCalibrationFile(root);
  if (file === "invalid")
    return { calibration: { status: "invalid", clause: "unreadable" }, threshold: null };
  const record = recordFor(file, identity);
  const calibration = calibrationState({
    record,
    classifier: identity,
    specMinimum: s.graph.calibrationMinimumSamples,
    ownRecord: record !== null && isOwnRecord(s.env.home, root, record),
    now: s.clock.now(),
  });
  return { calibration, threshold: calibration.status === "valid" ? (record?.threshold ?? null) : null };
}

/** The copy of the record that this run decides by. */
export function copyCalibration(s: Session, identity: NonNullable<PlaneView["setup"]>["identity"]): void {
  const file = readCalibrationFile(s.graph.workspaceRoots[0] as string);
  const record = recordFor(file, identity);
  if (record === null) return;
  replaceFile(
    join(s.runDir, RUN_FILES.calibration),
    `${JSON.stringify({ schemaVersion: 1, records: [record] }, null, 2)}\n`,
  );
}

export function traceDecision(s: Session, record: DecisionRecord): void {
  const { runId: _run, jobId, attempt, spanId, ...payload } = record;
  s.trace.record({ kind: "decide", jobId, attempt, spanId, payload });
}
