import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  applyIntegration,
  type IntegrationRecord,
  previewIntegration,
  undoIntegration,
} from "../../src/run/integrate.ts";
import type { ThrowawayRepo } from "../support/repo-at.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { fault, finishedJob, RUN_ID, value } from "../support/worktrees.ts";

async function scene(): Promise<{
  repo: ThrowawayRepo;
  base: string;
  jobs: { jobId: string; commit: string }[];
}> {
  const repo = throwawayRepo({ "a.txt": "a\n", "b.txt": "b\n" });
  const one = await finishedJob(repo, "one", { "a.txt": "one\n", "one.txt": "1\n" });
  const two = await finishedJob(repo, "two", { "b.txt": "two\n" });
  const clash = await finishedJob(repo, "clash", { "a.txt": "clash\n" });
  const late = await finishedJob(repo, "late", { "late.txt": "late\n" });
  const jobs = Object.entries({ one, two, clash, late }).map(([jobId, place]) => ({
    jobId,
    commit: place.commit,
  }));
  return { repo, base: repo.head(), jobs };
}

const targetOf = (repo: ThrowawayRepo) => ({
  ref: repo.git("rev-parse", "--symbolic-full-name", "HEAD"),
  commit: repo.head(),
});

const apply = async (
  repo: ThrowawayRepo,
  jobs: { jobId: string; commit: string }[],
  records: IntegrationRecord[] = [],
  target = targetOf(repo),
) =>
  applyIntegration({
    target,
    repo: repo.path,
    commonDir: repo.commonDir,
    runId: RUN_ID,
    jobs,
    record: async (entry) => {
      records.push(entry);
    },
  });

const undo = (repo: ThrowawayRepo, records: readonly IntegrationRecord[]) =>
  undoIntegration({ repo: repo.path, commonDir: repo.commonDir, runId: RUN_ID, records });

describe("what the user keeps in ignored files", () => {
  it("is never written over: the step stops, and the file stays as it is", async () => {
    const repo = throwawayRepo({ ".gitignore": "local.conf\n" });
    const job = await finishedJob(repo, "one", { ".gitignore": "", "local.conf": "of the job\n" });
    writeFileSync(join(repo.path, "local.conf"), "precious\n");
    const { applied, stopped } = value(await apply(repo, [{ jobId: "one", commit: job.commit }], []));
    expect(applied).toEqual([]);
    expect(stopped?.code).toBe("git-failed");
    expect(stopped?.detail).toContain("local.conf");
    expect(readFileSync(join(repo.path, "local.conf"), "utf8")).toBe("precious\n");
  });
});

describe("the preview of an integration", () => {
  it("says of each job whether it applies, what it changes and with whom it conflicts, and touches nothing", async () => {
    const { repo, base, jobs } = await scene();
    const preview = value(await previewIntegration({ repo: repo.path, runId: RUN_ID, jobs }));
    expect(preview.target).toEqual({ ref: "refs/heads/main", commit: base });
    expect(
      preview.jobs.map(({ jobId, state, diffStat, conflict }) => [jobId, state, diffStat, conflict]),
    ).toEqual([
      ["one", "applies", "2 files changed, 2 insertions(+), 1 deletion(-)", null],
      ["two", "applies", "1 file changed, 1 insertion(+), 1 deletion(-)", null],
      ["clash", "conflict", "", { jobs: ["one", "clash"], paths: ["a.txt"] }],
      ["late", "applies", "1 file changed, 1 insertion(+)", null],
    ]);
    expect(repo.git("show", `${preview.merged}:late.txt`)).toBe("late");
    expect([repo.head(), repo.git("status", "--porcelain", "--untracked-files=no")]).toEqual([base, ""]);
  });

  it("names the job alone when it conflicts with what the user did since", async () => {
    const { repo, jobs } = await scene();
    repo.write("b.txt", "the user's\n");
    repo.git("commit", "-q", "-a", "-m", "user");
    for (const chosen of [jobs.slice(1, 2), jobs.slice(0, 2)]) {
      const preview = value(await previewIntegration({ repo: repo.path, runId: RUN_ID, jobs: chosen }));
      expect(preview.jobs.at(-1)).toMatchObject({
        state: "conflict",
        conflict: { jobs: ["two"], paths: ["b.txt"] },
      });
    }
  });

  it("needs a branch to go to", async () => {
    const { repo, jobs } = await scene();
    repo.git("checkout", "-q", "--detach");
    expect(fault(await previewIntegration({ repo: repo.path, runId: RUN_ID, jobs }))).toEqual({
      code: "detached-target",
      detail: `\`${repo.path}\` has no branch checked out; check out the branch that shall receive the work`,
    });
  });
});

describe("applying an integration", () => {
  it("goes job by job and stops at a conflict with nothing of it applied", async () => {
    const { repo, base, jobs } = await scene();
    const records: IntegrationRecord[] = [];
    const done = value(await apply(repo, jobs, records));
    expect(done.applied.map((entry) => entry.jobId)).toEqual(["one", "two"]);
    expect(done.stopped).toEqual({
      code: "integrate-conflict",
      detail: "`clash` conflicts with the branch in `a.txt`; nothing of it was applied",
      conflict: { jobs: ["clash"], paths: ["a.txt"] },
    });
    expect(records).toEqual(done.applied);
    expect(records[0]?.from).toBe(base);
    expect([repo.head(), repo.git("status", "--porcelain", "--untracked-files=no")]).toEqual([
      records[1]?.to,
      "",
    ]);
    expect(
      readFileSync(join(repo.path, "a.txt"), "utf8") + readFileSync(join(repo.path, "b.txt"), "utf8"),
    ).toBe("one\ntwo\n");
    expect(existsSync(join(repo.path, "late.txt"))).toBe(false);
    expect(repo.git("log", "-1", "--format=%s")).toBe(`Integrate job two of run ${RUN_ID}`);
  });

  it("refuses a checkout with uncommitted changes and changes nothing", async () => {
    const { repo, base, jobs } = await scene();
    repo.write("a.txt", "mine\n");
    expect(fault(await apply(repo, jobs))).toEqual({
      code: "dirty-target",
      detail: `\`${repo.path}\` has 1 uncommitted change; commit or stash first`,
    });
    expect([repo.head(), readFileSync(join(repo.path, "a.txt"), "utf8")]).toEqual([base, "mine\n"]);
  });

  it("refuses a branch or a commit that it was not tried on, and changes nothing", async () => {
    const { repo, base, jobs } = await scene();
    const tried = targetOf(repo);
    repo.git("commit", "-q", "--allow-empty", "-m", "user");
    const moved = repo.head();
    expect(fault(await apply(repo, jobs, [], tried))).toEqual({
      code: "target-moved",
      detail: `\`refs/heads/main\` moved from ${base} to ${moved} while the work was tried on it; nothing was applied, try again`,
    });
    repo.git("checkout", "-q", "-b", "other", base);
    expect(fault(await apply(repo, jobs, [], tried))).toEqual({
      code: "target-moved",
      detail:
        "the work was tried on `refs/heads/main`, and `refs/heads/other` is checked out now; nothing was applied, try again",
    });
    expect([repo.head(), repo.git("rev-parse", "main")]).toEqual([base, moved]);
  });

  it("never overwrites an untracked file of the user", async () => {
    const { repo, base, jobs } = await scene();
    repo.write("one.txt", "mine\n");
    const done = value(await apply(repo, jobs.slice(0, 1)));
    expect([done.applied, done.stopped]).toEqual([
      [],
      {
        code: "git-failed",
        detail:
          "could not bring `one` into the checkout: error: The following untracked working tree files would be overwritten by merge: one.txt",
      },
    ]);
    expect([
      repo.head(),
      readFileSync(join(repo.path, "one.txt"), "utf8"),
      readFileSync(join(repo.path, "a.txt"), "utf8"),
    ]).toEqual([base, "mine\n", "a\n"]);
  });

  it("runs no hook and does nothing twice", async () => {
    const { repo, jobs } = await scene();
    const hooks = join(repo.commonDir, "hooks");
    repo.write(".git/hooks/post-merge", "");
    writeFileSync(join(hooks, "post-merge"), "#!/bin/sh\ntouch ran-by-hook\n", { mode: 0o755 });
    value(await apply(repo, jobs.slice(0, 2)));
    expect(value(await apply(repo, jobs.slice(0, 2)))).toEqual({ applied: [], stopped: null });
    expect(existsSync(join(repo.path, "ran-by-hook"))).toBe(false);
  });
});

describe("undoing an integration", () => {
  it("brings branch and files back to where they were", async () => {
    const { repo, base, jobs } = await scene();
    const { applied } = value(await apply(repo, jobs));
    const undone = value(await undo(repo, applied));
    expect(undone.map((entry) => entry.jobId)).toEqual(["two", "one"]);
    expect([
      repo.head(),
      readFileSync(join(repo.path, "a.txt"), "utf8"),
      existsSync(join(repo.path, "one.txt")),
    ]).toEqual([base, "a\n", false]);
  });

  it("works when the last step was announced and never made", async () => {
    const { repo, base, jobs } = await scene();
    const { applied } = value(await apply(repo, jobs.slice(0, 1)));
    const announced = { jobId: "two", ref: "refs/heads/main", from: repo.head(), to: "f".repeat(40) };
    expect(value(await undo(repo, [...applied, announced])).map((entry) => entry.jobId)).toEqual(["one"]);
    expect(repo.head()).toBe(base);
  });

  it("refuses when the branch moved on, another branch is checked out, or nothing was integrated", async () => {
    const { repo, jobs } = await scene();
    const { applied } = value(await apply(repo, jobs.slice(0, 1)));
    repo.git("commit", "-q", "--allow-empty", "-m", "user");
    expect(fault(await undo(repo, applied))).toEqual({
      code: "target-moved",
      detail: `\`refs/heads/main\` is at ${repo.head()}, not at ${applied[0]?.to} where the integration left it: undo by hand, or with \`git revert\``,
    });
    repo.git("checkout", "-q", "-b", "other");
    expect(fault(await undo(repo, applied))).toEqual({
      code: "target-moved",
      detail: "the integration went into `refs/heads/main`, and `refs/heads/other` is checked out",
    });
    repo.write("a.txt", "mine\n");
    expect(fault(await undo(repo, []))).toEqual({
      code: "nothing-to-undo",
      detail: "nothing of this run was integrated",
    });
  });
});
