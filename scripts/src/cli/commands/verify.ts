import { join, relative } from "node:path";
import type { RunView } from "../../coordinator/view.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { JOB_FILES } from "../../core/layout.ts";
import { sha256File } from "../../host/files.ts";
import { failure, flagText, type Handler } from "../context.ts";
import { openRun } from "../run-access.ts";

interface Finding {
  readonly job: string;
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Recorded results against what is on disk now: every artifact in its place, every kept copy, the result text. */
export const handler: Handler = async (ctx, parsed) => {
  const run = openRun(ctx, parsed.args[0]);
  if (!run.ok) return run.error;
  const wanted = flagText(parsed, "job");
  if (wanted !== undefined && run.value.state.jobs[wanted] === undefined)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "unknown-job",
        message: `\`${run.value.state.runId}\` has no job \`${wanted}\`.`,
      },
    ]);
  const findings: Finding[] = [];
  for (const job of run.value.graph.jobs)
    if (wanted === undefined || job.id === wanted) findings.push(...(await verifyJob(run.value, job.id)));
  const bad = findings.filter((finding) => !finding.ok);
  return {
    exitCode: bad.length === 0 ? EXIT.done : EXIT.settledWithFaults,
    data: {
      runId: run.value.state.runId,
      checked: findings.length,
      failed: bad.length,
      findings: bad.length > 0 ? bad : findings.slice(0, 100),
    },
    text: [
      ...(bad.length > 0 ? bad : findings)
        .slice(0, 100)
        .map((f) => `${f.ok ? "ok  " : "FAIL"} ${f.job} ${f.check}: ${f.detail}`),
      `${findings.length} checked, ${bad.length} no longer hold`,
    ].join("\n"),
    diagnostics: [],
    next: [],
  };
};

async function verifyJob(view: RunView, id: string): Promise<Finding[]> {
  const state = view.state.jobs[id];
  const plan = view.graph.jobs.find((job) => job.id === id);
  const attempt = state?.attemptRecords.at(-1);
  if (state === undefined || plan === undefined || attempt === undefined || attempt.status !== "success")
    return [];
  const findings: Finding[] = attempt.checks.map((check) => ({
    job: id,
    check: check.id,
    ok: check.ok,
    detail: `recorded: ${check.detail}`,
  }));
  const cwd =
    state.worktree === null || plan.repo === null
      ? plan.cwd
      : join(state.worktree, relative(plan.repo, plan.cwd));
  for (const artifact of attempt.artifacts) {
    findings.push(await compare(id, `artifact ${artifact.path}`, join(cwd, artifact.path), artifact.sha256));
    findings.push(
      await compare(
        id,
        `kept copy of ${artifact.path}`,
        join(view.runDir, id, JOB_FILES.artifacts, artifact.path),
        artifact.sha256,
      ),
    );
  }
  // What a plain program printed is its stdout; only an agent's final text is kept as a result.
  const program = plan.route.chain.some(
    (member) => member.runtime === attempt.runtime && member.kind === "program",
  );
  if (attempt.resultSha256 !== null && !program)
    findings.push(
      await compare(id, "result.md", join(view.runDir, id, JOB_FILES.result), attempt.resultSha256),
    );
  return findings;
}

async function compare(job: string, check: string, path: string, expected: string): Promise<Finding> {
  const found = await sha256File(path);
  if (found === null) return { job, check, ok: false, detail: `\`${path}\` is missing or no regular file` };
  return found.sha256 === expected
    ? { job, check, ok: true, detail: "the same bytes as recorded" }
    : {
        job,
        check,
        ok: false,
        detail: `\`${path}\` changed: recorded ${expected.slice(0, 12)}…, now ${found.sha256.slice(0, 12)}…`,
      };
}
