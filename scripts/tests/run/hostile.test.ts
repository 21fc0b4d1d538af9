import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SuperviseOptions } from "../../src/run/supervise.ts";
import { freshFolder, lineGate, misbehave, type Started, start, survivors, textOf } from "./support.ts";

const folder = freshFolder();

/** Starts a mode that says `ready`, and waits for that. */
async function ready(mode: string, arg = "", options: Partial<SuperviseOptions> = {}): Promise<Started> {
  const { onLine, seen } = lineGate((line) => line === "ready");
  const started = start(folder, { argv: misbehave(mode, arg), onLine, ...options });
  await seen;
  return started;
}

async function ended(started: Started): Promise<Awaited<Started["done"]>> {
  const result = await started.done;
  expect(await survivors(started.marker)).toEqual([]);
  return result;
}

describe("a child that does not want to go", () => {
  it("ignore-term: is killed after the grace", async () => {
    const started = await ready("ignore-term", "", { graceMs: 300 });
    started.cancel("graceful");
    expect(await ended(started)).toMatchObject({
      signal: "SIGKILL",
      endedBy: "cancel",
      treeGone: true,
      flags: ["killed-after-grace"],
    });
  });

  it("ignore-tree: is killed with all its descendants", async () => {
    const started = await ready("ignore-tree", "", { graceMs: 300 });
    started.cancel("graceful");
    expect(await ended(started)).toMatchObject({ treeGone: true, flags: ["killed-after-grace"] });
  });

  it("polite-tree: needs no SIGKILL, and its exit is not the end of the wait", async () => {
    const started = await ready("polite-tree");
    started.cancel("graceful");
    expect(await ended(started)).toMatchObject({ signal: "SIGTERM", treeGone: true, flags: [] });
  });

  it("stop-self: is continued so that it can take its SIGTERM", async () => {
    const started = await ready("stop-self");
    started.cancel("graceful");
    const result = await ended(started);
    expect(result).toMatchObject({ endedBy: "cancel", treeGone: true, flags: [] });
  });

  it("unmarked-child: children without marker, group or session are found through their parent", async () => {
    let deaf = 0;
    const { onLine, seen } = lineGate((line) => line === "deaf" && ++deaf === 2);
    const started = start(folder, { argv: misbehave("unmarked-child"), onLine, graceMs: 200 });
    await seen;
    started.cancel("graceful");
    expect(await ended(started)).toMatchObject({ treeGone: true, flags: ["killed-after-grace"] });
  });

  it("fork-bomb: all of its children go", async () => {
    const started = await ready("fork-bomb", "50");
    started.cancel("hard");
    expect(await ended(started)).toMatchObject({ signal: "SIGKILL", treeGone: true });
  });

  it("relay: a tree that never stands still is stopped first and then killed", async () => {
    const started = await ready("relay");
    started.cancel("hard");
    expect(await ended(started)).toMatchObject({ signal: "SIGKILL", treeGone: true });
  });
});

describe("a child that leaves something behind", () => {
  it("keep-pipe: ends with its exit; what holds the pipe is ended and noted", async () => {
    const result = await ended(start(folder, { argv: misbehave("keep-pipe") }));
    expect(result).toMatchObject({ exitCode: 0, endedBy: "self", treeGone: true });
    expect(result.flags).toEqual(["leaky", "group-survivors"]);
    expect(result.stdout.tail).toBe("result\n");
    expect(result.wallMs).toBeLessThan(30_000);
  });

  it("daemon: is found although it left group, session and pipe", async () => {
    const result = await ended(start(folder, { argv: misbehave("daemon") }));
    expect(result).toMatchObject({ exitCode: 0, treeGone: true, flags: ["leaky"] });
  });

  it("daemon-pipe: is found too", async () => {
    const result = await ended(start(folder, { argv: misbehave("daemon-pipe") }));
    expect(result).toMatchObject({ exitCode: 0, treeGone: true, flags: ["leaky"] });
    expect(result.stdout.tail).toBe("result\n");
  });

  it("daemon-deaf: is killed after a short grace", async () => {
    const result = await ended(start(folder, { argv: misbehave("daemon-deaf"), graceMs: 200 }));
    expect(result).toMatchObject({ exitCode: 0, treeGone: true, flags: ["leaky"] });
  });
});

describe("a child that writes too much", () => {
  it("flood: is counted to the byte, its head and tail kept", async () => {
    const started = start(folder, { argv: misbehave("flood", "64000000"), maxOutputBytes: 65_536 });
    const result = await ended(started);
    expect(result).toMatchObject({ exitCode: 0, flags: ["truncated"] });
    expect(result.stdout).toMatchObject({ bytes: 64_000_000, keptBytes: 65_536, droppedBytes: 63_934_464 });
    expect(textOf(started.stdoutPath)).toContain("\n[… 63934464 bytes dropped …]\n");
  });

  it("flood-err: is the same on the other stream", async () => {
    const result = await ended(start(folder, { argv: misbehave("flood-err", "16000000") }));
    expect(result.stderr).toMatchObject({ bytes: 16_000_000, keptBytes: 1_048_576 });
    expect(result.stdout.bytes).toBe(0);
  });

  it("long-line: 50 MB without a line end are no line", async () => {
    const lines: string[] = [];
    const result = await ended(
      start(folder, { argv: misbehave("long-line", "50000000"), onLine: (line) => lines.push(line) }),
    );
    expect(result.stdout).toMatchObject({ bytes: 50_000_000, keptBytes: 1_048_576, droppedLines: 1 });
    expect(lines).toEqual([]);
  });
});

describe("a child that writes strangely", () => {
  it("bad-utf8: what is no UTF-8 is replaced and counted", async () => {
    const started = start(folder, { argv: misbehave("bad-utf8") });
    expect((await ended(started)).stdout.invalidBytes).toBe(7);
    expect(textOf(started.stdoutPath)).toBe("\ufffd\ufffd\ufffd\ufffd bad \ufffd\ufffd\ufffd utf8\n");
  });

  it("split-utf8: a character in two writes is one character", async () => {
    const own = freshFolder();
    const started = start(own, {
      argv: misbehave("split-utf8"),
      onActivity: () => writeFileSync(join(own, "go"), ""),
    });
    expect((await ended(started)).stdout.invalidBytes).toBe(0);
    expect(textOf(started.stdoutPath)).toBe("€ euro\n");
  });

  it("nul: stays", async () => {
    const started = start(folder, { argv: misbehave("nul") });
    await ended(started);
    expect(textOf(started.stdoutPath)).toBe("a\u0000b\u0000c\n");
  });

  it("no-newline: a last line without an end is a line", async () => {
    const lines: string[] = [];
    await ended(start(folder, { argv: misbehave("no-newline"), onLine: (line) => lines.push(line) }));
    expect(lines).toEqual(["no newline at the end"]);
  });

  it("ansi: stays in the file", async () => {
    const started = start(folder, { argv: misbehave("ansi") });
    await ended(started);
    expect(textOf(started.stdoutPath)).toBe(
      "\u001b]0;title\u0007\u001b[2J\u001b[1;31mred\u001b[0m \r over\n",
    );
  });
});

describe("a child that treats its surroundings badly", () => {
  it("close-stdout: its exit code is kept", async () => {
    expect(await ended(start(folder, { argv: misbehave("close-stdout") }))).toMatchObject({
      exitCode: 5,
      endedBy: "self",
      treeGone: true,
    });
  });

  it("rm-cwd: is supervised to its end", async () => {
    const own = join(folder, "removed");
    mkdirSync(own);
    const result = await ended(start(folder, { argv: misbehave("rm-cwd"), cwd: own }));
    expect(result).toMatchObject({ exitCode: 0, treeGone: true });
    expect(existsSync(own)).toBe(false);
    expect(result.stdout.tail).toBe("removed\n");
  });
});
