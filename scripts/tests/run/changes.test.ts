import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Changes,
  compareFingerprints,
  decodeFingerprint,
  encodeFingerprint,
  type Fingerprint,
} from "../../src/run/changes.ts";
import { takeFingerprint } from "../../src/run/measure.ts";
import { runGit, type ThrowawayRepo } from "../support/repo-at.ts";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { jobWorktree, writeIn } from "../support/worktrees.ts";

const NONE: Changes = {
  measured: true,
  created: [],
  modified: [],
  deleted: [],
  ignored: [],
  tracked: [],
  headMoved: null,
};

interface Measured {
  readonly root: string;
  readonly repo: { readonly gitDir: string } | null;
  readonly exclude?: readonly string[];
}

/** What `work` changed, measured as the coordinator does it. */
async function changesOf(o: Measured, work: () => void): Promise<Changes> {
  const options = { root: o.root, repo: o.repo, exclude: o.exclude ?? [] };
  const before = await takeFingerprint(options);
  work();
  const after = await takeFingerprint({ ...options, previous: before });
  const persisted = decodeFingerprint(encodeFingerprint(before)) as Fingerprint;
  const changes = compareFingerprints(before, after);
  expect(compareFingerprints(persisted, after)).toEqual(changes);
  return changes;
}

const checkout = (repo: ThrowawayRepo): Measured => ({ root: repo.path, repo: { gitDir: repo.commonDir } });

const FILES = { "a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\nbuild/\n" };

describe("changes in a git checkout", () => {
  it("nothing is reported when nothing happened, in a clean and in a dirty checkout", async () => {
    const repo = throwawayRepo(FILES);
    expect(await changesOf(checkout(repo), () => {})).toEqual(NONE);
    repo.write("a.txt", "dirty\n");
    repo.write("untracked.txt", "x\n");
    repo.write("x.log", "x\n");
    rmSync(join(repo.path, "sub/b.txt"));
    expect(await changesOf(checkout(repo), () => {})).toEqual(NONE);
  });

  it("tracked, untracked and ignored files count alike", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("old.log", "1\n");
    const changes = await changesOf(checkout(repo), () => {
      repo.write("a.txt", "changed\n");
      rmSync(join(repo.path, "sub/b.txt"));
      repo.write("new.txt", "new\n");
      repo.write("old.log", "2\n");
      repo.write("build/deep/out.bin", "out\n");
    });
    expect(changes).toEqual({
      ...NONE,
      created: ["build/deep/out.bin", "new.txt"],
      modified: ["a.txt", "old.log"],
      deleted: ["sub/b.txt"],
      ignored: ["build/deep/out.bin", "old.log"],
      tracked: ["a.txt", "sub/b.txt"],
    });
  });

  it("a change of a file that was dirty before is seen, and taking it back is none", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("a.txt", "dirty\n");
    expect((await changesOf(checkout(repo), () => repo.write("a.txt", "dirtier\n"))).modified).toEqual([
      "a.txt",
    ]);
    expect((await changesOf(checkout(repo), () => repo.git("checkout", "-q", "a.txt"))).modified).toEqual([
      "a.txt",
    ]);
    repo.write("a.txt", "dirty\n");
    const same = await changesOf(checkout(repo), () => {
      repo.write("a.txt", "other\n");
      repo.write("a.txt", "dirty\n");
    });
    expect(same).toEqual(NONE);
  });

  it("the same size at the same time is still another content", async () => {
    const repo = throwawayRepo(FILES);
    const path = repo.write("x.log", "aaaa");
    const then = new Date("2020-01-01T00:00:00Z");
    utimesSync(path, then, then);
    const changes = await changesOf(checkout(repo), () => {
      writeFileSync(path, "bbbb");
      utimesSync(path, then, then);
    });
    expect(changes.modified).toEqual(["x.log"]);
  });

  it("touching a file is no change", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("x.log", "1\n");
    const now = new Date();
    const changes = await changesOf(checkout(repo), () => {
      utimesSync(join(repo.path, "a.txt"), now, now);
      utimesSync(join(repo.path, "x.log"), now, now);
    });
    expect(changes).toEqual(NONE);
  });

  it("marking an index entry as unchanged hides nothing", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () => {
      repo.git("update-index", "--assume-unchanged", "a.txt");
      repo.git("update-index", "--skip-worktree", "sub/b.txt");
      repo.write("a.txt", "hidden\n");
      repo.write("sub/b.txt", "hidden\n");
    });
    expect(changes.modified).toEqual(["a.txt", "sub/b.txt"]);
    const later = await changesOf(checkout(repo), () => repo.write("a.txt", "hidden again\n"));
    expect(later.modified).toEqual(["a.txt"]);
  });

  it("staging hides nothing, and staging alone is no change of content", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("new.txt", "new\n");
    expect(await changesOf(checkout(repo), () => repo.git("add", "-A"))).toEqual(NONE);
    const changes = await changesOf(checkout(repo), () => {
      repo.write("a.txt", "staged\n");
      repo.git("add", "-A");
    });
    expect(changes.modified).toEqual(["a.txt"]);
  });

  it("committing hides nothing, and the moved HEAD is reported", async () => {
    const repo = throwawayRepo(FILES);
    const from = repo.head();
    const changes = await changesOf(checkout(repo), () => {
      repo.write("a.txt", "committed\n");
      repo.write("new.txt", "new\n");
      repo.commit("by the job");
    });
    expect(changes).toEqual({
      ...NONE,
      created: ["new.txt"],
      modified: ["a.txt"],
      tracked: ["a.txt"],
      headMoved: { from, to: repo.head() },
    });
  });

  it("checking out another branch shows every file that differs", async () => {
    const repo = throwawayRepo(FILES);
    repo.git("checkout", "-q", "-b", "other");
    repo.write("a.txt", "other\n");
    repo.write("only-there.txt", "x\n");
    rmSync(join(repo.path, "sub/b.txt"));
    repo.commit("other");
    repo.git("checkout", "-q", "main");
    const changes = await changesOf(checkout(repo), () => repo.git("checkout", "-q", "other"));
    expect([changes.created, changes.modified, changes.deleted]).toEqual([
      ["only-there.txt"],
      ["a.txt"],
      ["sub/b.txt"],
    ]);
  });

  it("moving HEAD without touching a file reports only that", async () => {
    const repo = throwawayRepo(FILES);
    const first = repo.head();
    repo.write("a.txt", "2\n");
    const second = repo.commit("second");
    const changes = await changesOf(checkout(repo), () => repo.git("reset", "-q", "--soft", first));
    expect(changes).toEqual({ ...NONE, headMoved: { from: second, to: first } });
  });

  it("another branch at the same commit is a moved HEAD", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () => repo.git("checkout", "-q", "-b", "other"));
    expect(changes.headMoved).toEqual({ from: repo.head(), to: "refs/heads/other" });
  });

  it("an ignore rule that a job adds does not turn its files into ignored ones that were there before", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("plain.txt", "1\n");
    const changes = await changesOf(checkout(repo), () => {
      repo.write(".gitignore", "*.log\nbuild/\nplain.txt\nfresh.txt\n");
      repo.write("plain.txt", "2\n");
    });
    expect(changes.modified).toEqual([".gitignore", "plain.txt"]);
    expect(changes.ignored).toEqual([]);
  });

  it("a link is a link: retargeting it is a change, its target is not read", async () => {
    const outside = temporaryFolder();
    writeFileSync(join(outside, "secret"), "1");
    const repo = throwawayRepo(FILES);
    symlinkSync(join(outside, "secret"), join(repo.path, "link"));
    symlinkSync(outside, join(repo.path, "folder.log"));
    expect(await changesOf(checkout(repo), () => writeFileSync(join(outside, "secret"), "2"))).toEqual(NONE);
    const changes = await changesOf(checkout(repo), () => {
      rmSync(join(repo.path, "link"));
      symlinkSync("/etc", join(repo.path, "link"));
      rmSync(join(repo.path, "sub"), { recursive: true });
      symlinkSync(outside, join(repo.path, "sub"));
    });
    expect(changes.modified).toEqual(["link"]);
    expect(changes.deleted).toEqual(["sub/b.txt"]);
    expect(changes.created).toEqual(["sub"]);
  });

  it("the executable bit counts", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () => chmodSync(join(repo.path, "a.txt"), 0o755));
    expect(changes.modified).toEqual(["a.txt"]);
  });

  it("a repository inside the checkout is looked into, without asking its git", async () => {
    const repo = throwawayRepo(FILES);
    const trace = join(temporaryFolder(), "ran");
    mkdirSync(join(repo.path, "nested"));
    runGit(join(repo.path, "nested"), "init", "-q");
    repo.write("nested/x.txt", "1\n");
    runGit(join(repo.path, "nested"), "add", "-A");
    runGit(join(repo.path, "nested"), "commit", "-q", "-m", "inner");
    runGit(join(repo.path, "nested"), "config", "core.fsmonitor", `sh -c 'echo > ${trace}'`);
    const changes = await changesOf(checkout(repo), () => {
      repo.write("nested/x.txt", "2\n");
      repo.write("nested/y.txt", "y\n");
    });
    expect([changes.created, changes.modified]).toEqual([["nested/y.txt"], ["nested/x.txt"]]);
    expect(existsSync(trace)).toBe(false);
  });

  it("a filled submodule is looked into", async () => {
    const inner = throwawayRepo({ "inner.txt": "inner\n" });
    const repo = throwawayRepo(FILES);
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
    repo.commit("with submodule");
    const changes = await changesOf(checkout(repo), () => repo.write("inner/inner.txt", "changed\n"));
    expect(changes.modified).toEqual(["inner/inner.txt"]);
    expect(changes.tracked).toEqual(["inner/inner.txt"]);
  });

  describe("a submodule", () => {
    async function scene(fill: boolean) {
      const inner = throwawayRepo({ "inner.txt": "inner\n" });
      const repo = throwawayRepo(FILES);
      repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.path, "inner");
      repo.commit("with submodule");
      if (!fill) repo.git("submodule", "--quiet", "deinit", "-f", "inner");
      return { repo, at: join(repo.path, "inner") };
    }
    type Kinds = Pick<Changes, "created" | "modified" | "deleted">;
    const NOTHING: Kinds = { created: [], modified: [], deleted: [] };
    const pick = ({ created, modified, deleted }: Changes): Kinds => ({ created, modified, deleted });

    it.each<[string, boolean, (at: string, repo: ThrowawayRepo) => void, Partial<Kinds>]>([
      ["nothing", true, () => undefined, {}],
      ["nothing, not filled", false, () => undefined, {}],
      [
        "another commit of the same files",
        true,
        (at) => runGit(at, "commit", "-q", "--allow-empty", "-m", "moved"),
        { modified: ["inner"] },
      ],
      [
        "a repository in the place of one that is not filled",
        false,
        (at) => {
          runGit(at, "init", "-q");
          runGit(at, "commit", "-q", "--allow-empty", "-m", "put there");
        },
        { modified: ["inner"] },
      ],
      ["its folder removed", false, (at) => rmSync(at, { recursive: true }), { deleted: ["inner"] }],
      [
        "another commit in the index alone",
        false,
        (_, repo) => repo.git("update-index", "--cacheinfo", `160000,${repo.head()},inner`),
        { modified: ["inner"] },
      ],
      [
        "a file in its place",
        false,
        (at, repo) => {
          rmSync(at, { recursive: true });
          repo.write("inner", "file\n");
        },
        { modified: ["inner"] },
      ],
    ])("with %s (filled: %s) is a change by its commit", async (_, fill, act, expected) => {
      const { repo, at } = await scene(fill);
      expect(pick(await changesOf(checkout(repo), () => act(at, repo)))).toEqual({ ...NOTHING, ...expected });
    });

    it("that stood at another commit before is measured from there, also when it goes back", async () => {
      const { repo, at } = await scene(true);
      runGit(at, "commit", "-q", "--allow-empty", "-m", "of the user");
      const still = await changesOf(checkout(repo), () => repo.write("a.txt", "x\n"));
      expect(pick(still)).toEqual({ ...NOTHING, modified: ["a.txt"] });
      const on = await changesOf(checkout(repo), () =>
        runGit(at, "commit", "-q", "--allow-empty", "-m", "on"),
      );
      expect(pick(on)).toEqual({ ...NOTHING, modified: ["inner"] });
      const back = await changesOf(checkout(repo), () => runGit(at, "reset", "-q", "--hard", "HEAD~2"));
      expect(pick(back)).toEqual({ ...NOTHING, modified: ["inner"] });
    });
  });

  it("starts no filter, monitor or hook that the configuration names", async () => {
    const repo = throwawayRepo({ ...FILES, ".gitattributes": "*.txt filter=evil\n" });
    const trace = join(temporaryFolder(), "ran");
    const evil = `sh -c 'echo > ${trace}; cat'`;
    const changes = await changesOf(checkout(repo), () => {
      repo.git("config", "filter.evil.clean", evil);
      repo.git("config", "filter.evil.process", evil);
      repo.git("config", "filter.evil.required", "true");
      repo.git("config", "core.fsmonitor", evil);
      repo.write("a.txt", "changed\n");
    });
    expect(changes.modified).toEqual(["a.txt"]);
    expect(existsSync(trace)).toBe(false);
  });

  it("excluded folders are not measured, whether git ignores them or not", async () => {
    const repo = throwawayRepo(FILES);
    repo.write("plans/reports/orchestrate-1/.gitignore", "*\n");
    const exclude = ["plans/reports/orchestrate-*", ".orchestrate-inputs", "build/own.log"];
    const changes = await changesOf({ ...checkout(repo), exclude }, () => {
      repo.write("plans/reports/orchestrate-1/state.json", "{}");
      repo.write("plans/reports/orchestrate-2/state.json", "{}");
      repo.write("plans/reports/mine.md", "mine\n");
      repo.write(".orchestrate-inputs/job/x", "x");
      repo.write("build/own.log", "x");
      repo.write("build/other.log", "x");
    });
    expect(changes.created).toEqual(["build/other.log", "plans/reports/mine.md"]);
  });

  it("the empty mount points that a sandbox leaves behind are no change, the same names with content are", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () => {
      mkdirSync(join(repo.path, ".codex"));
      mkdirSync(join(repo.path, "sub/.agents"));
      writeFileSync(join(repo.path, ".aws"), "");
    });
    expect(changes).toEqual(NONE);
    const real = await changesOf(checkout(repo), () => writeFileSync(join(repo.path, ".aws"), "[default]\n"));
    expect(real.created).toEqual([".aws"]);
  });

  it("names in any script and any bytes are told apart", async () => {
    const repo = throwawayRepo(FILES);
    const odd = Buffer.concat([Buffer.from(`${repo.path}/`), Buffer.from([0x66, 0xff, 0x6f])]);
    const changes = await changesOf(checkout(repo), () => {
      repo.write("żółć 文件.txt", "1");
      repo.write("new\nline", "2");
      repo.write("tab\there", "3");
      writeFileSync(odd, "4");
    });
    expect(changes.created).toEqual(["f\\xffo", "new\nline", "tab\there", "żółć 文件.txt"]);
    expect((await changesOf(checkout(repo), () => writeFileSync(odd, "5"))).modified).toEqual(["f\\xffo"]);
  });

  it("a pipe in the folder does not hold it up", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () => execFileSync("mkfifo", [join(repo.path, "x.log")]));
    expect(changes.created).toEqual([]);
    const inFolder = await changesOf({ root: repo.path, repo: null }, () =>
      execFileSync("mkfifo", [join(repo.path, "pipe")]),
    );
    expect(inFolder.created).toEqual(["pipe"]);
  });

  it("a repository that git cannot read any more is a change", async () => {
    const repo = throwawayRepo(FILES);
    const changes = await changesOf(checkout(repo), () =>
      writeFileSync(join(repo.commonDir, "index"), "garbage"),
    );
    expect(changes).toEqual({ ...NONE, modified: ["."] });
  });

  it("a checkout without a commit is measured too", async () => {
    const repo = throwawayRepo();
    const changes = await changesOf(checkout(repo), () => repo.write("a.txt", "a\n"));
    expect(changes.created).toEqual(["a.txt"]);
  });

  it("agrees with a plain comparison of all files after any sequence of operations", async () => {
    const names = ["a.txt", "b.txt", "c.log", "build/d", "dir/e.txt"];
    const step = fc.record({
      path: fc.constantFrom(...names),
      act: fc.constantFrom("write", "delete", "stage", "commit", "mark", "stash-index"),
      content: fc.constantFrom("1", "2", "3"),
    });
    const seed = 20_251_129;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 4 }),
        fc.array(step, { maxLength: 5 }),
        async (first, second) => {
          const repo = throwawayRepo({ "a.txt": "1", "dir/e.txt": "1", ".gitignore": "*.log\nbuild/\n" });
          const play = (steps: readonly { path: string; act: string; content: string }[]): void => {
            for (const { path, act, content } of steps) {
              if (act === "write") repo.write(path, content);
              else if (act === "delete") rmSync(join(repo.path, path), { force: true });
              else if (act === "stage") repo.git("add", "-A");
              else if (act === "commit") repo.commit("step");
              else if (act === "mark") tryGit(() => repo.git("update-index", "--assume-unchanged", path));
              else repo.git("reset", "-q");
            }
          };
          play(first);
          const plainBefore = await takeFingerprint({ root: repo.path, repo: null, exclude: [] });
          const changes = await changesOf(checkout(repo), () => play(second));
          const plainAfter = await takeFingerprint({ root: repo.path, repo: null, exclude: [] });
          const plain = compareFingerprints(plainBefore, plainAfter);
          expect([changes.created, changes.modified, changes.deleted]).toEqual([
            plain.created,
            plain.modified,
            plain.deleted,
          ]);
        },
      ),
      { seed, numRuns: process.env["ORCHESTRATE_SOAK"] === "1" ? 500 : 15 },
    );
  });
});

function tryGit(run: () => unknown): void {
  try {
    run();
  } catch {
    // The path is not in the index: there is nothing to mark.
  }
}

describe("changes in a worktree", () => {
  it("are measured by the registered git directory, whatever the job made of the `.git` file", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    const changes = await changesOf({ root: made.path, repo: { gitDir: made.gitDir } }, () => {
      writeIn(made, "a.txt", "changed\n");
      writeFileSync(join(made.path, ".git"), "gitdir: /nonexistent\n");
    });
    expect(changes.modified).toEqual(["a.txt"]);
  });

  it.each(["removed", "replaced by a link"])(
    "a worktree that the job %s is a change, and nothing outside is looked at",
    async (how) => {
      const repo = throwawayRepo(FILES);
      const made = await jobWorktree(repo, "job");
      const outside = temporaryFolder();
      writeFileSync(join(outside, "secret.txt"), "secret\n");
      for (const git of [{ gitDir: made.gitDir }, null]) {
        mkdirSync(made.path, { recursive: true });
        const changes = await changesOf({ root: made.path, repo: git }, () => {
          rmSync(made.path, { recursive: true });
          if (how !== "removed") symlinkSync(outside, made.path);
        });
        expect(changes).toEqual({ ...NONE, modified: ["."] });
        rmSync(made.path, { force: true });
      }
    },
  );

  it("an index that the job threw away hides nothing and invents nothing", async () => {
    const repo = throwawayRepo(FILES);
    const made = await jobWorktree(repo, "job");
    const changes = await changesOf({ root: made.path, repo: { gitDir: made.gitDir } }, () => {
      writeIn(made, "a.txt", "changed\n");
      rmSync(join(made.gitDir, "index"));
    });
    expect([changes.created, changes.modified, changes.deleted]).toEqual([[], ["a.txt"], []]);
  });
});

describe("changes without git", () => {
  it("every file counts", async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "sub"));
    writeFileSync(join(root, "a.txt"), "a");
    writeFileSync(join(root, "sub/b.txt"), "b");
    writeFileSync(join(root, "gone.txt"), "x");
    const changes = await changesOf({ root, repo: null }, () => {
      writeFileSync(join(root, "a.txt"), "changed");
      renameSync(join(root, "sub/b.txt"), join(root, "sub/c.txt"));
      rmSync(join(root, "gone.txt"));
    });
    expect(changes).toEqual({
      ...NONE,
      created: ["sub/c.txt"],
      modified: ["a.txt"],
      deleted: ["gone.txt", "sub/b.txt"],
      tracked: ["a.txt", "gone.txt", "sub/b.txt"],
    });
  });

  it("a folder of too many files gives no evidence, and growing past the bound is a change", async () => {
    const root = temporaryFolder();
    for (let folder = 0; folder < 20; folder++) {
      mkdirSync(join(root, `${folder}`));
      for (let i = 0; i < 1_000; i++) writeFileSync(join(root, `${folder}`, `${i}`), "");
    }
    const changes = await changesOf({ root, repo: null }, () => writeFileSync(join(root, "one-more"), "x"));
    expect(changes.measured).toBe(true);
    expect(changes.created.length).toBeGreaterThan(0);
    const after = await takeFingerprint({ root, repo: null, exclude: [] });
    expect(after.kind).toBe("too-large");
    expect(compareFingerprints(after, after).measured).toBe(false);
  });
});

describe("a stored fingerprint", () => {
  it.each(["", "{", "null", "{}", '{"version":2,"entries":[]}'])("reads %j as none", (text) => {
    expect(decodeFingerprint(text)).toBe(null);
  });
});
