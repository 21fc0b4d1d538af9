import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Result } from "../../src/core/result.ts";
import type { StateFault } from "../../src/state/fault.ts";
import type { State } from "../../src/state/records.ts";
import { type Recovered, recover } from "../../src/state/recover.ts";
import { createRun, openStore, readRun, type Store } from "../../src/state/store.ts";
import type { WriterPorts } from "../../src/state/writer.ts";
import { seeded } from "./simulation/random.ts";
import { blankState, fixedClock, lifeOf, openLock } from "./support.ts";
import { tempDir } from "./temp-dir.ts";

const soak = process.env["ORCHESTRATE_SOAK"] === "1";
/** Seconds on an idle machine; minutes on a crowded one. */
const SWEEP_MS = 600_000;

async function open(runDir: string, ports: Partial<WriterPorts> = {}): Promise<Store> {
  const opened = await openStore({ runDir, lock: openLock(), clock: fixedClock, ports });
  if (!opened.ok) throw new Error(opened.error.message);
  return opened.value;
}

/** A finished run of 20 jobs whose last third is still in the journal, and what its state was at each seq. */
interface Finished {
  readonly state: Buffer;
  readonly journal: Buffer;
  readonly history: ReadonlyMap<number, string>;
  /** Length of the journal after each line. */
  readonly ends: readonly number[];
  readonly last: number;
  readonly first: number;
}

let run: Finished;

beforeAll(async () => {
  const runDir = tempDirOfSuite();
  const ids = Array.from({ length: 20 }, (_, i) => `job-${i}`);
  createRun({ runDir, initial: blankState(ids) });
  const store = await open(runDir, { inlineBytes: 0, journalFloorBytes: 1e9 });
  const history = new Map<number, string>();
  for (const [i, id] of ids.entries()) {
    if (i === 14) await store.snapshot();
    for (const step of lifeOf(id)) {
      await store.commit(step);
      history.set(store.state.seq, JSON.stringify(store.state));
    }
  }
  const state = readFileSync(join(runDir, "state.json"));
  const journal = readFileSync(join(runDir, "journal.jsonl"));
  const ends = [...journal.entries()].flatMap(([i, byte]) => (byte === 10 ? [i + 1] : []));
  run = { state, journal, history, ends, last: store.state.seq, first: store.state.seq - ends.length };
  rmSync(runDir, { recursive: true });
});

function tempDirOfSuite(): string {
  return execFileSync("mktemp", ["-d"], { encoding: "utf8" }).trim();
}

const read = (state: Buffer | null, journal: Buffer | null): Result<Recovered, StateFault> =>
  recover({ runDir: "/run", state, journal });

/** The answer is a state of the past, whole, or a fault that says what to do. */
function checkAnswer(answer: Result<Recovered, StateFault>): State | null {
  if (answer.ok) {
    expect(JSON.stringify(answer.value.state)).toBe(run.history.get(answer.value.state.seq));
    return answer.value.state;
  }
  expect(answer.error.message).toMatch(/^`.*\.$/);
  expect(answer.error.hint).not.toBe("");
  return null;
}

test(
  "journal.jsonl cut at any byte gives the state of its last whole line and asks to cut the rest",
  () => {
    for (let cut = 0; cut <= run.journal.length; cut++) {
      const answer = read(run.state, run.journal.subarray(0, cut));
      const state = checkAnswer(answer);
      // A line that only lacks its line end has its checksum and counts.
      const whole = run.ends.filter((end) => end - 1 <= cut).length;
      expect(state?.seq).toBe(run.first + whole);
      const clean = cut === 0 || run.ends.includes(cut);
      expect(answer.ok && answer.value.repairs.length).toBe(clean ? 0 : 1);
    }
  },
  SWEEP_MS,
);

test(
  "state.json cut at any byte is refused by name",
  () => {
    for (let cut = 0; cut < run.state.length - 1; cut++) {
      const answer = read(run.state.subarray(0, cut), run.journal);
      expect(answer.ok || answer.error.code).toBe("state-damaged");
    }
    expect(checkAnswer(read(run.state.subarray(0, -1), run.journal))?.seq).toBe(run.last);
  },
  SWEEP_MS,
);

test(
  "one flipped bit anywhere gives the whole state or a refusal, never a lost job",
  () => {
    for (const file of ["state", "journal"] as const)
      for (let i = 0; i < run[file].length; i += 7) {
        const damaged = Buffer.from(run[file]);
        damaged[i] = (damaged[i] as number) ^ (1 << ((i / 7) % 8));
        const answer = file === "state" ? read(damaged, run.journal) : read(run.state, damaged);
        const state = checkAnswer(answer);
        if (state !== null) expect(state.seq, `byte ${i} of ${file}`).toBe(run.last);
      }
  },
  SWEEP_MS,
);

test(
  "random damage gives a state of the past or a refusal",
  () => {
    const random = seeded(7);
    const lines = run.ends.map((end, i) => run.journal.subarray(run.ends[i - 1] ?? 0, end));
    for (let n = 0; n < (soak ? 100_000 : 2_000); n++) {
      const pieces = [...lines];
      for (let edits = 1 + random.int(4); edits > 0; edits--) {
        const at = random.int(pieces.length);
        const piece = pieces[at] as Buffer;
        const other = pieces[random.int(pieces.length)] as Buffer;
        const cut = random.int(piece.length);
        pieces.splice(
          at,
          random.int(2),
          random.pick([
            other,
            piece.subarray(0, cut),
            piece.subarray(cut),
            Buffer.alloc(cut),
            Buffer.from("{}\n"),
          ]),
        );
      }
      checkAnswer(read(run.state, Buffer.concat(pieces)));
    }
  },
  SWEEP_MS,
);

describe("what a journal may hold besides its lines", () => {
  const text = () => run.journal.toString();
  test.each([
    [
      "lines that are there twice",
      () =>
        text()
          .replace(/^(.*)$/gm, "$1\n$1")
          .replace(/\n\n$/, "\n"),
      0,
    ],
    ["Windows line ends", () => text().replaceAll("\n", "\r\n"), 0],
    ["empty lines", () => text().replaceAll("\n", "\n\n"), 1],
    ["foreign lines", () => `hello\n${text()}{"seq":1}\nbye`, 1],
    ["a hole of zeros behind it", () => `${text()}${"\0".repeat(4096)}`, 1],
    ["a torn last line", () => `${text()}{"seq":999,"epoch":1,"ts":"2026`, 1],
  ] as const)("%s cost nothing", (_name, make, repairs) => {
    const answer = read(run.state, Buffer.from(make()));
    expect(checkAnswer(answer)?.seq).toBe(run.last);
    expect(answer.ok && answer.value.repairs.length).toBe(repairs);
  });

  test("lines of a fenced coordinator are left out, wherever they landed", async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a", "b"]) });
    const ports = { inlineBytes: 0, journalFloorBytes: 1e9 };
    const old = await open(runDir, ports);
    await old.commit([{ type: "run", patch: {}, note: "by the old one" }]);
    const before = readFileSync(join(runDir, "journal.jsonl"), "utf8");
    await old.commit([{ type: "run", patch: {}, note: "fenced 1" }]);
    await old.commit([{ type: "run", patch: {}, note: "fenced 2" }]);
    const fenced = readFileSync(join(runDir, "journal.jsonl"), "utf8")
      .slice(before.length)
      .trim()
      .split("\n");
    writeFileSync(join(runDir, "journal.jsonl"), before);
    const next = await open(runDir, ports);
    await next.commit([{ type: "run", patch: {}, note: "by the new one" }]);
    const after = readFileSync(join(runDir, "journal.jsonl"), "utf8").slice(before.length).trim().split("\n");
    const state = readFileSync(join(runDir, "state.json"));
    for (const lines of [
      [...fenced, ...after],
      [...after, ...fenced],
      [fenced[0], ...after, fenced[1]],
      [after[0], ...fenced, after[1]],
    ]) {
      const answer = recover({ runDir, state, journal: Buffer.from(`${before}${lines.join("\n")}\n`) });
      if (!answer.ok) throw new Error(answer.error.message);
      expect(answer.value.state).toEqual(next.state);
      expect(answer.value.repairs).toEqual([
        "journal.jsonl held 2 lines of a coordinator that had lost its lock; they are removed",
      ]);
    }
  });

  test("a damaged line before good ones is a refusal whose command cuts it off too", () => {
    const bytes = Buffer.from(text());
    const place = (run.ends[1] as number) + 20;
    bytes[place] = (bytes[place] as number) ^ 1;
    const answer = read(run.state, bytes);
    expect(!answer.ok && answer.error.message).toContain(`is damaged at byte ${run.ends[1]}: record `);
    expect(!answer.ok && answer.error.hint).toContain(`fs.truncateSync(process.argv[1], ${run.ends[1]})`);
    expect(read(run.state, bytes.subarray(0, run.ends[1])).ok).toBe(true);
  });

  test("a missing line is a refusal with the command that goes on without what follows", () => {
    const lines = text().split("\n");
    lines.splice(2, 1);
    const answer = read(run.state, Buffer.from(lines.join("\n")));
    const offset = run.ends[1];
    const seq = run.first + 2;
    expect(answer).toEqual({
      ok: false,
      error: {
        code: "journal-damaged",
        message: `\`/run/journal.jsonl\` is damaged at byte ${offset}: record ${seq + 1} is missing before record ${seq + 2}. What was recorded after record ${seq} would be lost, so nothing was changed.`,
        hint: `To go on from record ${seq}, where later work may run again: \`node -e 'fs.truncateSync(process.argv[1], ${offset})' /run/journal.jsonl && {orchestrate} resume /run\`.`,
        path: "/run/journal.jsonl",
        errno: null,
      },
    });
  });
});

describe("what stands in the place of state.json", () => {
  const place = (what: (path: string) => void): Result<unknown, StateFault> => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    rmSync(join(runDir, "state.json"));
    what(join(runDir, "state.json"));
    const answer = readRun(runDir);
    if (answer.ok) return answer;
    const clean = (value: string): string => value.replaceAll(runDir, "/run");
    const { error } = answer;
    return {
      ok: false,
      error: { ...error, message: clean(error.message), hint: clean(error.hint), path: clean(error.path) },
    };
  };
  const startAgain =
    "Start again from the frozen spec: `{orchestrate} run /run/jobs.yaml`; captures, worktrees and branches of this run stay where they are.";
  const notAFile =
    "`/run/state.json` is not a regular file; a folder, a link or a device is never read or written in its place.";
  const state = (change: object): string => JSON.stringify({ ...blankState(["a"]), ...change });

  test.each([
    [
      "nothing",
      () => {},
      "no-run",
      "`/run` holds no run: there is no state.json.",
      "Name a run directory, or start a run with `run SPEC`.",
    ],
    [
      "an empty file",
      (p) => writeFileSync(p, ""),
      "state-damaged",
      "`/run/state.json` is damaged: it is empty. It was left as it is.",
      startAgain,
    ],
    [
      "a folder",
      (p) => mkdirSync(p),
      "not-a-file",
      notAFile,
      "Move it away and put the file back, or name another run directory.",
    ],
    [
      "a link",
      (p) => symlinkSync("/etc/hostname", p),
      "not-a-file",
      notAFile,
      "Move it away and put the file back, or name another run directory.",
    ],
    [
      "a FIFO",
      (p) => execFileSync("mkfifo", [p]),
      "not-a-file",
      notAFile,
      "Move it away and put the file back, or name another run directory.",
    ],
    [
      "a list",
      (p) => writeFileSync(p, "[]"),
      "state-foreign",
      "`/run/state.json` is not a state file of Orchestrate: it is not a JSON object. It was left as it is.",
      "Name another run directory, or start a run with `run SPEC`.",
    ],
    [
      "a state of another tool",
      (p) => writeFileSync(p, '{"jobs":{}}'),
      "state-foreign",
      "`/run/state.json` is not a state file of Orchestrate: it has no `schemaVersion`. It was left as it is.",
      "Name another run directory, or start a run with `run SPEC`.",
    ],
    [
      "a state of a newer version",
      (p) => writeFileSync(p, state({ schemaVersion: 2 })),
      "state-newer",
      "`/run/state.json` was written by a newer version: its version is 2 and this tool reads up to 1.",
      "Update Orchestrate, then run the command again.",
    ],
    [
      "a state of a version that never was",
      (p) => writeFileSync(p, state({ schemaVersion: 0 })),
      "state-foreign",
      "`/run/state.json` is not a state file of Orchestrate: version 0 never existed. It was left as it is.",
      "Name another run directory, or start a run with `run SPEC`.",
    ],
    [
      "a state without jobs",
      (p) => writeFileSync(p, state({ jobs: null })),
      "state-foreign",
      "`/run/state.json` is not a state file of Orchestrate: `jobs` is no object. It was left as it is.",
      "Name another run directory, or start a run with `run SPEC`.",
    ],
    [
      "a state that was changed under its checksum",
      (p) => writeFileSync(p, state({ crc: "00000000" })),
      "state-damaged",
      "`/run/state.json` is damaged: its content does not match its checksum. It was left as it is.",
      `If you changed it and stand by its content, take its checksum out and resume: \`node -e 'const [f]=process.argv.slice(1),s=JSON.parse(fs.readFileSync(f));delete s.crc;fs.writeFileSync(f,JSON.stringify(s))' /run/state.json && {orchestrate} resume /run\`. Otherwise: ${startAgain}`,
    ],
  ] as [string, (path: string) => void, string, string, string][])(
    "%s is refused by name",
    (_name, what, code, message, hint) => {
      expect(place(what)).toEqual({
        ok: false,
        error: {
          code,
          message,
          hint,
          path: "/run/state.json",
          errno: code === "not-a-file" ? "ENOTREG" : null,
        },
      });
    },
  );

  test("zeros are refused", () => {
    expect(place((path) => writeFileSync(path, Buffer.alloc(5_000)))).toMatchObject({
      error: { code: "state-damaged" },
    });
  });

  test("a state without a checksum is taken as edited by hand, and says so", () => {
    expect(place((path) => writeFileSync(path, state({})))).toEqual({
      ok: true,
      value: expect.objectContaining({
        state: blankState(["a"]),
        repairs: ["state.json carried no checksum and was taken as edited by hand"],
      }),
    });
  });

  test("the command in the hint takes the checksum out", () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const path = join(runDir, "state.json");
    writeFileSync(path, readFileSync(path, "utf8").replace('"mock":false', '"mock":true'));
    const refused = readRun(runDir);
    const command = /`(node -e .*) && {orchestrate}/.exec(refused.ok ? "" : refused.error.hint)?.[1];
    execFileSync("sh", ["-c", command as string]);
    expect(readRun(runDir)).toMatchObject({ ok: true, value: { state: { mock: true } } });
  });

  test("changed line ends are put up with", () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a", "b"]) });
    const path = join(runDir, "state.json");
    writeFileSync(path, readFileSync(path, "utf8").replaceAll("\n", "\r\n"));
    expect(readRun(runDir)).toMatchObject({
      ok: true,
      value: { repairs: ["state.json had its line ends changed; they are put back"] },
    });
  });
});

test("records without a state.json are refused, not read as an empty run", () => {
  expect(read(null, run.journal)).toMatchObject({ ok: false, error: { code: "state-damaged" } });
});

test("a missing journal is refused when the state lives in it", () => {
  const large = blankState(Array.from({ length: 200 }, (_, i) => `job-${i}`));
  const path = "/run/journal.jsonl";
  expect(read(Buffer.from(JSON.stringify(large)), null)).toMatchObject({
    error: {
      code: "journal-missing",
      message: `\`${path}\` is missing, and with it every record since the last snapshot.`,
      hint: `Put it back, or go on from the snapshot: \`: > ${path} && {orchestrate} resume /run\`.`,
    },
  });
});

describe("a writer repairs what it finds", () => {
  test.each([
    [
      "a torn tail",
      (dir: string) => writeFileSync(join(dir, "journal.jsonl"), '{"seq":9,"epo', { flag: "a" }),
    ],
    ["garbage", (dir: string) => writeFileSync(join(dir, "journal.jsonl"), "hello\n", { flag: "a" })],
    ["a missing journal", (dir: string) => rmSync(join(dir, "journal.jsonl"))],
    ["a temporary file", (dir: string) => writeFileSync(join(dir, "state.json.4711.tmp"), "{")],
  ])("%s is gone at the next start, and noted once", async (name, damage) => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    const first = await open(runDir);
    for (const step of lifeOf("a")) await first.commit(step);
    const jobs = JSON.stringify(first.state.jobs);
    await first.close();
    damage(runDir);
    const second = await open(runDir);
    expect(second.state.notes).toHaveLength(name === "a temporary file" ? 0 : 1);
    await second.close();
    const third = await open(runDir);
    expect(third.state.notes).toEqual(second.state.notes);
    expect(JSON.stringify(third.state.jobs)).toBe(jobs);
    expect(third.state.epoch).toBe(3);
    await third.close();
    const found = readRun(runDir);
    expect(found.ok && found.value.repairs).toEqual([]);
    expect(readFileSync(join(runDir, "journal.jsonl"), "utf8")).toBe("");
    expect(execFileSync("ls", [runDir], { encoding: "utf8" })).toBe("journal.jsonl\nstate.json\n");
  });

  test("a refused run is left byte for byte as it was", async () => {
    const runDir = tempDir();
    createRun({ runDir, initial: blankState(["a"]) });
    writeFileSync(join(runDir, "state.json"), "{}");
    const opened = await openStore({ runDir, lock: openLock(), clock: fixedClock });
    expect(opened).toMatchObject({ ok: false, error: { code: "state-foreign" } });
    expect(readFileSync(join(runDir, "state.json"), "utf8")).toBe("{}");
  });

  test("a run folder that moved is found at its new place", async () => {
    const runDir = tempDir();
    createRun({ runDir: runDir, initial: blankState(["a"]) });
    renameSync(runDir, `${runDir}-moved`);
    expect(readRun(`${runDir}-moved`).ok).toBe(true);
    renameSync(`${runDir}-moved`, runDir);
  });
});
