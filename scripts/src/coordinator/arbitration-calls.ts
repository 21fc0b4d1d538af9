/** The calls of a round: prepared, recorded, made, and what each process told. */
import type { Candidate } from "../core/runtime.ts";
import { type ArbiterCall, MOCK_ARBITER_FAMILY } from "../prove/arbiter-choice.ts";
import type { AttemptRef, BundledUnion } from "../prove/bundle.ts";
import { MOCK_RUNTIME } from "../prove/current-attempt.ts";
import type { Arbiter } from "../prove/verdict.ts";
import { isRequestedModel } from "../runtimes/model-match.ts";
import { type PreparedCall, prepareCall } from "./arbiter-call.ts";
import { type ArbiterAnswer, runArbiter } from "./arbiter-process.ts";
import { notNamed, type Round } from "./arbitration-plan.ts";
import type { Session } from "./session.ts";
import { failedCall } from "./verdicts.ts";

export interface CalledArbiter {
  readonly call: PreparedCall;
  readonly answer: ArbiterAnswer;
}

/** All calls of one pass: one after another for the same runtime, side by side for different ones. */
export async function callAll(
  s: Session,
  round: Round,
  o: { readonly calls: readonly ArbiterCall[]; readonly unions: readonly BundledUnion[] },
): Promise<CalledArbiter[]> {
  const prepared: PreparedCall[] = [];
  for (const choice of o.calls)
    for (let left: readonly AttemptRef[] = choice.attempts; left.length > 0 && round.stopped === null; ) {
      const arbiterId = nextId(s);
      const call = await prepareCall(s, { arbiterId, choice, unions: o.unions, attempts: left });
      await s.commit([{ type: "arbiter", arbiter: call.arbiter }]);
      prepared.push(call);
      left = notNamed([call.arbiter], left);
    }
  const lanes = new Map<string, PreparedCall[]>();
  for (const call of prepared) {
    const lane = call.arbiter.runtime ?? "";
    lanes.set(lane, [...(lanes.get(lane) ?? []), call]);
  }
  const results = await Promise.all(
    [...lanes.values()].map(async (lane) => {
      const done: CalledArbiter[] = [];
      for (const call of lane)
        if (round.stopped === null) done.push({ call, answer: await callOne(s, round, call) });
        else await s.commit(failedCall(s, { arbiter: call.arbiter, reason: "interrupted", block: false }));
      return done;
    }),
  );
  return results.flat();
}

export const nextId = (s: Session): string => `arbiter-${s.store.state.arbiters.length + 1}`;

async function callOne(s: Session, round: Round, call: PreparedCall): Promise<ArbiterAnswer> {
  const candidate = call.choice.candidate ?? MOCK_ARBITER;
  const adapter = s.adapters.get(candidate.runtime);
  const record = s.records.get(candidate.runtime);
  if (adapter === undefined || record === undefined)
    throw new Error(`the arbiter \`${candidate.runtime}\` is not in this run's inventory`);
  let mine: ((mode: "graceful" | "hard") => void) | null = null;
  const answer = await runArbiter(s, {
    call,
    adapter,
    record,
    candidate,
    onLive: (cancel) => {
      mine = cancel;
      round.cancels.add(cancel);
      if (round.stopped !== null) cancel(round.stopped);
    },
  });
  if (mine !== null) round.cancels.delete(mine);
  if (answer.stopped)
    await s.commit(failedCall(s, { arbiter: seen(s, call, answer), reason: "interrupted", block: false }));
  return answer;
}

/** The entry with what its process told. */
export function seen(s: Session, call: PreparedCall, answer: ArbiterAnswer): Arbiter {
  const mismatch = isMismatch(s, call, answer);
  return {
    ...call.arbiter,
    model: answer.model ?? call.arbiter.model,
    family: mismatch ? null : call.arbiter.family,
    handle: answer.handle,
    failureClass: answer.failureClass,
    exitCode: answer.exitCode,
    wallMs: answer.wallMs,
    usage: answer.usage,
  };
}

export function isMismatch(s: Session, call: PreparedCall, answer: ArbiterAnswer): boolean {
  const requested = call.choice.candidate?.model ?? null;
  if (requested === null || answer.model === null) return false;
  const record = s.records.get(call.choice.candidate?.runtime ?? "");
  return !isRequestedModel({
    requested,
    observed: answer.model,
    provider: answer.provider ?? record?.provider ?? null,
    aliases: record?.modelAliases ?? [],
  });
}

const MOCK_ARBITER: Candidate = {
  runtime: MOCK_RUNTIME,
  kind: "cli",
  model: MOCK_ARBITER_FAMILY,
  effort: null,
  provider: "mock",
  family: MOCK_ARBITER_FAMILY,
  capability: "C3",
  capabilitySource: "adapter-default",
  familySource: "adapter-default",
  independence: "independent",
  weaker: [],
};
