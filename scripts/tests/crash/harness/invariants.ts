/**
 * What must hold after any number of crashes, judged from what the jobs wrote about themselves and from the state each
 * coordinator left on disk. Pure: a test plants histories that break each rule.
 */
import type { State } from "../../../src/core/runtime.ts";
import type { Exit, LaneJob, LedgerLine } from "./lane.ts";

/** One coordinator, from its start to its end. */
export interface Life {
  readonly pid: number;
  readonly exit: Exit;
  /** On disk after it; the message of the refusal when it could not be read. */
  readonly state: State | string;
}

export interface History {
  readonly jobs: readonly LaneJob[];
  readonly ledger: readonly LedgerLine[];
  /** In the order of their starts; the last one had no fault. */
  readonly lives: readonly Life[];
  /** Processes of jobs that are alive after the last one. */
  readonly survivors: readonly number[];
  /** What the next start would have to repair, and temporary files that are left. */
  readonly untidy: readonly string[];
  /** How the run stands when all is well. */
  readonly finished: {
    readonly status: State["status"];
    /** null: of some jobs it is not known yet. */
    readonly outcome: string | null;
  };
}

/** Every broken rule in words, with the job or coordinator it is about. Empty: all is well. */
export function violations(h: History): string[] {
  return RULES.flatMap(([name, rule]) => rule(h).map((what) => `${name}: ${what}`));
}

type Rule = (h: History) => string[];

/** Found a bug each, or a planted one: see mutants.test.ts. */
const RULES: readonly (readonly [string, Rule])[] = [
  ["readable after each crash", readable],
  ["the last coordinator finishes the run", finishes],
  ["exit 0 only for a finished run", honest],
  ["no process without a durable intent", intentFirst],
  ["an attempt starts once", startsOnce],
  ["one more attempt only for a job that was cut off", bounded],
  ["success on disk is never run again", kept],
  ["one live process a job", single],
  ["a dependent starts after durable success", successFirst],
  ["a dependent starts after its dependencies ended", ordered],
  ["one coordinator at a time", oneCoordinator],
  ["nothing stays alive", (h) => h.survivors.map((pid) => `process ${pid}`)],
  ["the next start is silent", (h) => [...h.untidy]],
];

const starts = (h: History): LedgerLine[] => h.ledger.filter((line) => line.what === "S");

const stateOf = (life: Life): State | null => (typeof life.state === "string" ? null : life.state);

/** Index of the coordinator that started a line's process; -1 when that one died so early that the process was adopted. */
const lifeOf = (h: History, line: LedgerLine): number =>
  h.lives.findIndex((life) => life.pid === line.parent);

function readable(h: History): string[] {
  return h.lives.flatMap((life, i) =>
    typeof life.state === "string" ? [`coordinator ${i + 1}: ${life.state}`] : [],
  );
}

function finishes(h: History): string[] {
  const last = h.lives.at(-1) as Life;
  if (last.exit.code !== 0) return [`${exitText(last.exit)}: ${last.exit.stderr.trim().slice(-400)}`];
  return unfinished(h, last);
}

function honest(h: History): string[] {
  return h.lives.flatMap((life, i) =>
    life.exit.code === 0 ? unfinished(h, life).map((what) => `coordinator ${i + 1}: ${what}`) : [],
  );
}

function unfinished(h: History, life: Life): string[] {
  const state = stateOf(life);
  if (state === null) return [];
  const open = h.jobs.filter(({ id, ends = { status: "success", outcome: h.finished.outcome } }) => {
    const job = state.jobs[id];
    return job?.status !== ends.status || (ends.outcome !== null && job.outcome !== ends.outcome);
  });
  return [
    ...open.map(
      ({ id }) =>
        `${id} is ${state.jobs[id]?.status}, ${state.jobs[id]?.outcome} (${state.jobs[id]?.detail ?? state.jobs[id]?.reason})`,
    ),
    ...(state.status === h.finished.status ? [] : [`the run is ${state.status} (${state.reason})`]),
  ];
}

function intentFirst(h: History): string[] {
  return starts(h).flatMap((line) => {
    const life = h.lives[lifeOf(h, line)];
    const state = life === undefined ? null : stateOf(life);
    const known = state?.jobs[line.job]?.attempts;
    return known === undefined || line.attempt <= known
      ? []
      : [`${line.job} ran as attempt ${line.attempt} with ${known} on disk`];
  });
}

function startsOnce(h: History): string[] {
  const seen = new Set<string>();
  return starts(h).flatMap((line) => {
    const key = `${line.job} attempt ${line.attempt}`;
    if (seen.has(key)) return [key];
    seen.add(key);
    return [];
  });
}

function bounded(h: History): string[] {
  return h.jobs.flatMap(({ id, crashes = 0 }) => {
    const cutOff = h.lives.slice(0, -1).filter((life) => {
      const last = stateOf(life)?.jobs[id]?.attemptRecords.at(-1);
      return last !== undefined && last.status !== "success";
    }).length;
    const count = starts(h).filter((line) => line.job === id).length;
    return count > 1 + cutOff + crashes ? [`${id} started ${count} times, cut off ${cutOff} times`] : [];
  });
}

function kept(h: History): string[] {
  return starts(h).flatMap((line) => {
    const life = lifeOf(h, line);
    const before = h.lives
      .slice(0, Math.max(0, life))
      .findIndex((l) => ["success", "failed"].includes(stateOf(l)?.jobs[line.job]?.status ?? ""));
    return life > 0 && before !== -1
      ? [
          `${line.job} was started by coordinator ${life + 1} after ${before + 1} had recorded its ${stateOf(h.lives[before] as Life)?.jobs[line.job]?.status}`,
        ]
      : [];
  });
}

function single(h: History): string[] {
  return h.ledger.flatMap((end, at) => {
    if (end.what !== "E") return [];
    const own = h.ledger.findIndex(
      (line) => line.what === "S" && line.pid === end.pid && line.job === end.job,
    );
    const other = h.ledger
      .slice(own + 1, at)
      .find((line) => line.what === "S" && line.job === end.job && line.pid !== end.pid);
    return other === undefined ? [] : [`${end.job}: process ${other.pid} started while ${end.pid} was alive`];
  });
}

function successFirst(h: History): string[] {
  return starts(h).flatMap((line) => {
    const life = h.lives[lifeOf(h, line)];
    const state = life === undefined ? null : stateOf(life);
    if (state === null) return [];
    return dependenciesOf(h, line.job)
      .filter((id) => state.jobs[id]?.status !== "success")
      .map((id) => `${line.job} ran while ${id} was ${state.jobs[id]?.status} on disk`);
  });
}

function ordered(h: History): string[] {
  return h.ledger.flatMap((line, at) => {
    if (line.what !== "S") return [];
    const before = h.ledger.slice(0, at);
    return dependenciesOf(h, line.job)
      .filter((id) => !before.some((earlier) => earlier.what === "E" && earlier.job === id))
      .map((id) => `${line.job} started before ${id} had ended`);
  });
}

const dependenciesOf = (h: History, id: string): readonly string[] =>
  h.jobs.find((job) => job.id === id)?.after ?? [];

function oneCoordinator(h: History): string[] {
  const turns = starts(h)
    .map((line) => line.parent)
    .filter((parent) => h.lives.some((life) => life.pid === parent));
  const changes = turns.filter((parent, i) => parent !== turns[i - 1]);
  return changes
    .filter((parent, i) => changes.indexOf(parent) !== i)
    .map((pid) => `coordinator ${pid} came back`);
}

export const exitText = (exit: Exit): string =>
  exit.signal === null ? `exit ${exit.code}` : `ended by ${exit.signal}`;
