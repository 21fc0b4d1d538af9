import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type CleanedWorktree, type CleanTarget, cleanRun } from "../../src/run/worktree-clean.ts";
import { runGit, type ThrowawayRepo } from "../support/repo-at.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { finishedJob, type JobPlace, jobWorktree, placeOf, RUN_ID, writeIn } from "../support/worktrees.ts";

const target = (
  repo: ThrowawayRepo,
  jobId: string,
  place: JobPlace & { baseCommit: string | null },
  busy = false,
): CleanTarget => ({
  jobId,
  path: place.path,
  branch: place.branch,
  attempt: 1,
  baseCommit: place.baseCommit ?? repo.head(),
  givenBase: null,
  busy,
});

async function clean(
  repo: ThrowawayRepo,
  targets: readonly CleanTarget[],
  o: { discard?: string[]; preview?: boolean } = {},
): Promise<readonly CleanedWorktree[]> {
  return cleanRun({
    repo: repo.path,
    commonDir: repo.commonDir,
    runId: RUN_ID,
    targets,
    integratedInto: repo.head(),
    discard: o.discard ?? [],
    preview: o.preview ?? false,
  });
}

const summary = (list: readonly CleanedWorktree[]) =>
  list.map(({ jobId, action, reason }) => [jobId, action, reason]);

describe("cleaning a run", () => {
  it("removes what is integrated or empty and keeps what is not, with the reason", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const done = await finishedJob(repo, "done", { "b.txt": "b\n" });
    const open = await finishedJob(repo, "open", { "c.txt": "c\n" });
    const empty = await jobWorktree(repo, "empty");
    const loose = await jobWorktree(repo, "loose");
    writeIn(loose, "never-committed.txt", "work\n");
    const busy = await jobWorktree(repo, "busy");
    const gone = { ...placeOf(repo, "gone"), baseCommit: null };
    runGit(repo.path, "merge", "-q", "--ff-only", done.branch);
    const targets = [
      target(repo, "done", done),
      target(repo, "open", open),
      target(repo, "empty", empty),
      target(repo, "loose", loose),
      target(repo, "busy", busy, true),
      target(repo, "gone", gone),
    ];
    const expected = [
      ["done", "removed", "its work is integrated"],
      ["open", "kept", "its work is not integrated"],
      ["empty", "removed", "it holds no work"],
      ["loose", "kept", "it holds work that is on no branch: `never-committed.txt`"],
      ["busy", "kept", "a process of the job may still be running"],
      ["gone", "absent", "nothing is left of it"],
    ];
    expect(summary(await clean(repo, targets, { preview: true }))).toEqual(expected);
    expect([done, open, empty, loose, busy].every((place) => existsSync(place.path))).toBe(true);
    const cleaned = await clean(repo, targets);
    expect(summary(cleaned)).toEqual(expected);
    expect([done, open, empty, loose, busy].map((place) => existsSync(place.path))).toEqual([
      false,
      true,
      false,
      true,
      true,
    ]);
    expect(cleaned[0]?.snapshotRef).toBe(`refs/orchestrate/${RUN_ID}/done/attempt-1`);
    expect(repo.git("rev-parse", cleaned[0]?.snapshotRef ?? "")).toBe(done.commit);
    expect(
      repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/orchestrate").split("\n").sort(),
    ).toEqual([busy.branch, loose.branch, open.branch].sort());
  });

  it("removes the worktree of a job that added nothing to the merge of its two dependencies, whether they are integrated or not", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const one = await finishedJob(repo, "one", { "b.txt": "b\n" });
    const two = await finishedJob(repo, "two", { "c.txt": "c\n" });
    const both = [
      { jobId: "one", commit: one.commit },
      { jobId: "two", commit: two.commit },
    ];
    const review = await jobWorktree(repo, "review", both);
    const early = await jobWorktree(repo, "early", both);
    const loose = await jobWorktree(repo, "loose", both);
    writeIn(loose, "findings.txt", "work\n");
    const fixed = await finishedJob(repo, "fixed", { "d.txt": "d\n" }, both);
    expect(summary(await clean(repo, [target(repo, "early", early), target(repo, "one", one)]))).toEqual([
      ["early", "removed", "it holds no work"],
      ["one", "kept", "its work is not integrated"],
    ]);
    for (const job of [one, two]) runGit(repo.path, "merge", "-q", "--no-ff", "-m", "integrate", job.branch);
    const cleaned = await clean(repo, [
      target(repo, "one", one),
      target(repo, "two", two),
      target(repo, "review", review),
      target(repo, "loose", loose),
      target(repo, "fixed", fixed),
    ]);
    expect(summary(cleaned)).toEqual([
      ["one", "removed", "its work is integrated"],
      ["two", "removed", "its work is integrated"],
      ["review", "removed", "it holds no work"],
      ["loose", "kept", "it holds work that is on no branch: `findings.txt`"],
      ["fixed", "kept", "its work is not integrated"],
    ]);
    expect([review, loose, fixed].map((place) => existsSync(place.path))).toEqual([false, true, true]);
    expect(repo.git("rev-parse", cleaned[2]?.snapshotRef ?? "")).toBe(review.baseCommit);
  });

  it("keeps a worktree at a base that the user merged by hand until the user's branch holds it", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const given = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "merged by hand");
    const made = await jobWorktree(repo, "job", [{ jobId: "by-hand", commit: given }]);
    expect(made.baseCommit).toBe(given);
    const targets = [{ ...target(repo, "job", made), givenBase: given }];
    expect(summary(await clean(repo, targets))).toEqual([["job", "kept", "its work is not integrated"]]);
    runGit(repo.path, "merge", "-q", "--ff-only", given);
    expect(summary(await clean(repo, targets))).toEqual([["job", "removed", "it holds no work"]]);
  });

  it("gives up unintegrated work only by name, and even then keeps all of it under a ref", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const one = await finishedJob(repo, "one", { "b.txt": "b\n" });
    const two = await finishedJob(repo, "two", { "c.txt": "c\n" });
    writeIn(one, "untracked.txt", "loose\n");
    const targets = [target(repo, "one", one), target(repo, "two", two)];
    const cleaned = await clean(repo, targets, { discard: ["one"] });
    expect(summary(cleaned)).toEqual([
      ["one", "removed", "discarded by name"],
      ["two", "kept", "its work is not integrated"],
    ]);
    const ref = cleaned[0]?.snapshotRef ?? "";
    expect([repo.git("show", `${ref}:b.txt`), repo.git("show", `${ref}:untracked.txt`)]).toEqual([
      "b",
      "loose",
    ]);
  });

  it("keeps a worktree whose content cannot be kept under a ref, even when it is discarded", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    mkdirSync(join(made.path, "own"));
    runGit(join(made.path, "own"), "init", "-q");
    writeIn(made, "own/x.txt", "x\n");
    runGit(join(made.path, "own"), "add", "-A");
    runGit(join(made.path, "own"), "commit", "-q", "-m", "inner");
    const [cleaned] = await clean(repo, [target(repo, "job", made)], { discard: ["job"] });
    expect([cleaned?.action, cleaned?.fault?.code]).toEqual(["kept", "embedded-repository"]);
    expect(existsSync(join(made.path, "own/x.txt"))).toBe(true);
  });

  it("finishes a clean that died halfway", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    rmSync(made.path, { recursive: true });
    expect(summary(await clean(repo, [target(repo, "job", made)]))).toEqual([
      ["job", "removed", "it holds no work"],
    ]);
    expect(summary(await clean(repo, [target(repo, "job", made)]))).toEqual([
      ["job", "absent", "nothing is left of it"],
    ]);
  });
});
