import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/host/files.ts";
import {
  keepArtifacts,
  placeInputs,
  removeMaterial,
  writeMaterial,
  writeResultOutput,
} from "../../src/run/handoff.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";
import { fault, value } from "../support/worktrees.ts";

function folder(files: Readonly<Record<string, string>> = {}): string {
  const root = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const artifact = (path: string, content: string) => ({
  path,
  sha256: sha256(content),
  bytes: content.length,
});
const plain = (path: string, digest: string | null = null) => ({
  path,
  sha256: digest,
  fromJob: null,
  fromPath: null,
});

describe("keeping a job's artifacts", () => {
  it("copies the recorded bytes, private", async () => {
    const cwd = folder({ "out/a.md": "a\n" });
    const artifactsDir = join(temporaryFolder(), "artifacts");
    value(await keepArtifacts({ cwd, artifacts: [artifact("out/a.md", "a\n")], artifactsDir }));
    expect(readFileSync(join(artifactsDir, "out/a.md"), "utf8")).toBe("a\n");
    expect(statSync(join(artifactsDir, "out/a.md")).mode & 0o777).toBe(0o600);
  });

  it("refuses bytes that are not what was recorded", async () => {
    const cwd = folder({ "a.md": "changed since\n" });
    const kept = await keepArtifacts({
      cwd,
      artifacts: [artifact("a.md", "a\n")],
      artifactsDir: temporaryFolder(),
    });
    expect(fault(kept)).toEqual({
      code: "handoff-hash",
      path: "a.md",
      detail: `\`a.md\` has SHA-256 ${sha256("changed since\n")}, expected ${sha256("a\n")}`,
    });
  });

  it("does not follow a link", async () => {
    const cwd = folder();
    symlinkSync("/etc/hostname", join(cwd, "a.md"));
    const kept = await keepArtifacts({
      cwd,
      artifacts: [artifact("a.md", "a\n")],
      artifactsDir: temporaryFolder(),
    });
    expect(fault(kept).code).toBe("input-unsafe");
  });
});

describe("inputs", () => {
  const source =
    (artifactsDir: string, content = "result\n") =>
    () => ({
      artifactsDir,
      artifacts: [artifact("out.md", content)],
    });

  it("that lie in the workspace are verified and stated", async () => {
    const cwd = folder({ "in/a.txt": "a\n" });
    const facts = value(
      await placeInputs({
        cwd,
        inputs: [plain("in/a.txt"), plain("in/a.txt", sha256("a\n").toUpperCase())],
        source: () => null,
      }),
    );
    expect(facts[0]).toEqual({ path: "in/a.txt", sha256: sha256("a\n"), bytes: 2, fromJob: null });
  });

  it.each([
    ["missing.txt", null, "input-missing", "input `missing.txt` does not exist"],
    [
      "a.txt",
      "0".repeat(64),
      "input-hash",
      `input \`a.txt\` has SHA-256 ${sha256("a\n")}, the spec says ${"0".repeat(64)}`,
    ],
    ["link.txt", null, "input-unsafe", "input `link.txt` is a symbolic link"],
    ["../a.txt", null, "input-unsafe", "input `../a.txt` must not contain `..`"],
  ])("%s: %s is %s", async (path, digest, code, detail) => {
    const cwd = folder({ "a.txt": "a\n" });
    symlinkSync("/etc/hostname", join(cwd, "link.txt"));
    expect(fault(await placeInputs({ cwd, inputs: [plain(path, digest)], source: () => null }))).toEqual({
      code,
      path,
      detail,
    });
  });

  it("of another job are copied from its kept artifacts", async () => {
    const kept = folder({ "out.md": "result\n" });
    const cwd = folder();
    const inputs = [{ path: "given/in.md", sha256: null, fromJob: "dep", fromPath: "out.md" }];
    expect(value(await placeInputs({ cwd, inputs, source: source(kept) }))).toEqual([
      { path: "given/in.md", sha256: sha256("result\n"), bytes: 7, fromJob: "dep" },
    ]);
    expect(readFileSync(join(cwd, "given/in.md"), "utf8")).toBe("result\n");
    expect((await placeInputs({ cwd, inputs, source: source(kept) })).ok).toBe(true);
  });

  it("of another job never overwrite different content", async () => {
    const kept = folder({ "out.md": "result\n" });
    const cwd = folder({ "in.md": "mine\n" });
    const inputs = [{ path: "in.md", sha256: null, fromJob: "dep", fromPath: "out.md" }];
    expect(fault(await placeInputs({ cwd, inputs, source: source(kept) }))).toEqual({
      code: "handoff-would-overwrite",
      path: "in.md",
      detail: "`in.md` exists with different content",
    });
    expect(readFileSync(join(cwd, "in.md"), "utf8")).toBe("mine\n");
  });

  it("of another job are refused when the kept bytes changed or were never recorded", async () => {
    const kept = folder({ "out.md": "tampered\n" });
    const cwd = folder();
    const from = (fromPath: string) => [{ path: "in.md", sha256: null, fromJob: "dep", fromPath }];
    expect(fault(await placeInputs({ cwd, inputs: from("out.md"), source: source(kept) })).code).toBe(
      "handoff-hash",
    );
    expect(fault(await placeInputs({ cwd, inputs: from("other.md"), source: source(kept) }))).toEqual({
      code: "handoff-missing",
      path: "in.md",
      detail: "`dep` has no artifact `other.md`",
    });
    expect(fault(await placeInputs({ cwd, inputs: from("out.md"), source: () => null })).code).toBe(
      "handoff-missing",
    );
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("dependency material", () => {
  it("lies below the job's own folder, ignored by git, and goes without a trace", async () => {
    const cwd = folder();
    value(await writeMaterial({ cwd, jobId: "one", material: [{ name: "dep.md", content: "text" }] }));
    value(await writeMaterial({ cwd, jobId: "two", material: [{ name: "dep.diff", content: "diff" }] }));
    expect(readFileSync(join(cwd, ".orchestrate-inputs/one/dep.md"), "utf8")).toBe("text");
    expect(readFileSync(join(cwd, ".orchestrate-inputs/.gitignore"), "utf8")).toBe("*\n");
    await removeMaterial({ cwd, jobId: "one" });
    expect(readdirSync(join(cwd, ".orchestrate-inputs")).sort()).toEqual([".gitignore", "two"]);
    await removeMaterial({ cwd, jobId: "two" });
    expect(existsSync(join(cwd, ".orchestrate-inputs"))).toBe(false);
    await removeMaterial({ cwd, jobId: "two" });
  });

  it("is not written through a link that waits in its place", async () => {
    const outside = folder();
    const cwd = folder();
    symlinkSync(outside, join(cwd, ".orchestrate-inputs"));
    expect(
      fault(await writeMaterial({ cwd, jobId: "one", material: [{ name: "dep.md", content: "text" }] })).code,
    ).toBe("input-unsafe");
    await removeMaterial({ cwd, jobId: "one" });
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe("an output that is the final text", () => {
  it("holds exactly that text and replaces an earlier one", async () => {
    const cwd = folder();
    expect(value(await writeResultOutput({ cwd, path: "r/out.md", text: "first" }))).toEqual({
      path: "r/out.md",
      sha256: sha256("first"),
      bytes: 5,
    });
    value(await writeResultOutput({ cwd, path: "r/out.md", text: "second" }));
    expect(readFileSync(join(cwd, "r/out.md"), "utf8")).toBe("second");
  });

  it("is not written through a link", async () => {
    const outside = folder({ "x.md": "mine\n" });
    const cwd = folder();
    symlinkSync(join(outside, "x.md"), join(cwd, "out.md"));
    expect(fault(await writeResultOutput({ cwd, path: "out.md", text: "evil" })).code).toBe("input-unsafe");
    expect(readFileSync(join(outside, "x.md"), "utf8")).toBe("mine\n");
  });
});
