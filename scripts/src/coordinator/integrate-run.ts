/**
 * Accepted work goes into the user's branch as a step of its own: tried together first with its checks, then merged one job
 * after the other, undoable. The run itself is not touched.
 */
import type { PlanJob } from "../core/runtime.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { findRepo } from "../host/git.ts";
import { currentAttempt } from "../prove/current-attempt.ts";
import {
  applyIntegration,
  type IntegrateFault,
  type IntegratePreview,
  previewIntegration,
  undoIntegration,
} from "../run/integrate.ts";
import type { DependencyCommit } from "../run/worktree-fault.ts";
import { readIntegrations, writeIntegrations } from "./integrations.ts";
import { secretValuesOf } from "./secret-values.ts";
import { runTrial, type TrialCheck } from "./trial.ts";
import type { RunView } from "./view.ts";

export interface IntegrateRun {
  readonly view: RunView;
  readonly mode: "preview" | "apply" | "undo";
  /** Empty: everything that is accepted. */
  readonly jobs: readonly string[];
  readonly env: Environment;
  /** The tool's main file. */
  readonly script: string;
  readonly clock: Clock;
}

/** One repository of the run. */
export interface IntegratedRepo {
  readonly repo: string;
  readonly target: { readonly ref: string; readonly commit: string } | null;
  readonly jobs: readonly IntegratedJob[];
  readonly checks: readonly TrialCheck[];
  /** Why nothing, or nothing more, was done; null: all of it holds. */
  readonly fault: IntegrateRunFault | null;
}

interface IntegrateRunFault {
  readonly code: string;
  readonly detail: string;
  /** What to do about it, in one sentence. */
  readonly fix?: string;
}

export interface IntegratedJob {
  readonly jobId: string;
  readonly state: "applies" | "contained" | "conflict" | "applied" | "not-applied" | "undone";
  readonly detail: string;
}

export interface IntegrateAnswer {
  readonly repos: readonly IntegratedRepo[];
  /** Jobs that were asked for by name and cannot be integrated, with the reason. */
  readonly refused: readonly { readonly jobId: string; readonly code: string; readonly detail: string }[];
}

export async function integrateRun(o: IntegrateRun): Promise<IntegrateAnswer> {
  const refused = o.mode === "undo" ? [] : o.jobs.flatMap((jobId) => refusal(o.view, jobId) ?? []);
  if (refused.length > 0) return { repos: [], refused };
  if (o.mode === "undo") return { repos: await undo(o), refused };
  const chosen = o.view.graph.jobs.filter(
    (job) => refusal(o.view, job.id) === null && (o.jobs.length === 0 || o.jobs.includes(job.id)),
  );
  const repos: IntegratedRepo[] = [];
  for (const repo of new Set(chosen.map((job) => job.repo as string)))
    repos.push(
      await oneRepo(
        o,
        repo,
        chosen.filter((job) => job.repo === repo),
      ),
    );
  return { repos, refused };
}

/** Null: its branch can be integrated. */
function refusal(view: RunView, jobId: string): IntegrateAnswer["refused"][number] | null {
  const job = view.state.jobs[jobId];
  const attempt = currentAttempt(view.state, jobId);
  const no = (code: string, detail: string) => ({ jobId, code, detail });
  if (job === undefined) return no("unknown-job", `this run has no job \`${jobId}\``);
  if (job.outcome !== "accepted" || attempt === null)
    return no("not-accepted", `\`${jobId}\` is ${job.outcome}: only accepted work is integrated`);
  if (attempt.commit === null)
    return no("no-branch", `\`${jobId}\` had no worktree: what it changed is in the checkout already`);
  if (attempt.changedPaths.length === 0) return no("no-change", `\`${jobId}\` changed no file`);
  return null;
}

const commitOf = (view: RunView, job: PlanJob): DependencyCommit => ({
  jobId: job.id,
  commit: currentAttempt(view.state, job.id)?.commit ?? "",
});

async function oneRepo(o: IntegrateRun, repo: string, jobs: readonly PlanJob[]): Promise<IntegratedRepo> {
  const commonDir = (await findRepo(repo))?.commonDir ?? null;
  const none = { repo, target: null, jobs: [], checks: [] };
  if (commonDir === null)
    return { ...none, fault: { code: "no-git", detail: `\`${repo}\` is no repository` } };
  const commits = jobs.map((job) => commitOf(o.view, job));
  const { runId } = o.view.state;
  const preview = await previewIntegration({ repo, runId, jobs: commits });
  if (!preview.ok) return { ...none, fault: preview.error };
  const shown = shownOf(preview.value);
  const base = { repo, target: preview.value.target, jobs: shown };
  const tried = await tryTogether(o, { repo, commonDir, jobs, preview: preview.value });
  const unsound = tried.fault ?? brokenCheck(tried.checks);
  const conflict = conflictOf(o.view, repo, preview.value);
  if (o.mode === "preview") return { ...base, checks: tried.checks, fault: unsound ?? conflict };
  if (unsound !== null) return { ...base, jobs: notApplied(shown), checks: tried.checks, fault: unsound };
  return {
    ...(await apply(o, { repo, commonDir, commits, shown, target: preview.value.target })),
    target: preview.value.target,
    checks: tried.checks,
  };
}

const shownOf = (preview: IntegratePreview): IntegratedJob[] =>
  preview.jobs.map(({ jobId, state, diffStat, conflict }) => ({
    jobId,
    state,
    detail:
      conflict === null
        ? state === "contained"
          ? "already in the branch"
          : diffStat
        : `conflicts in ${conflict.paths.map((path) => `\`${path}\``).join(", ")}${conflict.jobs.length > 1 ? ` with \`${conflict.jobs[0]}\`` : " with the branch"}`,
  }));

const notApplied = (jobs: readonly IntegratedJob[]): IntegratedJob[] =>
  jobs.map((job) => (job.state === "applies" ? { ...job, state: "not-applied" } : job));

function conflictOf(view: RunView, repo: string, preview: IntegratePreview): IntegratedRepo["fault"] {
  const first = preview.jobs.find((job) => job.state === "conflict");
  if (first === undefined) return null;
  const paths = (first.conflict?.paths ?? []).slice(0, 5).map((path) => `\`${path}\``);
  return {
    code: "integrate-conflict",
    detail: `\`${first.jobId}\` does not merge${paths.length === 0 ? "" : `: it conflicts in ${paths.join(", ")}`}`,
    fix: resolveFix(view, repo, first.jobId),
  };
}

/** A merge by hand is found again: then the job is in the branch, and the others go on from there. */
function resolveFix(view: RunView, repo: string, jobId: string): string {
  const branch = view.state.jobs[jobId]?.branch ?? currentAttempt(view.state, jobId)?.commit ?? "its branch";
  return `In \`${repo}\`: \`git merge ${branch}\`, resolve the paths, commit; then \`integrate ${view.state.runId} --apply\` brings in the rest. Without it: \`integrate ${view.state.runId} --apply --job JOB\` for each of the others.`;
}

function brokenCheck(checks: readonly TrialCheck[]): IntegratedRepo["fault"] {
  const broken = checks.find((check) => !check.ok);
  return broken === undefined
    ? null
    : {
        code: "union-check-failed",
        detail: `merged into the branch, ${broken.detail} (${broken.check} of \`${broken.jobId}\`)`,
        fix: "Integrate what holds by itself with `--job JOB`, or change the branch until the check passes on both.",
      };
}

/** Runs the checks of all that applies, merged, up to the first conflict: that is what `--apply` would make. */
async function tryTogether(
  o: IntegrateRun,
  r: {
    readonly repo: string;
    readonly commonDir: string;
    readonly jobs: readonly PlanJob[];
    readonly preview: IntegratePreview;
  },
): Promise<{ checks: readonly TrialCheck[]; fault: IntegratedRepo["fault"] }> {
  const at = r.preview.jobs.findIndex((job) => job.state === "conflict");
  const whole = at === -1 ? r.preview.jobs : r.preview.jobs.slice(0, at);
  const ids = new Set(whole.filter((job) => job.state === "applies").map((job) => job.jobId));
  const jobs = r.jobs.filter((job) => ids.has(job.id));
  if (jobs.length === 0) return { checks: [], fault: null };
  let commit = r.preview.merged;
  if (at !== -1) {
    const prefix = await previewIntegration({
      repo: r.repo,
      runId: o.view.state.runId,
      jobs: jobs.map((job) => commitOf(o.view, job)),
    });
    if (!prefix.ok) return { checks: [], fault: prefix.error };
    commit = prefix.value.merged;
  }
  const trial = await runTrial({
    host: {
      runDir: o.view.runDir,
      runId: o.view.state.runId,
      graph: o.view.graph,
      env: o.env,
      clock: o.clock,
      secretValues: secretValuesOf({
        env: o.env,
        workspaceRoot: o.view.graph.workspaceRoots[0] as string,
        script: o.script,
      }),
      onHardStop: () => () => undefined,
      fail: (error) => {
        throw error;
      },
    },
    repo: r.repo,
    commonDir: r.commonDir,
    commit,
    jobs,
    purpose: "integrate",
  });
  return {
    checks: trial.checks,
    fault: trial.fault === null ? null : { code: "trial-failed", detail: trial.fault },
  };
}

async function apply(
  o: IntegrateRun,
  r: {
    readonly repo: string;
    readonly commonDir: string;
    readonly commits: readonly DependencyCommit[];
    readonly shown: readonly IntegratedJob[];
    readonly target: IntegratePreview["target"];
  },
): Promise<Pick<IntegratedRepo, "repo" | "jobs" | "fault">> {
  const announced: string[] = [];
  const done = await applyIntegration({
    repo: r.repo,
    commonDir: r.commonDir,
    runId: o.view.state.runId,
    jobs: r.commits,
    target: r.target,
    record: async (entry) => {
      const at = isoTime(o.clock.now());
      announced.push(entry.to);
      // Read again each time: another call may have written since.
      writeIntegrations(o.view.runDir, [...readIntegrations(o.view.runDir), { ...entry, repo: r.repo, at }]);
    },
  });
  if (!done.ok) return { repo: r.repo, jobs: notApplied(r.shown), fault: faultOf(done.error) };
  const made = new Set(done.value.applied.map((entry) => entry.to));
  const failed = announced.filter((to) => !made.has(to));
  // A step that git refused was never made: an undo must not take back what the user does by hand instead.
  if (failed.length > 0)
    writeIntegrations(
      o.view.runDir,
      readIntegrations(o.view.runDir).filter((step) => step.repo !== r.repo || !failed.includes(step.to)),
    );
  const applied = new Set(done.value.applied.map((entry) => entry.jobId));
  return {
    repo: r.repo,
    jobs: r.shown.map((job) =>
      job.state === "contained"
        ? job
        : applied.has(job.jobId)
          ? { ...job, state: "applied" }
          : // Contained only once what stands before it was applied.
            done.value.stopped === null
            ? { ...job, state: "contained", detail: "part of what was applied" }
            : { ...job, state: job.state === "conflict" ? "conflict" : "not-applied" },
    ),
    fault: done.value.stopped === null ? null : stoppedFault(o.view, r.repo, done.value.stopped),
  };
}

function stoppedFault(view: RunView, repo: string, fault: IntegrateFault): IntegrateRunFault {
  const jobId = fault.code === "integrate-conflict" ? fault.conflict?.jobs.at(-1) : undefined;
  return { ...faultOf(fault), ...(jobId === undefined ? {} : { fix: resolveFix(view, repo, jobId) }) };
}

const faultOf = (fault: IntegrateFault): { code: string; detail: string } => ({
  code: fault.code,
  detail: fault.detail,
});

async function undo(o: IntegrateRun): Promise<IntegratedRepo[]> {
  const steps = readIntegrations(o.view.runDir);
  const repos = [...new Set(steps.map((step) => step.repo))];
  const known = repos.length > 0 ? repos : o.view.graph.repo === null ? [] : [o.view.graph.repo.topLevel];
  const done: IntegratedRepo[] = [];
  for (const repo of known) {
    const commonDir = (await findRepo(repo))?.commonDir;
    const none = { repo, target: null, jobs: [], checks: [] };
    if (commonDir === undefined) {
      done.push({ ...none, fault: { code: "no-git", detail: `\`${repo}\` is no repository` } });
      continue;
    }
    const taken = await undoIntegration({
      repo,
      commonDir,
      runId: o.view.state.runId,
      records: steps.filter((step) => step.repo === repo),
    });
    if (!taken.ok) {
      done.push({ ...none, fault: faultOf(taken.error) });
      continue;
    }
    const gone = new Set(taken.value.map((entry) => entry.to));
    writeIntegrations(
      o.view.runDir,
      readIntegrations(o.view.runDir).filter((step) => step.repo !== repo || !gone.has(step.to)),
    );
    done.push({
      ...none,
      jobs: taken.value.map((entry) => ({
        jobId: entry.jobId,
        state: "undone",
        detail: `back at ${entry.from}`,
      })),
      fault: null,
    });
  }
  return done;
}
