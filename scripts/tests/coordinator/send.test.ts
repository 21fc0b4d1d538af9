/** A command reaches the run whoever coordinates it: of clients that start a coordinator at once, only one can win the lock. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Sent, sendCommand } from "../../src/coordinator/send.ts";
import { systemClock } from "../../src/host/clock.ts";
import { systemEnvironment } from "../../src/host/env.ts";
import { waitInDir } from "../../src/host/watch.ts";
import { answerCommand, pendingCommands } from "../../src/state/inbox.ts";
import { acquireLock, type Lock } from "../../src/state/lock.ts";
import { tempDir } from "../state/temp-dir.ts";

const ANSWER = { ok: true, code: "applied", message: "done" };

interface Race {
  readonly runDir: string;
  readonly sent: Promise<Sent>;
  /** Resolves when the client started a coordinator for the n-th time. */
  starts(n: number): Promise<void>;
  /** Resolves when so many of them have ended. */
  ended(n: number): Promise<void>;
  /** Lets each coordinator that was started end with this code. */
  endStarted(exitCode: number): void;
}

/** A client whose coordinator stands still before the lock until the test says how it ends. */
function race(): Race {
  const runDir = tempDir();
  const places = tempDir();
  mkdirSync(join(runDir, "supervisor"));
  const script = join(places, "coordinator.mjs");
  writeFileSync(
    script,
    `import { appendFileSync, existsSync, readFileSync } from "node:fs";
process.chdir(${JSON.stringify(places)});
appendFileSync("starts", "x");
process.on("exit", () => appendFileSync("ends", "x"));
setInterval(() => {
  // With the test its folder goes, and nothing of it may stay.
  if (!existsSync("starts")) process.exit(0);
  if (existsSync("end")) process.exit(Number(readFileSync("end", "utf8")));
}, 10);
`,
  );
  const sent = sendCommand({
    runDir,
    self: [process.execPath, script],
    env: systemEnvironment(),
    clock: systemClock,
    command: { kind: "cancel", jobId: null, hard: false },
  });
  const marks = async (name: string, n: number): Promise<void> => {
    const file = join(places, name);
    const look = () => (existsSync(file) && readFileSync(file, "utf8").length >= n ? true : null);
    const seen = await waitInDir({
      dir: places,
      look,
      timeoutMs: 30_000,
      everyMs: 50,
      restMs: 5,
      firstMs: 0,
    });
    expect(seen).toBe(true);
  };
  return {
    runDir,
    sent,
    starts: (n) => marks("starts", n),
    ended: (n) => marks("ends", n),
    endStarted: (exitCode) => writeFileSync(join(places, "end"), String(exitCode)),
  };
}

function lockOf(runDir: string): Lock {
  const lock = acquireLock({ runDir, clock: systemClock });
  if (!lock.ok) throw new Error(lock.error.reason);
  return lock.value;
}

function answerAll(runDir: string): void {
  for (const { id } of pendingCommands(runDir)) answerCommand(runDir, id, ANSWER);
}

it("a client that lost the lock to another waits for that one's answer", async () => {
  const { runDir, sent, starts, ended, endStarted } = race();
  await starts(1);
  const other = lockOf(runDir);
  endStarted(5);
  await ended(1);
  answerAll(runDir);
  expect(await sent).toEqual({ answer: ANSWER, started: null });
  other.release();
});

it("starts one again when the other ended without having seen the command", async () => {
  const { runDir, sent, starts, endStarted } = race();
  await starts(1);
  const other = lockOf(runDir);
  endStarted(5);
  other.release();
  await starts(2);
  answerAll(runDir);
  expect((await sent).answer).toEqual(ANSWER);
});

it("says that nobody applied it when its own coordinator failed", async () => {
  const { sent, starts, endStarted } = race();
  await starts(1);
  endStarted(4);
  const { answer, started } = await sent;
  expect(answer).toBe(null);
  expect((await started?.exited)?.exitCode).toBe(4);
});

it("gives up where no owner can be seen and the lock cannot be had", async () => {
  const { runDir, sent, starts, endStarted } = race();
  writeFileSync(join(runDir, "lock"), "not an owner");
  endStarted(5);
  const { answer, started } = await sent;
  await starts(5);
  expect(answer).toBe(null);
  expect((await started?.exited)?.exitCode).toBe(5);
});
