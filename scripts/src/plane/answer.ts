/** Reads a classifier's answer: a document of the closed schema, or malformed. Nothing is repaired. */
import type { PlaneAnswer } from "../core/generated/plane-answer.ts";
import type { Question } from "../core/generated/plane-envelope.ts";
import { PLANE_LIMITS, POLICY } from "../core/policy.ts";
import { err, ok, type Result } from "../core/result.ts";
import { PLANE_TASKS, type PlaneTask } from "./tasks.ts";

export type AnswerOf<T extends PlaneTask> = Extract<PlaneAnswer, { task: T }>["answers"];

export interface Choice {
  readonly choice: string;
  readonly probabilities: Readonly<Record<string, number | undefined>>;
}

/** Rounding of a distribution that a classifier printed with few digits. */
const SUM_SLACK = 0.005;

/** The answers of `task`, or `malformed`: no JSON, another task, a value missing, added or out of range. */
export function readAnswer<T extends PlaneTask>(task: T, text: string): Result<AnswerOf<T>, "malformed"> {
  if (Buffer.byteLength(text) > PLANE_LIMITS.outputMaxBytes) return err("malformed");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err("malformed");
  }
  if (!isClosed(value, ["schemaVersion", "task", "answers"])) return err("malformed");
  if (value["schemaVersion"] !== 1 || value["task"] !== task) return err("malformed");
  const { questions } = PLANE_TASKS[task];
  const { answers } = value;
  const names = questions.map((question) => question.name);
  if (!isClosed(answers, names)) return err("malformed");
  return questions.every((question) => isAnswer(question, answers[question.name]))
    ? ok(answers as unknown as AnswerOf<T>)
    : err("malformed");
}

/** Exactly these members, none missing and none added. */
function isClosed(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const found = Object.keys(value);
  return found.length === names.length && names.every((name) => Object.hasOwn(value, name));
}

/** The schema `plane-answer` says the same of each kind; a generated validator of it would be larger than all of the plane. */
function isAnswer(question: Question, value: unknown): boolean {
  switch (question.kind) {
    case "flag":
      return typeof value === "boolean";
    case "probability":
      return isProbability(value);
    case "choice":
      return isClosed(value, ["choice", "probabilities"]) && isDistribution(value, question.values);
  }
}

const isProbability = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= 1;

/** Known values only; the chosen one has a probability, none is greater, and together they are at most 1. */
function isDistribution(
  { choice, probabilities }: Record<string, unknown>,
  values: readonly string[],
): boolean {
  if (typeof probabilities !== "object" || probabilities === null || Array.isArray(probabilities))
    return false;
  const all = Object.entries(probabilities);
  if (!all.every(([name, value]) => values.includes(name) && isProbability(value))) return false;
  const own = all.find(([name]) => name === choice)?.[1] as number | undefined;
  const sum = all.reduce((total, [, value]) => total + value, 0);
  return own !== undefined && all.every(([, value]) => value <= own) && sum <= 1 + SUM_SLACK;
}

/** Everything that an answer said, as numbers: `is_stalled`, `relation.same_work`; a flag is 0 or 1. */
export function scoresOf(answers: PlaneAnswer["answers"]): Record<string, number> {
  const scores: Record<string, number> = {};
  for (const [name, value] of Object.entries(answers)) {
    if (typeof value === "number") scores[name] = value;
    else if (typeof value === "boolean") scores[name] = value ? 1 : 0;
    else
      for (const [option, p] of Object.entries((value as Choice).probabilities))
        scores[`${name}.${option}`] = p as number;
  }
  return scores;
}

/** The chosen value, when its probability is high enough to act on; null is a weak signal, which is discarded. */
export function confident<T extends string>(choice: {
  readonly choice: T;
  readonly probabilities: Readonly<Partial<Record<T, number>>>;
}): T | null {
  return (choice.probabilities[choice.choice] ?? 0) >= POLICY.INITIAL_THRESHOLD.value ? choice.choice : null;
}
