/** What the run's state says of a runtime that was missing: who set it up, how it ended, how it is undone. */
import type { Onboarding } from "../core/generated/state.ts";
import type { Graph, PlanJob, State } from "../core/runtime.ts";
import { isoTime } from "../host/clock.ts";
import type { JournalRecord } from "../state/records.ts";
import type { MutableSession } from "./open-session.ts";
import type { Session } from "./session.ts";

type Facts = Omit<Onboarding, "id" | "jobs">;

/** As many as a record names. */
const MAX_JOBS = 64;

/** The same setup told twice is one record. */
export function onboardingRecord(s: Session, facts: Facts): JournalRecord {
  return {
    type: "onboarding",
    onboarding: {
      id: `${facts.runtime}-${facts.at}`,
      ...facts,
      jobs: waitingFor(s.graph, s.store.state, facts.runtime).slice(0, MAX_JOBS),
    },
  };
}

/** Missing runtimes that a resume found here, set up by somebody else than `onboard --apply`. */
export function foundSince(s: MutableSession, rerouted: ReadonlySet<string>): JournalRecord[] {
  const runtimes = new Set(
    s.graph.jobs.flatMap((job) => {
      const missing = rerouted.has(job.id) ? missingRuntime(job, s.store.state) : null;
      return missing === null ? [] : [missing];
    }),
  );
  return [...runtimes].flatMap((runtime) => {
    const now = s.records.get(runtime);
    const live = now?.state === "available" || now?.state === "constrained";
    if (now === undefined || !live || now.authenticated === false || installedHere(s, runtime)) return [];
    return [
      onboardingRecord(s, {
        runtime,
        result: "found",
        via: "look",
        at: isoTime(s.clock.now()),
        actor: "coordinator",
        attested: false,
        install: null,
        undo: null,
        binary: now.binary,
        version: now.version,
      }),
    ];
  });
}

const installedHere = (s: Session, runtime: string): boolean =>
  s.store.state.onboarding?.some((one) => one.runtime === runtime && one.result === "installed") === true;

/** Jobs of a run that wait for that runtime, in the order of the plan. */
export function waitingFor(graph: Graph, state: State, runtime: string): string[] {
  return graph.jobs.flatMap((plan) => (missingRuntime(plan, state) === runtime ? [plan.id] : []));
}

/** The runtime that a job is blocked for; null when it waits for none. */
function missingRuntime(plan: PlanJob, state: State): string | null {
  if (state.jobs[plan.id]?.block?.code !== "needs-onboarding") return null;
  return plan.requested?.runtime ?? plan.route.rejected[0]?.runtime ?? null;
}
