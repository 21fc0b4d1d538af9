import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commitPreview, commitWorktree } from "../../src/run/worktree-commit.ts";
import { repoAt, runGit } from "../support/repo-at.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { fault, type JobPlace, jobWorktree, value, writeIn } from "../support/worktrees.ts";

const FILES = { "a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\n" };

const commit = (place: JobPlace & { baseCommit: string }, changedPaths?: string[]) =>
  commitWorktree({
    ...place,
    message: "orchestrate: job",
    exclude: [".orchestrate-inputs"],
    ...(changedPaths === undefined ? {} : { changedPaths }),
  });

describe("the commit of a job's work", () => {
  it("holds every change that git does not ignore, by the coordinator's own hand", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    writeIn(made, "a.txt", "changed\n");
    writeIn(made, "new/文件.txt", "new\n");
    writeIn(made, "x.log", "ignored\n");
    writeIn(made, ".orchestrate-inputs/job/dep.md", "data\n");
    rmSync(join(made.path, "sub/b.txt"));
    const done = value(await commit(made));
    expect(done.changed).toEqual(["a.txt", "new/文件.txt", "sub/b.txt"]);
    expect(done.diffStat).toBe("3 files changed, 2 insertions(+), 2 deletions(-)");
    expect(done.notes).toEqual([]);
    expect(repo.git("rev-parse", made.branch)).toBe(done.commit);
    expect(repo.git("rev-parse", `${done.commit}^{tree}`)).toBe(done.tree);
    expect(repo.git("log", "-1", "--format=%an <%ae>|%cn|%s|%P", done.commit)).toBe(
      `Orchestrate <coordinator@orchestrate.invalid>|Orchestrate|orchestrate: job|${repo.head()}`,
    );
    expect(runGit(made.path, "status", "--porcelain")).toBe("?? .orchestrate-inputs/");
  });

  it("holds nothing that was not measured: what the setup of the worktree left stays beside it", async () => {
    const repo = throwawayRepo({ ...FILES, "lock.json": "1\n", "kept/c.txt": "c\n" });
    const made = await jobWorktree(repo, "job");
    // The setup's: new, changed, deleted, a file in the place of a folder, a name that is no UTF-8, a repository.
    writeIn(made, "gen/deep/new.txt", "made\n");
    writeIn(made, "lock.json", "2\n");
    rmSync(join(made.path, "sub"), { recursive: true });
    writeIn(made, "sub", "now a file\n");
    writeFileSync(Buffer.concat([Buffer.from(`${made.path}/raw-`), Buffer.from([0xe9])]), "raw\n");
    runGit(made.path, "init", "-q", "vendor");
    writeIn(made, "vendor/v.txt", "v\n");
    runGit(join(made.path, "vendor"), "add", "-A");
    repoAt(join(made.path, "vendor")).commit("vendored");
    // The job's.
    writeIn(made, "a.txt", "changed\n");
    rmSync(join(made.path, "kept/c.txt"));
    const own = ["a.txt", "kept/c.txt"];
    const done = value(await commit(made, own));
    expect(done.changed).toEqual(own);
    expect(repo.git("diff", "--name-status", repo.head(), done.commit)).toBe("M\ta.txt\nD\tkept/c.txt");
    // It is still there for whoever goes on in the worktree, and a clean-up sees it.
    expect(readFileSync(join(made.path, "lock.json"), "utf8")).toBe("2\n");
    expect(await commitPreview(made)).toContain("lock.json");
    expect(value(await commit(made, [])).changed).toEqual([]);
    rmSync(join(made.path, "vendor"), { recursive: true });
    expect(value(await commit(made, ["."])).changed).toContain("gen/deep/new.txt");
  });

  it("holds a change of the same size that was made within the second of the checkout", async () => {
    const repo = throwawayRepo(FILES);
    repo.git("config", "core.trustctime", "false");
    const made = await jobWorktree(repo, "job");
    const file = join(made.path, "a.txt");
    const { atime, mtime } = statSync(file);
    writeIn(made, "a.txt", "b\n");
    utimesSync(file, atime, mtime);
    // As if the commit came later: only the index of that second tells git to look at the content.
    const index = runGit(
      made.path,
      "rev-parse",
      "--path-format=absolute",
      "--git-path",
      "orchestrate-base.index",
    );
    utimesSync(index, mtime, mtime);
    await new Promise((resolve) => setTimeout(resolve, 1_100 - (Date.now() % 1_000)));
    const done = value(await commit(made));
    expect(done.changed).toEqual(["a.txt"]);
    expect(repo.git("show", `${done.commit}:a.txt`)).toBe("b");
  });

  it("is the base itself when nothing changed", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    expect(value(await commit(made))).toEqual({
      commit: repo.head(),
      tree: repo.git("rev-parse", "HEAD^{tree}"),
      diffStat: "",
      changed: [],
      notes: [],
    });
  });

  it("keeps the commits that the agent made itself", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    writeIn(made, "one.txt", "1\n");
    runGit(made.path, "add", "-A");
    runGit(made.path, "commit", "-q", "-m", "own commit");
    const own = runGit(made.path, "rev-parse", "HEAD");
    expect(value(await commit(made)).commit).toBe(own);
    writeIn(made, "two.txt", "2\n");
    const done = value(await commit(made));
    expect(repo.git("rev-parse", `${done.commit}^`)).toBe(own);
    expect(done.changed).toEqual(["one.txt", "two.txt"]);
  });

  it("sees changes that the agent marked as unchanged", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    runGit(made.path, "update-index", "--assume-unchanged", "a.txt");
    runGit(made.path, "update-index", "--skip-worktree", "sub/b.txt");
    writeIn(made, "a.txt", "hidden\n");
    writeIn(made, "sub/b.txt", "hidden\n");
    expect(value(await commit(made)).changed).toEqual(["a.txt", "sub/b.txt"]);
  });

  it("sees every change although the agent threw its index away", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    writeIn(made, "a.txt", "changed\n");
    writeFileSync(join(made.gitDir, "index"), "garbage");
    expect(value(await commit(made)).changed).toEqual(["a.txt"]);
  });

  it("puts work on the branch that the agent left for a detached HEAD", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    runGit(made.path, "checkout", "-q", "--detach");
    writeIn(made, "one.txt", "1\n");
    runGit(made.path, "add", "-A");
    runGit(made.path, "commit", "-q", "-m", "detached");
    const done = value(await commit(made));
    expect(done.notes).toEqual([`the job left \`${made.branch}\`; its commits were put back on the branch`]);
    expect(repo.git("log", "-1", "--format=%s", made.branch)).toBe("detached");
    expect(runGit(made.path, "symbolic-ref", "HEAD")).toBe(`refs/heads/${made.branch}`);
  });

  it("stands on the base even when the agent moved the branch to another history", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    runGit(made.path, "checkout", "-q", "--orphan", "elsewhere");
    writeIn(made, "one.txt", "1\n");
    runGit(made.path, "add", "-A");
    runGit(made.path, "commit", "-q", "-m", "orphan");
    runGit(made.path, "branch", "-f", made.branch, "elsewhere");
    const done = value(await commit(made));
    expect(done.notes).toEqual([
      `the job moved \`${made.branch}\` away from its base; its files were committed on the base again`,
    ]);
    expect(repo.git("rev-parse", `${done.commit}^`)).toBe(repo.head());
    expect(done.changed).toEqual(["one.txt"]);
  });

  it("records links as links and the executable bit", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    symlinkSync("/etc/hostname", join(made.path, "link"));
    chmodSync(join(made.path, "a.txt"), 0o755);
    const done = value(await commit(made));
    expect(repo.git("ls-tree", "-r", done.commit, "a.txt", "link")).toMatch(
      /^100755 .*a\.txt\n120000 .*link$/,
    );
    expect(repo.git("cat-file", "-p", `${done.commit}:link`)).toBe("/etc/hostname");
  });

  it("commits the deletion of every file", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const made = await jobWorktree(repo, "job");
    rmSync(join(made.path, "a.txt"));
    expect(value(await commit(made)).changed).toEqual(["a.txt"]);
  });

  it("runs no hook and asks for no signature", async () => {
    const repo = throwawayRepo(FILES);
    const trace = join(temporaryFolder(), "ran");
    mkdirSync(join(repo.commonDir, "hooks"));
    for (const hook of ["pre-commit", "commit-msg", "post-commit", "reference-transaction"])
      writeFileSync(join(repo.commonDir, "hooks", hook), `#!/bin/sh\necho > ${trace}\nexit 1\n`, {
        mode: 0o755,
      });
    repo.git("config", "commit.gpgSign", "true");
    repo.git("config", "gpg.program", "false");
    const made = await jobWorktree(repo, "job");
    writeIn(made, "a.txt", "changed\n");
    expect(value(await commit(made)).changed).toEqual(["a.txt"]);
    expect(existsSync(trace)).toBe(false);
  });

  it("is refused when the job made a repository of its own", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    mkdirSync(join(made.path, "own"));
    runGit(join(made.path, "own"), "init", "-q");
    writeIn(made, "own/x.txt", "x\n");
    runGit(join(made.path, "own"), "add", "-A");
    runGit(join(made.path, "own"), "commit", "-q", "-m", "inner");
    expect(fault(await commit(made))).toEqual({
      code: "embedded-repository",
      detail:
        "the job made a git repository of its own in `own`; its content cannot be kept on the job's branch",
    });
  });

  it("is refused when a change lies inside a submodule", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo(FILES);
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    repo.commit("with submodule");
    const made = await jobWorktree(repo, "job");
    expect(fault(await commit(made, ["inner/inner.txt"]))).toEqual({
      code: "submodule-changed",
      detail: "`inner/inner.txt` is or lies in a submodule: such a change cannot travel on the job's branch",
    });
    expect(value(await commit(made, ["a.txt"])).changed).toEqual([]);
  });

  it("is refused when a submodule was moved in the job's own index alone, which is not what is committed", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo(FILES);
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    repo.commit("with submodule");
    const made = await jobWorktree(repo, "job");
    runGit(made.path, "update-index", "--cacheinfo", `160000,${repo.head()},inner`);
    expect(fault(await commit(made, ["inner"])).code).toBe("submodule-changed");
  });

  it("is refused when the worktree is not registered any more", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    rmSync(made.gitDir, { recursive: true });
    expect(fault(await commit(made)).code).toBe("worktree-missing");
  });

  it("is refused when the job removed its worktree, or put a link to somewhere else in its place", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    rmSync(made.path, { recursive: true });
    expect(fault(await commit(made))).toEqual({
      code: "worktree-missing",
      detail: `the job removed its own worktree \`${made.path}\``,
    });
    const outside = temporaryFolder();
    writeFileSync(join(outside, "secret.txt"), "secret\n");
    symlinkSync(outside, made.path);
    expect(fault(await commit(made)).code).toBe("worktree-missing");
    expect(await commitPreview(made)).toEqual([]);
    expect(repo.git("rev-parse", made.branch)).toBe(repo.head());
  });

  it("uses the repository's own filter, as the user's own commit would", async () => {
    const repo = throwawayRepo({ ...FILES, ".gitattributes": "*.up filter=up\n" });
    repo.git("config", "filter.up.clean", "tr a-z A-Z");
    const made = await jobWorktree(repo, "job");
    writeIn(made, "x.up", "text\n");
    const done = value(await commit(made));
    expect(repo.git("show", `${done.commit}:x.up`)).toBe("TEXT");
    expect(readFileSync(join(made.path, "x.up"), "utf8")).toBe("text\n");
  });
});

describe("what a commit would add", () => {
  it("is nothing after a commit and everything loose before it", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    writeIn(made, "new.txt", "new\n");
    writeIn(made, "x.log", "ignored\n");
    expect(await commitPreview(made)).toEqual(["new.txt"]);
    await commit(made);
    expect(await commitPreview(made)).toEqual([]);
  });
});
