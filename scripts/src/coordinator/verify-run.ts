/** Layer 1 once more, on what is there now: recorded checks, results, artifacts, the branch and its boundary, scripts. Reads only. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { JOB_FILES } from "../core/layout.ts";
import type { Attempt, PlanJob, State } from "../core/runtime.ts";
import { sha256File } from "../host/files.ts";
import { git, splitPaths } from "../host/git.ts";
import { isProgram } from "../prove/accept.ts";
import { outputOf, ownedBy } from "../prove/ownership.ts";
import { changedScripts } from "./check-scripts.ts";
import type { RunView } from "./view.ts";

export interface Finding {
  readonly job: string;
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Empty for a job whose last attempt did not succeed: there is nothing that could still hold. */
export async function verifyJob(
  view: RunView,
  id: string,
  /** `PATH` of the commands. */
  searchPath: string,
): Promise<Finding[]> {
  const state = view.state.jobs[id];
  const plan = view.graph.jobs.find((job) => job.id === id);
  const attempt = state?.attemptRecords.at(-1);
  if (state === undefined || plan === undefined || attempt === undefined || attempt.status !== "success")
    return [];
  const o: Subject = { runDir: view.runDir, plan, state, attempt, searchPath };
  return [
    ...attempt.checks.map(({ id: check, ok, detail }) => ({
      job: id,
      check,
      ok,
      detail: `recorded: ${detail}`,
    })),
    ...(await artifacts(o)),
    ...(await result(o)),
    ...(await branch(o)),
    ...(await scripts(o)),
  ];
}

interface Subject {
  readonly runDir: string;
  readonly plan: PlanJob;
  readonly state: State["jobs"][string];
  readonly attempt: Attempt;
  readonly searchPath: string;
}

const rootOf = ({ plan, state }: Subject): string => state.worktree ?? plan.repo ?? plan.cwd;
const prefixOf = ({ plan }: Subject): string => (plan.repo === null ? "" : relative(plan.repo, plan.cwd));

async function artifacts(o: Subject): Promise<Finding[]> {
  const job = o.plan.id;
  const findings: Finding[] = [];
  const inBranch = o.state.worktree !== null && !existsSync(o.state.worktree) && o.attempt.commit !== null;
  for (const { path, sha256 } of o.attempt.artifacts) {
    const check = `artifact ${path}`;
    const kept = join(o.runDir, job, JOB_FILES.artifacts, path);
    findings.push(
      inBranch
        ? judged({ job, check, path: `${o.attempt.commit}:${path}` }, sha256, await blobSha256(o, path))
        : await compare({ job, check, path: join(rootOf(o), prefixOf(o), path) }, sha256),
      await compare({ job, check: `kept copy of ${path}`, path: kept }, sha256),
    );
  }
  return findings;
}

/** Of a file in the attempt's commit: the worktree was cleaned away, the work was not. */
async function blobSha256(o: Subject, path: string): Promise<string | null> {
  const name = `${o.attempt.commit}:${join(prefixOf(o), path)}`;
  const blob = await git(["cat-file", "blob", name], { cwd: o.plan.repo ?? o.plan.cwd });
  return blob.exitCode === 0 ? createHash("sha256").update(blob.stdoutBytes).digest("hex") : null;
}

/** What a plain program printed is its stdout; only an agent's final text is kept as a result. */
async function result(o: Subject): Promise<Finding[]> {
  const { plan, attempt } = o;
  if (attempt.resultSha256 === null || isProgram(plan, attempt.runtime)) return [];
  const path = join(o.runDir, plan.id, JOB_FILES.result);
  return [await compare({ job: plan.id, check: JOB_FILES.result, path }, attempt.resultSha256)];
}

/** The commit still holds the judged tree, and differs from its base only where the job may write. */
async function branch(o: Subject): Promise<Finding[]> {
  const { plan, attempt } = o;
  if (attempt.commit === null || plan.repo === null || attempt.baseCommit === null) return [];
  const cwd = plan.repo;
  const tree = await git(["rev-parse", "--verify", "--quiet", `${attempt.commit}^{tree}`], { cwd });
  const same = tree.exitCode === 0 && tree.stdout.trim() === attempt.treeSha256;
  const short = attempt.commit.slice(0, 12);
  const findings: Finding[] = [
    {
      job: plan.id,
      check: "branch",
      ok: same,
      detail: same ? `${short} holds the judged tree` : `commit ${short} is gone or holds another tree`,
    },
  ];
  const bounded = plan.effect === "observe" || plan.ownedPaths.length > 0;
  if (!same || !bounded) return findings;
  const diff = await git(["diff", "--name-only", "--no-renames", "-z", attempt.baseCommit, attempt.commit], {
    cwd,
  });
  const owner = {
    cwdPrefix: prefixOf(o),
    ownedPaths: plan.ownedPaths,
    outputs: plan.outputs.map((output) => output.path),
  };
  const owned = ownedBy(owner);
  const output = outputOf(owner);
  const outside = splitPaths(diff.stdoutBytes)
    .map((path) => path.text)
    .filter((path) => !owned(path) && !output(path));
  return [
    ...findings,
    {
      job: plan.id,
      check: "boundary",
      ok: diff.exitCode === 0 && outside.length === 0,
      detail:
        diff.exitCode !== 0
          ? "the branch cannot be compared with its base any more"
          : outside.length === 0
            ? "the branch changes only what the job may write"
            : `the branch changes ${outside.slice(0, 5).join(", ")}, which the job does not own`,
    },
  ];
}

async function scripts(o: Subject): Promise<Finding[]> {
  const changed = await changedScripts({
    runDir: o.runDir,
    jobId: o.plan.id,
    root: rootOf(o),
    searchPath: o.searchPath,
  });
  return changed.map((path) => ({
    job: o.plan.id,
    check: `script ${path}`,
    ok: false,
    detail: `\`${path}\` decides what a check does and changed: the pass says nothing any more`,
  }));
}

interface Place {
  readonly job: string;
  readonly check: string;
  readonly path: string;
}

const compare = async (place: Place, expected: string): Promise<Finding> =>
  judged(place, expected, (await sha256File(place.path))?.sha256 ?? null);

function judged({ job, check, path }: Place, expected: string, found: string | null): Finding {
  if (found === null) return { job, check, ok: false, detail: `\`${path}\` is missing or no regular file` };
  const ok = found === expected;
  const detail = ok
    ? "the same bytes as recorded"
    : `\`${path}\` changed: recorded ${expected.slice(0, 12)}…, now ${found.slice(0, 12)}…`;
  return { job, check, ok, detail };
}
