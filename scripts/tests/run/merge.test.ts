import { describe, expect, it } from "vitest";
import { diffStat, diffText, mergeBases, missingFrom } from "../../src/run/merge.ts";
import type { ThrowawayRepo } from "../support/repo-at.ts";
import { throwawayRepo } from "../support/throwaway-repo.ts";
import { fault, value } from "../support/worktrees.ts";

/** A commit on top of `from`, on no branch. */
function side(repo: ThrowawayRepo, from: string, files: Readonly<Record<string, string>>): string {
  repo.git("checkout", "-q", "--detach", from);
  for (const [path, content] of Object.entries(files)) repo.write(path, content);
  const commit = repo.commit(Object.keys(files).join());
  repo.git("checkout", "-q", "main");
  return commit;
}

describe("merging without a checkout", () => {
  it("touches neither checkout nor branch, and gives the same commit each time", async () => {
    const repo = throwawayRepo({ "a.txt": "1\n2\n3\n" });
    const base = repo.head();
    const mergeCommits = [
      { jobId: "one", commit: side(repo, base, { "a.txt": "one\n2\n3\n" }) },
      { jobId: "two", commit: side(repo, base, { "a.txt": "1\n2\ntwo\n" }) },
    ];
    const merged = value(await mergeBases({ repo: repo.path, baseCommit: base, mergeCommits }));
    expect(repo.git("show", `${merged.commit}:a.txt`)).toBe("one\n2\ntwo");
    expect([repo.head(), repo.git("status", "--porcelain")]).toEqual([base, ""]);
    expect(value(await mergeBases({ repo: repo.path, baseCommit: base, mergeCommits }))).toEqual(merged);
  });

  it("adds nothing for work that is contained", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const base = repo.head();
    const one = side(repo, base, { "b.txt": "b\n" });
    const two = side(repo, one, { "c.txt": "c\n" });
    const jobs = (...commits: string[]) => commits.map((commit, i) => ({ jobId: `j${i}`, commit }));
    const merge = async (...commits: string[]) =>
      value(await mergeBases({ repo: repo.path, baseCommit: base, mergeCommits: jobs(...commits) })).commit;
    expect([
      await merge(),
      await merge(base),
      await merge(one),
      await merge(two, one),
      await merge(one, two),
    ]).toEqual([base, base, one, two, two]);
  });

  it("names both sides of a conflict of two jobs, and the one job that conflicts with the base", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const first = repo.head();
    const one = side(repo, first, { "a.txt": "one\n" });
    repo.write("a.txt", "moved on\n");
    const base = repo.commit("moved on");
    expect(
      fault(
        await mergeBases({
          repo: repo.path,
          baseCommit: base,
          mergeCommits: [{ jobId: "one", commit: one }],
        }),
      ),
    ).toEqual({
      code: "dependency-conflict",
      detail: "the work of `one` conflicts in `a.txt`",
      conflict: { jobs: ["one"], paths: ["a.txt"] },
    });
  });

  it("reports a file against a folder, and a deletion against a change", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n", "b.txt": "b\n" });
    const base = repo.head();
    const asFile = side(repo, base, { thing: "file\n" });
    const asFolder = side(repo, base, { "thing/x": "x\n" });
    repo.git("checkout", "-q", "--detach", base);
    repo.git("rm", "-q", "b.txt");
    const deletes = repo.commit("deletes");
    repo.git("checkout", "-q", "main");
    const changes = side(repo, base, { "b.txt": "changed\n" });
    const conflictOf = async (a: string, b: string) =>
      fault(
        await mergeBases({
          repo: repo.path,
          baseCommit: base,
          mergeCommits: [
            { jobId: "a", commit: a },
            { jobId: "b", commit: b },
          ],
        }),
      ).conflict;
    expect((await conflictOf(asFile, asFolder))?.jobs).toEqual(["a", "b"]);
    expect(await conflictOf(deletes, changes)).toEqual({ jobs: ["a", "b"], paths: ["b.txt"] });
  });

  it("takes nothing but full commit ids that exist", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const base = repo.head();
    const bad = async (commit: string) =>
      fault(await mergeBases({ repo: repo.path, baseCommit: base, mergeCommits: [{ jobId: "x", commit }] }));
    expect(await bad("--output=/tmp/x")).toEqual({
      code: "no-base-commit",
      detail: "`--output=/tmp/x` is no full commit id",
    });
    expect((await bad("0".repeat(40))).code).toBe("no-base-commit");
  });
});

describe("a base given by hand", () => {
  it("must contain every dependency; what it misses is named", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const base = repo.head();
    const one = { jobId: "one", commit: side(repo, base, { "b.txt": "b\n" }) };
    const two = { jobId: "two", commit: side(repo, base, { "c.txt": "c\n" }) };
    const ask = (commit: string) => missingFrom({ repo: repo.path, commit, commits: [one, two] });
    expect(value(await ask(one.commit))).toEqual([two]);
    const merged = value(await mergeBases({ repo: repo.path, baseCommit: base, mergeCommits: [one, two] }));
    expect(value(await ask(merged.commit))).toEqual([]);
    expect(fault(await ask("main"))).toEqual({
      code: "no-base-commit",
      detail: `\`main\` is no commit of \`${repo.path}\`; give its full id`,
    });
  });
});

describe("a diff", () => {
  it("is a bounded patch cut at a line, with its figures", async () => {
    const repo = throwawayRepo({ "a.txt": "a\n" });
    const from = repo.head();
    const to = side(repo, from, { "a.txt": "b\n", "bin.dat": "\0\x01" });
    const whole = value(await diffText({ repo: repo.path, from, to, maxBytes: 10_000 }));
    expect(whole.truncated).toBe(false);
    expect(whole.text).toContain("-a\n+b\n");
    expect(whole.text).toContain("Binary files /dev/null and b/bin.dat differ");
    const cut = value(await diffText({ repo: repo.path, from, to, maxBytes: 60 }));
    expect([
      cut.truncated,
      cut.text.endsWith("\n"),
      cut.text.length <= 60,
      whole.text.startsWith(cut.text),
    ]).toEqual([true, true, true, true]);
    expect(await diffStat(repo.path, from, to)).toBe("2 files changed, 1 insertion(+), 1 deletion(-)");
    expect(fault(await diffText({ repo: repo.path, from, to: "0".repeat(40), maxBytes: 1 })).code).toBe(
      "git-failed",
    );
  });
});
