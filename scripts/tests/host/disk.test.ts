import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemDisk } from "../../src/host/disk.ts";
import { waitInDir } from "../../src/host/watch.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "orchestrate-disk-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test.each([
  ["a folder", (path: string) => mkdirSync(path)],
  ["a link to a file", (path: string) => symlinkSync("/etc/hostname", path)],
  ["a link to nothing", (path: string) => symlinkSync("/nowhere", path)],
  ["a FIFO that nobody writes", (path: string) => execFileSync("mkfifo", [path])],
])("%s is never read as a file", (_name, make) => {
  const path = join(dir, "x");
  make(path);
  expect(() => systemDisk.read(path)).toThrow(expect.objectContaining({ code: "ENOTREG", path }));
});

test("a missing file is null, an unreadable place is an error", () => {
  expect(systemDisk.read(join(dir, "gone"))).toBeNull();
  expect(systemDisk.stamp(join(dir, "gone"))).toBeNull();
  expect(systemDisk.readFrom(join(dir, "gone"), 3).length).toBe(0);
  writeFileSync(join(dir, "file"), "");
  expect(() => systemDisk.read(join(dir, "file", "below"))).toThrow(
    expect.objectContaining({ code: "ENOTDIR" }),
  );
});

test("a file is read from a place, at most so far", () => {
  const path = join(dir, "x");
  writeFileSync(path, "0123456789");
  expect(systemDisk.readFrom(path, 4).toString()).toBe("456789");
  expect(systemDisk.readFrom(path, 4, 3).toString()).toBe("456");
  expect(systemDisk.readFrom(path, 40).toString()).toBe("");
});

test("a stamp changes when the file grows or is replaced", () => {
  const path = join(dir, "x");
  writeFileSync(path, "1");
  const stamps = [systemDisk.stamp(path)?.id];
  appendFileSync(path, "2");
  stamps.push(systemDisk.stamp(path)?.id);
  writeFileSync(`${path}.new`, "34");
  renameSync(`${path}.new`, path);
  stamps.push(systemDisk.stamp(path)?.id);
  expect(new Set(stamps).size).toBe(3);
});

test("waiting in a folder that cannot be watched still looks from time to time", async () => {
  let looks = 0;
  const look = () => (++looks === 3 ? "seen" : null);
  const wait = { dir: join(dir, "gone"), look, timeoutMs: 60_000, everyMs: 5, restMs: 0, firstMs: 0 };
  expect(await waitInDir(wait)).toBe("seen");
});

test("what a look throws ends the wait", async () => {
  const look = (): null => {
    throw new Error("gone");
  };
  const wait = { dir, look, timeoutMs: 60_000, everyMs: 5, restMs: 0, firstMs: 0 };
  await expect(waitInDir(wait)).rejects.toThrow("gone");
});
