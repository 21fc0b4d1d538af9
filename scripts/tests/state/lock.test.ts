import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/host/clock.ts";
import { type Disk, systemDisk } from "../../src/host/disk.ts";
import { sha256 } from "../../src/host/files.ts";
import { identityOf, type ProcessIdentity } from "../../src/host/identity.ts";
import { acquireLock, type Lock, lockOwner } from "../../src/state/lock.ts";
import { createRun, openStore, readRun } from "../../src/state/store.ts";
import { deadProcess, forkFixture, nextMessage, runFixture } from "./processes.ts";
import { blankState, fixedClock } from "./support.ts";
import { tempDir } from "./temp-dir.ts";

const soak = process.env["ORCHESTRATE_SOAK"] === "1";
/** Processes that load TypeScript take their time on a crowded machine. */
const PROCESSES_MS = 300_000;

const acquire = (runDir: string, more: { disk?: Disk; self?: ProcessIdentity } = {}) =>
  acquireLock({ runDir, clock: fixedClock, ...more });

function mine(runDir: string, more: { disk?: Disk; self?: ProcessIdentity } = {}): Lock {
  const lock = acquire(runDir, more);
  if (!lock.ok) throw new Error(lock.error.reason);
  return lock.value;
}

const plant = (runDir: string, content: string): string => {
  const path = join(runDir, "lock");
  writeFileSync(path, content);
  return path;
};
const me = identityOf(process.pid);

test("the second one is refused with the owner's identity and changes nothing", () => {
  const runDir = tempDir();
  const lock = mine(runDir);
  const before = readFileSync(join(runDir, "lock"));
  expect(acquire(runDir)).toEqual({
    ok: false,
    error: {
      code: "held",
      owner: me,
      reason: `The run is coordinated by process ${me.pid} on \`${me.host}\`.`,
    },
  });
  expect(readFileSync(join(runDir, "lock")).equals(before)).toBe(true);
  expect(readdirSync(runDir)).toEqual(["lock"]);
  expect(lockOwner(runDir)).toEqual(me);
  expect(lock.verify()).toBe(true);
});

test("a released lock is free, and a release of what is another's does nothing", () => {
  const runDir = tempDir();
  const first = mine(runDir);
  first.release();
  expect(lockOwner(runDir)).toBeNull();
  const second = mine(runDir);
  first.release();
  expect(second.verify()).toBe(true);
  expect(first.verify()).toBe(false);
});

test.each([
  ["ended", (dead: ProcessIdentity) => dead],
  ["ended and left its pid to another process", () => ({ ...me, startTime: "1" })],
  ["ran before the last boot", () => ({ ...me, bootId: "00000000-0000-0000-0000-000000000000" })],
] as const)("the lock of an owner that %s heals itself", async (_name, owner) => {
  const runDir = tempDir();
  plant(runDir, JSON.stringify(owner(await deadProcess())));
  mine(runDir);
  expect(lockOwner(runDir)).toEqual(me);
  expect(readdirSync(runDir)).toEqual(["lock"]);
});

const heal = (path: string): string => `If it has ended, remove \`${path}\` and run the command again.`;

test.each([
  [
    "on another host",
    { ...me, host: "elsewhere" },
    "unproven",
    (path: string) =>
      `The lock was taken by process ${me.pid} on \`elsewhere\`, and from here nobody can prove that it ended. ${heal(path)}`,
  ],
  [
    "that lives but whose start time was not recorded",
    { ...me, startTime: null },
    "unproven",
    (path: string) =>
      `The lock was taken by process ${me.pid} on \`${me.host}\`, and from here nobody can prove that it ended. ${heal(path)}`,
  ],
  [
    "that is process 1",
    identityOf(1),
    "held",
    () => `The run is coordinated by process 1 on \`${me.host}\`.`,
  ],
  [
    "of which only the pid is known",
    { pid: 1 },
    "unproven",
    (path: string) =>
      `The lock was taken by process 1, and from here nobody can prove that it ended. ${heal(path)}`,
  ],
] as const)("an owner %s is not robbed", (_name, owner, code, reason) => {
  const runDir = tempDir();
  const path = plant(runDir, JSON.stringify(owner));
  expect(acquire(runDir)).toMatchObject({
    ok: false,
    error: { code, owner: { pid: owner.pid }, reason: reason(path) },
  });
  expect(readFileSync(path, "utf8")).toBe(JSON.stringify(owner));
});

test.each([
  ["empty", ""],
  ["no JSON", "\0\0\0\0"],
  ["a number", "4711"],
  ["an owner without pid", '{"host":"here"}'],
  ["a pid that is none", '{"pid":-5}'],
])("a lock that is %s is kept and says how to heal it", (_name, content) => {
  const runDir = tempDir();
  const path = plant(runDir, content);
  expect(acquire(runDir)).toEqual({
    ok: false,
    error: {
      code: "unreadable",
      owner: null,
      reason: `The lock \`${path}\` names no owner, so nobody can tell whether one lives. If no coordinator of this run is alive, remove it and run the command again.`,
    },
  });
  expect(lockOwner(runDir)).toBeNull();
});

test.each([
  ["a folder", (path: string) => mkdirSync(path)],
  ["a link", (path: string) => symlinkSync("/etc/hostname", path)],
])("%s in the lock's place is refused by name", (_name, make) => {
  const runDir = tempDir();
  make(join(runDir, "lock"));
  expect(acquire(runDir)).toMatchObject({ ok: false, error: { code: "io", owner: null } });
});

test("a claimant that died while it took over is succeeded too", async () => {
  const runDir = tempDir();
  const dead = await deadProcess();
  const first = JSON.stringify({ ...dead, token: "first" });
  const second = JSON.stringify({ ...dead, token: "second" });
  plant(runDir, first);
  writeFileSync(join(runDir, `lock.next-${sha256(first).slice(0, 24)}`), second);
  mine(runDir);
  expect(lockOwner(runDir)).toEqual(me);
  expect(readdirSync(runDir)).toEqual(["lock"]);
});

test("a claimant that lives is the owner to be named", async () => {
  const runDir = tempDir();
  const first = JSON.stringify(await deadProcess());
  plant(runDir, first);
  writeFileSync(join(runDir, `lock.next-${sha256(first).slice(0, 24)}`), JSON.stringify(me));
  expect(acquire(runDir)).toMatchObject({ ok: false, error: { code: "held", owner: me } });
  expect(readFileSync(join(runDir, "lock"), "utf8")).toBe(first);
});

test("whoever judged a lock that was succeeded meanwhile backs off", async () => {
  const runDir = tempDir();
  const dead = JSON.stringify(await deadProcess());
  plant(runDir, dead);
  let late = true;
  const disk: Disk = {
    ...systemDisk,
    link(from, to) {
      // Between our look at the dead lock and our claim, another one moves up.
      if (late && to.includes("lock.next-")) {
        late = false;
        rmSync(join(runDir, "lock"));
        writeFileSync(join(runDir, "lock"), JSON.stringify(me));
      }
      systemDisk.link(from, to);
    },
  };
  expect(acquire(runDir, { disk })).toMatchObject({ ok: false, error: { code: "held", owner: me } });
  expect(readdirSync(runDir)).toEqual(["lock"]);
  expect(readFileSync(join(runDir, "lock"), "utf8")).toBe(JSON.stringify(me));
});

test("what dead contenders left is swept, also without a content; what may be a live one's is not", async () => {
  const runDir = tempDir();
  const dead = await deadProcess();
  const digest = (text: string | null): string => sha256(text ?? "").slice(0, 8);
  const leave = (o: Partial<ProcessIdentity>, serial: number, content = ""): string => {
    const who = { ...me, ...o };
    const mark = [digest(who.host), digest(who.bootId), who.pid, who.startTime ?? "unknown"].join("-");
    const name = `lock.${mark}.${String(serial).padStart(16, "0")}.tmp`;
    writeFileSync(join(runDir, name), content);
    return name;
  };
  leave(dead, 1, JSON.stringify(dead));
  leave({ pid: dead.pid }, 2);
  leave({ startTime: "1" }, 3);
  leave({ bootId: "00000000-0000-0000-0000-000000000000" }, 4);
  leave({ startTime: "1" }, 5, '{"pid":');
  const kept = [
    leave({}, 6),
    leave({}, 7, JSON.stringify(me)),
    leave({ host: "elsewhere", pid: dead.pid }, 8),
  ];
  mine(runDir);
  expect(readdirSync(runDir).sort()).toEqual(["lock", ...kept].sort());
});

test("a file system without links locks by exclusive creation", async () => {
  const runDir = tempDir();
  const disk: Disk = {
    ...systemDisk,
    link() {
      throw Object.assign(new Error("EPERM"), { code: "EPERM" });
    },
  };
  const lock = mine(runDir, { disk });
  expect(lock.verify()).toBe(true);
  expect(acquire(runDir, { disk })).toMatchObject({ ok: false, error: { code: "held", owner: me } });
  lock.release();
  plant(runDir, JSON.stringify(await deadProcess()));
  mine(runDir, { disk });
  expect(lockOwner(runDir)).toEqual(me);
  expect(readdirSync(runDir)).toEqual(["lock"]);
});

test("a folder that takes no lock is a fault with path and errno", () => {
  const runDir = join(tempDir(), "gone");
  const result = acquire(runDir);
  expect(result).toMatchObject({ ok: false, error: { code: "io", owner: null } });
  expect(!result.ok && result.error.reason).toMatch(/^Cannot write `.*\/gone\/lock\..*\.tmp`: ENOENT\.$/);
});

test("a lock that was only touched is still ours; one that was replaced, emptied or removed is not", () => {
  const runDir = tempDir();
  const path = join(runDir, "lock");
  for (const [change, ours] of [
    [() => utimesSync(path, 1, 1), true],
    [() => plant(runDir, readFileSync(path, "utf8")), true],
    [() => plant(runDir, JSON.stringify(me)), false],
    [() => plant(runDir, ""), false],
    [() => rmSync(path), false],
  ] as const) {
    rmSync(path, { force: true });
    const lock = mine(runDir);
    change();
    expect(lock.verify()).toBe(ours);
    lock.release();
  }
});

test(
  "of many processes that race for free and for dead locks, never two are inside",
  async () => {
    const runDir = tempDir();
    const rounds = soak ? 2_000 : 60;
    const outs = await Promise.all(
      Array.from({ length: 4 }, () => runFixture("contend.ts", [runDir, String(rounds)])),
    );
    expect(outs.map((out) => JSON.parse(out).entered)).toEqual([rounds, rounds, rounds, rounds]);
    expect(readdirSync(runDir).filter((name) => name !== "lock")).toEqual([]);
  },
  soak ? 3_600_000 : PROCESSES_MS,
);

test(
  "a killed owner is succeeded under a new epoch; a stopped one is not",
  async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const owner = forkFixture("owner.ts", [runDir]);
    expect(await nextMessage(owner)).toEqual({ epoch: 1 });
    owner.send("before");
    expect(await nextMessage(owner)).toEqual({ durable: "before" });
    owner.kill("SIGSTOP");
    expect(acquire(runDir)).toMatchObject({ ok: false, error: { code: "held", owner: { pid: owner.pid } } });
    owner.kill("SIGCONT");
    owner.send("after");
    expect(await nextMessage(owner)).toEqual({ durable: "after" });
    owner.kill("SIGKILL");
    await once(owner, "exit");
    const opened = await openStore({ runDir, lock: mine(runDir), clock: systemClock });
    expect(opened.ok && opened.value.state).toMatchObject({ epoch: 2, notes: ["before", "after"] });
  },
  PROCESSES_MS,
);

test(
  "an owner whose lock was taken while it was stopped writes nothing when it goes on",
  async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const owner = forkFixture("owner.ts", [runDir]);
    expect(await nextMessage(owner)).toEqual({ epoch: 1 });
    owner.kill("SIGSTOP");
    rmSync(join(runDir, "lock"));
    const opened = await openStore({ runDir, lock: mine(runDir), clock: systemClock });
    if (!opened.ok) throw new Error(opened.error.message);
    await opened.value.commit([{ type: "run", patch: {}, note: "mine" }]);
    const before = readFileSync(join(runDir, "state.json"));
    owner.send("late");
    owner.kill("SIGCONT");
    expect(await nextMessage(owner)).toEqual({
      failed: `This coordinator no longer holds the lock of \`${runDir}\`, so it wrote nothing and stops.`,
    });
    expect(readFileSync(join(runDir, "state.json")).equals(before)).toBe(true);
    await opened.value.commit([{ type: "run", patch: {}, note: "still mine" }]);
    expect(readRun(runDir)).toMatchObject({
      ok: true,
      value: { state: { epoch: 2, notes: ["mine", "still mine"] } },
    });
  },
  PROCESSES_MS,
);

test(
  "of two coordinators that start at once, one gets the run and the other is told who",
  async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const both = [forkFixture("owner.ts", [runDir]), forkFixture("owner.ts", [runDir])];
    const said = (await Promise.all(both.map(nextMessage))) as { epoch?: number; refused?: string }[];
    const winner = both[said.findIndex((message) => message.epoch === 1)];
    expect(said).toContainEqual({ epoch: 1 });
    expect(said).toContainEqual({
      refused: `The run is coordinated by process ${winner?.pid} on \`${me.host}\`.`,
    });
  },
  PROCESSES_MS,
);
