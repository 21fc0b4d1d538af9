import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  bytePath,
  explainNoRepo,
  findRepo,
  git,
  gitFailure,
  gitVersion,
  resolveAll,
  splitPaths,
  trackedFiles,
} from "../../src/host/git.ts";
import { runGit } from "../support/repo-at.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";

describe("running git", () => {
  it("passes nothing of the caller's git settings on", async () => {
    const other = throwawayRepo({ "a.txt": "a\n" });
    const repo = throwawayRepo({ "b.txt": "b\n" });
    const env = {
      PATH: process.env["PATH"] ?? "",
      GIT_DIR: other.commonDir,
      GIT_WORK_TREE: other.path,
      GIT_INDEX_FILE: join(other.commonDir, "index"),
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.editor",
      GIT_CONFIG_VALUE_0: "evil",
      GIT_EXTERNAL_DIFF: "false",
      LC_ALL: "de_DE.UTF-8",
    };
    expect((await git(["ls-files"], { cwd: repo.path, env })).stdout).toBe("b.txt\n");
    expect((await git(["config", "core.editor"], { cwd: repo.path, env })).stdout).toBe("");
  });

  it("starts no diff program, text converter or pager", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", ".gitattributes": "*.txt diff=evil\n" });
    const trace = join(temporaryFolder(), "ran");
    const evil = `sh -c 'echo > ${trace}'`;
    for (const key of [
      "diff.external",
      "diff.evil.command",
      "diff.evil.textconv",
      "core.pager",
      "pager.diff",
    ])
      repo.git("config", key, evil);
    repo.write("a.txt", "b\n");
    const patch = await git(["diff", "HEAD"], { cwd: repo.path });
    expect(patch.stdout).toContain("-a\n+b\n");
    expect(existsSync(trace)).toBe(false);
  });

  it("allows no transport, so nothing is ever downloaded", async () => {
    const origin = throwawayRepo({ "a.txt": "a\n" });
    const repo = throwawayRepo({ "b.txt": "b\n" });
    const fetched = await git(["fetch", `file://${origin.path}`], { cwd: repo.path });
    expect(fetched.exitCode).not.toBe(0);
    expect(gitFailure(fetched)).toContain("not allowed");
  });

  it("ends a command that takes too long", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("config", "alias.wait", "!sleep 60");
    const slow = await git(["wait"], { cwd: repo.path, timeoutMs: 100 });
    expect(slow.timedOut).toBe(true);
    expect(gitFailure(slow)).toBe("git did not answer in time and was ended");
  });

  it("says that git is missing when it is", async () => {
    const answer = await git(["version"], { cwd: temporaryFolder(), env: { PATH: "/nonexistent" } });
    expect(answer.spawnError).toBe("ENOENT");
    expect(gitFailure(answer)).toBe("git could not be started (ENOENT)");
  });

  it("resolves many revisions at once", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const tree = repo.git("rev-parse", "HEAD^{tree}");
    const asked = ["HEAD^{commit}", "refs/heads/none", "HEAD^{tree}", "0".repeat(40)];
    expect(await resolveAll(asked, { cwd: repo.path })).toEqual([repo.head(), null, tree, null]);
  });
});

describe("the repository of a folder", () => {
  it("does not count one file that nobody misses, tracked or not, whatever its name", async () => {
    const repo = throwawayRepo({ "a b.txt": "a\n" });
    repo.write("a b.txt", "edited\n");
    repo.write("new.txt", "new\n");
    const count = async (name: string) =>
      (await findRepo(repo.path, { notDirty: join(repo.path, name) }))?.dirtyCount;
    expect([await count("a b.txt"), await count("new.txt"), await count("none")]).toEqual([1, 1, 2]);
  });

  it("is described with its head and what is uncommitted", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\n" });
    repo.write("a.txt", "edited\n");
    repo.write("new.txt", "new\n");
    repo.write("x.log", "ignored\n");
    expect(await findRepo(join(repo.path, "sub"))).toEqual({
      topLevel: repo.path,
      gitDir: repo.commonDir,
      commonDir: repo.commonDir,
      head: { ref: "refs/heads/main", commit: repo.head() },
      dirtyCount: 2,
      detached: false,
      shallow: false,
      bare: false,
      submodules: false,
      lfs: false,
    });
  });

  it("without a commit has a branch and no commit", async () => {
    const repo = throwawayRepo();
    expect((await findRepo(repo.path))?.head).toEqual({ ref: "refs/heads/main", commit: null });
  });

  it("with a detached HEAD says so", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    repo.git("checkout", "-q", "--detach");
    const found = await findRepo(repo.path);
    expect([found?.head, found?.detached]).toEqual([{ ref: "HEAD", commit: repo.head() }, true]);
  });

  it("as a shallow clone, a bare repository or a linked worktree says so", async () => {
    const origin = throwawayRepo({ "a.txt": "a\n" });
    origin.commit("second");
    const shallow = join(temporaryFolder(), "shallow");
    runGit(origin.path, "clone", "-q", "--depth", "1", `file://${origin.path}`, shallow);
    expect((await findRepo(shallow))?.shallow).toBe(true);
    const bare = join(temporaryFolder(), "bare.git");
    runGit(origin.path, "clone", "-q", "--bare", origin.path, bare);
    expect(await findRepo(bare)).toMatchObject({
      bare: true,
      topLevel: bare,
      commonDir: bare,
      head: { commit: origin.head() },
    });
    const linked = join(temporaryFolder(), "linked");
    runGit(origin.path, "worktree", "add", "-q", "-b", "other", linked);
    expect(await findRepo(linked)).toMatchObject({
      topLevel: linked,
      commonDir: origin.commonDir,
      gitDir: join(origin.commonDir, "worktrees/linked"),
      head: { ref: "refs/heads/other", commit: origin.head() },
    });
  });

  it("with submodules or LFS attributes anywhere says so", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo({ "a.txt": "a\n", "assets/.gitattributes": "*.bin filter=lfs -text\n" });
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    expect(await findRepo(repo.path)).toMatchObject({ submodules: true, lfs: true });
  });

  it("does not exist outside of one, and the reason and its cure are told", async () => {
    const folder = temporaryFolder();
    expect(await findRepo(folder)).toBe(null);
    expect(await explainNoRepo(folder)).toEqual({
      code: "no-git",
      detail: `\`${folder}\` is in no git repository`,
      fix: "git init && git add -A && git commit -m base",
    });
  });

  it("is not written to by looking at it", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const index = join(repo.commonDir, "index");
    const before = readFileSync(index);
    repo.write("a.txt", "a\n");
    await findRepo(repo.path);
    expect(readFileSync(index).equals(before)).toBe(true);
  });

  it("has its tracked files listed byte for byte", async () => {
    const repo = throwawayRepo({ "b.txt": "b\n", "a/ä ö.txt": "a\n", "new\nline": "n\n" });
    expect((await trackedFiles(repo.path)).sort()).toEqual(["a/ä ö.txt", "b.txt", "new\nline"]);
  });

  it("is known with a version that is new enough here", async () => {
    const version = await gitVersion(temporaryFolder());
    expect(version !== null && (version[0] > 2 || version[1] >= 38)).toBe(true);
  });
});

describe("paths as bytes", () => {
  it("read as text where they are text, and never alike where they are not", () => {
    const bad = Buffer.from([0x61, 0xff, 0x62]);
    expect(bytePath(Buffer.from("é\uFFFD"))).toEqual({ text: "é\uFFFD", disk: "é\uFFFD" });
    expect(bytePath(bad)).toEqual({ text: "a\\xffb", disk: bad });
    expect(splitPaths(Buffer.from("a\0b c\0"))).toEqual([
      { text: "a", disk: "a" },
      { text: "b c", disk: "b c" },
    ]);
    expect(splitPaths(Buffer.from("no end"))).toHaveLength(1);
  });
});
