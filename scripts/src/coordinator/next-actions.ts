/** `next[]`: what harness or user can do now, computed from state alone. */
import { join, relative } from "node:path";
import type { NextAction } from "../core/diagnostic.ts";
import { EXIT } from "../core/exit-codes.ts";
import { JOB_FILES, RUN_FILES } from "../core/layout.ts";
import { POLICY } from "../core/policy.ts";
import {
  type Attempt,
  type Job,
  type PlanJob,
  REOPENABLE_BLOCKS,
  type ReopenableBlock,
  type State,
} from "../core/runtime.ts";
import { sentence } from "../core/sentence.ts";
import { blockOffer } from "./next-action-blocks.ts";
import { command, type NextInput, type Offer } from "./next-action-command.ts";
import { egressOffers, withProposals } from "./next-action-plane.ts";

export type { NextInput };

export interface NextActions {
  /** At most ten. */
  readonly actions: NextAction[];
  readonly omitted: number;
}

const MAX_ACTIONS = 10;

/**
 * The same state always gives the same ids, so that asking again changes nothing. Actions of the harness and the user
 * come first; `wait` stands alone, when only running work is left; a run with nothing to act on offers `read_report`.
 */
export function nextActions(input: NextInput): NextActions {
  if (isSettled(input.state)) return only(withProposals(input, readReport(input)));
  const due = dueActions(input);
  if (due.length > 0)
    return {
      actions: due.slice(0, MAX_ACTIONS).map((offer) => offer.make()),
      omitted: Math.max(0, due.length - MAX_ACTIONS),
    };
  if (input.state.status === "interrupted" || input.coordinatorAlive === false) return only(resume(input));
  return input.state.status === "waiting" ? only(resume(input)) : egressBeside(input, wait(input));
}

/** Whether `nextActions` has something due in it, without its texts. */
export function isAnythingDue(input: NextInput): boolean {
  const { status } = input.state;
  if (isSettled(input.state)) return false;
  if (status === "interrupted" || status === "waiting" || input.coordinatorAlive === false) return true;
  return dueActions(input).some(({ action }) => !NOT_DUE.has(action));
}

/** Whether a job can make something due: not while it only runs, has ended, or waits for its turn. */
export function mayBeDue(plan: PlanJob, job: Job): boolean {
  const last = job.attemptRecords.at(-1);
  return blockCodes(job).length > 0 || (last !== undefined && isNative(plan, last));
}

/** `wait` stands alone but for what its reader could confirm or look at meanwhile. */
function egressBeside(input: NextInput, action: NextAction): NextActions {
  const offers = egressOffers(input).map((offer) => offer.make());
  return { actions: [...offers, withProposals(input, action)], omitted: 0 };
}

const only = (action: NextAction): NextActions => ({ actions: [action], omitted: 0 });

const isSettled = (state: State): boolean =>
  state.status === "accepted" || state.status === "ended" || state.status === "cancelled";

/** In order of urgency: stop what must not go on, record what is done, then what lets more work start. */
const URGENCY: readonly NextAction["action"][] = [
  "cancel_native",
  "dispatch_native",
  "record_native",
  "request_approval",
  "onboard_runtime",
  "resolve_conflict",
  "arbitrate_native",
  "resume",
  "confirm_egress",
];

function dueActions(input: NextInput): Offer[] {
  const found: Offer[] = [];
  const blocked = new Set<ReopenableBlock>();
  for (const plan of input.graph.jobs) {
    const job = input.state.jobs[plan.id];
    if (job === undefined) continue;
    const native = nativeOffer(input, plan, job);
    if (native !== null) found.push(native);
    for (const code of blockCodes(job)) {
      blocked.add(code);
      const offer = blockOffer(input, { plan, job, code });
      if (offer !== null) found.push(offer);
    }
  }
  const calls = arbitrations(input);
  found.push(...calls);
  // Never due by itself: it stands beside what is.
  if (found.length > 0) found.push(...egressOffers(input));
  if (needsResume(input, blocked, calls.length > 0))
    found.push({ action: "resume", make: () => resume(input, waitingJobs(input, calls.length > 0)) });
  const rank = new Map(URGENCY.map((action, index) => [action, index]));
  return found.sort((a, b) => (rank.get(a.action) ?? 0) - (rank.get(b.action) ?? 0));
}

function blockCodes(job: Job): ReopenableBlock[] {
  const codes = [job.block?.code, job.outcomeBlock?.code].filter((code) => code !== undefined);
  return codes.filter((code): code is ReopenableBlock => Object.hasOwn(REOPENABLE_BLOCKS, code));
}

/** `resume` helps where a block says so, and where a verdict is due that nobody at hand may give. */
function needsResume(input: NextInput, blocked: ReadonlySet<ReopenableBlock>, asked: boolean): boolean {
  const running = input.state.status === "running" && input.coordinatorAlive !== false;
  const byBlock = [...blocked].some(
    (code) =>
      REOPENABLE_BLOCKS[code] === "resume" || (REOPENABLE_BLOCKS[code] === "arbitrate_native" && !asked),
  );
  return byBlock && !running;
}

/** What a resume would have to find changed, job by job. */
function waitingJobs(input: NextInput, asked: boolean): string[] {
  return input.graph.jobs.flatMap(({ id }) => {
    const job = input.state.jobs[id];
    const block = [job?.block, job?.outcomeBlock].find((one) => {
      const lift = one == null ? undefined : REOPENABLE_BLOCKS[one.code as ReopenableBlock];
      return lift === "resume" || (lift === "arbitrate_native" && !asked);
    });
    return block == null ? [] : [sentence(`\`${id}\` (${block.code}): ${block.detail}`)];
  });
}

/** Jobs whose reason is told in full with a `resume`. */
const WAITING_SHOWN = 3;

function nativeOffer(input: NextInput, plan: PlanJob, job: Job): Offer | null {
  const attempt = job.attemptRecords.at(-1);
  if (attempt === undefined || !isNative(plan, attempt)) return null;
  const target = { plan, job, attempt };
  if (attempt.status === "queued")
    return { action: "dispatch_native", make: () => dispatchNative(input, target) };
  if (attempt.status !== "running" || attempt.phase === "verifying") return null;
  return attempt.phase === "stopping" || input.state.cancelRequested
    ? { action: "cancel_native", make: () => cancelNative(input, plan, attempt) }
    : { action: "record_native", make: () => recordNative(input, target) };
}

const isNative = (plan: PlanJob, attempt: Attempt): boolean =>
  plan.route.chain.some((member) => member.runtime === attempt.runtime && member.kind === "internal");

interface NativeTarget {
  readonly plan: PlanJob;
  readonly job: Job;
  readonly attempt: Attempt;
}

function dispatchNative(input: NextInput, target: NativeTarget): NextAction {
  const { plan, attempt } = target;
  return {
    ...nativeBase(input, target),
    id: `dispatch_native:${plan.id}:${attempt.attempt}`,
    action: "dispatch_native",
    reason: `Start a subagent for \`${plan.id}\` with the text of promptFile, run the command with its handle, and save its final message to resultFile.`,
    ...command(input, nativeArgv(input, "start", target, ["--handle", "<handle>"])),
    tools: plan.tools.allowed,
    deadline: isoAfter(attempt.createdAt, POLICY.NATIVE_DISPATCH_BOUND.value),
  };
}

function recordNative(input: NextInput, target: NativeTarget): NextAction {
  const { plan, attempt } = target;
  const { resultFile } = nativeFiles(input.runDir, plan.id, attempt.attempt);
  const finish = nativeArgv(input, "finish", target, ["--result", resultFile]);
  const fail = nativeArgv(input, "fail", target, ["--class", "<class>", "--message", "<what happened>"]);
  return {
    ...nativeBase(input, target),
    id: `record_native:${plan.id}:${attempt.attempt}`,
    action: "record_native",
    reason: `When the subagent of \`${plan.id}\` ends: save its final message to resultFile and run the command.`,
    ...command(input, finish),
    deadline: isoAfter(attempt.startedAt ?? attempt.createdAt, plan.timeoutMs + POLICY.NATIVE_GRACE.value),
    choices: [{ label: "it failed; classes: `native fail --help`", ...command(input, fail) }],
  };
}

function cancelNative(input: NextInput, plan: PlanJob, attempt: Attempt): NextAction {
  return {
    id: `cancel_native:${plan.id}:${attempt.attempt}`,
    action: "cancel_native",
    jobId: plan.id,
    attempt: attempt.attempt,
    reason: `Stop the subagent of \`${plan.id}\`${attempt.nativeHandle === null ? "" : ` (${attempt.nativeHandle})`}, then confirm with the command.`,
    ...command(input, nativeArgv(input, "cancelled", { plan, attempt }, [])),
  };
}

function nativeBase(
  input: NextInput,
  { plan, job, attempt }: NativeTarget,
): Pick<NextAction, "jobId" | "attempt" | "promptFile" | "resultFile" | "cwd" | "agent" | "model"> {
  const model = attempt.modelRequested;
  const agent = job.agent ?? plan.agent;
  return {
    jobId: plan.id,
    attempt: attempt.attempt,
    ...nativeFiles(input.runDir, plan.id, attempt.attempt),
    cwd: workingFolder(plan, job),
    ...(agent === null ? {} : { agent }),
    ...(model === null ? {} : { model }),
  };
}

const nativeArgv = (
  input: NextInput,
  verb: "start" | "finish" | "fail" | "cancelled",
  target: { readonly plan: PlanJob; readonly attempt: Attempt },
  rest: readonly string[],
): string[] => [
  "native",
  verb,
  input.runDir,
  "--job",
  target.plan.id,
  "--attempt",
  String(target.attempt.attempt),
  ...rest,
];

/** The job's folder, mapped into its worktree when it has one. */
const workingFolder = (plan: PlanJob, job: Job): string =>
  job.worktree === null || plan.repo === null ? plan.cwd : join(job.worktree, relative(plan.repo, plan.cwd));

/** Open calls to an arbiter in the harness's hands. Answered ones are closed: `resume` asks again with a new call. */
function arbitrations(input: NextInput): Offer[] {
  const offers: Offer[] = [];
  for (const arbiter of input.state.arbiters) {
    if (arbiter.via !== "native" || arbiter.status !== "offered") continue;
    const waiting = arbiter.attempts.filter(({ jobId, attempt }) =>
      awaitsVerdict(input.state, jobId, attempt),
    );
    if (waiting.length === 0) continue;
    offers.push({ action: "arbitrate_native", make: () => arbitrateNative(input, arbiter, waiting.length) });
  }
  return offers;
}

function arbitrateNative(input: NextInput, arbiter: State["arbiters"][number], waiting: number): NextAction {
  const files = arbiterFiles(input.runDir, arbiter.arbiterId);
  return {
    id: `arbitrate_native:${arbiter.arbiterId}`,
    action: "arbitrate_native",
    reason: `${waiting} finished ${waiting === 1 ? "job waits" : "jobs wait"} for an independent verdict. Give the text of promptFile to a new read-only subagent that did none of this work, save its answer to resultFile, and run the command with its handle.`,
    ...command(input, ["verdict", input.runDir, "--file", files.resultFile, "--handle", "<handle>"]),
    ...files,
    tools: ["read", "search"],
    ...(arbiter.model === null ? {} : { model: arbiter.model }),
  };
}

function awaitsVerdict(state: State, jobId: string, ordinal: number): boolean {
  const attempt = state.jobs[jobId]?.attemptRecords.at(-1);
  return attempt?.attempt === ordinal && attempt.status === "success" && attempt.acceptance === "pending";
}

function resume(input: NextInput, waiting: readonly string[] = []): NextAction {
  const dead =
    input.state.status !== "waiting" &&
    (input.state.status === "interrupted" || input.coordinatorAlive === false);
  return {
    id: "resume",
    action: "resume",
    reason: dead
      ? "The run was interrupted; this reconciles it with what really happened and goes on."
      : [
          "Blocked work goes on once what it waits for is there; this looks again.",
          ...waiting.slice(0, WAITING_SHOWN),
          ...(waiting.length > WAITING_SHOWN ? [`And ${waiting.length - WAITING_SHOWN} more.`] : []),
        ].join(" "),
    ...command(input, ["resume", input.runDir]),
  };
}

function wait(input: NextInput): NextAction {
  const running = Object.values(input.state.jobs).filter((job) => job.status === "running").length;
  return {
    id: "wait",
    action: "wait",
    reason:
      running === 0
        ? "The run goes on by itself."
        : `${running} ${running === 1 ? "job is" : "jobs are"} running; nothing is due.`,
    ...command(input, ["wait", input.runDir, "--for", "action", "--timeout", "9m"]),
  };
}

function readReport(input: NextInput): NextAction {
  return {
    id: "read_report",
    action: "read_report",
    reason: `The run is settled (\`${input.state.status}\`). Read its report, ${join(input.runDir, RUN_FILES.report)}; nothing else is due.`,
    ...command(input, ["report", input.runDir]),
  };
}

const isoAfter = (iso: string, ms: number): string => new Date(Date.parse(iso) + ms).toISOString();

/** Where the brief of a native attempt is, and where the harness saves its answer. Both inside the run directory. */
export function nativeFiles(
  runDir: string,
  jobId: string,
  attempt: number,
): { readonly promptFile: string; readonly resultFile: string } {
  const folder = join(runDir, jobId);
  return {
    promptFile: join(folder, JOB_FILES.prompt),
    resultFile: join(folder, `native-answer-${attempt}.md`),
  };
}

export function arbiterFiles(
  runDir: string,
  arbiterId: string,
): { readonly promptFile: string; readonly resultFile: string } {
  const folder = join(runDir, arbiterId);
  return { promptFile: join(folder, JOB_FILES.prompt), resultFile: join(folder, "verdict.json") };
}

const NOT_DUE: ReadonlySet<NextAction["action"]> = new Set([
  "wait",
  "read_report",
  "confirm_egress",
  "fetch_benchmark",
]);

/** Rule of exit code 3: an action that somebody other than a running coordinator must take. */
export const isActionDue = (actions: readonly NextAction[]): boolean =>
  actions.some((action) => !NOT_DUE.has(action.action));

/** Exit code of `run`, `resume` and `wait` for what they return with; a run that still goes on reads as 3. */
export function exitCodeFor(input: {
  readonly state: State;
  readonly actions: readonly NextAction[];
}): 0 | 1 | 3 | 130 {
  const { state } = input;
  if (state.status === "accepted") return EXIT.done;
  if (state.status === "interrupted") return EXIT.interrupted;
  if (isSettled(state) && !isActionDue(input.actions)) return EXIT.settledWithFaults;
  return EXIT.actionDue;
}
