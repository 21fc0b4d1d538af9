/** Disks that fill up and run folders that change under a run: never exit 0, always the path and the reason, resumable after. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../src/core/exit-codes.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";
import { type Life, violations } from "./harness/invariants.ts";
import { createLane, type Lane, UNTIL_OPEN } from "./harness/lane.ts";
import { historyOf, liveOnce } from "./harness/point.ts";
import { WAITING } from "./harness/scenes.ts";
import { treeDigest } from "./harness/tree.ts";
import { until } from "./harness/until.ts";

const LONG = { timeout: 300_000 };

let built: BuiltPayload;
let lane: Lane;

beforeAll(async () => {
  built = await builtPayload();
  lane = await createLane({
    main: built.main,
    jobs: [
      { id: "first", after: [], seconds: 0, script: UNTIL_OPEN },
      { id: "second", after: ["first"], seconds: 0 },
    ],
  });
});

afterAll(() => {
  lane.remove();
  built.remove();
});

beforeEach(() => lane.reset());

const NO_TRACE = /^ {4}at |internal error/m;

async function resumesCleanly(first: Life): Promise<void> {
  lane.open();
  const second = await liveOnce(lane, lane.coordinate({ resume: true }));
  expect(violations(historyOf({ lane, finished: WAITING }, [first, second]))).toEqual([]);
}

/** Where we may mount, a file system of one MiB over the run folder; elsewhere null, and the shim has to do. */
function smallDisk(): { fill(): void; free(): void; readOnly(): void; unmount(): void } | null {
  const filler = join(lane.runDir, "filler");
  const copy = join(lane.top, "copy");
  const mount = (...words: string[]): void => void execFileSync("mount", words, { stdio: "pipe" });
  rmSync(copy, { recursive: true, force: true });
  cpSync(lane.runDir, copy, { recursive: true });
  try {
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", lane.runDir);
  } catch {
    return null;
  }
  cpSync(copy, lane.runDir, { recursive: true });
  return {
    fill() {
      const fd = openSync(filler, "w");
      try {
        for (;;) writeSync(fd, Buffer.alloc(4096));
      } catch {
        closeSync(fd);
      }
    },
    free: () => rmSync(filler),
    readOnly: () => mount("-o", "remount,ro", lane.runDir),
    unmount: () => void execFileSync("umount", ["-l", lane.runDir]),
  };
}

describe("a disk without room", () => {
  it(
    "in the middle of a run: exit 4 with path and ENOSPC, and the client says so too; resumed when there is room",
    LONG,
    async () => {
      const disk = smallDisk();
      try {
        const fault = { mode: "enospc", at: 40, sticky: true } as const;
        const coordinator = lane.coordinate(disk === null ? { fault } : {});
        await lane.said("S", "first");
        disk?.fill();
        lane.open();
        const life = await liveOnce(lane, coordinator);
        expect(life.exit.code).toBe(EXIT.environment);
        expect(life.exit.stderr).toContain("ENOSPC");
        expect(life.exit.stderr).toContain(`${lane.runDir}/`);
        expect(life.exit.stderr).not.toMatch(NO_TRACE);
        expect(lane.survivors()).toEqual([]);
        if (disk !== null) {
          const client = await lane.client("resume", lane.runDir).ended;
          expect(client.code).toBe(EXIT.environment);
          expect(client.stderr).toContain("ENOSPC");
          expect(client.stderr).not.toMatch(NO_TRACE);
          disk.free();
        }
        await resumesCleanly(life);
      } finally {
        disk?.unmount();
      }
    },
  );

  it(
    "or one that is read-only: refused by name, and resumed when it can be written again",
    LONG,
    async () => {
      const disk = smallDisk();
      try {
        disk?.readOnly();
        const fault = { mode: "eacces", at: 1, sticky: true } as const;
        const life = await liveOnce(lane, lane.coordinate(disk === null ? { fault } : {}));
        expect(life.exit.code).toBe(EXIT.environment);
        expect(life.exit.stderr).toMatch(/^Cannot write `\/.*`: E(?:ROFS|ACCES)\.$/m);
        expect(life.exit.stderr).not.toMatch(NO_TRACE);
        if (disk !== null) {
          const client = await lane.client("resume", lane.runDir).ended;
          expect(client.code).toBe(EXIT.environment);
          expect(client.stderr).toContain("EROFS");
          expect(client.stderr).not.toMatch(NO_TRACE);
        }
      } finally {
        disk?.unmount();
      }
      lane.open();
      const life = await liveOnce(lane, lane.coordinate());
      expect(violations(historyOf({ lane, finished: WAITING }, [life]))).toEqual([]);
    },
  );
});

describe("a run folder that changes under the run", () => {
  it(
    "removed in mid-run: the coordinator ends its jobs, names the path and makes no new folder",
    LONG,
    async () => {
      const coordinator = lane.coordinate();
      await lane.said("S", "first");
      await onRecord();
      rmSync(lane.runDir, { recursive: true });
      lane.open();
      const exit = await coordinator.ended;
      expect(exit.code).toBe(EXIT.environment);
      expect(exit.stderr).toContain(lane.runDir);
      expect(exit.stderr).not.toMatch(NO_TRACE);
      expect(existsSync(lane.runDir)).toBe(false);
      expect(lane.survivors()).toEqual([]);
    },
  );

  it.each(["a folder", "a link", "a FIFO"])(
    "state.json as %s: refused by name, nothing written",
    LONG,
    async (what) => {
      const state = join(lane.runDir, "state.json");
      const aside = join(lane.top, "aside");
      renameSync(state, aside);
      if (what === "a folder") mkdirSync(state);
      else if (what === "a link") symlinkSync(aside, state);
      else execFileSync("mkfifo", [state]);
      const before = treeDigest(lane.runDir);
      const { exit } = await liveOnce(lane, lane.coordinate({ resume: true }));
      const client = await lane.client("resume", lane.runDir).ended;
      for (const end of [exit, client]) {
        expect(end.code).toBe(EXIT.environment);
        expect(end.stderr).toContain(`\`${state}\` is not a regular file`);
        expect(end.stderr).not.toMatch(NO_TRACE);
      }
      expect(treeDigest(lane.runDir)).toEqual(before);
      rmSync(state, { recursive: true });
      renameSync(aside, state);
      lane.open();
      const life = await liveOnce(lane, lane.coordinate({ resume: true }));
      expect(violations(historyOf({ lane, finished: WAITING }, [life]))).toEqual([]);
    },
  );

  it(
    "state.json becomes a folder in mid-run: the coordinator stops by name; put back, the run goes on",
    LONG,
    async () => {
      const state = join(lane.runDir, "state.json");
      const aside = join(lane.top, "aside");
      const coordinator = lane.coordinate();
      await lane.said("S", "first");
      await onRecord();
      renameSync(state, aside);
      mkdirSync(join(state, "inside"), { recursive: true });
      lane.open();
      const exit = await coordinator.ended;
      expect(exit.code).toBe(EXIT.environment);
      expect(exit.stderr).toContain(`\`${state}\` is not a regular file`);
      expect(exit.stderr).not.toMatch(NO_TRACE);
      expect(lane.survivors()).toEqual([]);
      rmSync(state, { recursive: true });
      renameSync(aside, state);
      const read = lane.read();
      await resumesCleanly({
        pid: coordinator.pid,
        exit,
        state: read.ok ? read.value.state : read.error.message,
      });
    },
  );
});

describe("what comes after the state", () => {
  it(
    "a report that cannot be written: exit 4 although all is recorded, from the client too; the next resume writes it",
    LONG,
    async () => {
      const report = join(lane.runDir, "report.md");
      mkdirSync(join(report, "in the way"), { recursive: true });
      lane.open();
      const life = await liveOnce(lane, lane.coordinate());
      expect(life.exit.code).toBe(EXIT.environment);
      expect(life.exit.stderr).toContain(report);
      expect(typeof life.state === "string" ? life.state : life.state.status).toBe("waiting");
      const client = await lane.client("resume", lane.runDir).ended;
      expect(client.code).toBe(EXIT.environment);
      expect(client.stderr).toContain("coordinator-stopped");
      expect(client.stderr).toContain(report);
      rmSync(report, { recursive: true });
      await resumesCleanly(life);
      expect(readFileSync(report, "utf8")).toContain("waiting");
    },
  );

  it(
    "metrics that cannot be written: the run goes on, and the report says that its evidence is incomplete",
    LONG,
    async () => {
      lane.open();
      const fault = { mode: "eio", at: 1, only: "rename:/metrics.jsonl" } as const;
      const life = await liveOnce(lane, lane.coordinate({ fault }));
      expect(violations(historyOf({ lane, finished: WAITING }, [life]))).toEqual([]);
      expect(readFileSync(join(lane.runDir, "report.md"), "utf8")).toContain(
        "metrics.jsonl could not be written (EIO), so the evidence of this run is incomplete.",
      );
    },
  );
});

/** The first job's process is in the state: what comes next of the coordinator is what the job causes. */
const onRecord = (): Promise<unknown> =>
  until("the process is on record", () => {
    const read = lane.read();
    return read.ok && read.value.state.jobs["first"]?.attemptRecords[0]?.pid;
  });
