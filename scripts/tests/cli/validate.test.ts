import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { handler } from "../../src/cli/commands/validate.ts";
import type { CommandResult } from "../../src/cli/context.ts";
import { createPrinter } from "../../src/cli/output.ts";
import { TEMPLATES } from "../../src/cli/templates.ts";
import { systemClock } from "../../src/host/clock.ts";
import { testEnvironment } from "../support/test-environment.ts";

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "orchestrate-validate-"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function validate(text: string, folder = top): Promise<CommandResult> {
  writeFileSync(join(folder, "jobs.yaml"), text);
  const ctx = {
    env: testEnvironment({ cwd: folder, home: join(top, "no-home"), variables: {} }),
    clock: systemClock,
    self: [],
    out: createPrinter({ json: false, stderrIsTty: false }),
  };
  return handler(ctx, { args: ["jobs.yaml"], flags: {} });
}

const codes = ({ diagnostics }: CommandResult): string[] =>
  diagnostics.filter((d) => d.severity !== "info").map((d) => `${d.severity} ${d.code}`);

const writers = (second: string): string => `version: 1
defaults: { timeout: 5m }
jobs:
  - { id: a, task: implement, prompt: x, expected_output: y, owned_paths: ["src/**"], checks: [ok] }
  - { id: b, task: implement, prompt: x, expected_output: y, owned_paths: ["${second}"], checks: [ok] }
`;

describe("validate", () => {
  it("takes every template as it is", async () => {
    for (const [name, text] of Object.entries(TEMPLATES)) {
      const result = await validate(text);
      expect({ name, codes: codes(result), exit: result.exitCode }).toEqual({ name, codes: [], exit: 0 });
      expect(result.text).toMatch(/^jobs\.yaml is valid: \d jobs in \d stages$/);
    }
  });

  it("ends with 2 and counts what is wrong", async () => {
    const result = await validate("version: 1\njobs:\n  - id: a\n    task: scuot\n");
    expect(result).toMatchObject({ exitCode: 2, text: "", data: { valid: false, errors: 3 } });
    expect(codes(result)).toContain("error not-allowed-value");
  });

  it("ends with 2 when there is no such file", async () => {
    const result = await handler(
      {
        env: testEnvironment({ cwd: top, home: join(top, "no-home"), variables: {} }),
        clock: systemClock,
        self: [],
        out: createPrinter({ json: false, stderrIsTty: false }),
      },
      { args: ["none.yaml"], flags: {} },
    );
    expect(result.exitCode).toBe(2);
    expect(result.diagnostics[0]?.code).toBe("spec-not-found");
  });

  it("finds parallel writers that own the same files, in a repository and in a linked worktree of one", async () => {
    const repo = join(top, "repo");
    mkdirSync(join(repo, "src"), { recursive: true });
    const git = (...args: string[]): void => {
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: repo });
    };
    writeFileSync(join(repo, "src/a.ts"), "a");
    git("init", "-q");
    git("add", "src");
    git("commit", "-q", "-m", "a");
    git("worktree", "add", "-q", join(top, "linked"));
    for (const folder of [repo, join(top, "linked")]) {
      expect(codes(await validate(writers("src/a.ts"), folder))).toEqual(["error owned-paths-overlap"]);
      expect(codes(await validate(writers("docs/**"), folder))).toEqual([]);
    }
  });

  it("writes nothing", async () => {
    await validate(TEMPLATES["research"] ?? "");
    expect(readdirSync(top)).toEqual(["jobs.yaml"]);
  });
});
