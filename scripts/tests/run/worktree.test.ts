import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createWorktree, discardScratch, removeWorktree } from "../../src/run/worktree.ts";
import { repoAt, runGit } from "../support/repo-at.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { fault, finishedJob, jobWorktree, placeOf, RUN_ID, value, writeIn } from "../support/worktrees.ts";

const registered = (path: string): string[] =>
  runGit(path, "worktree", "list", "--porcelain")
    .split("\n")
    .filter((line) => line.startsWith("worktree "))
    .slice(1);

const branches = (path: string): string =>
  runGit(path, "for-each-ref", "--format=%(refname:short)", "refs/heads/orchestrate");

describe("a new worktree", () => {
  it("starts at the base commit on a branch of its own, and its folder is what it says", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", "sub/b.txt": "b\n" });
    const made = await jobWorktree(repo, "job");
    expect(made.baseCommit).toBe(repo.head());
    expect(made.notes).toEqual([]);
    expect(readFileSync(join(made.path, "sub/b.txt"), "utf8")).toBe("b\n");
    expect(runGit(made.path, "status", "--porcelain")).toBe("");
    expect(runGit(made.path, "symbolic-ref", "HEAD")).toBe(`refs/heads/orchestrate/${RUN_ID}/job`);
    expect(made.gitDir).toBe(join(repo.commonDir, "worktrees/job"));
  });

  it("does not contain the user's uncommitted work", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.write("a.txt", "edited\n");
    repo.write("new.txt", "new\n");
    const made = await jobWorktree(repo, "job");
    expect(readFileSync(join(made.path, "a.txt"), "utf8")).toBe("a\n");
    expect(existsSync(join(made.path, "new.txt"))).toBe(false);
  });

  it("takes the commit it is told, not the branch that is checked out", async () => {
    const repo = throwawayRepo({ "a.txt": "1\n" });
    const first = repo.head();
    repo.write("a.txt", "2\n");
    repo.commit("second");
    const made = value(
      await createWorktree({ ...placeOf(repo, "job"), baseCommit: first, mergeCommits: [] }),
    );
    expect(made.baseCommit).toBe(first);
    expect(readFileSync(join(placeOf(repo, "job").path, "a.txt"), "utf8")).toBe("1\n");
  });

  it("runs no hook and no file monitor of the repository", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const trace = join(temporaryFolder(), "ran");
    const script = `#!/bin/sh\necho ran >> ${trace}\n`;
    mkdirSync(join(repo.commonDir, "hooks"));
    for (const hook of [
      "post-checkout",
      "reference-transaction",
      "post-index-change",
      "pre-commit",
      "post-commit",
    ]) {
      writeFileSync(join(repo.commonDir, "hooks", hook), script, { mode: 0o755 });
    }
    const monitor = repo.write("monitor.sh", script);
    repo.git("config", "core.fsmonitor", `sh ${monitor}`);
    await finishedJob(repo, "job", { "b.txt": "b\n" });
    expect(existsSync(trace)).toBe(false);
  });

  it("contains the work of its dependencies, merged in order, and the same work gives the same base again", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const one = await finishedJob(repo, "one", { "one.txt": "1\n" });
    const two = await finishedJob(repo, "two", { "two.txt": "2\n" });
    const dependencies = [
      { jobId: "one", commit: one.commit },
      { jobId: "two", commit: two.commit },
    ];
    const made = await jobWorktree(repo, "three", dependencies);
    expect(readFileSync(join(made.path, "one.txt"), "utf8")).toBe("1\n");
    expect(readFileSync(join(made.path, "two.txt"), "utf8")).toBe("2\n");
    const again = await jobWorktree(repo, "four", dependencies);
    expect(again.baseCommit).toBe(made.baseCommit);
  });

  it("starts from a dependency's own commit when that contains all the others", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const one = await finishedJob(repo, "one", { "one.txt": "1\n" });
    const two = await finishedJob(repo, "two", { "two.txt": "2\n" }, [{ jobId: "one", commit: one.commit }]);
    const made = await jobWorktree(repo, "three", [
      { jobId: "one", commit: one.commit },
      { jobId: "two", commit: two.commit },
    ]);
    expect(made.baseCommit).toBe(two.commit);
  });

  it("is refused when two dependencies conflict, naming both and the paths, and leaves nothing behind", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", "b.txt": "b\n" });
    const one = await finishedJob(repo, "one", { "a.txt": "one\n" });
    const other = await finishedJob(repo, "other", { "b.txt": "other\n" });
    const two = await finishedJob(repo, "two", { "a.txt": "two\n" });
    const place = placeOf(repo, "three");
    const refused = fault(
      await createWorktree({
        ...place,
        baseCommit: repo.head(),
        mergeCommits: [
          { jobId: "one", commit: one.commit },
          { jobId: "other", commit: other.commit },
          { jobId: "two", commit: two.commit },
        ],
      }),
    );
    expect(refused).toEqual({
      code: "dependency-conflict",
      detail: "the work of `one` and `two` conflicts in `a.txt`",
      conflict: { jobs: ["one", "two"], paths: ["a.txt"] },
    });
    expect(existsSync(place.path)).toBe(false);
    expect(branches(repo.path)).not.toContain("three");
  });
});

describe("what stands in the way of a new worktree", () => {
  it("a folder with content is named and left alone", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const place = placeOf(repo, "job");
    writeIn(place, "mine.txt", "mine\n");
    expect(fault(await createWorktree({ ...place, baseCommit: repo.head(), mergeCommits: [] }))).toEqual({
      code: "worktree-exists",
      detail: `\`${place.path}\` exists and is not empty`,
    });
    expect(readFileSync(join(place.path, "mine.txt"), "utf8")).toBe("mine\n");
  });

  it("an empty folder is used", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    mkdirSync(placeOf(repo, "job").path, { recursive: true });
    expect((await jobWorktree(repo, "job")).baseCommit).toBe(repo.head());
  });

  it("a branch of that name with work on it is named", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const place = placeOf(repo, "job");
    const base = repo.head();
    repo.git("branch", place.branch);
    repo.git("checkout", "-q", place.branch);
    repo.write("b.txt", "b\n");
    const work = repo.commit("work");
    repo.git("checkout", "-q", "main");
    expect(fault(await createWorktree({ ...place, baseCommit: base, mergeCommits: [] }))).toEqual({
      code: "branch-exists",
      detail: `the branch \`${place.branch}\` exists already, at ${work}`,
    });
    expect(repo.git("rev-parse", place.branch)).toBe(work);
  });

  it("a branch left at the base by a creation that died is taken over", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("branch", placeOf(repo, "job").branch);
    expect((await jobWorktree(repo, "job")).baseCommit).toBe(repo.head());
  });

  it.each(["orchestrate", `orchestrate/${RUN_ID}`])(
    "a branch named `%s` makes ours impossible and is named",
    async (name) => {
      const repo = throwawayRepo({ "a.txt": "a\n" });
      repo.git("branch", name);
      const place = placeOf(repo, "job");
      expect(fault(await createWorktree({ ...place, baseCommit: repo.head(), mergeCommits: [] }))).toEqual({
        code: "branch-conflict",
        detail: `the branch \`${name}\` exists, so git cannot create \`${place.branch}\`; rename it with \`git branch -m\``,
      });
    },
  );

  it("a branch below ours is named", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const place = placeOf(repo, "job");
    repo.git("branch", `${place.branch}/deeper`);
    expect(fault(await createWorktree({ ...place, baseCommit: repo.head(), mergeCommits: [] }))).toEqual({
      code: "branch-conflict",
      detail: `\`refs/heads/${place.branch}/deeper\` exists, so git cannot create \`${place.branch}\``,
    });
  });

  it("a worktree that somebody locked is named with the reason, even when its folder is gone", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    repo.git("worktree", "lock", "--reason", "on a stick", made.path);
    rmSync(made.path, { recursive: true });
    expect(
      fault(await createWorktree({ ...placeOf(repo, "job"), baseCommit: repo.head(), mergeCommits: [] })),
    ).toEqual({
      code: "worktree-locked",
      detail: `\`${made.path}\` is registered as a locked worktree (on a stick); run \`git worktree unlock ${made.path}\` if nobody needs it`,
    });
  });

  it("a registration whose folder was deleted by hand is replaced", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    rmSync(made.path, { recursive: true });
    const again = await jobWorktree(repo, "job");
    expect(readFileSync(join(again.path, "a.txt"), "utf8")).toBe("a\n");
    expect(registered(repo.path)).toEqual([`worktree ${made.path}`]);
  });

  it("a base that does not exist leaves neither folder nor branch", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const place = placeOf(repo, "job");
    const missing = "0123456789012345678901234567890123456789";
    expect(fault(await createWorktree({ ...place, baseCommit: missing, mergeCommits: [] }))).toEqual({
      code: "no-base-commit",
      detail: `\`${repo.path}\` has no commit \`${missing}\` to start from; commit once, then run again`,
    });
    expect(existsSync(place.path)).toBe(false);
    expect(branches(repo.path)).toBe("");
  });

  it("a checkout that fails leaves neither folder nor registration nor branch", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", ".gitattributes": "*.txt filter=broken\n" });
    repo.git("config", "filter.broken.smudge", "false");
    repo.git("config", "filter.broken.required", "true");
    const place = placeOf(repo, "job");
    const refused = fault(await createWorktree({ ...place, baseCommit: repo.head(), mergeCommits: [] }));
    expect(refused.code).toBe("checkout-failed");
    expect(existsSync(place.path)).toBe(false);
    expect(registered(repo.path)).toEqual([]);
    expect(branches(repo.path)).toBe("");
  });
});

describe("unusual repositories", () => {
  it("a detached HEAD is no obstacle", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("checkout", "-q", "--detach");
    expect((await jobWorktree(repo, "job")).baseCommit).toBe(repo.head());
  });

  it("a shallow clone works from its own commits", async () => {
    const origin = throwawayRepo({ "a.txt": "a\n" });
    origin.write("a.txt", "b\n");
    origin.commit("second");
    const path = join(temporaryFolder(), "clone");
    runGit(origin.path, "clone", "-q", "--depth", "1", `file://${origin.path}`, path);
    const clone = repoAt(path);
    const one = await finishedJob(clone, "one", { "one.txt": "1\n" });
    const two = await finishedJob(clone, "two", { "two.txt": "2\n" });
    const made = await jobWorktree(clone, "three", [
      { jobId: "one", commit: one.commit },
      { jobId: "two", commit: two.commit },
    ]);
    expect(existsSync(join(made.path, "one.txt")) && existsSync(join(made.path, "two.txt"))).toBe(true);
  });

  it("histories without a common ancestor are refused by name", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const base = repo.head();
    repo.git("checkout", "-q", "--orphan", "other");
    const other = repo.commit("unrelated");
    expect(
      fault(
        await createWorktree({
          ...placeOf(repo, "job"),
          baseCommit: base,
          mergeCommits: [{ jobId: "x", commit: other }],
        }),
      ),
    ).toEqual({
      code: "shallow-history",
      detail:
        "the work of `x` and the base have no common ancestor in this clone; if it is shallow, run `git fetch --unshallow`",
    });
  });

  it("submodules stay empty and this is disclosed", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    repo.commit("with submodule");
    const made = await jobWorktree(repo, "job");
    expect(existsSync(join(made.path, "inner/inner.txt"))).toBe(false);
    expect(made.notes).toEqual(["submodules are not filled in the worktree; `worktree_setup` can do it"]);
  });

  it("git LFS content is checked out as pointer files without starting the filter", async () => {
    const repo = throwawayRepo({
      "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    });
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    repo.commit("attributes");
    repo.git("config", "filter.lfs.smudge", "false");
    repo.git("config", "filter.lfs.process", "false");
    repo.git("config", "filter.lfs.required", "true");
    const made = await jobWorktree(repo, "job");
    expect(readFileSync(join(made.path, "big.bin"), "utf8")).toMatch(/^version https:\/\/git-lfs/);
    expect(made.notes).toEqual([
      "git LFS content is checked out as pointer files; `worktree_setup` can fetch it",
    ]);
  });

  it("names in any script, with quotes and newlines, arrive unchanged", async () => {
    const names = [
      "żółć/文件.txt",
      'quote"d.txt',
      "new\nline.txt",
      "-dash.txt",
      "sp ace .txt",
      "e\u0301.txt",
      "é.txt",
    ];
    const repo = throwawayRepo(Object.fromEntries(names.map((name) => [name, `${name}\n`])));
    const made = await jobWorktree(repo, "job");
    for (const name of names) expect(readFileSync(join(made.path, name), "utf8")).toBe(`${name}\n`);
  });

  it("a repository reached through a link has one place", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const link = join(temporaryFolder(), "link");
    symlinkSync(repo.path, link);
    const path = join(link, "wt");
    const made = value(
      await createWorktree({
        repo: repo.path,
        commonDir: repo.commonDir,
        path,
        branch: "orchestrate/r/job",
        baseCommit: repo.head(),
        mergeCommits: [],
      }),
    );
    expect(made.gitDir).toBe(join(repo.commonDir, "worktrees/wt"));
  });
});

describe(".worktreeinclude", () => {
  it("copies ignored files that it names, and only those", async () => {
    const repo = throwawayRepo({
      ".gitignore": "*.env\nlocal/\n",
      ".worktreeinclude": "*.env\nlocal/\nnotes.txt\n",
      "a.txt": "a\n",
    });
    repo.write("dev.env", "KEY=1\n");
    repo.write("local/deep/x.txt", "x\n");
    repo.write("notes.txt", "untracked, not ignored\n");
    const made = await jobWorktree(repo, "job");
    expect([...made.included].sort()).toEqual(["dev.env", "local/deep/x.txt"]);
    expect(readFileSync(join(made.path, "dev.env"), "utf8")).toBe("KEY=1\n");
    expect(existsSync(join(made.path, "notes.txt"))).toBe(false);
    expect(runGit(made.path, "status", "--porcelain")).toBe("");
  });

  it("does not follow a link out of the repository, and says so", async () => {
    const secret = join(temporaryFolder(), "secret.env");
    writeFileSync(secret, "SECRET\n");
    const repo = throwawayRepo({ ".gitignore": "*.env\n", ".worktreeinclude": "*.env\n" });
    symlinkSync(secret, join(repo.path, "x.env"));
    const made = await jobWorktree(repo, "job");
    expect(made.included).toEqual([]);
    expect(made.notes).toEqual(["`x.env` of `.worktreeinclude` was not copied: `x.env` is a symbolic link"]);
    expect(existsSync(join(made.path, "x.env"))).toBe(false);
  });
});

describe("removing a worktree", () => {
  const ref = `refs/orchestrate/${RUN_ID}/job/attempt-1`;

  it("keeps untracked files, ignored files and commits under the ref first", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", ".gitignore": "*.log\n" });
    const made = await jobWorktree(repo, "job");
    writeIn(made, "committed.txt", "1\n");
    runGit(made.path, "add", "-A");
    runGit(made.path, "commit", "-q", "-m", "the agent's own");
    writeIn(made, "a.txt", "edited\n");
    writeIn(made, "untracked.txt", "2\n");
    writeIn(made, "build.log", "3\n");
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(kept?.leftOut).toEqual([]);
    expect(existsSync(made.path)).toBe(false);
    expect(registered(repo.path)).toEqual([]);
    expect(branches(repo.path)).toBe("");
    for (const [path, content] of [
      ["committed.txt", "1"],
      ["a.txt", "edited"],
      ["untracked.txt", "2"],
      ["build.log", "3"],
    ] as const)
      expect(repo.git("show", `${ref}:${path}`)).toBe(content);
    expect(repo.git("log", "--format=%s", ref)).toContain("the agent's own");
  });

  it("leaves the branch when asked to", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await finishedJob(repo, "job", { "b.txt": "b\n" });
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: false }));
    expect(kept?.commit).toBe(made.commit);
    expect(repo.git("rev-parse", made.branch)).toBe(made.commit);
    expect(repo.git("rev-parse", ref)).toBe(made.commit);
  });

  it("is refused when the job made a repository of its own, and touches nothing", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    mkdirSync(join(made.path, "own"));
    runGit(join(made.path, "own"), "init", "-q");
    writeIn(made, "own/x.txt", "x\n");
    runGit(join(made.path, "own"), "add", "-A");
    runGit(join(made.path, "own"), "commit", "-q", "-m", "inner");
    const refused = fault(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(refused).toEqual({
      code: "embedded-repository",
      detail:
        "the job made a git repository of its own in `own`; its content cannot be kept on the job's branch",
    });
    expect(readFileSync(join(made.path, "own/x.txt"), "utf8")).toBe("x\n");
    expect(repo.git("rev-parse", made.branch)).toBe(repo.head());
  });

  it("is refused for a folder that is no worktree", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const place = placeOf(repo, "job");
    writeIn(place, "mine.txt", "mine\n");
    expect(fault(await removeWorktree({ ...place, snapshot: ref, deleteBranch: true }))).toEqual({
      code: "worktree-missing",
      detail: `\`${place.path}\` is no worktree of \`${repo.path}\`; it was left alone`,
    });
    expect(existsSync(join(place.path, "mine.txt"))).toBe(true);
  });

  it("is refused while a person keeps it locked", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    repo.git("worktree", "lock", made.path);
    expect(fault(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true })).code).toBe(
      "worktree-locked",
    );
    expect(existsSync(join(made.path, "a.txt"))).toBe(true);
  });

  it("is refused while an initialised submodule holds a commit that exists nowhere else", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    repo.commit("with submodule");
    const made = await jobWorktree(repo, "job");
    runGit(made.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init");
    writeIn(made, "inner/new.txt", "new\n");
    const refused = fault(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(refused.code).toBe("submodule-changed");
    rmSync(join(made.path, "inner/new.txt"));
    expect((await removeWorktree({ ...made, snapshot: ref, deleteBranch: true })).ok).toBe(true);
  });

  it("keeps the branch when the job replaced its worktree by a link, and touches nothing behind the link", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await finishedJob(repo, "job", { "b.txt": "b\n" });
    const outside = temporaryFolder();
    writeFileSync(join(outside, "mine.txt"), "mine\n");
    rmSync(made.path, { recursive: true });
    symlinkSync(outside, made.path);
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(kept?.commit).toBe(made.commit);
    expect(existsSync(made.path)).toBe(false);
    expect(readFileSync(join(outside, "mine.txt"), "utf8")).toBe("mine\n");
  });

  it("finishes a removal that died halfway, and a second one finds nothing to do", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await finishedJob(repo, "job", { "b.txt": "b\n" });
    rmSync(made.path, { recursive: true });
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(kept?.commit).toBe(made.commit);
    expect(registered(repo.path)).toEqual([]);
    const again = value(await removeWorktree({ ...made, snapshot: `${ref}0`, deleteBranch: true }));
    expect(again).toBe(null);
  });

  it("keeps what an earlier snapshot of the same name held", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const first = await jobWorktree(repo, "job");
    writeIn(first, "one.txt", "1\n");
    const before = value(await removeWorktree({ ...first, snapshot: ref, deleteBranch: true }));
    const second = await jobWorktree(repo, "job");
    writeIn(second, "two.txt", "2\n");
    await removeWorktree({ ...second, snapshot: ref, deleteBranch: true });
    expect(repo.git("merge-base", "--is-ancestor", before?.commit ?? "", ref)).toBe("");
    expect(repo.git("show", `${ref}:two.txt`)).toBe("2");
  });

  it("leaves out ignored folders that are too big and names them in the snapshot", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", ".gitignore": "deps/\n*.log\n" });
    const made = await jobWorktree(repo, "job");
    for (let i = 0; i < 2_001; i++) writeIn(made, `deps/${i}`, "x");
    writeIn(made, "small.log", "kept\n");
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(kept?.leftOut).toEqual(["deps/"]);
    expect(repo.git("show", `${ref}:small.log`)).toBe("kept");
    expect(repo.git("log", "-1", "--format=%B", ref)).toContain("Not kept (ignored, too big):\ndeps/");
  });

  it("does not believe a `.git` file that the job replaced", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    const trace = join(temporaryFolder(), "ran");
    const evil = join(made.path, "evil");
    runGit(made.path, "init", "-q", "--separate-git-dir", evil, join(made.path, "scratch"));
    runGit(join(made.path, "scratch"), "config", "core.fsmonitor", `sh -c 'echo > ${trace}'`);
    runGit(join(made.path, "scratch"), "config", "filter.x.clean", `sh -c 'echo > ${trace}; cat'`);
    rmSync(join(made.path, "scratch"), { recursive: true });
    writeFileSync(join(made.path, ".git"), `gitdir: ${evil}\n`);
    writeIn(made, ".gitattributes", "* filter=x\n");
    writeIn(made, "b.txt", "b\n");
    const kept = value(await removeWorktree({ ...made, snapshot: ref, deleteBranch: true }));
    expect(existsSync(trace)).toBe(false);
    expect(repo.git("show", `${kept?.commit}:b.txt`)).toBe("b");
  });
});

describe("a scratch worktree", () => {
  it("goes without being kept, with its branch", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    writeIn(made, "left-by-a-check.txt", "x\n");
    value(await discardScratch({ ...made, commit: made.baseCommit }));
    expect([existsSync(made.path), registered(repo.path), branches(repo.path)]).toEqual([false, [], ""]);
    expect(repo.git("for-each-ref", "refs/orchestrate")).toBe("");
    expect(fault(await discardScratch({ ...made, commit: made.baseCommit }))).toEqual({
      code: "worktree-missing",
      detail: `\`${made.path}\` is no worktree of \`${repo.path}\``,
    });
  });
});
