/** A running attempt that stays silent is looked at once. What comes of it is a proposal for whoever reads `next`, never an act. */
import { PLANE_LIMITS } from "../core/policy.ts";
import type { PlanJob } from "../core/runtime.ts";
import { watchdogDecision } from "../plane/watchdog.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import { frozenClassifiers } from "./plane-setup.ts";
import type { Session } from "./session.ts";

const TAIL_LINES = 20;

export interface AttemptWatch {
  /** The attempt printed something. */
  saw(line: string): void;
  stop(): void;
}

const BLIND: AttemptWatch = { saw: () => {}, stop: () => {} };

export function watchAttempt(s: Session, job: PlanJob, ordinal: number): AttemptWatch {
  if (frozenClassifiers(s.graph).length === 0) return BLIND;
  const started = s.clock.mono();
  let lines = 0;
  const tail: string[] = [];
  const silence = silenceOf(job);
  let timer: NodeJS.Timeout | null = setTimeout(fire, silence);
  return {
    saw(line) {
      lines += 1;
      tail.push(line.slice(0, 400));
      if (tail.length > TAIL_LINES) tail.shift();
      timer?.refresh();
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };

  function fire(): void {
    timer = null;
    const facts = {
      runtime: currentAttempt(s.store.state, job.id)?.runtime ?? null,
      elapsedMs: Math.round(s.clock.mono() - started),
      silentMs: silence,
      timeoutMs: job.timeoutMs,
      lines,
    };
    look(s, { job, ordinal, facts, tail }).catch((error: unknown) =>
      s.fail(error instanceof Error ? error : new Error(String(error))),
    );
  }
}

/** Half of what counts as stalled, so that the proposal comes before the end; never longer than the general bound. */
const silenceOf = (job: PlanJob): number =>
  Math.min(PLANE_LIMITS.watchdogSilenceMs, ...(job.stallAfterMs === null ? [] : [job.stallAfterMs / 2]));

async function look(
  s: Session,
  o: { job: PlanJob; ordinal: number; facts: object; tail: readonly string[] },
): Promise<void> {
  const { job, ordinal } = o;
  const decision = await s.plane.ask({
    task: "watchdog",
    jobId: job.id,
    attempt: ordinal,
    pieces: [
      {
        label: "facts",
        provenance: "coordinator",
        contentClass: "trace",
        text: JSON.stringify(o.facts),
      },
      { label: "last_lines", provenance: "job", contentClass: "trace", text: o.tail.join("\n") },
    ],
  });
  const made = decision.answers === null ? null : watchdogDecision(decision.answers, job);
  const latest = currentAttempt(s.store.state, job.id);
  const running = latest?.attempt === ordinal && latest.status === "running";
  const kind = running ? (made?.proposal ?? null) : null;
  decision.settle({
    applied: kind !== null,
    outcomeRef: kind === null ? null : `proposal:${kind}`,
    lowConfidence: made?.lowConfidence === true,
  });
  if (kind !== null)
    await s.commit([
      {
        type: "attempt",
        jobId: job.id,
        attempt: ordinal,
        patch: { proposal: { from: "watchdog", kind, decisionRef: decision.ref } },
      },
    ]);
}
