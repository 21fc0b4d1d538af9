/** Puts one question to the chosen classifier, if everything that must hold for it holds; says why not otherwise. */
import { BASE_ENVIRONMENT } from "../core/child-environment.ts";
import type { DecisionRecord } from "../core/generated/decision.ts";
import type { Environment } from "../host/env.ts";
import { type AnswerOf, scoresOf } from "../plane/answer.ts";
import { askClassifier } from "../plane/call.ts";
import { REFERENCE_KEY } from "../plane/credentials.ts";
import { buildEnvelope, type StatePiece } from "../plane/envelope.ts";
import { type ContentClass, PLANE_TASKS, type PlaneTask } from "../plane/tasks.ts";
import { childEnvironment } from "../run/child-env.ts";
import type { PlaneSetup } from "./plane-setup.ts";

export interface Question<T extends PlaneTask> {
  readonly task: T;
  readonly jobId: string | null;
  readonly attempt: number | null;
  readonly pieces: readonly StatePiece[];
}

export interface AskContext {
  readonly setup: PlaneSetup;
  readonly env: Environment;
  readonly root: string;
  readonly marker: string;
  readonly redact: (text: string) => string;
  /** A dry run is covered by a leave for the project only. */
  readonly dryRun: boolean;
}

/** What a question came to; `decision` lacks only what it changed. */
export interface Asked<T extends PlaneTask> {
  readonly answers: AnswerOf<T> | null;
  readonly decision: Omit<DecisionRecord, "runId" | "spanId" | "riskTier" | "applied" | "outcomeRef">;
}

export async function askPlane<T extends PlaneTask>(
  context: AskContext,
  question: Question<T>,
): Promise<Asked<T>> {
  const { setup } = context;
  const { entry: leave } = setup.grant;
  const allowed: ReadonlySet<ContentClass> = new Set(leave.content_classes);
  const base = {
    jobId: question.jobId,
    attempt: question.attempt,
    decision: question.task,
    candidate: setup.entry.id,
  };
  if (setup.off !== null)
    return {
      answers: null,
      decision: { ...base, reason: "disabled", inputRef: null, egressAuthority: null, scores: {} },
    };
  const egressAuthority = `egress:${setup.grant.id}`;
  const covered = PLANE_TASKS[question.task].needs.every((needed) => allowed.has(needed));
  if (!covered || (context.dryRun && leave.scope === "run"))
    return {
      answers: null,
      decision: { ...base, reason: "skipped", inputRef: null, egressAuthority, scores: {} },
    };
  const envelope = buildEnvelope({
    task: question.task,
    pieces: question.pieces,
    allowed,
    redact: context.redact,
  });
  const result = await askClassifier({
    task: question.task,
    envelope,
    argv: [setup.record?.binary ?? setup.entry.command, ...(setup.entry.argv ?? [])],
    cwd: context.root,
    env: classifierEnvironment(context),
  });
  return {
    answers: result.answers,
    decision: {
      ...base,
      reason: result.reason,
      inputRef: envelope.ref,
      egressAuthority,
      scores: result.answers === null ? {} : scoresOf(result.answers),
    },
  };
}

/** Allowlisted variables, the classifier's own, and the key: in this environment and nowhere else. */
function classifierEnvironment({ setup, env, marker }: AskContext): Record<string, string> {
  const { entry, credential } = setup;
  return childEnvironment({
    parent: env.all(),
    allow: [...BASE_ENVIRONMENT, ...(entry.env_allow ?? []), ...(entry.provider_env ?? [])],
    set: credential.value === null ? {} : { [REFERENCE_KEY]: credential.value },
    marker,
  }).env;
}
