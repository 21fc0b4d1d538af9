/** What report, completion block and the nine questions all need to know, counted once over the run. */
import {
  type Attempt,
  type Graph,
  type Job,
  type PlanJob,
  REOPENABLE_BLOCKS,
  type State,
} from "../core/runtime.ts";
import { capabilityAtLeast } from "../core/tiers.ts";
import { currentAttempt, MOCK_RUNTIME } from "./current-attempt.ts";

export interface JobFacts {
  readonly plan: PlanJob;
  readonly job: Job;
  /** The attempt that counts, or null before the first. */
  readonly attempt: Attempt | null;
}

export interface RunFacts {
  readonly jobs: readonly JobFacts[];
  readonly status: Readonly<Record<Job["status"], number>>;
  readonly outcome: Readonly<Record<Job["outcome"], number>>;
  /** In success, and nobody has decided about them. */
  readonly undecided: readonly JobFacts[];
  /** Failed or blocked, or with an outcome that is held up. */
  readonly faults: readonly JobFacts[];
  readonly acceptedWithoutC3: number;
  readonly checks: { readonly passed: number; readonly total: number };
  readonly mock: "none" | "some" | "all";
  readonly questions: readonly { readonly jobId: string; readonly text: string; readonly by: string }[];
  readonly belowFloor: readonly string[];
  readonly attempts: number;
}

export function factsOfRun(graph: Graph, state: State): RunFacts {
  const jobs: JobFacts[] = graph.jobs.flatMap((plan) => {
    const job = state.jobs[plan.id];
    return job === undefined ? [] : [{ plan, job, attempt: currentAttempt(state, plan.id) }];
  });
  const checks = jobs.flatMap(({ attempt }) => attempt?.checks ?? []);
  return {
    jobs,
    status: count(
      ["queued", "running", "success", "failed", "blocked", "interrupted"],
      jobs,
      ({ job }) => job.status,
    ),
    outcome: count(["pending", "accepted", "rejected", "failed", "blocked"], jobs, ({ job }) => job.outcome),
    undecided: jobs.filter(
      ({ attempt }) => attempt?.status === "success" && attempt.acceptance === "pending",
    ),
    faults: jobs.filter(isFault),
    acceptedWithoutC3: jobs.filter(({ attempt }) => attempt?.acceptedWithoutC3 === true).length,
    checks: { passed: checks.filter((check) => check.ok).length, total: checks.length },
    mock: mockShare(jobs, state),
    questions: openQuestions(jobs, state),
    belowFloor: jobs.filter(ranBelowFloor).map(({ plan }) => plan.id),
    attempts: jobs.reduce((sum, { job }) => sum + job.attemptRecords.length, 0),
  };
}

function count<K extends string>(
  keys: readonly K[],
  jobs: readonly JobFacts[],
  keyOf: (job: JobFacts) => K,
): Record<K, number> {
  const counts = Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
  for (const job of jobs) counts[keyOf(job)] += 1;
  return counts;
}

const isFault = ({ job }: JobFacts): boolean =>
  job.status === "failed" ||
  job.status === "blocked" ||
  job.status === "interrupted" ||
  job.outcome === "rejected" ||
  job.outcome === "failed" ||
  job.outcome === "blocked";

function mockShare(jobs: readonly JobFacts[], state: State): RunFacts["mock"] {
  const done = jobs.flatMap(({ attempt }) => (attempt === null ? [] : [attempt.runtime]));
  const mock = done.filter((runtime) => runtime === MOCK_RUNTIME).length;
  if (mock === 0) return state.mock ? "some" : "none";
  return mock === done.length ? "all" : "some";
}

/** What a job left open, and what an arbiter could not resolve. */
function openQuestions(jobs: readonly JobFacts[], state: State): RunFacts["questions"] {
  const asked = jobs.flatMap(({ plan, attempt }) =>
    attempt?.question == null
      ? []
      : [{ jobId: plan.id, text: attempt.question, by: `attempt ${attempt.attempt}` }],
  );
  const unresolved = state.arbiters
    .filter((arbiter) => arbiter.status !== "superseded")
    .flatMap((arbiter) =>
      arbiter.attempts.flatMap(({ jobId, reasons }) =>
        reasons
          .filter((reason) => /^(blocking|open) question: /.test(reason))
          .map((reason) => ({ jobId, text: reason, by: arbiter.arbiterId })),
      ),
    );
  return [...asked, ...unresolved];
}

function ranBelowFloor({ plan, attempt }: JobFacts): boolean {
  if (attempt === null) return false;
  const used = plan.route.chain.find((member) => member.runtime === attempt.runtime);
  return used !== undefined && !capabilityAtLeast(used.capability, plan.capabilityFloor);
}

/** Why a job stands where it stands: code and sentence of the block or failure, or null. */
export function faultOf({
  job,
  attempt,
}: JobFacts): { readonly code: string; readonly detail: string } | null {
  const block = job.block ?? job.outcomeBlock;
  if (block !== null) return { code: block.code, detail: block.detail };
  const code = attempt?.failureClass ?? job.reason ?? attempt?.reason;
  if (code == null) return null;
  return { code, detail: job.detail ?? attempt?.detail ?? "no further detail was recorded" };
}

export const isReopenable = (code: string): boolean => Object.hasOwn(REOPENABLE_BLOCKS, code);
