import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRun, openStore, readRun } from "../../src/state/store.ts";
import { blankState, fixedClock, lifeOf, openLock, tempDir } from "./support.ts";

test("a commit is on disk when its promise resolves", async () => {
  const runDir = tempDir();
  createRun({ runDir, initial: blankState(["a", "b"]) });
  const opened = await openStore({ runDir, lock: openLock(), clock: fixedClock });
  if (!opened.ok) throw new Error(opened.error.message);
  const store = opened.value;
  for (const step of lifeOf("a")) {
    await store.commit(step);
    const read = readRun(runDir);
    expect(read).toEqual({ ok: true, value: expect.objectContaining({ state: store.state, repairs: [] }) });
  }
  expect(store.state.jobs["a"]).toMatchObject({ status: "success", outcome: "accepted", attempts: 1 });
  await store.close();
  expect(readFileSync(join(runDir, "journal.jsonl"), "utf8")).toBe("");
});
