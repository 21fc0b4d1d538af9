import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bootId, identityOf } from "../../src/host/identity.ts";
import { REPO_LOCK_FILE, withRepoLock } from "../../src/host/repo-lock.ts";
import { runProgram, startProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

const soak = process.env["ORCHESTRATE_SOAK"] === "1";

const claim = (id: string, owner: object): string =>
  `\n${JSON.stringify({ claim: { id, purpose: "something", owner } })}\n`;

describe("the repository mutex", () => {
  it("lets one at a time in, over several processes", async () => {
    const dir = temporaryFolder();
    const file = join(dir, "count");
    writeFileSync(file, "0");
    const times = soak ? 200 : 25;
    const failed = await Promise.all(
      Array.from({ length: 4 }, () => runProgram("lock-counter", [dir, file, String(times)])),
    );
    expect(failed).toEqual(["0\n", "0\n", "0\n", "0\n"]);
    expect(readFileSync(file, "utf8")).toBe(String(4 * times));
  });

  it("lets one at a time in, within one process", async () => {
    const dir = temporaryFolder();
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    };
    await Promise.all(
      Array.from({ length: 20 }, () => withRepoLock({ commonDir: dir, purpose: "test", work })),
    );
    expect(most).toBe(1);
  });

  it("gives the value of the work, and throws what the work throws, free again in both cases", async () => {
    const commonDir = temporaryFolder();
    expect(await withRepoLock({ commonDir, purpose: "test", work: async () => 7 })).toEqual({
      ok: true,
      value: 7,
    });
    const failing = withRepoLock({
      commonDir,
      purpose: "test",
      work: () => Promise.reject(new Error("work failed")),
    });
    await expect(failing).rejects.toThrow("work failed");
    expect((await withRepoLock({ commonDir, purpose: "test", work: async () => 8 })).ok).toBe(true);
  });

  it("is taken over from a process that was killed while it held it", async () => {
    const commonDir = temporaryFolder();
    const holder = startProgram("lock-holder", [commonDir]);
    await once(holder.stdout as NodeJS.ReadableStream, "data");
    const waiting = await withRepoLock({ commonDir, purpose: "test", timeoutMs: 50, work: async () => 1 });
    expect(waiting).toEqual({
      ok: false,
      error: {
        code: "repo-locked",
        detail: `process ${holder.pid} on ${hostname()} (holding on) held the worktree lock for longer than 0 s; if that process is gone, delete \`${join(commonDir, REPO_LOCK_FILE)}\``,
        holder: identityOf(holder.pid ?? 0),
      },
    });
    holder.kill("SIGKILL");
    await once(holder, "close");
    expect(await withRepoLock({ commonDir, purpose: "test", work: async () => 2 })).toEqual({
      ok: true,
      value: 2,
    });
  });

  it.each([
    [
      "a pid that another process has now",
      { pid: process.pid, startTime: "1", bootId: bootId(), host: hostname() },
    ],
    ["another boot", { ...identityOf(process.pid), bootId: "00000000-0000-0000-0000-000000000000" }],
    ["a pid that does not exist", { pid: 2 ** 22 + 1, startTime: "1", bootId: bootId(), host: hostname() }],
  ])("is taken over from %s", async (_, owner) => {
    const commonDir = temporaryFolder();
    writeFileSync(join(commonDir, REPO_LOCK_FILE), claim("dead", owner));
    expect(
      (await withRepoLock({ commonDir, purpose: "test", timeoutMs: 2_000, work: async () => 1 })).ok,
    ).toBe(true);
  });

  it("is never taken from another host", async () => {
    const commonDir = temporaryFolder();
    const owner = { pid: 1, startTime: "1", bootId: "x", host: "elsewhere" };
    writeFileSync(join(commonDir, REPO_LOCK_FILE), claim("far", owner));
    let ran = false;
    const refused = await withRepoLock({
      commonDir,
      purpose: "test",
      timeoutMs: 50,
      work: async () => {
        ran = true;
      },
    });
    expect(refused.ok ? null : [refused.error.code, refused.error.holder]).toEqual(["repo-locked", owner]);
    expect(ran).toBe(false);
  });

  it("survives torn and foreign lines", async () => {
    const commonDir = temporaryFolder();
    const path = join(commonDir, REPO_LOCK_FILE);
    writeFileSync(path, '{"claim":{"id":"torn","owner":{"pi');
    expect((await withRepoLock({ commonDir, purpose: "test", work: async () => 1 })).ok).toBe(true);
    appendFileSync(path, '\0\0\0garbage\n[]\nnull\n{"claim":5}\n{"release":{}}');
    expect((await withRepoLock({ commonDir, purpose: "test", work: async () => 1 })).ok).toBe(true);
  });

  it("keeps its file short", async () => {
    const commonDir = temporaryFolder();
    for (let i = 0; i < 400; i++)
      await withRepoLock({ commonDir, purpose: "x".repeat(200), work: async () => i });
    expect(statSync(join(commonDir, REPO_LOCK_FILE)).size).toBeLessThan(80_000);
  });

  it("never works unlocked: a place that cannot be written is a fault", async () => {
    const commonDir = temporaryFolder();
    mkdirSync(join(commonDir, REPO_LOCK_FILE));
    let ran = false;
    const refused = await withRepoLock({
      commonDir,
      purpose: "test",
      work: async () => {
        ran = true;
      },
    });
    expect(refused).toEqual({
      ok: false,
      error: {
        code: "repo-lock-unwritable",
        detail: `cannot use the worktree lock \`${join(commonDir, REPO_LOCK_FILE)}\`: EISDIR`,
        holder: null,
      },
    });
    expect(ran).toBe(false);
    expect(existsSync(join(commonDir, REPO_LOCK_FILE))).toBe(true);
  });
});
