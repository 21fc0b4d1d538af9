/** Waiting for something in a folder: when it is looked at, and when it is watched. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nextTurn } from "../../src/host/clock.ts";
import { waitInDir } from "../../src/host/watch.ts";
import { tempDir } from "../state/temp-dir.ts";

const watches = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;

const waiting = <T>(dir: string, look: () => T | null, firstMs = 0) =>
  waitInDir({ dir, look, timeoutMs: 60_000, everyMs: 60_000, restMs: 1, firstMs });

it("an answer that is there at once needs no watch and leaves none", async () => {
  const before = watches();
  expect(await waiting(tempDir(), () => "there")).toBe("there");
  await nextTurn();
  await nextTurn();
  expect(watches()).toBe(before);
});

it("the folder is not watched before the first look, and is after it found nothing", async () => {
  const before = watches();
  const dir = tempDir();
  const seen: number[] = [];
  const answer = waiting(
    dir,
    () => {
      seen.push(watches() - before);
      return seen.length === 2 ? "there" : null;
    },
    20,
  );
  expect(watches()).toBe(before);
  expect(await answer).toBe("there");
  // The second look is for what came before the watch was there.
  expect(seen).toEqual([0, 1]);
  // A closed watch is gone a turn later.
  await nextTurn();
  await nextTurn();
  expect(watches()).toBe(before);
});

it("a change is seen by the watch alone", async () => {
  const dir = tempDir();
  let looks = 0;
  let changed = false;
  const answer = waiting(dir, () => {
    looks += 1;
    if (looks === 2)
      setImmediate(() => {
        changed = true;
        writeFileSync(join(dir, "file"), "");
      });
    return changed ? "there" : null;
  });
  expect(await answer).toBe("there");
});
