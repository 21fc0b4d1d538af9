import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type ProcessIdentity, startTime } from "../../src/host/identity.ts";
import { readProcess } from "../../src/run/process-tree.ts";
import { freshFolder, lineGate, misbehave, nodeFixture, start, survivors, textOf } from "./support.ts";

const folder = freshFolder();
const isReady = (line: string): boolean => line === "ready";

describe("how a child ended", () => {
  it("is told by its exit code", async () => {
    for (const code of [0, 1, 3, 255]) {
      const result = await start(folder, { argv: misbehave("exit", String(code)) }).done;
      expect(result).toMatchObject({
        exitCode: code,
        signal: null,
        endedBy: "self",
        spawnError: null,
        treeGone: true,
        flags: [],
        captureError: null,
      });
      expect(result.wallMs).toBeGreaterThan(0);
    }
  });

  it("is told by the signal that it died of", async () => {
    const result = await start(folder, { argv: misbehave("segv") }).done;
    expect(result).toMatchObject({ exitCode: null, signal: "SIGSEGV", endedBy: "self", treeGone: true });
  });

  it.each([
    ["a program that does not exist", { argv: ["/no/such/program"] }, "ENOENT"],
    ["a folder that does not exist", { argv: ["/bin/true"], cwd: "/no/such/folder" }, "ENOENT"],
    ["a file that is no program", { argv: ["/etc/passwd"] }, "EACCES"],
    ["an argument longer than the kernel takes", { argv: ["/bin/true", "x".repeat(140_000)] }, "E2BIG"],
    ["a NUL in an argument", { argv: ["/bin/true", "a\u0000b"] }, "ERR_INVALID_ARG_VALUE"],
    ["no program at all", { argv: [] }, "ERR_INVALID_ARG_VALUE"],
  ])("is a result, not a throw, for %s", async (_, options, code) => {
    const started = start(folder, options);
    expect(started.pid).toBeNull();
    started.cancel("hard");
    expect(await started.done).toMatchObject({
      exitCode: null,
      signal: null,
      endedBy: "spawn-failed",
      spawnError: code,
      treeGone: true,
      flags: [],
    });
  });
});

describe("what a child is given", () => {
  it("is an input at its end when there is none to give, whatever our own input is", async () => {
    const result = await start(folder, { argv: misbehave("read-stdin") }).done;
    expect(result.exitCode).toBe(0);
    expect(result.stdout.tail).toBe("end of input\n");
  });

  it("is a long prompt, whole, and then the end of the input", async () => {
    const prompt = `- begins like a flag\n${"long prompt 한😀 ".repeat(10_000)}`;
    expect(prompt.length).toBeGreaterThan(140_000);
    const result = await start(folder, { argv: nodeFixture("digest-stdin.mjs"), stdin: prompt }).done;
    expect(JSON.parse(result.stdout.tail)).toEqual({
      bytes: Buffer.byteLength(prompt),
      sha256: createHash("sha256").update(prompt).digest("hex"),
    });
  });

  it("may be refused: a child that closes its input before a large prompt ends as it likes", async () => {
    const result = await start(folder, { argv: misbehave("close-stdin"), stdin: "x".repeat(1_048_576) }).done;
    expect(result).toMatchObject({ exitCode: 0, endedBy: "self", treeGone: true });
    const early = await start(folder, { argv: misbehave("exit", "4"), stdin: "x".repeat(1_048_576) }).done;
    expect(early).toMatchObject({ exitCode: 4, endedBy: "self", treeGone: true });
  });

  it("is each argument byte for byte, whatever it looks like to a shell", async () => {
    const awkward = [
      "-",
      "--",
      "-x",
      "--flag=value",
      "$(touch x)",
      "`id`",
      "'",
      '"',
      "\\",
      "a\nb",
      "*",
      "~",
      "%PATH%",
      "",
      "é한😀",
    ];
    const argument = fc.oneof(
      fc.constantFrom(...awkward),
      fc.string({ unit: "binary", maxLength: 12 }).map((text) => text.replaceAll("\u0000", "")),
      fc.string({
        unit: fc.constantFrom(..."-$`\"'\\ \n\t;&|<>(){}[]*?~#!%=") as fc.Arbitrary<string>,
        maxLength: 16,
      }),
    );
    const all = fc.sample(argument, { numRuns: 10_000, seed: 20_261_129 });
    for (let at = 0; at < all.length; at += 1_000) {
      const batch = all.slice(at, at + 1_000);
      const lines: string[] = [];
      await start(folder, {
        argv: nodeFixture("echo-argv.mjs", ...batch),
        onLine: (line) => lines.push(line),
      }).done;
      expect(JSON.parse(lines[0] ?? "null")).toEqual(batch);
    }
    expect(existsSync(join(folder, "x"))).toBe(false);
  });
});

describe("telling who was started", () => {
  it("comes before any output is looked at", async () => {
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const lines: string[] = [];
    let told: ProcessIdentity | null = null;
    const started = start(folder, {
      argv: ["/bin/sh", "-c", "echo one; echo two; exit 7"],
      onLine: (line) => lines.push(line),
      onStart: (identity) => {
        told = identity;
        return gate;
      },
    });
    expect(told).toMatchObject({ pid: started.pid });
    // Ended, reaped, and its output still waits.
    await vi.waitFor(() => expect(existsSync(`/proc/${started.pid}`)).toBe(false), {
      interval: 5,
      timeout: 20_000,
    });
    expect(lines).toEqual([]);
    release();
    expect(await started.done).toMatchObject({ exitCode: 7, treeGone: true });
    expect(lines).toEqual(["one", "two"]);
    expect(textOf(started.stdoutPath)).toBe("one\ntwo\n");
  });

  it("holds a child that writes more than a pipe takes, and loses nothing", async () => {
    const [begun, done] = [join(folder, "begun"), join(folder, "done")];
    const started = start(folder, {
      argv: ["/bin/sh", "-c", `yes | head -c 1000; touch ${begun}; yes | head -c 3999000; touch ${done}`],
      maxOutputBytes: 8_388_608,
      onStart: async () => {
        await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { interval: 5, timeout: 20_000 });
        expect(existsSync(done)).toBe(false);
      },
    });
    const result = await started.done;
    expect(result.endedBy).toBe("self");
    expect(existsSync(done)).toBe(true);
    expect(result.stdout).toMatchObject({ bytes: 4_000_000, keptBytes: 4_000_000 });
  });

  it("ends the child when it fails", async () => {
    for (const onStart of [
      () => Promise.reject(new Error("disk full")),
      () => {
        throw new Error("disk full");
      },
    ]) {
      const started = start(folder, { argv: misbehave("sleep"), onStart });
      expect(await started.done).toMatchObject({ signal: "SIGKILL", endedBy: "cancel", treeGone: true });
    }
  });

  it("is not disturbed by listeners that throw", async () => {
    const result = await start(folder, {
      argv: ["/bin/sh", "-c", "echo one; echo two"],
      onLine: () => {
        throw new Error("no");
      },
      onActivity: () => {
        throw new Error("no");
      },
    }).done;
    expect(result).toMatchObject({ exitCode: 0, flags: [] });
    expect(result.stdout.bytes).toBe(8);
  });
});

describe("ending a child", () => {
  it("gracefully is SIGTERM, and the exit is awaited", async () => {
    const { onLine, seen } = lineGate(isReady);
    const started = start(folder, { argv: misbehave("sleep"), onLine });
    await seen;
    started.cancel("graceful");
    expect(await started.done).toMatchObject({
      signal: "SIGTERM",
      endedBy: "cancel",
      treeGone: true,
      flags: [],
    });
  });

  it("hard is SIGKILL, also for one that was asked before and does not go", async () => {
    const { onLine, seen } = lineGate(isReady);
    const started = start(folder, { argv: misbehave("ignore-term"), onLine, graceMs: 3_600_000 });
    await seen;
    started.cancel("graceful");
    started.cancel("hard");
    expect(await started.done).toMatchObject({ signal: "SIGKILL", endedBy: "cancel", treeGone: true });
    expect(await survivors(started.marker)).toEqual([]);
  });

  it("at its timeout, or after too long a silence, says so", async () => {
    const timeout = await start(folder, { argv: misbehave("sleep"), timeoutMs: 300 }).done;
    expect(timeout).toMatchObject({ endedBy: "timeout", signal: "SIGTERM", treeGone: true });
    expect(timeout.stdout.tail).toBe("ready\n");
    const stall = await start(folder, { argv: misbehave("sleep"), stallAfterMs: 300 }).done;
    expect(stall).toMatchObject({ endedBy: "stall", signal: "SIGTERM", treeGone: true });
  });

  it("that has ended by itself changes nothing", async () => {
    const started = start(folder, { argv: misbehave("exit", "0") });
    const result = await started.done;
    started.cancel("hard");
    expect(result.endedBy).toBe("self");
    expect(await started.done).toBe(result);
  });

  it("keeps the first reason", async () => {
    const started = start(folder, { argv: misbehave("ignore-term"), timeoutMs: 400, graceMs: 400 });
    const result = await started.done;
    started.cancel("graceful");
    expect(result).toMatchObject({ endedBy: "timeout", flags: ["killed-after-grace"], treeGone: true });
  });
});

describe("captured output", () => {
  it("is in private files, redacted, and its tails are told", async () => {
    const started = start(folder, {
      argv: ["/bin/sh", "-c", 'echo "out $SECRET"; echo "err $SECRET" >&2; exit 1'],
      env: { SECRET: "tok_TEST_ABCDEFGH12345678" },
      secretValues: ["tok_TEST_ABCDEFGH12345678"],
    });
    const result = await started.done;
    expect(textOf(started.stdoutPath)).toBe("out [REDACTED]\n");
    expect(textOf(started.stderrPath)).toBe("err [REDACTED]\n");
    expect([result.stdout.tail, result.stderr.tail]).toEqual(["out [REDACTED]\n", "err [REDACTED]\n"]);
    for (const path of [started.stdoutPath, started.stderrPath])
      expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("holds no part of a secret that a real child writes in two pieces, wherever it is split", async () => {
    const secret = "tok_TEST_ABCDEFGH12345678";
    const own = freshFolder();
    const pieces = [1, 2].flatMap((fd) =>
      Array.from({ length: secret.length + 1 }, (_, at) => [
        [fd, secret.slice(0, at) || "<"],
        [fd, `${secret.slice(at)}\n`],
      ]).flat(),
    );
    let acknowledged = 0;
    const started = start(own, {
      argv: nodeFixture("write-pieces.mjs"),
      stdin: JSON.stringify(pieces),
      secretValues: [secret],
      onActivity: () => {
        acknowledged += 1;
        writeFileSync(join(own, `ack-${acknowledged}`), "");
      },
    });
    const result = await started.done;
    expect(acknowledged).toBe(pieces.length);
    const lines = ["<[REDACTED]", ...Array.from({ length: secret.length }, () => "[REDACTED]")];
    expect(textOf(started.stdoutPath)).toBe(`${lines.join("\n")}\n`);
    expect(textOf(started.stderrPath)).toBe(`${lines.join("\n")}\n`);
    expect(result.stdout.redactions + result.stderr.redactions).toBe(2 * lines.length);
  });

  it("that cannot be written is drained all the same, and named", async () => {
    const result = await start(folder, { argv: misbehave("flood", "3000000"), stdoutPath: "/dev/full" }).done;
    expect(result).toMatchObject({
      exitCode: 0,
      treeGone: true,
      flags: ["truncated", "capture-failed"],
      captureError: { path: "/dev/full", code: "ENOSPC" },
    });
    expect(result.stdout.bytes).toBe(3_000_000);
  });
});

describe("many children", () => {
  it("leave no descriptor and no process behind, several at once", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    await start(folder, { argv: ["/bin/true"] }).done;
    const before = open();
    const results = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        index % 3 === 0
          ? start(folder, { argv: misbehave("daemon") }).done
          : start(folder, { argv: ["/bin/true"] }).done,
      ),
    );
    expect(results.map((result) => result.treeGone)).toEqual(results.map(() => true));
    expect(results.filter((result) => result.flags.includes("leaky")).length).toBe(8);
    await vi.waitFor(() => expect(open()).toBeLessThanOrEqual(before), { timeout: 5_000 });
  });

  it("are leaders of their own group and session: no terminal of ours can end them", async () => {
    const { onLine, seen } = lineGate(isReady);
    const started = start(folder, { argv: misbehave("sleep"), onLine });
    await seen;
    expect(readProcess(started.pid ?? 0)).toMatchObject({ group: started.pid, session: started.pid });
    started.cancel("hard");
    await started.done;
  });

  it("are told apart by start time", async () => {
    let identity: ProcessIdentity | null = null;
    const { onLine, seen } = lineGate(isReady);
    const started = start(folder, {
      argv: misbehave("sleep"),
      onLine,
      onStart: (told) => {
        identity = told;
      },
    });
    await seen;
    expect(identity).toMatchObject({ pid: started.pid, startTime: startTime(started.pid ?? 0) });
    started.cancel("hard");
    await started.done;
  });
});
