import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { countsUp, lastPid, leftBehind, markPids, type PidMark } from "../../src/run/last-pid.ts";
import { markersOf } from "../../src/run/process-tree.ts";
import { freshMarker, PATH } from "./support.ts";

const now = (): number => performance.now();

/** Runs a shell line in a session of its own and waits for its end; what it prints is the pid of what it leaves. */
async function ran(line: string, marker: string): Promise<{ mark: PidMark; pid: number; left: number }> {
  const mark = markPids(now());
  const child = spawn("/bin/sh", ["-c", line], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
    env: { PATH, ORCHESTRATE_JOB: marker },
  });
  const exit = once(child, "exit");
  const printed = (await child.stdout.toArray()).join("");
  await exit;
  if (mark === null || child.pid === undefined) throw new Error("this host shows no last process number");
  expect(countsUp(mark, child.pid)).toBe(true);
  return { mark, pid: child.pid, left: Number(printed) };
}

const look = ({ pid, mark }: { mark: PidMark; pid: number }, marker: string): string =>
  leftBehind({ pid, mark: { ...mark, at: now() }, now: now(), marker, others: new Set() });

describe("looking only at the processes created since a job began", () => {
  it("finds none after a job that left none", async () => {
    const marker = freshMarker();
    expect(look(await ran("/bin/true; /bin/true", marker), marker)).toBe("none");
  });

  it.each([
    ["in the group", "sleep 30 >/dev/null & echo $!"],
    ["in another session, with the marker", "setsid sh -c 'echo $$; exec sleep 30 >/dev/null' &"],
    ["in the session, without the marker", "env -i /bin/sleep 30 >/dev/null & echo $!"],
  ])("finds one that is left %s", async (_, line) => {
    const marker = freshMarker();
    const job = await ran(line, marker);
    if (line.startsWith("env -i")) await vi.waitFor(() => expect(markersOf(job.left)).toEqual([]));
    const answer = look(job, marker);
    process.kill(job.left, "SIGKILL");
    expect(answer).toBe("some");
  });

  it("says that it cannot tell when numbers wrapped, too many were given, or too much time passed", () => {
    const last = lastPid() ?? 0;
    const base = { pid: last, marker: "m", others: new Set<number>() };
    expect(leftBehind({ ...base, mark: { last: last + 1_000, at: 0 }, now: 1 })).toBe("unknown");
    expect(leftBehind({ ...base, mark: { last: last - 5_000, at: 0 }, now: 1 })).toBe("unknown");
    expect(leftBehind({ ...base, mark: { last, at: 0 }, now: 86_400_000 })).toBe("unknown");
  });

  it("does not trust a kernel that does not count upwards", () => {
    const mark = { last: 1_000, at: 0 };
    expect(countsUp(mark, 1_001)).toBe(true);
    expect(countsUp(mark, 1_000)).toBe(false);
    expect(countsUp(mark, 900)).toBe(false);
    expect(countsUp(mark, 30_000)).toBe(false);
  });
});
