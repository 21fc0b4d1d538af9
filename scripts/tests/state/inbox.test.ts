import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { validate } from "../../src/core/generated/inbox.validate.js";
import type { Clock } from "../../src/host/clock.ts";
import { StateFaultError } from "../../src/state/fault.ts";
import {
  answerCommand,
  awaitAnswer,
  type InboxCommand,
  pendingCommands,
  submit,
} from "../../src/state/inbox.ts";
import { SHA } from "./support.ts";
import { tempDir } from "./temp-dir.ts";

const at = (ms: number): Clock => ({ now: () => ms, mono: () => ms });
const alive = { timeoutMs: 60_000, coordinatorAlive: () => true };

const start: InboxCommand = { kind: "native-start", jobId: "a", attempt: 1, handle: "h" };
const cancel: InboxCommand = { kind: "cancel", jobId: null, hard: false };
const EVERY: readonly InboxCommand[] = [
  start,
  {
    kind: "native-finish",
    jobId: "a",
    attempt: 1,
    result: { path: null, text: "done", sha256: SHA, bytes: 4, truncated: false },
    usage: null,
  },
  { kind: "native-fail", jobId: "a", attempt: 1, failureClass: "NETWORK", message: "gone" },
  { kind: "native-cancelled", jobId: "a", attempt: 1 },
  { kind: "approve", jobId: "a", scope: SHA, actor: "user", attested: true, note: null },
  { kind: "deny", jobId: "a", scope: SHA, actor: "user", attested: false, note: "no" },
  { kind: "verdict", verdict: { overall: "pass" }, handle: "h" },
  cancel,
  { kind: "retry", jobId: "a", base: null },
];

test.each(EVERY.map((command) => [command.kind, command] as const))(
  "a %s arrives as it was given",
  async (_kind, command) => {
    const runDir = tempDir();
    const id = await submit(runDir, command);
    const path = join(runDir, "inbox", `${id}.json`);
    expect(pendingCommands(runDir)).toEqual([{ id, command, path }]);
    expect(validate(JSON.parse(readFileSync(path, "utf8")))).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  },
);

test("commands come in the order in which they were given", async () => {
  const runDir = tempDir();
  for (const [i, command] of EVERY.entries()) await submit(runDir, command, at(1_000 + i));
  expect(pendingCommands(runDir).map((pending) => pending.command)).toEqual(EVERY);
});

describe("the same command twice", () => {
  test("is one command while it waits, whatever the order of its members", async () => {
    const runDir = tempDir();
    const first = await submit(runDir, start, at(1));
    const again = await submit(runDir, { handle: "h", attempt: 1, kind: "native-start", jobId: "a" }, at(2));
    expect(again).toBe(first);
    expect(pendingCommands(runDir)).toHaveLength(1);
  });

  test("keeps its answer once it was applied", async () => {
    const runDir = tempDir();
    const first = await submit(runDir, start);
    answerCommand(runDir, first, { ok: true, said: 1 });
    expect(await submit(runDir, start)).toBe(first);
    expect(pendingCommands(runDir)).toEqual([]);
    expect(await awaitAnswer(runDir, first, alive)).toEqual({ ok: true, said: 1 });
  });

  test("is a new one after a refusal", async () => {
    const runDir = tempDir();
    const first = await submit(runDir, start, at(1));
    answerCommand(runDir, first, { ok: false });
    expect(await submit(runDir, start, at(2))).not.toBe(first);
  });

  test.each(["cancel", "retry"] as const)("is a new one when it is a %s that was applied", async (kind) => {
    const runDir = tempDir();
    const command = EVERY.find((each) => each.kind === kind) as InboxCommand;
    const first = await submit(runDir, command, at(1));
    answerCommand(runDir, first, { ok: true });
    expect(await submit(runDir, command, at(2))).not.toBe(first);
  });

  test("differs from another one in its id", () => {
    const text = fc.string({ maxLength: 8 });
    return fc.assert(
      fc.asyncProperty(text, text, async (a, b) => {
        const runDir = tempDir();
        const give = (message: string) =>
          submit(runDir, { kind: "native-fail", jobId: "a", attempt: 1, failureClass: "UNKNOWN", message });
        expect((await give(a)) === (await give(b))).toBe(a === b);
      }),
      { seed: 20260101, numRuns: 50 },
    );
  });
});

describe("an answer", () => {
  test("reaches whoever waits, and takes the command away", async () => {
    const runDir = tempDir();
    const id = await submit(runDir, cancel);
    const answer = awaitAnswer(runDir, id, alive);
    answerCommand(runDir, id, { ok: true, next: [] });
    expect(await answer).toEqual({ ok: true, next: [] });
    expect(pendingCommands(runDir)).toEqual([]);
    expect(readdirSync(join(runDir, "inbox"))).toEqual(["answered"]);
  });

  test("stands once given", async () => {
    const runDir = tempDir();
    const id = await submit(runDir, cancel);
    answerCommand(runDir, id, 1);
    answerCommand(runDir, id, 2);
    expect(await awaitAnswer(runDir, id, alive)).toBe(1);
  });

  test("hides a command that is still there because its coordinator died before it took it away", async () => {
    const runDir = tempDir();
    const id = await submit(runDir, cancel);
    const path = join(runDir, "inbox", `${id}.json`);
    const text = readFileSync(path);
    answerCommand(runDir, id, { ok: true });
    writeFileSync(path, text);
    expect(pendingCommands(runDir)).toEqual([]);
  });

  test("is null after the time, and when nobody coordinates", async () => {
    const runDir = tempDir();
    const id = await submit(runDir, cancel);
    expect(await awaitAnswer(runDir, id, { ...alive, timeoutMs: 20 })).toBeNull();
    expect(await awaitAnswer(runDir, id, { ...alive, coordinatorAlive: () => false })).toBeNull();
  });

  test("is found although its coordinator ended right after it", async () => {
    const runDir = tempDir();
    const id = await submit(runDir, cancel);
    const dying = () => {
      answerCommand(runDir, id, "last words");
      return false;
    };
    expect(await awaitAnswer(runDir, id, { ...alive, coordinatorAlive: dying })).toBe("last words");
  });
});

test("what is no command of ours is left alone", async () => {
  const runDir = tempDir();
  const id = await submit(runDir, cancel);
  const inbox = join(runDir, "inbox");
  const other = `7${id.slice(1)}`;
  const place: [string, string][] = [
    ["README", "hello"],
    [`${id}.json.123.1.tmp`, "{"],
    [`${other}.json`, readFileSync(join(inbox, `${id}.json`), "utf8").replace('"cancel"', '"explode"')],
    [`1${id.slice(1)}.json`, "{"],
    [`2${id.slice(1)}.json`, ""],
    // Another command's content under this name: the id must match.
    [`3${id.slice(1)}.json`, readFileSync(join(inbox, `${id}.json`), "utf8").replace(id, other)],
  ];
  for (const [name, content] of place) writeFileSync(join(inbox, name), content);
  mkdirSync(join(inbox, `4${id.slice(1)}.json`));
  symlinkSync(join(inbox, `${id}.json`), join(inbox, `5${id.slice(1)}.json`));
  expect(pendingCommands(runDir).map((pending) => pending.id)).toEqual([id]);
});

test("a folder without an inbox has no commands, and one that takes none is a fault", async () => {
  const runDir = tempDir();
  expect(pendingCommands(runDir)).toEqual([]);
  writeFileSync(join(runDir, "inbox"), "");
  await expect(submit(runDir, cancel)).rejects.toBeInstanceOf(StateFaultError);
});
